package agent.endpoint.model;

import agent.policy.model.RandomPolicy;
import agent.testkit.IpPacket;
import agent.testkit.Packets;

/** Builds the frames of the model's packets. */
public final class ModelFrames {
  private static final int FIRST_PART_BYTES = 36;

  private ModelFrames() {}

  /**
   * Returns the frame of a packet. Some have IP options or an extension header, which the quick
   * parser leaves to the slow one.
   *
   * @param sourceMac of the device that sends it
   * @param destinationMac of the device that receives it
   */
  public static byte[] frame(
      ModelPacket packet, String sourceMac, String destinationMac, RandomPolicy random) {
    final IpPacket ip = ip(packet).from(sourceMac).to(destinationMac);
    if (random.below(6) == 0) {
      if (packet.isIpv4()) {
        ip.options(1, 1, 1, 0);
      } else {
        ip.extension(IpPacket.DESTINATION_OPTIONS, 1);
      }
    }
    return ip.bytes();
  }

  /** Returns the frame of a packet without IP options and extension headers. */
  public static byte[] frame(ModelPacket packet, String sourceMac, String destinationMac) {
    return ip(packet).from(sourceMac).to(destinationMac).bytes();
  }

  private static IpPacket ip(ModelPacket packet) {
    final String source = packet.source().address().toString();
    final String destination = packet.destination().address().toString();
    final IpPacket ip =
        packet.isIpv4() ? Packets.ipv4(source, destination) : Packets.ipv6(source, destination);
    if (packet.fragment() != null) {
      ip.id(packet.fragment().id())
          .fragment(packet.fragment().offsetBytes(), packet.fragment().more());
    }
    return packet.isLaterFragment()
        ? ip.protocol(packet.protocol()).payloadOf(16)
        : layer4(ip, packet);
  }

  private static IpPacket layer4(IpPacket ip, ModelPacket packet) {
    if (packet.isError()) {
      return ip.icmpError(packet.icmpType(), 1, ip(packet.quoted()));
    }
    if (packet.isIcmp()) {
      return ip.icmp(packet.icmpType(), 0, message(packet));
    }
    final int sourcePort = packet.sourcePort();
    final int destinationPort = packet.destinationPort();
    return switch (packet.protocol()) {
      case ModelPacket.TCP -> segment(ip.tcp(sourcePort, destinationPort), packet);
      case ModelPacket.UDP -> ip.udp(sourcePort, destinationPort).payloadOf(FIRST_PART_BYTES + 4);
      case ModelPacket.SCTP -> ip.sctp(sourcePort, destinationPort).payloadOf(FIRST_PART_BYTES);
      default -> ip.protocol(packet.protocol()).payloadOf(FIRST_PART_BYTES + 12);
    };
  }

  private static IpPacket segment(IpPacket ip, ModelPacket packet) {
    ip.sequence((int) packet.sequence());
    if ((packet.tcpFlags() & ModelPacket.SYN) != 0) {
      ip.syn();
    }
    if ((packet.tcpFlags() & ModelPacket.FIN) != 0) {
      ip.fin();
    }
    if ((packet.tcpFlags() & ModelPacket.RST) != 0) {
      ip.rst();
    }
    if ((packet.tcpFlags() & ModelPacket.ACK) != 0) {
      ip.ack((int) packet.acknowledged());
    }
    return ip.payloadOf(28);
  }

  private static byte[] message(ModelPacket packet) {
    final int identifier = packet.sourcePort() + packet.destinationPort();
    final byte[] body = new byte[44];
    body[0] = (byte) (identifier >>> 8);
    body[1] = (byte) identifier;
    body[3] = 1;
    return body;
  }
}
