package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.PacketsBesideChanges.Probe;
import agent.endpoint.model.ModelHost;
import agent.endpoint.model.ModelPacket;
import agent.endpoint.model.ModelPolicy;
import agent.endpoint.model.SwappedRules;
import agent.identity.LabelSet;
import agent.policy.model.NaivePeer;
import agent.policy.model.RandomPolicy;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * While the agent changes policies, labels, addresses and endpoints, no packet passes that is
 * allowed neither before nor after, and none is dropped that is allowed before and after; from the
 * answer to the change on, packets have the verdict of the new state.
 *
 * <p>{@code -Drandom.seed} repeats a run, {@code -Drandom.pairs} sets the number of pairs of
 * states.
 */
@KernelTest
class ConcurrentChangeKernelTest {
  private static final int PAIRS = Integer.getInteger("random.pairs", 20);
  private static final long SEED = Long.getLong("random.seed", 20261122L);
  private static final int CHANGES = 8;
  private static final int PROBES = 150;
  private static final int ENDPOINTS = 4;

  /** The endpoint that comes and goes. */
  private static final int REPLACED = ENDPOINTS;

  private static final int[] PROTOCOLS = {ModelPacket.TCP, ModelPacket.UDP, ModelPacket.SCTP};

  private final RandomPolicy random = new RandomPolicy(SEED);
  private final ModelPolicy[] states = {new ModelPolicy(), new ModelPolicy()};
  private ModelNode node;
  private long duringChanges;
  private int kept;
  private int denied;

  @BeforeEach
  void setUp() throws IOException {
    System.out.printf("random.seed=%d random.pairs=%d%n", SEED, PAIRS);
    node = new ModelNode(ENDPOINTS);
    for (int id = 1; id <= ENDPOINTS; id++) {
      states[0].labels(id, LabelSet.EMPTY);
      states[1].labels(id, LabelSet.EMPTY);
    }
  }

  @AfterEach
  void tearDown() throws IOException {
    node.close();
  }

  /** The identities of CIDRs stay, as a further rule names them all. */
  @Test
  void shouldJudgeByTheRulesBeforeOrAfterAChangeOfRules() {
    importRules(List.of(RandomPolicy.namingEveryCidr()));
    alternateRules();
  }

  /** The identities of addresses change with the rules that name their CIDRs. */
  @Test
  void shouldJudgeByTheRulesBeforeOrAfterAChangeOfCidrs() {
    alternateRules();
  }

  /** What one end stops denying, the other one begins to deny. */
  @Test
  void shouldJudgeByTheRulesBeforeOrAfterASwapOfTheEndThatDenies() {
    for (int id = 1; id <= ENDPOINTS; id++) {
      final LabelSet labels = SwappedRules.labels(id);
      relabel(id, labels, labels);
    }
    for (int pair = 0; pair < PAIRS; pair++) {
      final boolean isAscending = random.below(2) == 0;
      final SwappedRules swapped =
          new SwappedRules(
              random, isAscending ? 1 : ENDPOINTS, isAscending ? ENDPOINTS : 1, ENDPOINTS);
      final List<RuleSpec> one = labelled(swapped.rules(0));
      final List<RuleSpec> other = labelled(swapped.rules(1));
      states[0].rules(one);
      states[1].rules(other);
      importRules(one);
      alternate(
          probes(() -> packetOf(swapped), UnaryOperator.identity()),
          state -> importRules(state == 0 ? one : other));
    }
    checkThatPacketsRan();
  }

  private void alternateRules() {
    for (int pair = 0; pair < PAIRS; pair++) {
      final List<RuleSpec> one = rules();
      final List<RuleSpec> other = rules();
      other.addAll(one.subList(0, random.below(one.size() + 1))); // some rules stay
      relabelSome();
      states[0].rules(one);
      states[1].rules(other);
      importRules(one);
      alternate(
          probes(this::somePacket, UnaryOperator.identity()),
          state -> importRules(state == 0 ? one : other));
    }
    checkThatPacketsRan();
  }

  @Test
  void shouldJudgeByTheLabelsBeforeOrAfterAChangeOfLabels() {
    for (int pair = 0; pair < PAIRS; pair++) {
      useSomeRules();
      final int changed = 1 + random.below(ENDPOINTS);
      final List<LabelSet> labels = List.of(random.labels(), random.labels());
      relabel(changed, labels.get(0), labels.get(1));
      alternate(
          probes(this::somePacket, UnaryOperator.identity()),
          state -> node.relabel(changed, labels.get(state)));
      states[1].labels(changed, labels.get(0)); // the last change is to the first state
    }
    checkThatPacketsRan();
  }

  /** With the labels of an endpoint its own policy changes, and what it is to its peer. */
  @Test
  void shouldJudgeByTheLabelsBeforeOrAfterASwapOfTheEndThatDenies() {
    final int moved = ENDPOINTS + 2; // labels that no other endpoint has
    for (int pair = 0; pair < PAIRS; pair++) {
      final boolean isSender = pair % 2 == 0;
      final int port = 1000 + random.below(2000);
      final List<RuleSpec> rules =
          labelled(SwappedRules.byLabels(1, moved, 2, isSender, port, port + random.below(300)));
      relabel(1, SwappedRules.labels(1), SwappedRules.labels(moved));
      relabel(2, SwappedRules.labels(2), SwappedRules.labels(2));
      importRules(rules);
      states[0].rules(rules);
      states[1].rules(rules);
      alternate(
          probes(
              () -> {
                final boolean isIpv4 = random.below(2) == 0;
                return ModelPacket.of(
                    node.endpoint(isSender ? 1 : 2, isIpv4),
                    node.endpoint(isSender ? 2 : 1, isIpv4),
                    ModelPacket.UDP,
                    1,
                    random.below(4) == 0 ? port - 1 : port);
              },
              UnaryOperator.identity()),
          state -> node.relabel(1, SwappedRules.labels(state == 0 ? 1 : moved)));
    }
    checkThatPacketsRan();
  }

  @Test
  void shouldJudgeByTheAddressesBeforeOrAfterAChangeOfTheIpcache() {
    for (int pair = 0; pair < PAIRS; pair++) {
      useSomeRules();
      relabelSome();
      final boolean isIpv4 = random.below(2) == 0;
      final String address = isIpv4 ? ModelNode.REMOTE_NODE4 : ModelNode.REMOTE_NODE6;
      alternate(
          probes(
              () -> packetOf(node.remoteNode(isIpv4)),
              host ->
                  host.kind() == NaivePeer.Kind.REMOTE_NODE && host.address().isIpv4() == isIpv4
                      ? new ModelHost(0, NaivePeer.Kind.OUTSIDE, host.address())
                      : host),
          state -> node.setRemoteNode(address, state == 0));
    }
    checkThatPacketsRan();
  }

  @Test
  void shouldJudgeByTheEndpointsBeforeOrAfterOneIsRemovedOrCreated() {
    for (int pair = 0; pair < PAIRS / 2; pair++) {
      useSomeRules();
      relabelSome();
      final LabelSet labels = random.labels();
      replace(labels);
      alternate(
          probes(this::packetOfReplaced, ConcurrentChangeKernelTest::withoutReplaced),
          state -> {
            if (state == 0) {
              node.create(REPLACED, labels);
            } else {
              node.agent().delete(REPLACED);
            }
          });
    }
    checkThatPacketsRan();
  }

  /** A change of labels would leave the endpoint those that it was created with. */
  private void replace(LabelSet labels) {
    node.agent().delete(REPLACED);
    node.create(REPLACED, labels);
    states[0].labels(REPLACED, labels);
    states[1].labels(REPLACED, labels);
  }

  /** Without the endpoint its address is one outside the cluster. */
  private static ModelHost withoutReplaced(ModelHost host) {
    return host.endpoint() == REPLACED
        ? new ModelHost(0, NaivePeer.Kind.OUTSIDE, host.address())
        : host;
  }

  /** Goes from one state to the other and back, while the packets run. */
  private void alternate(List<Probe> probes, IntConsumer change) {
    try (PacketsBesideChanges packets = new PacketsBesideChanges(node.agent(), probes)) {
      for (int i = 1; i <= CHANGES; i++) {
        final int state = i % 2;
        packets.change(() -> change.accept(state));
      }
      duringChanges += packets.duringChanges();
    }
  }

  private void checkThatPacketsRan() {
    System.out.printf(
        "%d packets during changes; of the probes %d pass in both states, %d in neither%n",
        duringChanges, kept, denied);
    assertTrue(duringChanges > PAIRS * 100L, "packets during changes");
    assertTrue(kept > PAIRS && denied > PAIRS, "probes whose verdict must stay");
  }

  /**
   * Returns random packets, each with its verdicts.
   *
   * @param inOther what a host is in the other state
   */
  private List<Probe> probes(Supplier<ModelPacket> packets, UnaryOperator<ModelHost> inOther) {
    final List<Probe> probes = new ArrayList<>();
    while (probes.size() < PROBES) {
      final ModelPacket packet = packets.get();
      final boolean canBeReceived =
          packet.destination().isEndpoint() && packet.source().endpoint() != REPLACED;
      final boolean atSender =
          packet.source().isEndpoint() && (!canBeReceived || random.below(2) == 0);
      final ModelPacket other = inOther(packet, inOther);
      final boolean isMet = (atSender ? other.source() : other.destination()).isEndpoint();
      final boolean[] passes = {
        states[0].onOpening(packet).passes(), isMet && states[1].onOpening(other).passes()
      };
      kept += passes[0] && passes[1] ? 1 : 0;
      denied += !passes[0] && !passes[1] ? 1 : 0;
      probes.add(
          new Probe(
              packet,
              node.program(packet, atSender),
              node.plainFrame(packet, atSender),
              node.ifindex(packet, atSender),
              node.receivedBy(packet, atSender),
              passes));
    }
    return probes;
  }

  private static ModelPacket inOther(ModelPacket packet, UnaryOperator<ModelHost> inOther) {
    return ModelPacket.of(
        inOther.apply(packet.source()),
        inOther.apply(packet.destination()),
        packet.protocol(),
        packet.sourcePort(),
        packet.destinationPort());
  }

  /** Most packets are those whose end that denies them changes. */
  private ModelPacket packetOf(SwappedRules swapped) {
    final int kind = random.below(6);
    if (kind == 0) {
      return somePacket();
    }
    final boolean isIpv4 = random.below(2) == 0;
    final ModelPacket packet =
        ModelPacket.of(
            node.endpoint(swapped.sender(), isIpv4),
            node.endpoint(swapped.receiver(), isIpv4),
            swapped.protocol(),
            1,
            kind == 1 ? swapped.allowedPort() : swapped.deniedPort());
    return swapped.protocol() == ModelPacket.TCP ? packet.tcp(ModelPacket.SYN, 1, 0) : packet;
  }

  private ModelPacket somePacket() {
    return packetOf(node.someHost(random, random.below(2) == 0));
  }

  /** Most packets are to or from the endpoint that comes and goes. */
  private ModelPacket packetOfReplaced() {
    return random.below(4) == 0
        ? somePacket()
        : packetOf(node.endpoint(REPLACED, random.below(2) == 0));
  }

  /** Returns a packet between the host and an endpoint. */
  private ModelPacket packetOf(ModelHost host) {
    ModelHost endpoint = host;
    while (endpoint.equals(host)) {
      endpoint = node.endpoint(1 + random.below(ENDPOINTS), host.address().isIpv4());
    }
    final boolean isSent = random.below(2) == 0;
    final int protocol = PROTOCOLS[random.below(PROTOCOLS.length)];
    int port = random.somePort();
    while (port >= PacketsBesideChanges.FIRST_PORT
        && port < PacketsBesideChanges.FIRST_PORT + PacketsBesideChanges.PORTS) {
      port = random.somePort(); // the answer to a probe is none itself
    }
    final ModelPacket packet =
        ModelPacket.of(isSent ? endpoint : host, isSent ? host : endpoint, protocol, 1, port);
    return protocol == ModelPacket.TCP ? packet.tcp(ModelPacket.SYN, 1, 0) : packet;
  }

  private void useSomeRules() {
    final List<RuleSpec> rules = rules();
    importRules(rules);
    states[0].rules(rules);
    states[1].rules(rules);
  }

  private void relabelSome() {
    for (int id = 1; id <= ENDPOINTS; id++) {
      if (id == 1 + random.below(ENDPOINTS)) {
        final LabelSet labels = random.labels();
        relabel(id, labels, labels);
      }
    }
  }

  /** Sets the labels of an endpoint in the one state; those of the other are noted only. */
  private void relabel(int id, LabelSet inOne, LabelSet inOther) {
    node.relabel(id, inOne);
    states[0].labels(id, inOne);
    states[1].labels(id, inOther);
  }

  private List<RuleSpec> rules() {
    final List<RuleSpec> rules = labelled(random.rules());
    return rules.isEmpty() ? rules() : rules;
  }

  /** Rules with one label, so that an import replaces those of the import before. */
  private static List<RuleSpec> labelled(List<RuleSpec> some) {
    final List<RuleSpec> rules = new ArrayList<>();
    for (final RuleSpec rule : some) {
      rules.add(
          new RuleSpec(
              rule.endpointSelector(),
              rule.ingress(),
              rule.egress(),
              rule.ingressDeny(),
              rule.egressDeny(),
              List.of(new LabelSpec("rules", "random", null)),
              null));
    }
    return rules;
  }

  private void importRules(List<RuleSpec> rules) {
    node.agent().importRules(rules.toArray(RuleSpec[]::new));
  }
}
