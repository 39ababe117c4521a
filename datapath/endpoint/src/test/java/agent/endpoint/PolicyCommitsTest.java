package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static agent.endpoint.TestRules.allowIngressFromCidr;
import static agent.endpoint.TestRules.manyPorts;
import static agent.endpoint.TestRules.named;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointState;
import agent.maps.layout.PolicyDirection;
import agent.policy.PolicyChange;
import agent.policy.repository.CommittedRules;
import agent.policy.repository.PolicySnapshot;
import agent.policy.repository.PolicyState;
import agent.policy.repository.Replacement;
import agent.policy.spec.RuleSpec;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Changes of the rules that wait are stored and enforced together. */
class PolicyCommitsTest {
  private static final IpAddress CLIENT = IpAddress.parse("10.5.0.10");

  private static final int CHANGES_OF_ANOTHER = 5_000;

  /** So many operations on endpoints run at a time. */
  private static final int OPERATIONS = 8;

  private final FakeRig agent = new FakeRig();
  private final List<CompletableFuture<PolicySnapshot>> answers = new ArrayList<>();

  @BeforeEach
  void setUp() {
    agent.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4(CLIENT.toString()).labels("app=client"));
    agent.datapath.calls.clear();
  }

  private void change(RuleSpec rule) {
    answers.add(agent.importing(rule));
  }

  /** Adds a change that finds nothing that waits: what is added behind it is one group. */
  private void first(RuleSpec rule) {
    change(rule);
    agent.conductor.agent().doWork();
  }

  /** Adds a rule that replaces none. */
  private void add(RuleSpec rule) {
    final var none = Replacement.of(false, List.of());
    answers.add(agent.conductor.policy().change(PolicyChange.add(List.of(rule), none)));
  }

  /** Runs the conductor until every change has its answer. */
  private void answerAll() throws InterruptedException {
    final long deadlineNs = System.nanoTime() + 10_000_000_000L;
    while (!answers.stream().allMatch(CompletableFuture::isDone)) {
      agent.run();
      Thread.sleep(1); // a group waits a little for those that follow the one before
      assertTrue(System.nanoTime() < deadlineNs, "no answer");
    }
    agent.run();
  }

  private static RuleSpec rule(int number) {
    return named("r" + number, allowIngress("app=web", "app=client", 80 + number));
  }

  private boolean webLetsIn(int port) {
    return agent.datapath.allows(1, PolicyDirection.INGRESS, CLIENT, 6, port);
  }

  @Test
  void shouldEnforceWhatWaitsOnceAndAnswerEach() throws InterruptedException {
    final long before = agent.conductor.policy().get(List.of()).revision();
    first(rule(0));
    for (int i = 1; i < 9; i++) {
      change(rule(i));
    }
    answers.add(agent.conductor.policy().change(PolicyChange.delete(List.of("name=none"))));
    answerAll();
    for (int i = 0; i < 9; i++) {
      assertEquals(before + i + 1, answers.get(i).join().revision(), "change " + i);
      assertEquals(i + 1, answers.get(i).join().rules().size());
      assertTrue(webLetsIn(80 + i));
    }
    final CompletionException refused =
        assertThrows(CompletionException.class, answers.getLast()::join);
    assertEquals(Refusal.Kind.NOT_FOUND, ((Refusal) refused.getCause()).kind());
    assertEquals(List.of("apply 1 +1 -1", "apply 1 +8 -0"), agent.datapath.calls);
    assertEquals(before + 9, agent.get("1").realizedPolicy().revision());
    change(rule(20));
    answerAll();
    assertTrue(webLetsIn(100));
  }

  @Test
  void shouldFailOnlyTheChangeThatTheKernelRefuses() throws InterruptedException {
    agent.datapath.fails = call -> call.startsWith("ipcache +") && call.contains("198.51.100.0/24");
    change(rule(0));
    change(rule(1));
    change(named("bad", allowIngressFromCidr("app=web", "198.51.100.0/24", 80)));
    change(rule(2));
    change(named("good", allowIngressFromCidr("app=web", "203.0.113.0/24", 80)));
    answerAll();
    final CompletionException failed =
        assertThrows(CompletionException.class, answers.get(2)::join);
    assertTrue(failed.getCause() instanceof OperationException, failed::toString);
    assertTrue(failed.getMessage().endsWith("; the rules are as before"), failed::toString);
    for (final int i : new int[] {0, 1, 3, 4}) {
      answers.get(i).join();
    }
    assertTrue(webLetsIn(80) && webLetsIn(81) && webLetsIn(82));
    assertTrue(
        agent.datapath.allows(1, PolicyDirection.INGRESS, IpAddress.parse("203.0.113.7"), 6, 80));
    final List<String> names =
        agent.conductor.policy().get(List.of()).rules().stream()
            .map(rule -> rule.labels().getFirst().value())
            .toList();
    assertEquals(List.of("r0", "r1", "r2", "good"), names);
    agent.datapath.fails = call -> false;
    agent.restart();
    assertEquals(4, agent.conductor.policy().get(List.of()).rules().size());
    assertFalse(
        agent.datapath.allows(1, PolicyDirection.INGRESS, IpAddress.parse("198.51.100.7"), 6, 80));
  }

  /** What waits behind a commit is no command of the thread, which is not woken for it. */
  @Test
  void shouldExecuteNoCommandForAChangeBehindACommit() throws InterruptedException {
    first(rule(0));
    for (int i = 1; i < 10; i++) {
      change(rule(i));
    }
    assertEquals(1, agent.conductor.agent().doWork(), "the next step of the commit");
    answerAll();
    assertEquals(List.of("apply 1 +1 -1", "apply 1 +9 -0"), agent.datapath.calls);
  }

  /** A change that comes while a commit ends is not forgotten. */
  @Test
  void shouldAnswerEachChangeOfAnotherThread() throws Exception {
    final AtomicBoolean isOver = new AtomicBoolean();
    final Thread conductor =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!isOver.get()) {
                    agent.conductor.agent().doWork();
                  }
                });
    try {
      for (int i = 0; i < CHANGES_OF_ANOTHER; i++) {
        final var none = Replacement.of(false, List.of());
        final var added = PolicyChange.add(List.of(rule(i % 2)), none);
        agent.conductor.policy().change(added).get(60, TimeUnit.SECONDS);
      }
    } finally {
      isOver.set(true);
      conductor.join();
    }
  }

  /** One that is refused, taken back or changes nothing is none. */
  @Test
  void shouldTellEachCommitThatIsInForceOnce() throws InterruptedException {
    final long before = agent.conductor.policy().get(List.of()).revision();
    first(rule(0));
    change(rule(1));
    change(rule(2));
    answerAll();
    change(rule(2)); // says the same
    answers.add(agent.conductor.policy().change(PolicyChange.delete(List.of("name=none"))));
    answers.add(agent.conductor.policy().change(PolicyChange.delete(List.of("name=r1"))));
    answerAll();
    agent.datapath.fails = call -> call.startsWith("ipcache +");
    change(named("bad", allowIngressFromCidr("app=web", "198.51.100.0/24", 80)));
    answerAll();
    assertThrows(CompletionException.class, answers.getLast()::join);
    assertEquals(
        List.of(
            new CommittedRules(before + 1, 1, 1, 0, Set.of("unspec:name=r0")),
            new CommittedRules(before + 3, 3, 2, 0, Set.of("unspec:name=r1", "unspec:name=r2")),
            new CommittedRules(before + 4, 2, 0, 1, Set.of("unspec:name=r1"))),
        agent.committed);
  }

  @Test
  void shouldCommitAtMost256ChangesTogether() throws InterruptedException {
    first(rule(0));
    for (int i = 1; i < 300; i++) {
      change(rule(i));
    }
    answerAll();
    assertEquals(
        List.of("apply 1 +1 -1", "apply 1 +256 -0", "apply 1 +43 -0"), agent.datapath.calls);
  }

  /** What cannot be enforced together is committed in parts, of which one can fail alone. */
  @Test
  void shouldAnswerEachPartOfAGroupForItself() throws InterruptedException {
    agent.create("4", Requests.on("lxc4").labels("group=g", "n=1"));
    agent.create("5", Requests.on("lxc5").labels("group=g", "n=2"));
    agent.datapath.fails = call -> call.startsWith("ipcache +") && call.contains("198.51.100.0/24");
    first(rule(0));
    change(named("bad", allowIngressFromCidr("app=web", "198.51.100.0/24", 80)));
    change(rule(1));
    change(named("large", manyPorts("app=web", "group=g")));
    change(rule(2));
    answerAll();
    assertEquals(1, answers.get(0).join().rules().size());
    for (final int i : new int[] {1, 2}) {
      final String message = answers.get(i).exceptionNow().getMessage();
      assertTrue(message.endsWith("stays: newer revisions depend on it"), message);
    }
    assertTrue(answers.get(3).exceptionNow() instanceof Refusal);
    assertEquals(4, answers.get(4).join().rules().size());
    assertTrue(webLetsIn(80) && webLetsIn(81) && webLetsIn(82));
  }

  @Test
  void shouldRefuseEachOfAGroupWhileTheStoredRulesCannotBeRead() throws InterruptedException {
    agent.importRules(rule(0));
    agent.rules.save(new PolicyState(0, List.of(), List.of()));
    agent.restart();
    add(rule(1));
    add(rule(2));
    answers.add(agent.conductor.policy().change(PolicyChange.delete(List.of())));
    change(rule(3));
    answerAll();
    assertTrue(answers.get(0).isCompletedExceptionally());
    assertTrue(answers.get(1).isCompletedExceptionally());
    assertEquals(0, answers.get(2).join().rules().size());
    assertEquals(1, answers.get(3).join().rules().size());
  }

  @Test
  void shouldAnswerTheChangeThatGivesTheStoredRulesUpWhenAllAreBuilt() throws InterruptedException {
    agent.rules.save(new PolicyState(0, List.of(), List.of()));
    agent.restart();
    final List<EndpointState> states = new ArrayList<>();
    answers.add(agent.conductor.policy().change(PolicyChange.delete(List.of())));
    answers
        .getFirst()
        .thenRun(
            () ->
                agent
                    .conductor
                    .endpoints()
                    .list(List.of())
                    .forEach(one -> states.add(one.state())));
    answerAll();
    assertEquals(List.of(EndpointState.READY, EndpointState.READY), states);
  }

  @Test
  void shouldRefuseAChangeThatTheConductorCannotTakeAndCommitTheNext() throws Exception {
    agent.fillQueue();
    change(rule(0));
    final Refusal refusal = (Refusal) answers.getFirst().exceptionNow();
    assertEquals(Refusal.Kind.UNAVAILABLE, refusal.kind());
    agent.run();
    change(rule(1));
    answerAll();
    assertFalse(webLetsIn(80));
    assertTrue(webLetsIn(81));
  }

  /** Who has the answer finds its own change among the events. */
  @Test
  void shouldTellACommitBeforeItsChangesAreAnswered() throws InterruptedException {
    final List<CommittedRules> committed = new ArrayList<>();
    change(rule(0));
    answers.getFirst().thenRun(() -> committed.addAll(agent.committed));
    answerAll();
    assertEquals(1, committed.size());
  }

  /** Its build waits for its deletion, which waits for a place among the operations. */
  @Test
  void shouldGiveTheStoredRulesUpWhereAnEndpointIsDeletedBeforeItsBuild() throws Exception {
    agent.rules.save(new PolicyState(0, List.of(), List.of()));
    agent.restart();
    agent.datapath.holds = call -> call.startsWith("close");
    for (int i = 3; i < 3 + OPERATIONS; i++) {
      agent.node.hasDevice("wl" + i, 200 + i);
      final var request = Requests.on("wl" + i).labels("app=new").later().build();
      agent.conductor.endpoints().create(EndpointIdentifier.local(i), request);
    }
    agent.run();
    final CompletableFuture<List<String>> deleted =
        agent.conductor.endpoints().delete(EndpointIdentifier.local(2));
    answers.add(agent.conductor.policy().change(PolicyChange.delete(List.of())));
    agent.run();
    assertFalse(deleted.isDone());
    agent.datapath.holds = call -> false;
    agent.datapath.answerHeld();
    answerAll();
    assertEquals(List.of(), agent.now(deleted));
    assertEquals(0, answers.getFirst().join().rules().size());
  }
}
