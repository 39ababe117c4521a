package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ConductorAgent;
import agent.endpoint.request.AddressingRequest;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.policy.repository.PolicySnapshot;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * An update of the policy of many endpoints, each with an identity of its own, is realized in steps
 * of a few, and asks for all maps at once. Counted are the steps and commands of the conductor, not
 * the time.
 */
class UpdateStepsTest {
  private static final int ENDPOINTS = 1_000;

  /** The rule is for none of these two. */
  private static final int OTHER = ENDPOINTS + 1;

  private static final int LATER = ENDPOINTS + 2;

  /** So many endpoints change their states in one step. */
  private static final int MOST_IN_A_STEP = 64;

  private static final int STEPS_FOR_ALL = ENDPOINTS / MOST_IN_A_STEP;

  /** So many steps without a change of a state pass over all of them at least. */
  private static final int LIGHT_STEPS_FOR_ALL = ENDPOINTS / 256;

  /** So many steps are between two passes, however few endpoints there are. */
  private static final int STEPS_BETWEEN = 2;

  private final FakeRig agent = new FakeRig();
  private final ConductorAgent conductor = agent.conductor.agent();
  private int asked;

  @BeforeEach
  void createEndpoints() {
    for (int i = 1; i <= ENDPOINTS; i++) {
      create(i, "app=web", "number=" + i);
    }
    create(OTHER, "app=other");
    agent.datapath.calls.clear();
    agent.published.clear();
    agent.datapath.holds =
        call -> {
          asked += call.equals("applied") ? 1 : 0;
          return false;
        };
  }

  private void create(int id, String... labels) {
    agent.now(creating(id, labels));
  }

  private CompletableFuture<EndpointSnapshot> creating(int id, String... labels) {
    agent.node.hasDevice("wl" + id, 200 + id);
    final AddressingRequest addressing =
        new AddressingRequest(
            null, null, null, "f00d::5:0:" + Integer.toHexString(256 + id), null, null);
    return agent
        .conductor
        .endpoints()
        .create(
            EndpointIdentifier.local(id),
            Requests.on("wl" + id).addressing(addressing).labels(labels).build());
  }

  private CompletableFuture<PolicySnapshot> importing() {
    return agent.importing(allowIngress("app=web", "app=other", 80));
  }

  /** Runs a step; returns how many snapshots it has published. */
  private int step() {
    final int before = agent.published.size();
    assertTrue(conductor.doWork() > 0, "the conductor has no work before the answer");
    return agent.published.size() - before;
  }

  /** Returns the number of steps to the first snapshot. */
  private int stepsToRealize() {
    int steps = 0;
    final int snapshots = agent.published.size();
    while (agent.published.size() == snapshots) {
      step();
      steps++;
    }
    return steps;
  }

  /** Returns the number of steps to the answer, each of which publishes few snapshots. */
  private int stepsToEnd(CompletableFuture<?> imported) {
    int steps = 0;
    while (!imported.isDone()) {
      final int published = step();
      assertTrue(published <= MOST_IN_A_STEP, () -> published + " snapshots in one step");
      steps++;
    }
    imported.join();
    return steps;
  }

  private long revision(int id) {
    return agent.get(Integer.toString(id)).realizedPolicy().revision();
  }

  @Test
  void shouldLookAtFewEndpointsInAStepAndAskForAllAtOnce() {
    final long former = agent.policy.requests().revision();
    final CompletableFuture<PolicySnapshot> imported = importing();
    int begun = 0;
    while (agent.published.size() < 2 * ENDPOINTS) {
      final int published = step();
      assertTrue(published <= 2 * MOST_IN_A_STEP, () -> published + " snapshots in one step");
      begun += published > 0 ? 1 : 0;
    }
    int prepared = 0;
    while (asked == 0) {
      assertEquals(List.of(), agent.datapath.calls);
      assertEquals(former, agent.policy.requests().revision(), "requests are judged as maps are");
      assertEquals(0, step());
      prepared++;
    }
    assertEquals(1, asked);
    assertEquals(ENDPOINTS, agent.datapath.calls.size(), "all of them in one call");
    assertEquals(former + 1, agent.policy.requests().revision(), "requests are judged as maps are");
    final int realized = stepsToRealize();
    final int ended = stepsToEnd(imported);
    assertTrue(begun >= STEPS_FOR_ALL, begun + " steps of beginning");
    assertTrue(prepared >= STEPS_BETWEEN + LIGHT_STEPS_FOR_ALL, prepared + " steps of preparing");
    assertTrue(realized >= STEPS_BETWEEN + LIGHT_STEPS_FOR_ALL, realized + " steps of realizing");
    assertTrue(ended >= STEPS_FOR_ALL, ended + " steps of ending");
    assertEquals(1, asked);
    for (int id = 1; id <= OTHER; id++) {
      assertEquals(former + 1, revision(id));
      assertEquals(EndpointState.READY, agent.get(Integer.toString(id)).state());
    }
  }

  @Test
  void shouldTakeTheRefusalsOfAFewMapsInAStep() {
    agent.datapath.fails = call -> call.startsWith("apply");
    final CompletableFuture<PolicySnapshot> imported = importing();
    while (asked == 0) {
      step();
    }
    final int realized = stepsToRealize();
    final int ended = stepsToEnd(imported);
    assertTrue(
        realized >= STEPS_BETWEEN + 2 * LIGHT_STEPS_FOR_ALL, realized + " steps of two passes");
    assertTrue(ended >= STEPS_FOR_ALL, ended + " steps of ending");
    assertEquals(EndpointState.NOT_READY, agent.get(Integer.toString(ENDPOINTS)).state());
    assertEquals(EndpointState.READY, agent.get(Integer.toString(OTHER)).state());
  }

  /** Changes an option of an endpoint that the rule is not for; returns the number of steps. */
  private long stepsToToggle() {
    return agent.stepsToToggle(OTHER, this::step);
  }

  /** Each of its own steps and commands waits for one step at most. */
  @Test
  void shouldLetAChangeOfAnotherEndpointPass() {
    stepsToToggle();
    final long alone = stepsToToggle();
    final CompletableFuture<PolicySnapshot> imported = importing();
    while (agent.published.isEmpty()
        || agent.published.getLast().state() != EndpointState.REGENERATING) {
      step(); // until the rules are resolved
    }
    final List<Long> steps = new ArrayList<>();
    while (!imported.isDone()) {
      steps.add(stepsToToggle() - alone);
    }
    imported.join();
    assertTrue(steps.size() >= 10, steps.size() + " changes meanwhile");
    for (final long more : steps) {
      assertTrue(more <= alone, () -> alone + " alone, then so many more: " + steps);
    }
  }

  /** The update is not about them, so they come and go between its steps. */
  @Test
  void shouldPassOverEndpointsThatAreRemovedOrCreatedBetweenTwoSteps() {
    agent.store.fails = true;
    assertFalse(agent.now(deleting(OTHER)).isEmpty(), "its removal is not complete");
    agent.store.fails = false;
    final Predicate<String> counting = agent.datapath.holds;
    agent.datapath.holds = call -> counting.test(call) || call.equals("forget " + OTHER);
    final CompletableFuture<List<String>> removed = deleting(OTHER);
    agent.run(); // the policy does not know it any more
    assertFalse(removed.isDone());
    agent.published.clear();
    asked = 0;
    final CompletableFuture<PolicySnapshot> imported = importing();
    while (asked == 0) {
      step();
    }
    final CompletableFuture<EndpointSnapshot> created = creating(LATER, "app=other");
    while (agent.published.getLast().state() != EndpointState.READY) {
      step(); // until the last pass over all endpoints has begun
    }
    agent.datapath.answerHeld();
    while (!removed.isDone()) {
      step();
    }
    assertFalse(imported.isDone());
    final int gone = agent.published.size();
    agent.now(imported);
    agent.now(created);
    assertEquals(List.of(), removed.join());
    final Set<Integer> later = new HashSet<>();
    agent.published.subList(gone, agent.published.size()).forEach(one -> later.add(one.id()));
    assertFalse(later.contains(OTHER), "it is gone");
    assertEquals(ENDPOINTS + 1, agent.conductor.endpoints().list(List.of()).size());
    assertEquals(revision(1), revision(ENDPOINTS));
    assertEquals(revision(1), revision(LATER));
    assertEquals(EndpointState.READY, agent.get(Integer.toString(LATER)).state());
  }

  /** Its removal waits for the update that names it, wherever its steps are. */
  @Test
  void shouldRemoveAnEndpointOfTheUpdateAfterItsLastStep() {
    final CompletableFuture<PolicySnapshot> imported = importing();
    while (agent.published.size() < ENDPOINTS) {
      step();
    }
    final CompletableFuture<List<String>> first = deleting(1); // begun already
    final CompletableFuture<List<String>> last = deleting(ENDPOINTS);
    while (!imported.isDone()) {
      assertFalse(first.isDone() || last.isDone());
      step();
    }
    assertEquals(EndpointState.READY, agent.get("1").state());
    assertEquals(List.of(), agent.now(first));
    assertEquals(List.of(), agent.now(last));
    imported.join();
    assertEquals(ENDPOINTS - 1, agent.conductor.endpoints().list(List.of()).size());
    assertEquals(revision(OTHER), revision(2));
  }

  private CompletableFuture<List<String>> deleting(int id) {
    return agent.conductor.endpoints().delete(EndpointIdentifier.local(id));
  }
}
