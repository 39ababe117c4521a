package agent.datapath.programs.scenario;

import agent.testkit.IpPacket;
import agent.testkit.Packets;

/** Packets between a workload and IPv4 hosts, as IPv6 packets of the range of NAT46. */
final class Nat46Packets {
  static final String RANGE = "64:ff9b::";
  static final long RANGE_HIGH = 0x0064_ff9b_0000_0000L;

  /** The port of the client in {@link #of}, which asks port 53. */
  static final int CLIENT = 40000;

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

  /**
   * A packet of a flow of TCP, UDP or echo, from its client or to it; a request of echo is empty.
   */
  static IpPacket of(String kind, IpPacket packet, int bytes, boolean isAnswer) {
    final int from = isAnswer ? 53 : CLIENT;
    final int to = isAnswer ? CLIENT : 53;
    return switch (kind) {
      case "tcp" -> packet.tcp(from, to).ack().payloadOf(bytes);
      case "udp" -> packet.udp(from, to).payloadOf(bytes);
      default -> isAnswer ? echo(packet, bytes) : packet.echoRequest(7, 1);
    };
  }

  private static IpPacket echo(IpPacket packet, int bytes) {
    final byte[] body = new byte[4 + bytes];
    for (int i = 4; i < body.length; i++) {
      body[i] = (byte) i;
    }
    body[1] = 7;
    return packet.icmp((packet.bytes()[12] & 0xff) == 0x86 ? 129 : 0, 0, body);
  }
}
