package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.ProgramVerdicts.Counted;
import agent.endpoint.model.Conversation;
import agent.endpoint.model.Conversation.Subject;
import agent.endpoint.model.ModelHost;
import agent.endpoint.model.ModelPacket;
import agent.endpoint.model.ModelPolicy;
import agent.endpoint.model.NaiveFlowTable;
import agent.endpoint.model.NaiveFlowTable.Event;
import agent.endpoint.model.Ruling;
import agent.identity.LabelSet;
import agent.policy.model.RandomPolicy;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.testkit.KernelTest;
import agent.types.IpAddress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Compares the programs in the kernel with {@link NaiveFlowTable} on random rules and random
 * conversations, which go on while the rules change: the verdict of the program on each packet, the
 * drop reason and the end for which it is counted must be those of the model.
 *
 * <p>{@code -Drandom.seed} repeats a run, {@code -Drandom.rules} sets the number of rule sets.
 */
@KernelTest
class RandomPolicyKernelTest {
  private static final int RULE_SETS = Integer.getInteger("random.rules", 1000);
  private static final long SEED = Long.getLong("random.seed", 20261122L);
  private static final int PACKETS = 60;
  private static final int ENDPOINTS = 4;
  private static final int CONVERSATIONS = 6;
  private static final int PACKETS_OF_A_CONVERSATION = 20;

  /** With fewer rule sets, what is rare may not happen. */
  private static final int ENOUGH_RULE_SETS = 1000;

  /** The kinds of packets that {@link #kind} tells apart. */
  private static final int KINDS = 9;

  /** Protocols without ports have one flow for each pair of hosts: each pair takes the next. */
  private static final int FIRST_PORTLESS = 143;

  private static final int LAST_PORTLESS = 252;
  private static final int[] PROTOCOLS = {
    ModelPacket.TCP, ModelPacket.TCP, ModelPacket.TCP, ModelPacket.UDP, ModelPacket.SCTP, 0
  };

  /** A conversation and what was seen of it. */
  private record Talk(
      Conversation conversation, ModelHost opener, ModelHost acceptor, List<String> seen) {
    Talk(Conversation conversation, ModelHost opener, ModelHost acceptor) {
      this(conversation, opener, acceptor, new ArrayList<>());
    }
  }

  private final RandomPolicy random = new RandomPolicy(SEED);
  private final ModelPolicy policy = new ModelPolicy();
  private final NaiveFlowTable model = new NaiveFlowTable(policy);
  private final List<RuleSpec> rules = new ArrayList<>();
  private final List<Talk> talks = new ArrayList<>();
  private final Map<Set<IpAddress>, Integer> portless = new HashMap<>();
  private final Map<String, Integer> seen = new TreeMap<>();
  private ModelNode node;
  private ProgramVerdicts programs;
  private int number;
  private int changes;

  @BeforeEach
  void setUp() throws IOException {
    node = new ModelNode(ENDPOINTS);
    programs = new ProgramVerdicts(node.agent().datapath());
    node.endpoints().forEach(id -> policy.labels(id, LabelSet.EMPTY));
  }

  @AfterEach
  void tearDown() throws IOException {
    programs.close();
    node.close();
  }

  @Test
  void shouldGiveTheVerdictOfTheModelOnEveryPacketOfRandomConversations() {
    System.out.printf("random.seed=%d random.rules=%d%n", SEED, RULE_SETS);
    node.agent()
        .inNamespace(
            () -> {
              for (changes = 1; changes <= RULE_SETS; changes++) {
                changeRules();
                for (int i = 0; i < PACKETS; i++) {
                  sendNext();
                }
              }
            });
    System.out.printf("%s%n%s%n", seen, model.events());
    if (RULE_SETS >= ENOUGH_RULE_SETS) {
      checkThatEverythingHappened();
    }
  }

  private void checkThatEverythingHappened() {
    assertEquals(2 * KINDS, seen.size(), seen::toString);
    seen.forEach((kind, packets) -> assertTrue(packets > RULE_SETS / 10, seen::toString));
    for (final Event event : Event.values()) {
      assertTrue(
          model.events().getOrDefault(event, 0) > RULE_SETS / 500, () -> model.events().toString());
    }
  }

  /** Changes rules or labels while conversations go on. */
  private void changeRules() {
    final List<RuleSpec> more = new ArrayList<>();
    random.rules().forEach(rule -> more.add(named(rule, changes + "-" + more.size())));
    if (random.below(2) == 0) {
      more.subList(1, more.size()).clear(); // so that more passes
    }
    final int kind = rules.isEmpty() || rules.size() > 8 ? 0 : random.below(5);
    if (kind < 3) {
      node.agent().deleteRules();
      rules.clear();
    } else if (kind == 3) {
      more.subList(1, more.size()).clear();
    } else {
      more.clear();
      final LabelSpec label = rules.remove(random.below(rules.size())).labels().getFirst();
      node.agent().deleteRules(label.key() + "=" + label.value());
    }
    if (!more.isEmpty()) {
      node.agent().importRules(more.toArray(RuleSpec[]::new));
    }
    rules.addAll(more);
    policy.rules(rules);
    talks.forEach(talk -> talk.seen.add("rules change"));
    if (random.below(4) == 0) {
      final int id = 1 + random.below(ENDPOINTS);
      final LabelSet labels = random.labels();
      node.relabel(id, labels);
      policy.labels(id, labels);
    }
  }

  /** Returns the rule with a label that no other has, so that it is added and removed alone. */
  private static RuleSpec named(RuleSpec rule, String name) {
    return new RuleSpec(
        rule.endpointSelector(),
        rule.ingress(),
        rule.egress(),
        rule.ingressDeny(),
        rule.egressDeny(),
        List.of(new LabelSpec("rule", name, null)),
        null);
  }

  /** Sends the next packet of a conversation through the programs that it meets. */
  private void sendNext() {
    final int which = random.below(CONVERSATIONS);
    if (which >= talks.size() || talks.get(which).seen.size() >= PACKETS_OF_A_CONVERSATION) {
      if (which < talks.size()) {
        talks.remove(which);
      }
      talks.add(newTalk());
      return;
    }
    final Talk talk = talks.get(which);
    final ModelPacket packet = talk.conversation.next(random, other(talk), ++number & 0xffff);
    final boolean isSent = packet.source().isEndpoint();
    final boolean isReceived = packet.destination().isEndpoint();
    final int path = isSent && isReceived ? random.below(6) : 0;
    final boolean skipsSender = path == 5;
    final boolean isByStack = path >= 3;
    boolean passes = true;
    if (isSent && !skipsSender) {
      passes = meets(talk, packet, true);
    }
    if (isReceived && passes && (!isSent || isByStack)) {
      meets(talk, packet, false);
    }
  }

  /** Runs the program of one end on a packet, and returns whether it passes. */
  private boolean meets(Talk talk, ModelPacket packet, boolean atSender) {
    final ModelHost own = atSender ? packet.source() : packet.destination();
    final Ruling expected = model.judge(packet, atSender);
    final Counted actual =
        programs.of(
            node.program(packet, atSender),
            atSender,
            node.frame(packet, atSender, random),
            node.ifindex(packet, atSender),
            node.receivedBy(packet, atSender));
    talk.seen.add((atSender ? "sent " : "received ") + packet + ": " + actual);
    final Counted first = counted(expected, own);
    final Counted also = expected.also() == null ? first : counted(expected.also(), own);
    assertEquals(actual.equals(also) ? also : first, actual, () -> describe(talk));
    seen.merge(kind(packet) + (expected.passes() ? " passes" : " dropped"), 1, Integer::sum);
    return expected.passes();
  }

  private static Counted counted(Ruling ruling, ModelHost own) {
    return new Counted(ruling.reason(), ruling.by() != null && !ruling.by().equals(own));
  }

  private String describe(Talk talk) {
    return "-Drandom.seed=%d, after %d changes of rules%nrules %s%nlabels %s%n%s%n"
        .formatted(SEED, changes, rules, policy.labels(), String.join("\n", talk.seen));
  }

  private static String kind(ModelPacket packet) {
    if (packet.fragment() != null) {
      return packet.isLaterFragment() ? "later fragment" : "first fragment";
    }
    if (packet.isError()) {
      return "ICMP error";
    }
    if (packet.isIcmp()) {
      return packet.isEcho() ? "echo" : "ICMP message";
    }
    return packet.protocol() == ModelPacket.TCP
        ? packet.tcpFlags() == ModelPacket.SYN
            ? "SYN"
            : (packet.tcpFlags() & ModelPacket.RST) != 0 ? "reset" : "segment"
        : "datagram";
  }

  private Talk newTalk() {
    final boolean isIpv4 = random.below(2) == 0;
    final ModelHost endpoint = node.endpoint(1 + random.below(ENDPOINTS), isIpv4);
    ModelHost other = node.someHost(random, isIpv4);
    while (other.equals(endpoint)) {
      other = node.someHost(random, isIpv4);
    }
    final boolean isOpener = random.below(2) == 0;
    final ModelHost opener = isOpener ? endpoint : other;
    final ModelHost acceptor = isOpener ? other : endpoint;
    return switch (random.below(8)) {
      case 0, 1 ->
          new Talk(
              new Conversation(
                  Subject.ECHO, opener, acceptor, icmp(isIpv4), 1000 + ++number % 60000, 0, false),
              opener,
              acceptor);
      case 2 ->
          new Talk(
              new Conversation(Subject.MESSAGES, opener, acceptor, icmp(isIpv4), 0, 0, false),
              opener,
              acceptor);
      default -> plainTalk(opener, acceptor);
    };
  }

  private Talk plainTalk(ModelHost opener, ModelHost acceptor) {
    final int protocol = PROTOCOLS[random.below(PROTOCOLS.length)];
    final Set<IpAddress> pair = Set.of(opener.address(), acceptor.address());
    final int next = protocol == 0 ? portless.merge(pair, 1, Integer::sum) : 0;
    if (protocol == 0 && FIRST_PORTLESS + next > LAST_PORTLESS) {
      return newTalk();
    }
    final Conversation conversation =
        protocol == 0
            ? new Conversation(Subject.PLAIN, opener, acceptor, FIRST_PORTLESS + next, 0, 0, false)
            : new Conversation(
                Subject.PLAIN,
                opener,
                acceptor,
                protocol,
                1000 + ++number % 60000,
                random.somePort(),
                random.below(3) == 0);
    return new Talk(conversation, opener, acceptor);
  }

  private static int icmp(boolean isIpv4) {
    return isIpv4 ? ModelPacket.ICMP : ModelPacket.ICMP6;
  }

  /** Returns a host that has no part in a conversation. */
  private ModelHost other(Talk talk) {
    final boolean isIpv4 = talk.opener.address().isIpv4();
    ModelHost other = node.someHost(random, isIpv4);
    while (other.equals(talk.opener) || other.equals(talk.acceptor)) {
      other = node.someHost(random, isIpv4);
    }
    return other;
  }
}
