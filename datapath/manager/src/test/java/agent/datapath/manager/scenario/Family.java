package agent.datapath.manager.scenario;

import agent.testkit.IpPacket;
import agent.testkit.Packets;

/** Both families are to behave alike: scenarios run with each. */
enum Family {
  IPV4,
  IPV6;

  /** A packet as its sender's gateway, or its receiver's workload, sees it. */
  IpPacket packet(Party from, Party to) {
    final IpPacket packet =
        this == IPV4 ? Packets.ipv4(from.ipv4, to.ipv4) : Packets.ipv6(from.ipv6, to.ipv6);
    return from.isLocal()
        ? packet.from(from.mac()).to(from.hostMac())
        : packet.from(to.hostMac()).to(to.mac());
  }

  String address(Party party) {
    return this == IPV4 ? party.ipv4 : party.ipv6;
  }

  int icmp() {
    return this == IPV4 ? 1 : 58;
  }

  int echoRequestType() {
    return this == IPV4 ? 8 : 128;
  }

  int echoReplyType() {
    return this == IPV4 ? 0 : 129;
  }

  int unreachableType() {
    return this == IPV4 ? 3 : 1;
  }

  int timestampType() {
    return this == IPV4 ? 13 : 139;
  }
}
