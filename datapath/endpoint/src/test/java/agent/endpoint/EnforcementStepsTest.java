package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ConductorAgent;
import agent.datapath.spec.PolicyEntry;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.policy.repository.PolicySnapshot;
import agent.policy.resolve.EnforcementMode;
import agent.policy.spec.RuleSpec;
import agent.types.OperationException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * A change of when policy is enforced resolves one endpoint after the other, and lets other
 * requests pass. Counted are the steps and commands of the conductor, not the time.
 */
class EnforcementStepsTest {
  private static final int ENDPOINTS = 200;

  private final FakeRig agent = new FakeRig();
  private int resolved;

  private void createEndpoints(int count) {
    for (int i = 1; i <= count; i++) {
      agent.node.hasDevice("wl" + i, 200 + i);
      agent.create(Integer.toString(i), Requests.on("wl" + i).labels("app=web"));
    }
    agent.resolving =
        work -> {
          resolved++;
          work.run();
        };
  }

  private CompletableFuture<Void> enforcing(String mode) {
    return agent.conductor.configuration().change(null, mode);
  }

  /** Returns the endpoints that let all pass, in the kernel and as it is shown. */
  private List<Integer> open() {
    return agent.conductor.endpoints().list(List.of()).stream()
        .filter(endpoint -> endpoint.realizedPolicy().enforcement().text().equals("none"))
        .map(EndpointSnapshot::id)
        .filter(
            id ->
                agent.datapath.policies.get(id).values().stream()
                    .anyMatch(EnforcementStepsTest::isAllowAll))
        .toList();
  }

  private static boolean isAllowAll(PolicyEntry entry) {
    return entry.identity() == 0 && !entry.isDeny();
  }

  @Test
  void shouldResolveAtMostOneEndpointInAStepAndExecuteCommandsBetweenThem() {
    createEndpoints(ENDPOINTS);
    final ConductorAgent conductor = agent.conductor.agent();
    final CompletableFuture<Void> set = enforcing("always");
    int cycles = 0;
    while (!set.isDone()) {
      final long stepped = conductor.executed() - resolved;
      final CompletableFuture<Void> command = conductor.run(() -> {});
      final int before = resolved;
      conductor.doWork();
      assertTrue(command.isDone(), "it waits for no step");
      assertTrue(resolved - before <= 2, () -> resolved - before + " endpoints in one cycle");
      assertTrue(conductor.executed() - resolved > stepped, "more endpoints than steps");
      cycles++;
    }
    set.join();
    assertEquals(ENDPOINTS, resolved, "each of them once");
    assertTrue(cycles > ENDPOINTS, cycles + " cycles");
    assertEquals(List.of(), open());
  }

  /** Changes an option of the last endpoint; returns how many steps that took. */
  private long stepsToToggle() {
    return agent.stepsToToggle(
        ENDPOINTS,
        () ->
            assertTrue(
                agent.conductor.agent().doWork() > 0,
                "the conductor has no work before the answer"));
  }

  /** Each of its own steps and commands waits for one step at most. */
  @Test
  void shouldLetAChangeOfOneEndpointPass() {
    createEndpoints(ENDPOINTS);
    stepsToToggle();
    final long alone = stepsToToggle();
    final CompletableFuture<Void> set = enforcing("always");
    final List<Long> steps = new ArrayList<>();
    while (!set.isDone()) {
      steps.add(stepsToToggle() - alone);
    }
    set.join();
    assertTrue(steps.size() >= 5, steps.size() + " changes meanwhile");
    for (final long more : steps) {
      assertTrue(more <= alone, () -> alone + " alone, then so many more: " + steps);
    }
    assertEquals(List.of(), open());
  }

  @Test
  void shouldEnforceAsBeforeUntilEachEndpointIsResolvedAndAnswerAfterwards() {
    createEndpoints(3);
    final Deque<Runnable> waiting = new ArrayDeque<>();
    agent.resolving = waiting::add;
    final CompletableFuture<Void> set = enforcing("always");
    agent.run();
    for (int i = 1; i <= 3; i++) {
      assertEquals(1, waiting.size(), "one after the other");
      assertEquals(EnforcementMode.DEFAULT, agent.policy.mode());
      assertEquals(List.of(1, 2, 3), open());
      assertFalse(set.isDone());
      waiting.poll().run();
      agent.run();
    }
    agent.now(set);
    assertEquals(EnforcementMode.ALWAYS, agent.policy.mode());
    assertEquals(List.of(), open());
  }

  /** What is asked for meanwhile sees the rules and endpoints after it, in its order. */
  @Test
  void shouldMakeOtherChangesOfThePolicyAfterwards() {
    createEndpoints(3);
    final Deque<Runnable> waiting = new ArrayDeque<>();
    agent.resolving = waiting::add;
    final CompletableFuture<Void> set = enforcing("always");
    agent.run();
    final CompletableFuture<List<String>> deleted =
        agent.conductor.endpoints().delete(EndpointIdentifier.local(2));
    final CompletableFuture<EndpointSnapshot> created =
        agent
            .conductor
            .endpoints()
            .create(EndpointIdentifier.local(4), Requests.on("lxc4").labels("app=new").build());
    final CompletableFuture<PolicySnapshot> imported =
        agent.importing(allowIngress("app=web", "app=new", 80));
    agent.run();
    assertFalse(deleted.isDone() || created.isDone() || imported.isDone());
    while (!waiting.isEmpty()) {
      waiting.poll().run();
      agent.run();
    }
    agent.now(set);
    agent.now(deleted);
    agent.now(created);
    agent.now(imported);
    assertEquals(3, agent.conductor.endpoints().list(List.of()).size());
    assertEquals(List.of(), open());
    assertEquals("both", agent.get("4").realizedPolicy().enforcement().text());
  }

  /** While policy is not enforced, its map needs no entries of these rules. */
  private void createEndpointsOfWhichTheThirdWouldOverflow() {
    agent.mapCapacity = 16;
    agent.restart();
    createEndpoints(2);
    agent.create("3", Requests.on("lxc3").labels("app=narrow"));
    agent.now(enforcing("never"));
    final RuleSpec[] many = new RuleSpec[20];
    for (int i = 0; i < many.length; i++) {
      many[i] = allowIngress("app=narrow", "app=web", 80 + 2 * i);
    }
    agent.importRules(many);
  }

  @Test
  void shouldChangeNothingWhereTheMapOfOneEndpointWouldOverflow() {
    createEndpointsOfWhichTheThirdWouldOverflow();
    final List<Integer> all = open();
    assertEquals(List.of(1, 2, 3), all);
    final String refusal =
        assertThrows(OperationException.class, () -> agent.now(enforcing("default"))).getMessage();
    assertTrue(refusal.startsWith("policy: endpoint 3 requires"), refusal);
    assertEquals(EnforcementMode.NEVER, agent.policy.mode());
    assertEquals(EnforcementMode.NEVER, agent.conductor.configuration().wanted().enforcement());
    assertEquals(all, open());
    agent.deleteRules();
    agent.now(enforcing("always"));
    assertEquals(List.of(), open());
  }

  @Test
  void shouldMakeTheChangesThatWaitForACommitThatFails() {
    createEndpointsOfWhichTheThirdWouldOverflow();
    final Deque<Runnable> waiting = new ArrayDeque<>();
    agent.resolving = waiting::add;
    final CompletableFuture<Void> set = enforcing("default");
    agent.run();
    final CompletableFuture<List<String>> deleted =
        agent.conductor.endpoints().delete(EndpointIdentifier.local(2));
    agent.run();
    assertFalse(set.isDone() || deleted.isDone());
    while (!waiting.isEmpty()) {
      waiting.poll().run();
      agent.run();
    }
    assertThrows(OperationException.class, () -> agent.now(set));
    assertEquals(List.of(), agent.now(deleted));
  }
}
