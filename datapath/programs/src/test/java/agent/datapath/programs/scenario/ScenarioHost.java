package agent.datapath.programs.scenario;

import agent.testkit.Packets;
import java.nio.ByteBuffer;

/** The hosts of the scenarios: two workloads of this node, remote hosts, and the node itself. */
enum ScenarioHost {
  ALICE(1, 11, 301, "10.0.0.11", "fd00::11"),
  BOB(2, 12, 302, "10.0.0.12", "fd00::12"),
  /** A workload of another node, with an ipcache entry. */
  PEER(0, 0, 400, "10.9.0.5", "fd00:9::5"),
  /** As PEER; its addresses are above those of the workloads in the order of conntrack keys. */
  FAR(0, 0, 401, "10.9.0.99", "fd00:9::99"),
  /** An address without an ipcache entry. */
  STRANGER(0, 0, ScenarioNode.WORLD_IDENTITY, "198.51.100.7", "2001:db8::7"),
  /** This node itself, by the gateway of the workloads. */
  HOST(0, 0, 1, "10.0.0.1", "fd00::8:0:1"),
  /** This node by its own address. */
  NODE(0, 0, 1, "192.0.2.77", "2001:db8:77::1");

  final int id;
  final int ifindex;
  final int identity;
  final String ipv4;
  final String ipv6;

  ScenarioHost(int id, int ifindex, int identity, String ipv4, String ipv6) {
    this.id = id;
    this.ifindex = ifindex;
    this.identity = identity;
    this.ipv4 = ipv4;
    this.ipv6 = ipv6;
  }

  boolean isLocal() {
    return id != 0;
  }

  String mac() {
    return "02:00:00:00:00:%02x".formatted(ifindex);
  }

  String hostMac() {
    return "02:00:00:00:01:%02x".formatted(ifindex);
  }

  long macNumber() {
    return number(mac());
  }

  long hostMacNumber() {
    return number(hostMac());
  }

  int ipv4Number() {
    return ByteBuffer.wrap(Packets.address(ipv4, 4)).getInt();
  }

  long ipv6High() {
    return ByteBuffer.wrap(Packets.address(ipv6, 16)).getLong();
  }

  long ipv6Low() {
    return ByteBuffer.wrap(Packets.address(ipv6, 16)).getLong(8);
  }

  private static long number(String mac) {
    long number = 0;
    for (final byte octet : Packets.mac(mac)) {
      number = number << 8 | octet & 0xff;
    }
    return number;
  }
}
