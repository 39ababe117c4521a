package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.model.ModelHost;
import agent.endpoint.model.ModelPacket;
import agent.identity.LabelSet;
import agent.maps.layout.DropReason;
import agent.policy.model.RandomPolicy;
import agent.policy.spec.RuleSpec;
import agent.policy.trace.PolicyQuery;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The answer to whether a flow would pass is what the programs in the kernel do with its first
 * packet, on random rules, labels and hosts.
 *
 * <p>{@code -Drandom.seed} repeats a run, {@code -Dtrace.rules} sets the number of rule sets.
 */
@KernelTest
class PolicyTraceKernelTest {
  private static final int RULE_SETS = Integer.getInteger("trace.rules", 300);
  private static final long SEED = Long.getLong("random.seed", 20261122L);
  private static final int FLOWS = 40;
  private static final int ENDPOINTS = 4;
  private static final List<String> PROTOCOLS = List.of("TCP", "UDP", "SCTP");
  private static final int[] NUMBERS = {ModelPacket.TCP, ModelPacket.UDP, ModelPacket.SCTP};

  private final RandomPolicy random = new RandomPolicy(SEED);
  private final Map<Integer, LabelSet> labels = new HashMap<>();
  private ModelNode node;
  private ProgramVerdicts programs;
  private int number;

  @BeforeEach
  void setUp() throws IOException {
    node = new ModelNode(ENDPOINTS);
    programs = new ProgramVerdicts(node.agent().datapath());
    node.endpoints().forEach(id -> labels.put(id, LabelSet.EMPTY));
  }

  @AfterEach
  void tearDown() throws IOException {
    programs.close();
    node.close();
  }

  @Test
  void shouldAnswerWhatTheDatapathDoesWithTheFirstPacketOfAFlow() {
    final int[] passed = {0};
    node.agent()
        .inNamespace(
            () -> {
              for (int i = 0; i < RULE_SETS; i++) {
                final List<RuleSpec> rules = random.rules();
                node.agent().deleteRules();
                node.agent().importRules(rules.toArray(RuleSpec[]::new));
                final int id = 1 + random.below(ENDPOINTS);
                labels.put(id, random.labels());
                node.relabel(id, labels.get(id));
                for (int flow = 0; flow < FLOWS; flow++) {
                  passed[0] += check(rules) ? 1 : 0;
                }
              }
            });
    final int all = RULE_SETS * FLOWS;
    assertTrue(passed[0] > all / 10 && passed[0] < all * 9 / 10, passed[0] + " of " + all);
  }

  private boolean check(List<RuleSpec> rules) {
    final boolean isIpv4 = random.below(2) == 0;
    final ModelHost endpoint = node.endpoint(1 + random.below(ENDPOINTS), isIpv4);
    ModelHost other = node.someHost(random, isIpv4);
    while (other.equals(endpoint)) {
      other = node.someHost(random, isIpv4);
    }
    final boolean isOpener = random.below(2) == 0;
    final ModelHost from = isOpener ? endpoint : other;
    final ModelHost to = isOpener ? other : endpoint;
    final int protocol = random.below(PROTOCOLS.size());
    final int port = random.somePort();
    final ModelPacket packet =
        ModelPacket.of(from, to, NUMBERS[protocol], 1024 + ++number % 60_000, port)
            .tcp(NUMBERS[protocol] == ModelPacket.TCP ? ModelPacket.SYN : 0, number, 0);
    final boolean atSender = from.isEndpoint();
    final boolean passes =
        programs
                .of(
                    node.program(packet, atSender),
                    atSender,
                    node.plainFrame(packet, atSender),
                    node.ifindex(packet, atSender),
                    node.receivedBy(packet, atSender))
                .reason()
            == DropReason.NONE;
    final PolicyQuery query =
        new PolicyQuery(
            labelsOf(from),
            labelsOf(to),
            List.of(PolicyQuery.Port.of("to.dports[0]", port, PROTOCOLS.get(protocol))),
            true);
    assertEquals(
        passes,
        node.agent().policy.trace(query).isAllowed(),
        () ->
            "-Drandom.seed=%d: %s%n%s%nrules %s%n%s"
                .formatted(SEED, packet, query, rules, node.agent().policy.trace(query).log()));
    return passes;
  }

  private LabelSet labelsOf(ModelHost host) {
    final String text =
        switch (host.kind()) {
          case ENDPOINT -> null;
          case HOST -> "reserved:host";
          case REMOTE_NODE -> "reserved:remote-node";
          case OUTSIDE -> "cidr:" + host.address() + (host.address().isIpv4() ? "/32" : "/128");
        };
    return text == null ? labels.get(host.endpoint()) : LabelSet.parse("l", List.of(text));
  }
}
