package agent.datapath.programs.scenario;

import agent.testkit.IpPacket;
import agent.testkit.Packets;

/** The address families; each scenario runs with both. */
enum Family {
  IPV4,
  IPV6;

  /**
   * Returns a packet with the MAC addresses of the link of its source workload, or else of its
   * destination workload.
   */
  IpPacket packet(ScenarioHost from, ScenarioHost to) {
    final IpPacket packet =
        this == IPV4 ? Packets.ipv4(from.ipv4, to.ipv4) : Packets.ipv6(from.ipv6, to.ipv6);
    return from.isLocal()
        ? packet.from(from.mac()).to(from.hostMac())
        : packet.from(to.hostMac()).to(to.mac());
  }

  /**
   * Adds to a packet that is not quick IP options or an extension header, which the quick parser
   * does not handle.
   */
  static IpPacket slow(boolean isQuick, IpPacket packet) {
    final int noOperation = 1;
    return isQuick
        ? packet
        : packet.options(noOperation).extension(IpPacket.DESTINATION_OPTIONS, 1);
  }

  /** Returns the bytes of the IP headers of a packet of {@link #slow}. */
  int headers(boolean isQuick) {
    final int extended = this == IPV4 ? 4 : 8;
    return (this == IPV4 ? 20 : 40) + (isQuick ? 0 : extended);
  }

  /** Returns the packet as one of TCP, UDP or SCTP; one of TCP has ACK set. */
  static IpPacket ports(IpPacket packet, int protocol, int fromPort, int toPort) {
    return switch (protocol) {
      case WorkloadPolicy.TCP -> packet.tcp(fromPort, toPort).ack();
      case WorkloadPolicy.UDP -> packet.udp(fromPort, toPort);
      default -> packet.sctp(fromPort, toPort);
    };
  }

  /** A packet of a flow with ports, of an odd length, that the quick parser reads or does not. */
  static IpPacket packet(
      Family family,
      ScenarioHost from,
      ScenarioHost to,
      int protocol,
      int fromPort,
      int toPort,
      boolean isQuick) {
    final IpPacket packet = family.packet(from, to).payload("an odd number of b.");
    return slow(isQuick, ports(packet, protocol, fromPort, toPort));
  }

  String address(ScenarioHost host) {
    return this == IPV4 ? host.ipv4 : host.ipv6;
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
