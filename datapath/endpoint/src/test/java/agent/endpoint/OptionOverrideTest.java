package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ConductorAgent;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A change of the options of all endpoints lets changes of single endpoints pass. Counted are the
 * steps and commands of the conductor, not the time.
 */
class OptionOverrideTest {
  private static final int ENDPOINTS = 200;

  /** So many of them change at a time. */
  private static final int MOST_AT_A_TIME = 4;

  /** So many are looked at in one step. */
  private static final int MOST_IN_A_STEP = 8;

  private final FakeRig agent = new FakeRig();
  private String dropNotification = "Enabled";

  @BeforeEach
  void createEndpoints() {
    for (int i = 1; i <= ENDPOINTS; i++) {
      agent.node.hasDevice("wl" + i, 200 + i);
      agent.create(Integer.toString(i), Requests.on("wl" + i).labels("app=web"));
    }
    agent.datapath.calls.clear();
  }

  private CompletableFuture<Void> setOnAll(String option, String value) {
    return agent.conductor.configuration().change(Map.of(option, value), null);
  }

  private CompletableFuture<EndpointSnapshot> toggling(int id) {
    dropNotification = dropNotification.equals("Enabled") ? "Disabled" : "Enabled";
    return agent
        .conductor
        .endpoints()
        .configure(
            EndpointIdentifier.local(id), Map.of("DropNotification", dropNotification), null);
  }

  /** Changes an option of the last endpoint; returns how many steps that took. */
  private long stepsToToggle() {
    final ConductorAgent conductor = agent.conductor.agent();
    final long before = conductor.executed();
    final CompletableFuture<EndpointSnapshot> toggled = toggling(ENDPOINTS);
    while (!toggled.isDone()) {
      assertTrue(conductor.doWork() > 0, "the conductor has no work before the answer");
    }
    toggled.join();
    return conductor.executed() - before;
  }

  private List<String> with(String option, String value) {
    return agent.conductor.endpoints().list(List.of()).stream()
        .filter(endpoint -> value.equals(endpoint.realizedOptions().get(option)))
        .filter(endpoint -> value.equals(endpoint.options().get(option)))
        .map(endpoint -> Integer.toString(endpoint.id()))
        .toList();
  }

  private long attachments() {
    return agent.datapath.calls.stream().filter(call -> call.startsWith("attach")).count();
  }

  @Test
  void shouldLetAChangeOfOneEndpointPassWithinTheStepsOfAFewOthers() {
    stepsToToggle();
    final long alone = stepsToToggle();
    final CompletableFuture<Void> set = setOnAll("TraceNotification", "Disabled");
    final List<Long> steps = new ArrayList<>();
    while (!set.isDone()) {
      steps.add(stepsToToggle());
    }
    set.join();
    assertTrue(steps.size() >= 10, steps.size() + " changes meanwhile");
    for (final long one : steps) {
      assertTrue(one <= 2 * (MOST_AT_A_TIME + 1) * alone, () -> alone + " alone, then " + steps);
    }
    assertEquals(ENDPOINTS, with("TraceNotification", "Disabled").size());
  }

  @Test
  void shouldChangeAFewEndpointsAtATimeAndAnswerAfterTheLast() {
    agent.datapath.holds =
        call -> call.startsWith("attach ") && !call.equals("attach " + ENDPOINTS);
    final CompletableFuture<Void> set = setOnAll("TraceNotification", "Disabled");
    agent.run();
    assertEquals(MOST_AT_A_TIME, attachments());
    assertTrue(agent.now(toggling(ENDPOINTS)).id() == ENDPOINTS, "it waits for none of them");
    for (int ended = MOST_AT_A_TIME; ended < ENDPOINTS; ended += MOST_AT_A_TIME) {
      assertFalse(set.isDone());
      assertTrue(agent.datapath.answerHeld() <= MOST_AT_A_TIME);
      agent.run();
    }
    agent.datapath.answerHeld();
    agent.now(set);
    assertEquals(ENDPOINTS, with("TraceNotification", "Disabled").size());
  }

  @Test
  void shouldBeginTheNextChangeAfterTheLastEndpointOfTheOneBefore() {
    agent.datapath.holds = call -> call.equals("attach " + ENDPOINTS);
    final CompletableFuture<Void> first = setOnAll("TraceNotification", "Disabled");
    final CompletableFuture<Void> second = setOnAll("TraceNotification", "Enabled");
    agent.run();
    assertEquals(ENDPOINTS, attachments(), "of the first alone");
    assertFalse(first.isDone());
    agent.datapath.holds = call -> false;
    agent.datapath.answerHeld();
    agent.now(first);
    agent.now(second);
    assertEquals(2 * ENDPOINTS, attachments());
    assertEquals(ENDPOINTS, with("TraceNotification", "Enabled").size());
  }

  @Test
  void shouldPassOverAnEndpointThatIsDeletedBeforeItsTurn() {
    agent.datapath.holds = call -> call.startsWith("attach ");
    final CompletableFuture<Void> set = setOnAll("TraceNotification", "Disabled");
    agent.run();
    agent.now(agent.conductor.endpoints().delete(EndpointIdentifier.local(ENDPOINTS / 2)));
    assertFalse(set.isDone());
    agent.datapath.holds = call -> false;
    agent.datapath.answerHeld();
    agent.now(set);
    assertEquals(ENDPOINTS - 1, with("TraceNotification", "Disabled").size());
  }

  /** Passes over all of them twice: to set the options, and to store what is not stored. */
  @Test
  void shouldPassOverAFewEndpointsInAStepThatHaveTheOptions() {
    agent.now(setOnAll("TraceNotification", "Disabled"));
    agent.datapath.calls.clear();
    final CompletableFuture<Void> again = setOnAll("TraceNotification", "Disabled");
    int cycles = 0;
    while (!again.isDone()) {
      agent.conductor.agent().doWork();
      cycles++;
    }
    again.join();
    assertEquals(0, attachments());
    assertTrue(cycles >= 2 * ENDPOINTS / MOST_IN_A_STEP, cycles + " cycles");
  }

  @Test
  void shouldUndoTheChangeOnTheOtherEndpointsWhereItFailsForOne() {
    final List<String> failing = new ArrayList<>(List.of("attach 20", "attach 2"));
    agent.datapath.fails =
        call -> call.equals(failing.isEmpty() ? "" : failing.getFirst()) && failing.remove(call);
    final String failure =
        assertThrows(
                OperationException.class,
                () -> agent.now(setOnAll("TraceNotification", "Disabled")))
            .getMessage();
    assertEquals(
        "endpoint 20: attach: the kernel refused; rollback incomplete: endpoint 2: attach: the"
            + " kernel refused",
        failure);
    assertEquals(List.of("2"), with("TraceNotification", "Disabled"));
    assertEquals(ENDPOINTS - 1, with("TraceNotification", "Enabled").size());
  }

  /** It was given the options before the change, and does not exist yet when that begins. */
  @Test
  void shouldSetTheOptionsOnAnEndpointThatIsBeingStored() {
    final List<Runnable> writes = new ArrayList<>();
    agent.storing = writes::add;
    final CompletableFuture<EndpointSnapshot> created =
        agent
            .conductor
            .endpoints()
            .create(EndpointIdentifier.local(ENDPOINTS + 1), Requests.on("lxc1").later().build());
    agent.run();
    final CompletableFuture<Void> set = setOnAll("TraceNotification", "Disabled");
    agent.run();
    assertEquals(2, writes.size(), "of the endpoint and of the configuration");
    agent.storing = Runnable::run;
    writes.getLast().run();
    agent.run();
    assertFalse(set.isDone());
    writes.getFirst().run();
    agent.now(created);
    agent.now(set);
    assertEquals(ENDPOINTS + 1, with("TraceNotification", "Disabled").size());
  }

  @Test
  void shouldChangeNoMoreEndpointsAfterAFailureAndUndoThoseThatWereChanged() {
    agent.now(
        agent
            .conductor
            .endpoints()
            .configure(EndpointIdentifier.local(1), Map.of("TraceNotification", "Disabled"), null));
    agent.datapath.calls.clear();
    final int failing = 20;
    final boolean[] hasFailed = {false};
    agent.datapath.fails =
        call -> {
          final boolean fails = !hasFailed[0] && call.equals("attach " + failing);
          hasFailed[0] |= fails;
          return fails;
        };
    final CompletableFuture<Void> set = setOnAll("TraceNotification", "Disabled");
    assertEquals(
        "endpoint " + failing + ": attach: the kernel refused",
        assertThrows(OperationException.class, () -> agent.now(set)).getMessage());
    assertEquals(List.of("1"), with("TraceNotification", "Disabled"), "its own");
    assertEquals(ENDPOINTS - 1, with("TraceNotification", "Enabled").size());
    final long most = 2 * (failing + MOST_AT_A_TIME) + 2;
    assertTrue(attachments() <= most, attachments() + " attachments, at most " + most);
    assertEquals(List.of(), agent.configuration.saved);
  }
}
