package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.launcher.process.DifferentialClient.Asker;
import agent.launcher.process.DifferentialClient.Connection;
import agent.launcher.process.DifferentialClient.Response;
import agent.launcher.process.DifferentialClient.Target;
import agent.launcher.process.DifferentialFlow.Expected;
import agent.launcher.process.DifferentialFlow.Outcome;
import agent.launcher.process.DifferentialFlow.Way;
import agent.launcher.process.DifferentialModel.Party;
import agent.launcher.process.DifferentialModel.Request;
import agent.launcher.process.DifferentialRules.Rule;
import agent.testkit.KernelTest;
import agent.testkit.TestControlGroup;
import java.io.IOException;
import java.nio.channels.SelectableChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.xbill.DNS.Message;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import tools.jackson.databind.json.JsonMapper;

/**
 * Real flows of every way get the verdict of {@link DifferentialModel}, on random rules that
 * replace each other: between workloads, to and from the outside and the node, by services at the
 * socket and by packet, by NAT46, masqueraded, and through both proxies. Each set of rules is
 * applied without its rules of requests and names, too: what went through a proxy reaches the same
 * server then. Some flows go on under other rules in between, and obey them.
 *
 * <p>{@code -Ddifferential.sets} is the number of rule sets; {@code -Ddifferential.seed} repeats
 * one.
 */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentDifferentialKernelTest {
  private static final int SETS = Integer.getInteger("differential.sets", 30);
  private static final Long SEED = Long.getLong("differential.seed");
  private static final long FIXED_SEED = 20261128;
  private static final int FLOWS = 14;
  private static final int REQUESTS = 2;

  /** With fewer rule sets, what is rare may not happen. */
  private static final int ENOUGH_SETS = 200;

  /** What passes is answered in less than a fifth of it. */
  private static final int DROPPED_AFTER_MS = 15;

  private static final int MOST_SHOWN = 10;

  /** Flows that go on while the rules change. */
  private static final int MOST_KEPT = 4;

  private static final int CUT_MS = 40;

  /** The first source port of datagrams: each set of rules has one of its own. */
  private static final int SOURCE_PORT = 30_000;

  private static final int SOURCE_PORTS = 2000;

  private final JsonMapper json = new JsonMapper();
  private final Map<String, Integer> seen = new TreeMap<>();
  private final List<String> disagreements = new ArrayList<>();
  private final Map<String, Set<String>> names = new HashMap<>();
  private final List<Kept> kept = new ArrayList<>();
  private final Map<String, Integer> arriving = new TreeMap<>();
  private TestNode node;
  private TestControlGroup group;
  private DifferentialNetwork network;
  private DifferentialGenerator random;
  private String about;
  private int flows;
  private long specialFrames;
  private int sourcePort;

  /**
   * A flow that goes on while the rules change.
   *
   * @param client its {@link Connection} or {@link Asker}
   */
  private record Kept(DifferentialFlow flow, Outcome outcome, AutoCloseable client) {}

  /** An attempt that must have no answer. */
  private record Pending(SelectableChannel channel, String about) {}

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    group = TestControlGroup.create();
    network = DifferentialNetwork.start(node, group);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
    group.close();
  }

  @Test
  void shouldGiveEveryFlowTheVerdictOfTheModel() throws Exception {
    if (SEED != null) {
      compare(SEED, SETS);
    } else {
      final long seed = System.currentTimeMillis();
      compare(FIXED_SEED, SETS / 2);
      compare(seed, SETS - SETS / 2);
    }
    System.out.printf("differential: %d sets, %d flows, %s%n", SETS, flows, seen);
    final long dropped = network.droppedForAddresses();
    assertTrue(dropped >= specialFrames, dropped + " dropped of " + specialFrames);
    assertEquals(0, disagreements.size(), () -> String.join("\n", disagreements));
    if (SETS >= ENOUGH_SETS) {
      checkThatEverythingHappened();
    }
  }

  private void checkThatEverythingHappened() {
    for (final Way way : Way.values()) {
      for (final Outcome outcome : Outcome.values()) {
        final boolean isPossible =
            switch (way) {
              case SPECIAL -> outcome == Outcome.DROPPED;
              case PACKET, NAT46_SERVICE -> outcome != Outcome.JUDGED;
              default -> true;
            };
        final int count =
            seen.entrySet().stream()
                .filter(entry -> entry.getKey().startsWith(way + " " + outcome))
                .mapToInt(Map.Entry::getValue)
                .sum();
        assertEquals(isPossible, count > SETS / 100, () -> way + " " + outcome + " " + seen);
      }
    }
    for (final String kind :
        List.of(
            "DIRECT JUDGED TCP 403",
            "DIRECT JUDGED UDP answered",
            "DIRECT JUDGED UDP refused",
            "KEPT OPEN cut",
            "KEPT OPEN OPEN 200",
            "KEPT OPEN JUDGED answered",
            "KEPT OPEN JUDGED refused",
            "KEPT JUDGED cut",
            "KEPT JUDGED OPEN 200",
            "KEPT JUDGED JUDGED 200",
            "KEPT JUDGED JUDGED 403",
            "resolved ALLOWED",
            "resolved DENIED")) {
      assertTrue(seen.getOrDefault(kind, 0) > SETS / 100, seen::toString);
    }
  }

  private void compare(long first, int sets) throws Exception {
    System.out.printf("differential.seed=%d, %d sets%n", first, sets);
    for (int i = 0; i < sets && disagreements.size() < MOST_SHOWN; i++) {
      final long seed = first + i;
      random = new DifferentialGenerator(seed);
      if (random.below(2) == 0) {
        group.run(
            () -> {
              compare(seed, true);
              return null;
            });
      } else {
        compare(seed, false);
      }
    }
  }

  private void compare(long seed, boolean isAtSocket) throws Exception {
    sourcePort = SOURCE_PORT + (int) (seed % SOURCE_PORTS);
    final List<Rule> rules = random.rules();
    about =
        "-Ddifferential.seed=%d -Ddifferential.sets=1%nrules %s%n".formatted(seed, write(rules));
    network.agent().expect(200, "DELETE", "/fqdn/cache", null);
    names.clear();
    apply(rules);
    final List<Pending> dropped = new ArrayList<>();
    final List<DifferentialFlow> judged = new ArrayList<>();
    try {
      final DifferentialModel model = new DifferentialModel(rules, names, network.backends());
      for (int i = 0; i < FLOWS; i++) {
        final DifferentialFlow flow = DifferentialFlow.draw(random, network, isAtSocket);
        final Expected expected = flow.expected(network, model);
        if (!expected.ends().isEmpty() && random.below(4) == 0) {
          resolve(flow, expected);
        }
        if (open(flow, expected, dropped) && expected.outcome() == Outcome.JUDGED) {
          judged.add(flow);
        }
      }
      specialFrames += DifferentialSpecialFrames.send(network, random);
      checkDropped(dropped);
      goOn();
    } finally {
      for (final Pending pending : dropped) {
        pending.channel.close();
      }
      endKept();
    }
    if (!judged.isEmpty()) {
      repeatWithoutRequests(rules, judged);
    }
  }

  /** The API says of a connection what the programs do. */
  private void resolve(DifferentialFlow flow, Expected expected) throws IOException {
    final Party client = expected.ends().getFirst();
    final Party server = expected.ends().getLast();
    final String said = network.resolve(client, server, flow.isTcp(), expected.port());
    seen.merge("resolved " + said, 1, Integer::sum);
    expectEqual(expected.verdict().passes() ? "ALLOWED" : "DENIED", said, "resolution of " + flow);
  }

  private String write(List<Rule> rules) {
    return json.writeValueAsString(rules.stream().map(Rule::written).toList());
  }

  private void apply(List<Rule> rules) throws IOException {
    network.agent().expect(200, "PUT", "/policy?replace=true", write(rules));
    network.takeArrived();
    arriving.clear();
  }

  /** The flows that are kept obey other rules. */
  private void goOn() throws Exception {
    if (kept.isEmpty()) {
      return;
    }
    final List<Rule> rules = random.rules();
    about += "then " + write(rules) + "\n";
    apply(rules);
    final DifferentialModel model = new DifferentialModel(rules, names, network.backends());
    for (final Kept each : kept) {
      final Expected expected = each.flow.expected(network, model);
      final boolean isCut =
          expected.outcome() == Outcome.DROPPED
              || each.outcome == Outcome.OPEN
                  && expected.outcome() == Outcome.JUDGED
                  && each.flow.isTcp(); // a connection does not begin to pass a proxy
      final String kind = "KEPT " + each.outcome + " " + (isCut ? "cut" : expected.outcome());
      final String text = each.flow + " (" + kind + ")";
      if (isCut) {
        seen.merge(kind, 1, Integer::sum);
        expectCut(each.client, text);
      } else if (each.client instanceof final Connection connection) {
        request(connection, expected, kind, text);
      } else {
        ask((Asker) each.client, expected, kind, text);
      }
    }
    checkDropped(List.of());
  }

  private void expectCut(AutoCloseable client, String text) {
    try {
      final Object got =
          client instanceof final Connection connection
              ? connection.request(random.request(), CUT_MS)
              : ((Asker) client).ask(name(), random.below(2) == 0, CUT_MS).orElse(null);
      if (got != null) {
        disagree(text + ": response " + got);
      }
    } catch (IOException cut) {
      // It is reset, or what is sent in it is dropped.
    }
  }

  private String name() {
    return random.pick(DifferentialGenerator.NAMES);
  }

  /** Repeats flows that went through a proxy with rules that need none. */
  private void repeatWithoutRequests(List<Rule> rules, List<DifferentialFlow> judged)
      throws Exception {
    final List<Rule> open = rules.stream().map(Rule::withoutRequests).toList();
    about += "without rules of requests\n";
    apply(open);
    final DifferentialModel model = new DifferentialModel(open, names, network.backends());
    for (final DifferentialFlow flow : judged) {
      open(flow, flow.expected(network, model), new ArrayList<>());
    }
    endKept();
    checkDropped(List.of());
  }

  private void endKept() throws Exception {
    for (final Kept each : kept) {
      each.client.close();
    }
    kept.clear();
  }

  private void disagree(String text) {
    if (disagreements.size() < MOST_SHOWN) {
      disagreements.add(about + text);
    }
  }

  private void expectEqual(Object expected, Object actual, String text) {
    if (!expected.equals(actual)) {
      disagree(text + ": expected " + expected + ", but was " + actual);
    }
  }

  /** Opens a flow, and returns whether it was to pass. */
  private boolean open(DifferentialFlow flow, Expected expected, List<Pending> dropped)
      throws Exception {
    flows++;
    final Target target = target(flow, expected);
    final String kind =
        expected.way() + " " + expected.outcome() + (flow.isTcp() ? " TCP" : " UDP");
    final String text = flow + " (" + kind + ")";
    try {
      if (expected.outcome() == Outcome.DROPPED) {
        seen.merge(kind, 1, Integer::sum);
        dropped.add(
            new Pending(
                flow.isTcp()
                    ? DifferentialClient.begin(target)
                    : DifferentialClient.send(target, name(), random.below(2) == 0),
                text));
        return false;
      }
      final AutoCloseable client;
      if (flow.isTcp()) {
        final Optional<Connection> opened = DifferentialClient.connect(target);
        if (opened.isEmpty()) {
          disagree(text + ": not connected");
          return true;
        }
        client = opened.get();
        for (int i = 0; i < REQUESTS; i++) {
          request(opened.get(), expected, kind, text);
        }
      } else {
        client = DifferentialClient.asker(target);
        ask((Asker) client, expected, kind, text);
      }
      if (kept.size() < MOST_KEPT && random.below(2) == 0) {
        kept.add(new Kept(flow, expected.outcome(), client));
      } else {
        client.close();
      }
    } catch (IOException failure) {
      disagree(text + ": " + failure);
    }
    return true;
  }

  /**
   * Datagrams of a workload have one source port, by which it reaches up to eight servers through a
   * proxy; but not where another flow or socket may have their tuple.
   */
  private Target target(DifferentialFlow flow, Expected expected) {
    final boolean hasOwn =
        flow.isTcp()
            || !flow.client().isWorkload()
            || expected.way() != Way.DIRECT
            || expected.outcome() == Outcome.DROPPED
            || kept.stream().anyMatch(each -> each.flow.equals(flow));
    return new Target(
        flow.client().namespace(),
        flow.source(),
        hasOwn ? 0 : sourcePort,
        flow.target(),
        flow.port());
  }

  private void request(Connection connection, Expected expected, String kind, String text)
      throws IOException {
    final Request request = random.request();
    final Optional<Map<String, List<String>>> fields =
        expected.verdict() == null
            ? Optional.of(request.fields())
            : expected.verdict().request(request);
    final int status = fields.isPresent() ? 200 : 403;
    final String question = text + " " + request;
    seen.merge(kind + " " + status, 1, Integer::sum);
    if (fields.isPresent()) {
      arrives(expected);
    }
    try {
      final Response response = connection.request(request, DifferentialClient.ANSWER_MS);
      expectEqual(status, response.status(), question);
      if (fields.isPresent() && response.status() == 200) {
        expectEqual(expected.host().name(), response.line("Server"), question);
        if (expected.from() != null) {
          expectEqual(
              expected.from(), response.line("From").replaceAll("%.*", ""), question + " from");
        }
        checkFields(fields.get(), response, question);
      }
    } catch (IOException failure) {
      disagree(question + ": " + failure);
    }
  }

  private void checkFields(Map<String, List<String>> expected, Response response, String question) {
    for (final String name : List.of("X-Team", "X-Must", "X-Add", "X-Role", "X-Token", "X-Log")) {
      final List<String> wanted = new ArrayList<>(expected.getOrDefault(name, List.of()));
      final List<String> got = new ArrayList<>(response.lines().getOrDefault(name, List.of()));
      wanted.sort(null);
      got.sort(null);
      expectEqual(wanted, got, question + " " + name);
    }
  }

  private void arrives(Expected expected) {
    arriving.merge(expected.host().name() + " port " + expected.port(), 1, Integer::sum);
  }

  private void ask(Asker asker, Expected expected, String kind, String text) throws IOException {
    final String name = name();
    final boolean isIpv6 = random.below(2) == 0;
    final boolean isJudged = expected.outcome() == Outcome.JUDGED;
    final boolean isAllowed = !isJudged || expected.verdict().question(name);
    final String question = text + " " + name + (isIpv6 ? " AAAA" : " A");
    seen.merge(kind + (isAllowed ? " answered" : " refused"), 1, Integer::sum);
    final Optional<Message> answer = asker.ask(name, isIpv6, DifferentialClient.ANSWER_MS);
    if (isAllowed) {
      arrives(expected);
    }
    if (answer.isEmpty()) {
      disagree(question + ": no answer");
      return;
    }
    expectEqual(isAllowed ? Rcode.NOERROR : Rcode.REFUSED, answer.get().getRcode(), question);
    final Set<String> wanted =
        isAllowed ? new TreeSet<>(network.addresses(name, isIpv6)) : Set.of();
    final Set<String> got = new TreeSet<>();
    for (final Record each : answer.get().getSection(Section.ANSWER)) {
      got.add(DifferentialNetwork.literal(each.rdataToString()));
    }
    expectEqual(wanted, got, question);
    if (isJudged && isAllowed) {
      names.computeIfAbsent(name, first -> new HashSet<>()).addAll(got);
    }
  }

  /** No attempt has had an answer, and nothing has reached a server but what was to. */
  private void checkDropped(List<Pending> dropped) throws Exception {
    Thread.sleep(DROPPED_AFTER_MS);
    for (final Pending pending : dropped) {
      try {
        if (DifferentialClient.isAnswered(pending.channel)) {
          disagree(pending.about + ": answered");
        }
      } catch (IOException refused) {
        disagree(pending.about + ": " + refused);
      }
    }
    expectEqual(arriving, network.takeArrived(), "what has reached servers");
  }
}
