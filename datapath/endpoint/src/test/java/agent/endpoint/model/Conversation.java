package agent.endpoint.model;

import static agent.endpoint.model.ModelPacket.ACK;
import static agent.endpoint.model.ModelPacket.FIN;
import static agent.endpoint.model.ModelPacket.RST;
import static agent.endpoint.model.ModelPacket.SYN;
import static agent.endpoint.model.ModelPacket.TCP;

import agent.endpoint.model.ModelPacket.Fragment;
import agent.policy.model.RandomPolicy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Two hosts that exchange random packets of one tuple: most often in the order of the protocol, and
 * sometimes not.
 */
public final class Conversation {
  private static final long MEBIBYTE = 1 << 20;
  private static final int[] ERRORS4 = {3, 11, 12};
  private static final int[] ERRORS6 = {1, 2, 3, 4};

  /**
   * Who sends at the begin of some TCP conversations, the opener (o) or the acceptor (a): a
   * handshake, a reset, and then both ask for a connection. Only the reset tells whether the second
   * SYN is of a simultaneous open.
   */
  private static final char[] RESET_AND_BOTH_ASK = {'o', 'a', 'o', 'o', 'o', 'a'};

  /** What a conversation is about. */
  public enum Subject {
    /** A protocol with or without ports. */
    PLAIN,
    ECHO,
    /** ICMP messages that are neither echo nor error. */
    MESSAGES
  }

  private final Subject subject;
  private final ModelHost opener;
  private final ModelHost acceptor;
  private final int protocol;
  private final int openerPort;
  private final int acceptorPort;
  private final List<ModelPacket> said = new ArrayList<>();
  private final Deque<ModelPacket> pending = new ArrayDeque<>();
  private final boolean isResetEarly;
  private long acknowledgedByOpener = 0x2000_0000L;
  private long acknowledgedByAcceptor = 0x6000_0000L;

  /**
   * Creates a conversation; ports of an echo are its identifier and 0, others' of no use are 0.
   *
   * @param isResetEarly whether a TCP conversation begins with a handshake and a reset
   */
  public Conversation(
      Subject subject,
      ModelHost opener,
      ModelHost acceptor,
      int protocol,
      int openerPort,
      int acceptorPort,
      boolean isResetEarly) {
    this.subject = subject;
    this.opener = opener;
    this.acceptor = acceptor;
    this.protocol = protocol;
    this.openerPort = openerPort;
    this.acceptorPort = acceptorPort;
    this.isResetEarly = isResetEarly && protocol == TCP;
  }

  /**
   * Returns the next packet.
   *
   * @param other a host that is in no conversation with the two
   * @param fragmentId the identification of a packet that is fragmented
   */
  public ModelPacket next(RandomPolicy random, ModelHost other, int fragmentId) {
    if (!pending.isEmpty() && random.below(3) != 0) {
      return pending.removeFirst();
    }
    if (!said.isEmpty() && random.below(5) == 0) {
      return error(random, other);
    }
    final ModelPacket packet = plain(random);
    if (said.size() < 20) {
      said.add(packet);
    }
    return random.below(6) == 0 ? fragmented(packet, random, fragmentId) : packet;
  }

  private ModelPacket plain(RandomPolicy random) {
    final boolean isReset = isResetEarly && said.size() < RESET_AND_BOTH_ASK.length;
    final boolean byOpener =
        isReset
            ? RESET_AND_BOTH_ASK[said.size()] != 'a'
            : random.below(said.isEmpty() && protocol != TCP ? 8 : 2) != 0;
    final ModelHost source = byOpener ? opener : acceptor;
    final ModelHost destination = byOpener ? acceptor : opener;
    return switch (subject) {
      case ECHO -> echo(source, destination, byOpener, random);
      case MESSAGES -> ModelPacket.icmp(source, destination, messageType(random));
      case PLAIN -> {
        final ModelPacket packet =
            ModelPacket.of(
                source,
                destination,
                protocol,
                byOpener ? openerPort : acceptorPort,
                byOpener ? acceptorPort : openerPort);
        yield protocol == TCP ? segment(packet, byOpener, random) : packet;
      }
    };
  }

  /** Most often the opener asks and the acceptor replies; each may also do the other. */
  private ModelPacket echo(
      ModelHost source, ModelHost destination, boolean byOpener, RandomPolicy random) {
    final boolean isRequest = random.below(6) == 0 ? !byOpener : byOpener;
    return ModelPacket.echo(source, destination, isRequest, openerPort);
  }

  /** A random type that policy judges by itself: no echo, no error, no link control. */
  private int messageType(RandomPolicy random) {
    final boolean isIpv4 = opener.address().isIpv4();
    while (true) {
      final int type = random.someIcmpType();
      final boolean isOther =
          isIpv4
              ? type == 0 || type == 3 || type == 8 || type == 11 || type == 12
              : type >= 1 && type <= 4 || type >= 128 && type <= 137 || type == 143;
      if (!isOther) {
        return type;
      }
    }
  }

  private ModelPacket segment(ModelPacket packet, boolean byOpener, RandomPolicy random) {
    final long sequence = byOpener ? acknowledgedByAcceptor : acknowledgedByOpener;
    final int step = said.size();
    if (isResetEarly && step > 2 && step < RESET_AND_BOTH_ASK.length) {
      return step == 3
          ? packet.tcp(RST, sequence + resetDistance(random), 0)
          : packet.tcp(SYN, sequence, 0);
    }
    if (step == 0 && byOpener && random.below(4) != 0) {
      return packet.tcp(SYN, sequence, 0);
    }
    final int kind = random.below(16);
    if (kind < 2) {
      return packet.tcp(SYN, sequence, 0);
    }
    if (kind < 3) {
      return packet.tcp(RST, sequence + resetDistance(random), 0);
    }
    if (byOpener) {
      acknowledgedByOpener += random.below(3) * 70_000L;
    } else {
      acknowledgedByAcceptor += random.below(3) * 70_000L;
    }
    final long acknowledged = byOpener ? acknowledgedByOpener : acknowledgedByAcceptor;
    if (kind == 3) {
      return packet.tcp(RST | ACK, sequence + resetDistance(random), acknowledged);
    }
    final boolean answersSyn = !byOpener && kind < (step == 0 ? 12 : 6) || step == 1 && kind < 12;
    final int flags = answersSyn ? SYN : kind == 6 ? FIN : 0;
    return packet.tcp(flags | ACK, sequence, acknowledged);
  }

  /** A distance that is clearly within the window of a reset, or clearly outside. */
  private static long resetDistance(RandomPolicy random) {
    return switch (random.below(6)) {
      case 0 -> -2 * MEBIBYTE;
      case 1 -> 64 * MEBIBYTE;
      case 2 -> 1024 * MEBIBYTE;
      case 3 -> MEBIBYTE;
      default -> 0;
    };
  }

  /** Queues the parts of a packet, and returns the one that comes first. */
  private ModelPacket fragmented(ModelPacket packet, RandomPolicy random, int id) {
    if (packet.isError() || subject == Subject.MESSAGES) {
      return packet;
    }
    final int offset = protocol == TCP && random.below(4) == 0 ? 8 : 48;
    final ModelPacket first = packet.part(new Fragment(id, 0, true));
    final ModelPacket last = packet.part(new Fragment(id, offset, false));
    switch (random.below(4)) {
      case 0 -> {
        pending.add(first);
        pending.add(last);
        return last; // out of order, and once more
      }
      case 1 -> {
        return last;
      }
      default -> {
        pending.add(last);
        return first;
      }
    }
  }

  /** An ICMP error about a packet of this conversation, or one that is made up. */
  private ModelPacket error(RandomPolicy random, ModelHost other) {
    ModelPacket about = said.get(random.below(said.size()));
    switch (random.below(8)) {
      case 0 -> about = withOtherPort(about, random);
      case 1 -> about = exchanged(about);
      default -> {}
    }
    final ModelHost destination =
        random.below(10) == 0 ? about.source().equals(opener) ? acceptor : opener : about.source();
    final ModelHost source =
        random.below(3) == 0 || about.destination().equals(destination)
            ? other
            : about.destination();
    final int[] types = opener.address().isIpv4() ? ERRORS4 : ERRORS6;
    return ModelPacket.icmp(source, destination, types[random.below(types.length)]).about(about);
  }

  private static ModelPacket withOtherPort(ModelPacket packet, RandomPolicy random) {
    return packet.isIcmp()
        ? ModelPacket.echo(packet.source(), packet.destination(), true, 1 + random.below(50))
        : ModelPacket.of(
            packet.source(),
            packet.destination(),
            packet.protocol(),
            packet.sourcePort() == 0 ? 0 : 1 + random.below(50),
            packet.destinationPort());
  }

  /** The same packet as one that the receiver would have sent with these ports. */
  private static ModelPacket exchanged(ModelPacket packet) {
    return packet.isIcmp()
        ? ModelPacket.echo(
            packet.destination(),
            packet.source(),
            packet.isEchoRequest(),
            packet.sourcePort() + packet.destinationPort())
        : ModelPacket.of(
            packet.destination(),
            packet.source(),
            packet.protocol(),
            packet.sourcePort(),
            packet.destinationPort());
  }
}
