package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.config.RuntimeOptions;
import agent.endpoint.config.RuntimeOptionsStore.ChangedValue;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.MutableOption;
import agent.policy.resolve.EnforcementMode;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * A change of the options of all endpoints that ends with the agent, at each write to the disk:
 * what was answered is there after the restart, and what was not is on all endpoints or on none.
 */
class InterruptedOptionsTest {
  private static final String LEVEL = "MonitorAggregationLevel";
  private static final String VERIFICATION = "SourceIPVerification";
  private static final int ENDPOINTS = 6;

  /** The endpoint with a value of its own before the change. */
  private static final int OWN = 2;

  /** The endpoint whose regeneration fails in some tests. */
  private static final int FAILING = 5;

  private FakeRig rig;
  private int writesLeft;

  private void createEndpoints() {
    rig = new FakeRig();
    for (int i = 1; i <= ENDPOINTS; i++) {
      rig.create(Integer.toString(i), Requests.on("lxc" + i).labels("app=web"));
    }
    rig.configure(Integer.toString(OWN), Map.of(LEVEL, "Low"));
  }

  /** Makes the agent die with the write to the disk that follows so many others. */
  private void dieAfter(int writes) {
    writesLeft = writes;
    rig.storing =
        write -> {
          if (writesLeft-- > 0) {
            write.run();
          }
        };
  }

  private void failOnce(String failing) {
    final boolean[] hasFailed = {false};
    rig.datapath.fails =
        call -> {
          final boolean fails = !hasFailed[0] && call.equals(failing);
          hasFailed[0] |= fails;
          return fails;
        };
  }

  private boolean isAlive() {
    return writesLeft >= 0;
  }

  /** Starts the next run, which has the whole disk. */
  private void restart() {
    forgetDatapathRules();
    rig.storing = Runnable::run;
    rig.restart();
  }

  private void forgetDatapathRules() {
    rig.datapath.holds = call -> false;
    rig.datapath.fails = call -> false;
  }

  private CompletableFuture<Void> setOnAll(String option, String value) {
    return rig.conductor.configuration().change(Map.of(option, value), null);
  }

  private CompletableFuture<EndpointSnapshot> configuring(int id, String option, String value) {
    return rig.conductor
        .endpoints()
        .configure(EndpointIdentifier.local(id), Map.of(option, value), null);
  }

  /** Returns the value by endpoint, which is the one in force; 0 is that of new endpoints. */
  private Map<Integer, String> values(String option) {
    final Map<Integer, String> values = new TreeMap<>();
    values.put(0, rig.conductor.configuration().wanted().toMap().get(option));
    for (final EndpointSnapshot endpoint : rig.conductor.endpoints().list(List.of())) {
      final String value = endpoint.options().get(option);
      assertEquals(value, endpoint.realizedOptions().get(option), "of " + endpoint.id());
      values.put(endpoint.id(), value);
    }
    return values;
  }

  private static Map<Integer, String> all(String value, int endpoints) {
    final Map<Integer, String> values = new TreeMap<>();
    for (int id = 0; id <= endpoints; id++) {
      values.put(id, value);
    }
    return values;
  }

  private static Map<Integer, String> with(Map<Integer, String> values, int id, String value) {
    final Map<Integer, String> changed = new TreeMap<>(values);
    changed.put(id, value);
    return changed;
  }

  private static Map<Integer, String> former() {
    return with(all("None", ENDPOINTS), OWN, "Low");
  }

  private void assertNothingIsBeingSet() {
    assertTrue(
        rig.configuration.saved.stream().noneMatch(ChangedValue::isBeingSet),
        rig.configuration.saved::toString);
  }

  private static void assertOneOf(
      List<Map<Integer, String>> expected, Map<Integer, String> found, String when) {
    assertTrue(expected.contains(found), () -> when + ": " + found);
  }

  @Test
  void shouldHaveTheChangeOnAllEndpointsOrOnNoneWhereverTheAgentDies() {
    final List<Map<Integer, String>> ends = new ArrayList<>();
    boolean lives = false;
    for (int writes = 0; !lives; writes++) {
      createEndpoints();
      dieAfter(writes);
      final CompletableFuture<Void> set = setOnAll(LEVEL, "Maximum");
      rig.run();
      lives = isAlive();
      assertEquals(lives, set.isDone());
      restart();
      ends.add(values(LEVEL));
      assertNothingIsBeingSet();
      rig.restart();
      assertEquals(ends.getLast(), values(LEVEL), "after one more restart");
    }
    assertEquals(ENDPOINTS + 3, ends.size(), "each endpoint, and the configuration twice");
    assertEquals(former(), ends.getFirst());
    for (int writes = 1; writes < ends.size(); writes++) {
      assertEquals(all("Maximum", ENDPOINTS), ends.get(writes), "after " + writes + " writes");
    }
  }

  /** The run that ends what the one before has begun dies, too. */
  @Test
  void shouldGoOnAfterASecondDeathDuringTheRestart() {
    for (int writes = 1; writes <= ENDPOINTS + 1; writes++) {
      boolean lives = false;
      for (int further = 0; !lives; further++) {
        createEndpoints();
        dieAfter(writes);
        setOnAll(LEVEL, "Maximum");
        rig.run();
        dieAfter(further);
        rig.beginRestart();
        rig.run();
        lives = isAlive();
        restart();
        assertEquals(
            all("Maximum", ENDPOINTS), values(LEVEL), "after " + writes + " and " + further);
        assertNothingIsBeingSet();
      }
    }
  }

  @Test
  void shouldUndoAFailedChangeOrHaveItOnAllEndpointsWhereverTheAgentDies() {
    boolean lives = false;
    int undone = 0;
    for (int writes = 0; !lives; writes++) {
      createEndpoints();
      failOnce("attach " + FAILING);
      dieAfter(writes);
      final CompletableFuture<Void> set = setOnAll(LEVEL, "Maximum");
      rig.run();
      lives = isAlive();
      assertEquals(lives, set.isCompletedExceptionally());
      restart();
      final Map<Integer, String> end = values(LEVEL);
      assertOneOf(List.of(former(), all("Maximum", ENDPOINTS)), end, "after " + writes + " writes");
      undone += end.equals(former()) ? 1 : 0;
      assertNothingIsBeingSet();
    }
    assertEquals(former(), values(LEVEL), "what was answered");
    assertEquals(2, undone, "before the first write and after the last one");
  }

  /** It is stored when its build succeeds; the answer does not wait for that. */
  @Test
  void shouldKeepTheAnsweredChangeOfAnEndpointThatCannotBeBuilt() {
    createEndpoints();
    rig.datapath.fails =
        call -> call.startsWith("apply " + FAILING) || call.equals("synchronize " + FAILING);
    rig.importRules(allowIngress("app=web", "app=client", 80));
    assertEquals(EndpointState.NOT_READY, rig.get(Integer.toString(FAILING)).state());
    rig.now(setOnAll(LEVEL, "Maximum"));
    assertEquals(EndpointState.NOT_READY, rig.get(Integer.toString(FAILING)).state());
    restart();
    assertEquals(all("Maximum", ENDPOINTS), values(LEVEL));
  }

  @Test
  void shouldKeepAnEndpointsOwnChangeThatFollowsWhereverTheAgentDies() {
    boolean lives = false;
    for (int writes = 0; !lives; writes++) {
      createEndpoints();
      rig.datapath.holds = call -> call.equals("attach " + ENDPOINTS);
      dieAfter(writes);
      final CompletableFuture<Void> set = setOnAll(LEVEL, "Maximum");
      rig.run();
      final CompletableFuture<EndpointSnapshot> own = configuring(1, LEVEL, "Medium");
      rig.run();
      assertFalse(own.isDone() && !set.isDone(), "it follows the change of all");
      rig.datapath.holds = call -> false;
      rig.datapath.answerHeld();
      rig.run();
      lives = isAlive();
      assertEquals(lives, own.isDone());
      restart();
      final Map<Integer, String> both = with(all("Maximum", ENDPOINTS), 1, "Medium");
      assertOneOf(
          set.isDone()
              ? List.of(all("Maximum", ENDPOINTS), both)
              : List.of(former(), all("Maximum", ENDPOINTS)),
          values(LEVEL),
          "after " + writes + " writes");
    }
    assertEquals("Medium", values(LEVEL).get(1), "what was answered");
  }

  /** The request that came first stays, though it ran after the change began. */
  @Test
  void shouldNotUndoAnEndpointsOwnChangeThatWaitedForItsTurn() {
    createEndpoints();
    rig.datapath.holds = call -> call.equals("attach 1");
    final CompletableFuture<EndpointSnapshot> first =
        configuring(1, "DropNotification", "Disabled");
    final CompletableFuture<EndpointSnapshot> second = configuring(1, LEVEL, "Medium");
    failOnce("attach " + ENDPOINTS);
    final CompletableFuture<Void> set = setOnAll(LEVEL, "Maximum");
    rig.run();
    assertFalse(first.isDone() || second.isDone());
    rig.datapath.holds = call -> false;
    rig.datapath.answerHeld();
    rig.now(first);
    rig.now(second);
    assertThrows(OperationException.class, () -> rig.now(set));
    assertEquals(with(former(), 1, "Medium"), values(LEVEL));
  }

  @Test
  void shouldHaveTheChangeOnAnEndpointThatIsCreatedMeanwhileWhereverTheAgentDies() {
    boolean lives = false;
    for (int writes = 0; !lives; writes++) {
      createEndpoints();
      rig.delete(Integer.toString(ENDPOINTS));
      rig.datapath.holds = call -> call.equals("attach 1");
      dieAfter(writes);
      final CompletableFuture<Void> set = setOnAll(LEVEL, "Maximum");
      rig.run();
      final CompletableFuture<EndpointSnapshot> created =
          rig.conductor
              .endpoints()
              .create(
                  EndpointIdentifier.local(ENDPOINTS),
                  Requests.on("lxc" + ENDPOINTS).labels("app=new").build());
      rig.run();
      rig.datapath.holds = call -> false;
      rig.datapath.answerHeld();
      rig.run();
      lives = isAlive();
      restart();
      final int present = rig.conductor.endpoints().list(List.of()).size();
      assertTrue(present == ENDPOINTS || !created.isDone(), "what was answered is there");
      final Map<Integer, String> none = with(all("None", present), OWN, "Low");
      assertOneOf(
          set.isDone() ? List.of(all("Maximum", present)) : List.of(none, all("Maximum", present)),
          values(LEVEL),
          "after " + writes + " writes");
    }
  }

  /** Its wiring asks for what a new endpoint of this wiring has. */
  @Test
  void shouldLeaveAnEndpointThatIsCreatedMeanwhileWhatItsWiringAsksFor() {
    createEndpoints();
    rig.now(setOnAll(VERIFICATION, "Disabled"));
    rig.delete(Integer.toString(ENDPOINTS));
    rig.datapath.holds = call -> call.equals("attach 1");
    final CompletableFuture<Void> set = setOnAll(VERIFICATION, "Enabled");
    rig.run();
    rig.create(
        Integer.toString(ENDPOINTS),
        Requests.on("lxc" + ENDPOINTS)
            .labels("app=router")
            .wired(new DatapathConfiguration(true, null, null, null, null, null)));
    assertFalse(set.isDone());
    restart();
    assertEquals(with(all("Enabled", ENDPOINTS), ENDPOINTS, "Disabled"), values(VERIFICATION));
  }

  /** One with the same number is another endpoint: it has the former defaults of its wiring. */
  @Test
  void shouldUndoTheChangeOnEndpointsThatWereReplacedOrAddedMeanwhile() {
    createEndpoints();
    rig.configure("1", Map.of(VERIFICATION, "Disabled"));
    rig.configure("3", Map.of(VERIFICATION, "Disabled"));
    rig.datapath.holds = call -> call.equals("attach 4");
    rig.datapath.fails = call -> call.equals("attach " + ENDPOINTS);
    final CompletableFuture<Void> set =
        rig.conductor
            .configuration()
            .change(Map.of(VERIFICATION, "Enabled", LEVEL, "Maximum"), null);
    rig.run();
    for (final String id : List.of("1", "2")) {
      rig.delete(id);
    }
    rig.create("1", Requests.on("lxc1").labels("app=web"));
    rig.create(
        "2",
        Requests.on("lxc2")
            .labels("app=router")
            .wired(new DatapathConfiguration(true, null, null, null, null, null)));
    final int added = ENDPOINTS + 1;
    rig.create(Integer.toString(added), Requests.on("lxc" + added).labels("app=web"));
    assertEquals("Maximum", rig.get(Integer.toString(added)).options().get(LEVEL));
    rig.datapath.holds = call -> false;
    rig.datapath.answerHeld();
    assertThrows(OperationException.class, () -> rig.now(set));
    assertEquals(
        with(with(all("Enabled", added), 2, "Disabled"), 3, "Disabled"),
        wantedValues(VERIFICATION));
    assertEquals(all("None", added), wantedValues(LEVEL));
  }

  private Map<Integer, String> wantedValues(String option) {
    final Map<Integer, String> values = new LinkedHashMap<>();
    values.put(0, rig.conductor.configuration().wanted().toMap().get(option));
    rig.conductor
        .endpoints()
        .list(List.of())
        .forEach(endpoint -> values.put(endpoint.id(), endpoint.options().get(option)));
    return values;
  }

  /** It could not be stored that all endpoints have it: an own change would be lost. */
  @Test
  void shouldRefuseAnEndpointsOwnChangeUntilTheStoreHasThatNothingIsBeingSet() {
    createEndpoints();
    rig.datapath.holds = call -> call.equals("attach " + ENDPOINTS);
    final CompletableFuture<Void> set = setOnAll(LEVEL, "Maximum");
    rig.run();
    rig.configuration.fails = true;
    rig.datapath.holds = call -> false;
    rig.datapath.answerHeld();
    assertEquals(
        "no space left on device; it remains stored for the next start: no space left on device",
        assertThrows(OperationException.class, () -> rig.now(set)).getMessage());
    assertEquals(former(), values(LEVEL));
    assertThrows(OperationException.class, () -> rig.now(configuring(1, LEVEL, "Medium")));
    rig.now(configuring(1, "Debug", "Enabled"));
    rig.configuration.fails = false;
    rig.now(configuring(1, LEVEL, "Medium"));
    restart();
    assertEquals(with(former(), 1, "Medium"), values(LEVEL));
    assertEquals("Enabled", rig.get("1").options().get("Debug"));
  }

  /** Who starts the agent with another value means that one, on all endpoints. */
  @Test
  void shouldSetTheStartOptionsOnAllEndpointsWhereTheyReplaceWhatWasBeingSet() {
    createEndpoints();
    rig.datapath.holds = call -> call.equals("attach " + FAILING);
    setOnAll(LEVEL, "Maximum");
    rig.run();
    rig.startOptions =
        new RuntimeOptions(
            EndpointOptions.defaults().with(MutableOption.MONITOR_AGGREGATION_LEVEL, "Medium"),
            false,
            EnforcementMode.DEFAULT);
    restart();
    assertEquals(all("Medium", ENDPOINTS), values(LEVEL));
    assertEquals(List.of(), rig.configuration.saved);
  }

  /** The former value is that of the start options, which the store does not name otherwise. */
  @Test
  void shouldGoOnWithAChangeBackToTheStartOptions() {
    createEndpoints();
    rig.now(setOnAll(LEVEL, "Maximum"));
    rig.datapath.holds = call -> call.equals("attach " + FAILING);
    setOnAll(LEVEL, "None");
    rig.run();
    restart();
    assertEquals(all("None", ENDPOINTS), values(LEVEL));
    assertEquals(List.of(), rig.configuration.saved);
  }

  /** The second one is not stored before the first has ended. */
  @Test
  void shouldGoOnWithTheFirstOfTwoChanges() {
    createEndpoints();
    rig.datapath.holds = call -> call.equals("attach " + FAILING);
    final CompletableFuture<Void> first = setOnAll(LEVEL, "Maximum");
    final CompletableFuture<Void> second = setOnAll(LEVEL, "Medium");
    rig.run();
    assertFalse(first.isDone() || second.isDone());
    restart();
    assertEquals(all("Maximum", ENDPOINTS), values(LEVEL));
  }

  /** Its wiring asks for a value of its own, which the next run would replace otherwise. */
  @Test
  void shouldKeepTheWiringOfAnEndpointThatFollowsAChangeOfAll() {
    createEndpoints();
    rig.datapath.holds = call -> call.equals("attach " + ENDPOINTS);
    final CompletableFuture<Void> set = setOnAll(VERIFICATION, "Disabled");
    rig.run();
    final CompletableFuture<EndpointSnapshot> own =
        rig.conductor
            .endpoints()
            .modify(
                EndpointIdentifier.local(1),
                Requests.request()
                    .state("ready")
                    .wired(new DatapathConfiguration(false, null, null, null, null, null))
                    .later()
                    .build());
    rig.run();
    assertFalse(own.isDone(), "it follows the change of all");
    rig.datapath.holds = call -> false;
    rig.datapath.answerHeld();
    rig.now(set);
    rig.now(own);
    restart();
    assertEquals(with(all("Disabled", ENDPOINTS), 1, "Enabled"), values(VERIFICATION));
  }

  @Test
  void shouldLeaveOutAnOptionThatWasBeingSetAndThatThisReleaseDoesNotKnow() {
    createEndpoints();
    rig.configuration.saved = List.of(new ChangedValue("Unheard", "Enabled", "Disabled", true));
    restart();
    assertEquals(EndpointState.READY, rig.get("1").state());
    assertEquals(former(), values(LEVEL));
    assertEquals(List.of(), rig.configuration.saved);
  }
}
