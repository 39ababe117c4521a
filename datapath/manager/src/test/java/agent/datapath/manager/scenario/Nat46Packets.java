package agent.datapath.manager.scenario;

import agent.testkit.IpPacket;
import agent.testkit.Packets;

/** Packets between a workload and IPv4 hosts, as IPv6 packets of the range of NAT46. */
final class Nat46Packets {
  static final String RANGE = "64:ff9b::";
  static final long RANGE_HIGH = 0x0064_ff9b_0000_0000L;

  private Nat46Packets() {}

  /** Returns the address of the range that embeds that of a host. */
  static String embedded(ScenarioHost host) {
    return RANGE + host.ipv4;
  }

  /** A packet that a workload sends to the address of the range for a host. */
  static IpPacket sent(ScenarioHost workload, ScenarioHost host) {
    return Packets.ipv6(workload.ipv6, embedded(host)).from(workload.mac()).to(workload.hostMac());
  }

  /** A packet that a workload gets from the address of the range for a host. */
  static IpPacket received(ScenarioHost host, ScenarioHost workload) {
    return Packets.ipv6(embedded(host), workload.ipv6).from(workload.hostMac()).to(workload.mac());
  }
}
