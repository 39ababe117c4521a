package agent.endpoint.model;

/**
 * A packet, as far as the model reads it.
 *
 * @param sourcePort the port, or the identifier of an echo request; else 0
 * @param destinationPort the port, or the identifier of an echo reply; else 0
 * @param icmpType the type of an ICMP message, else -1
 * @param tcpFlags bits as in the header
 * @param sequence the sequence number of TCP
 * @param acknowledged the acknowledgement number of TCP
 * @param fragment null for a whole packet
 * @param quoted the packet that an ICMP error is about, else null
 */
public record ModelPacket(
    ModelHost source,
    ModelHost destination,
    int protocol,
    int sourcePort,
    int destinationPort,
    int icmpType,
    int tcpFlags,
    long sequence,
    long acknowledged,
    Fragment fragment,
    ModelPacket quoted) {
  /** Protocol numbers. */
  public static final int ICMP = 1;

  public static final int TCP = 6;
  public static final int UDP = 17;
  public static final int ICMP6 = 58;
  public static final int SCTP = 132;

  /** Flags of TCP. */
  public static final int FIN = 1;

  public static final int SYN = 2;
  public static final int RST = 4;
  public static final int ACK = 16;

  /** A part of a packet; later ones have neither ports nor message type. */
  public record Fragment(int id, int offsetBytes, boolean more) {
    boolean isFirst() {
      return offsetBytes == 0;
    }
  }

  /** Returns a packet with ports, or one of a protocol that has none and ports 0. */
  public static ModelPacket of(
      ModelHost source, ModelHost destination, int protocol, int sourcePort, int destinationPort) {
    return new ModelPacket(
        source, destination, protocol, sourcePort, destinationPort, -1, 0, 0, 0, null, null);
  }

  /** Returns an ICMP message without identifier. */
  static ModelPacket icmp(ModelHost source, ModelHost destination, int type) {
    final int protocol = source.address().isIpv4() ? ICMP : ICMP6;
    return new ModelPacket(source, destination, protocol, 0, 0, type, 0, 0, 0, null, null);
  }

  /** Returns an echo request or reply. */
  static ModelPacket echo(
      ModelHost source, ModelHost destination, boolean isRequest, int identifier) {
    final boolean isIpv4 = source.address().isIpv4();
    return new ModelPacket(
        source,
        destination,
        isIpv4 ? ICMP : ICMP6,
        isRequest ? identifier : 0,
        isRequest ? 0 : identifier,
        isRequest ? requestType(isIpv4) : replyType(isIpv4),
        0,
        0,
        0,
        null,
        null);
  }

  /** Returns the packet with these fields of TCP. */
  public ModelPacket tcp(int flags, long sequenceNumber, long acknowledgement) {
    return new ModelPacket(
        source,
        destination,
        protocol,
        sourcePort,
        destinationPort,
        icmpType,
        flags,
        sequenceNumber,
        acknowledgement,
        fragment,
        quoted);
  }

  ModelPacket part(Fragment part) {
    return new ModelPacket(
        source,
        destination,
        protocol,
        sourcePort,
        destinationPort,
        icmpType,
        tcpFlags,
        sequence,
        acknowledged,
        part,
        quoted);
  }

  ModelPacket about(ModelPacket original) {
    return new ModelPacket(
        source,
        destination,
        protocol,
        sourcePort,
        destinationPort,
        icmpType,
        tcpFlags,
        sequence,
        acknowledged,
        fragment,
        original);
  }

  static int requestType(boolean isIpv4) {
    return isIpv4 ? 8 : 128;
  }

  static int replyType(boolean isIpv4) {
    return isIpv4 ? 0 : 129;
  }

  /** Returns whether both ends have IPv4 addresses. */
  public boolean isIpv4() {
    return source.address().isIpv4();
  }

  /** Returns whether it is an ICMP message of its family. */
  public boolean isIcmp() {
    return protocol == (isIpv4() ? ICMP : ICMP6);
  }

  /** Returns whether it is an echo request or reply. */
  public boolean isEcho() {
    return isEchoRequest() || isEchoReply();
  }

  boolean isEchoRequest() {
    return isIcmp() && icmpType == requestType(isIpv4());
  }

  boolean isEchoReply() {
    return isIcmp() && icmpType == replyType(isIpv4());
  }

  /** Returns whether it is an ICMP error. */
  public boolean isError() {
    return quoted != null;
  }

  /** Returns whether it is a fragment without the layer 4 header. */
  public boolean isLaterFragment() {
    return fragment != null && !fragment.isFirst();
  }

  boolean isFirstFragment() {
    return fragment != null && fragment.isFirst();
  }

  /** Returns whether it is the TCP packet that asks for a connection. */
  boolean isSyn() {
    return protocol == TCP && (tcpFlags & (SYN | ACK | RST)) == SYN;
  }

  boolean isReset() {
    return protocol == TCP && (tcpFlags & RST) != 0;
  }

  /** Returns whether packets of the protocol have ports, an identifier or a message type. */
  boolean hasPorts() {
    return protocol == TCP || protocol == UDP || protocol == SCTP || isIcmp();
  }

  @Override
  public String toString() {
    return source
        + ":"
        + sourcePort
        + " -> "
        + destination
        + ":"
        + destinationPort
        + " protocol "
        + protocol
        + (icmpType < 0 ? "" : " type " + icmpType)
        + (protocol == TCP ? flagNames() : "")
        + (fragment == null ? "" : " " + fragment)
        + (quoted == null ? "" : " about (" + quoted + ")");
  }

  private String flagNames() {
    return " "
        + ((tcpFlags & SYN) != 0 ? "S" : "")
        + ((tcpFlags & ACK) != 0 ? "A" : "")
        + ((tcpFlags & FIN) != 0 ? "F" : "")
        + ((tcpFlags & RST) != 0 ? "R" : "")
        + " sequence "
        + Long.toHexString(sequence)
        + " acknowledges "
        + Long.toHexString(acknowledged);
  }
}
