package agent.endpoint.model;

import agent.endpoint.model.ModelPacket.Fragment;
import agent.types.IpAddress;

/**
 * A flow: who opened it, what its ends have sent, and what the present policy says of it. What is
 * dropped has been sent, too.
 */
final class ModelFlow {
  /** How far a reset may be ahead of what its receiver acknowledged, to be accepted. */
  private static final long RESET_WINDOW_BYTES = 4 << 20;

  private static final long SEQUENCE_NUMBERS = 1L << 32;

  /** One end of a flow. */
  record End(IpAddress address, int port) implements Comparable<End> {
    @Override
    public int compareTo(End other) {
      final int order = address.compareTo(other.address);
      return order != 0 ? order : Integer.compare(port, other.port);
    }
  }

  /** The tuple, which is the same for both directions. */
  record Tuple(End low, End high, int protocol) {
    static Tuple of(ModelPacket packet) {
      final End source = new End(packet.source().address(), packet.sourcePort());
      final End destination = new End(packet.destination().address(), packet.destinationPort());
      return source.compareTo(destination) <= 0
          ? new Tuple(source, destination, packet.protocol())
          : new Tuple(destination, source, packet.protocol());
    }
  }

  /** What all fragments of a packet have in common. */
  record Datagram(IpAddress source, IpAddress destination, int protocol, int id) {
    static Datagram of(ModelPacket packet) {
      final Fragment fragment = packet.fragment();
      return new Datagram(
          packet.source().address(),
          packet.destination().address(),
          packet.protocol(),
          fragment.id());
    }
  }

  private final ModelHost opener;
  private final ModelHost acceptor;
  private final int openerPort;
  private final int protocol;
  private final int acceptorPort;
  private final boolean isDirectionUnknown;
  private boolean hasReply;
  private boolean hasMoreOfOpener;
  private boolean hasEnded;
  private boolean hasPacketOfNode;
  private boolean isCut;
  private long acknowledgedByOpener;
  private long acknowledgedByAcceptor;

  /**
   * Creates the flow of a packet.
   *
   * @param byReceiver whether the receiver of the packet opened the flow, and not its sender
   * @param isDirectionUnknown whether either side may have opened it
   */
  ModelFlow(ModelPacket packet, boolean byReceiver, boolean isDirectionUnknown) {
    opener = byReceiver ? packet.destination() : packet.source();
    acceptor = byReceiver ? packet.source() : packet.destination();
    openerPort = byReceiver ? packet.destinationPort() : packet.sourcePort();
    acceptorPort = byReceiver ? packet.sourcePort() : packet.destinationPort();
    protocol = packet.protocol();
    this.isDirectionUnknown = isDirectionUnknown;
    note(packet);
  }

  boolean isFromOpener(ModelPacket packet) {
    return packet.source().equals(opener);
  }

  /** Returns whether a SYN is of a new connection with the same ports. */
  boolean isOver(ModelPacket syn) {
    return hasEnded || (hasReply && !isFromOpener(syn));
  }

  /** Returns whether sockets of the node are one end, as far as packets have shown. */
  boolean isOfNode() {
    return hasPacketOfNode;
  }

  /** Returns what the present policy says of all packets of the flow, in both directions. */
  Ruling ruling(ModelPolicy policy) {
    final Ruling ruling = policy.onOpening(opener, acceptor, protocol, port(acceptorPort));
    return ruling.passes() && isDirectionUnknown
        ? policy.onOpening(acceptor, opener, protocol, port(openerPort))
        : ruling;
  }

  private int port(int acceptingPort) {
    final boolean isIpv4 = opener.address().isIpv4();
    return protocol == (isIpv4 ? ModelPacket.ICMP : ModelPacket.ICMP6)
        ? ModelPacket.requestType(isIpv4)
        : acceptingPort;
  }

  /** Notes whether the flow passes now, and returns whether it did before, and does no longer. */
  boolean isCutBy(Ruling ruling) {
    final boolean wasCut = isCut;
    isCut = !ruling.passes();
    return isCut && !wasCut;
  }

  /** Notes what a packet says of the state of the flow. */
  void note(ModelPacket packet) {
    final boolean isFromOpener = isFromOpener(packet);
    hasPacketOfNode |= packet.source().isNode();
    if (packet.isReset() && !isAccepted(packet)) {
      return;
    }
    if ((packet.tcpFlags() & ModelPacket.ACK) != 0 && isFromOpener) {
      acknowledgedByOpener = packet.acknowledged();
    } else if ((packet.tcpFlags() & ModelPacket.ACK) != 0) {
      acknowledgedByAcceptor = packet.acknowledged();
    }
    if (packet.isSyn()) {
      return; // of a simultaneous open, or repeated
    }
    hasReply |= !isFromOpener;
    hasMoreOfOpener |= isFromOpener;
    hasEnded |= (packet.tcpFlags() & (ModelPacket.FIN | ModelPacket.RST)) != 0;
  }

  /** Returns whether the receiver of a reset ends the connection: its number is not a guess. */
  private boolean isAccepted(ModelPacket reset) {
    if (!hasReply || !hasMoreOfOpener) {
      return true;
    }
    final long expected = isFromOpener(reset) ? acknowledgedByAcceptor : acknowledgedByOpener;
    return Math.floorMod(reset.sequence() - expected, SEQUENCE_NUMBERS) < RESET_WINDOW_BYTES;
  }
}
