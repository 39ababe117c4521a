package agent.endpoint.model;

import agent.endpoint.model.ModelFlow.Datagram;
import agent.endpoint.model.ModelFlow.Tuple;
import agent.maps.layout.DropReason;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;

/**
 * A slow reference implementation of connection tracking, of the contract and the decisions: it
 * asks the policy for every packet, and remembers flows and first fragments without time, size,
 * generations or identities. It shares no code with the programs.
 */
public final class NaiveFlowTable {
  /** What can happen to a flow. */
  public enum Event {
    OPENED,
    /** A packet from the middle of a connection passed; either side may have opened it. */
    FOUND_IN_THE_MIDDLE,
    REPLIED,
    /** A policy that changed denies a flow that passed before. */
    CUT,
    /** A connection with the ports of one that is over was asked for. */
    ASKED_FOR_AGAIN,
    /** The side that had not opened a flow opened one in the place of the denied. */
    OPENED_BY_OTHER_SIDE,
    /** An ICMP error passed with the flow that it is about. */
    ERROR_PASSED
  }

  private final ModelPolicy policy;
  private final Map<Tuple, ModelFlow> flows = new HashMap<>();
  private final Map<Datagram, ModelPacket> firstFragments = new HashMap<>();

  private final Map<Event, Integer> events = new EnumMap<>(Event.class);

  /** Creates an empty table; the policy may change between packets. */
  public NaiveFlowTable(ModelPolicy policy) {
    this.policy = policy;
  }

  /**
   * Returns what must happen to a packet, and remembers it.
   *
   * @param atSender whether the program of the endpoint that sends it meets the packet, and not
   *     that of the endpoint that receives it
   */
  public Ruling judge(ModelPacket packet, boolean atSender) {
    ModelPacket whole = packet;
    if (packet.isLaterFragment()) {
      if (packet.protocol() == ModelPacket.TCP && packet.fragment().offsetBytes() == 8) {
        return Ruling.dropped(DropReason.MALFORMED); // would write over flags: RFC 3128
      }
      if (packet.hasPorts()) {
        final ModelPacket first = firstFragments.get(Datagram.of(packet));
        if (first == null) {
          return Ruling.dropped(DropReason.FRAGMENT_NOT_FOUND);
        }
        whole = first.tcp(0, 0, 0);
      }
    }
    final Ruling ruling = judgeWhole(whole, atSender);
    if (packet.isFirstFragment() && packet.hasPorts() && ruling.passes()) {
      firstFragments.put(Datagram.of(packet), packet);
    }
    return ruling;
  }

  /** Returns how often each event happened. */
  public Map<Event, Integer> events() {
    return events;
  }

  private void count(Event event) {
    events.merge(event, 1, Integer::sum);
  }

  private Ruling judgeWhole(ModelPacket packet, boolean atSender) {
    if (packet.isError()) {
      return judgeError(packet, atSender);
    }
    if (packet.isIcmp() && !packet.isEcho()) {
      return policy.onOpening(packet);
    }
    final ModelFlow flow = flows.get(Tuple.of(packet));
    if (flow != null && packet.isSyn() && flow.isOver(packet)) {
      count(Event.ASKED_FOR_AGAIN);
      return judgeNew(packet);
    }
    return flow == null ? judgeNew(packet) : judgeKnown(flow, packet);
  }

  /** Returns the ruling on the flow that the receiver would open with the ports exchanged. */
  private Ruling reversed(ModelPacket packet) {
    return policy.onOpening(
        packet.destination(), packet.source(), packet.protocol(), packet.sourcePort());
  }

  private Ruling judgeNew(ModelPacket packet) {
    final Ruling ruling = policy.onOpening(packet);
    if (packet.isEchoReply() || packet.isReset()) {
      return ruling; // answers of a flow that is not known, which open none
    }
    if (packet.protocol() != ModelPacket.TCP || packet.isSyn()) {
      return ruling.passes() ? open(packet, false, Event.OPENED) : ruling;
    }
    // From the middle of a connection whose entry was lost: it does not tell who opened it.
    if (ruling.passes()) {
      return open(packet, reversed(packet).passes(), Event.FOUND_IN_THE_MIDDLE);
    }
    return ruling; // no entry is lost here, so that an endpoint that may only answer has none to go
    // on
  }

  private Ruling open(ModelPacket packet, boolean isDirectionUnknown, Event event) {
    count(event);
    flows.put(Tuple.of(packet), new ModelFlow(packet, false, isDirectionUnknown));
    return Ruling.PASS;
  }

  /**
   * A flow passes in both directions or in none, by the policy of now. Where it is denied, the
   * other side than the one that opened it may open a flow of its own.
   */
  private Ruling judgeKnown(ModelFlow flow, ModelPacket packet) {
    final Ruling ruling = flow.ruling(policy);
    flow.note(packet);
    if (flow.isCutBy(ruling)) {
      count(Event.CUT);
    } else if (ruling.passes() && !flow.isFromOpener(packet)) {
      count(Event.REPLIED);
    }
    if (ruling.passes() || flow.isFromOpener(packet) || !opensFlow(packet)) {
      return ruling;
    }
    final Ruling own = policy.onOpening(packet);
    if (own.passes()) {
      return open(packet, false, Event.OPENED_BY_OTHER_SIDE);
    }
    return ruling.or(own);
  }

  private static boolean opensFlow(ModelPacket packet) {
    return packet.protocol() == ModelPacket.TCP ? packet.isSyn() : !packet.isEchoReply();
  }

  /** An error passes with the flow that it is about, or by a rule for its type. */
  private Ruling judgeError(ModelPacket error, boolean atSender) {
    if (isOfAllowedFlow(error, atSender)) {
      count(Event.ERROR_PASSED);
      return Ruling.PASS;
    }
    final Ruling ruling = policy.onOpening(error);
    return ruling.passes() ? ruling : Ruling.dropped(DropReason.ICMP_ERROR_UNTRACKED, ruling.by());
  }

  private boolean isOfAllowedFlow(ModelPacket error, boolean atSender) {
    final ModelPacket quoted = error.quoted();
    if (!quoted.source().equals(error.destination())
        || quoted.isLaterFragment()
        || quoted.isIcmp() && !quoted.isEcho()) {
      return false;
    }
    if (atSender && !quoted.destination().equals(error.source())) {
      return false; // an endpoint is no router of others' packets
    }
    final ModelFlow flow = flows.get(Tuple.of(quoted));
    return flow != null
        && flow.ruling(policy).passes()
        && (atSender || error.source().isNode() || mayComeFrom(error.source(), quoted, flow));
  }

  /**
   * Returns whether the source may have met the packet: between two endpoints, and between an
   * endpoint and this node, there is no router.
   */
  private static boolean mayComeFrom(ModelHost source, ModelPacket quoted, ModelFlow flow) {
    return quoted.destination().isEndpoint()
        ? source.equals(quoted.destination())
        : !flow.isOfNode();
  }
}
