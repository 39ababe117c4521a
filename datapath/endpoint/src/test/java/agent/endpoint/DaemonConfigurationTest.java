package agent.endpoint;

import static agent.endpoint.EndpointRig.assertRefused;
import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyEntry;
import agent.endpoint.config.RuntimeOptions;
import agent.endpoint.config.RuntimeOptionsStore.ChangedValue;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.MutableOption;
import agent.policy.repository.PolicyState;
import agent.policy.resolve.EnforcementMode;
import agent.testkit.RecordedLog;
import agent.types.OperationException;
import agent.types.Refusal;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Changes of the daemon's configuration while it runs: on all endpoints, or on none. */
class DaemonConfigurationTest {
  private final FakeRig rig = new FakeRig();

  private void twoEndpoints() {
    rig.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    rig.create("2", Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client"));
  }

  private void change(Map<String, String> options, String enforcement) {
    rig.now(rig.conductor.configuration().change(options, enforcement));
  }

  private RuntimeOptions wanted() {
    return rig.conductor.configuration().wanted();
  }

  private RuntimeOptions realized() {
    return rig.conductor.configuration().realized();
  }

  private String debugOf(int id) {
    final var endpoint = rig.get(Integer.toString(id));
    final String value = endpoint.options().get("Debug");
    assertEquals(value, endpoint.realizedOptions().get("Debug"), "realized of " + id);
    assertEquals(
        EndpointOptions.defaults().with(endpoint.options()).bits(),
        rig.datapath.attached.get(id).options(),
        "in the datapath of " + id);
    return value;
  }

  @Test
  void shouldSetOptionsOnEveryPresentEndpointAndOnNewOnes() {
    twoEndpoints();
    rig.configure("2", Map.of("DropNotification", "Disabled"));
    change(Map.of("Debug", "enabled"), null);
    assertEquals("Enabled", debugOf(1));
    assertEquals("Enabled", debugOf(2));
    assertEquals("Disabled", rig.get("2").options().get("DropNotification"), "its own option");
    rig.create("3", Requests.on("lxc3").labels("app=new"));
    assertEquals("Enabled", debugOf(3));
    assertEquals("Enabled", wanted().toMap().get("Debug"));
    assertEquals(wanted(), realized());
    assertEquals("Disabled", wanted().toMap().get("PolicyTracing"));
  }

  @Test
  void shouldRefuseWhatIsUnknownOrNoValueAndChangeNothing() {
    twoEndpoints();
    rig.datapath.calls.clear();
    assertRefused(
        Refusal.Kind.INVALID, "options.Mtu", () -> change(Map.of("Mtu", "1400"), "always"));
    assertRefused(Refusal.Kind.INVALID, "options.Debug", () -> change(Map.of("Debug", "on"), null));
    assertRefused(
        Refusal.Kind.INVALID,
        "options.PolicyTracing",
        () -> change(Map.of("Debug", "Enabled", "PolicyTracing", "yes"), null));
    assertRefused(
        Refusal.Kind.INVALID,
        "policy-enforcement",
        () -> change(Map.of("Debug", "Enabled"), "sometimes"));
    assertEquals(List.of(), rig.datapath.calls);
    assertEquals(List.of(), rig.configuration.saved);
    assertEquals("Disabled", debugOf(1));
    assertEquals(EnforcementMode.DEFAULT, wanted().enforcement());
  }

  @Test
  void shouldUndoTheChangeOnAllEndpointsWhereOneCannotBeRegenerated() {
    twoEndpoints();
    rig.configure("1", Map.of("MonitorAggregationLevel", "Low"));
    rig.configure("2", Map.of("TraceNotification", "Disabled"));
    final var stored = List.copyOf(rig.store.load());
    final AtomicInteger failures = new AtomicInteger();
    rig.datapath.fails = call -> call.equals("attach 2") && failures.getAndIncrement() == 0;
    final OperationException failed =
        assertThrows(
            OperationException.class,
            () ->
                change(Map.of("Debug", "Enabled", "MonitorAggregationLevel", "Maximum"), "always"));
    assertEquals("endpoint 2: attach: the kernel refused", failed.getMessage());
    assertEquals("Disabled", debugOf(1));
    assertEquals("Disabled", debugOf(2));
    assertEquals("Low", rig.get("1").options().get("MonitorAggregationLevel"));
    assertEquals("None", rig.get("2").options().get("MonitorAggregationLevel"));
    assertEquals(EnforcementMode.DEFAULT, rig.conductor.policy().mode());
    assertEquals("Disabled", wanted().toMap().get("Debug"));
    assertEquals(wanted(), realized());
    assertEquals(List.of(), rig.configuration.saved);
    assertEquals(stored, rig.store.load());
    rig.create("3", Requests.on("lxc3").labels("app=new"));
    assertEquals("Disabled", debugOf(3));
  }

  @Test
  void shouldRefuseAChangeThatCannotBeStoredBeforeItTouchesTheDatapath() {
    twoEndpoints();
    rig.datapath.calls.clear();
    rig.configuration.fails = true;
    assertThrows(OperationException.class, () -> change(Map.of("Debug", "Enabled"), "always"));
    assertEquals(List.of(), rig.datapath.calls);
    assertEquals("Disabled", wanted().toMap().get("Debug"));
    assertEquals(EnforcementMode.DEFAULT, rig.conductor.policy().mode());
  }

  @Test
  void shouldNotWaitForAnEndpointThatCouldNotBeBuiltBefore() {
    twoEndpoints();
    rig.datapath.fails = call -> call.startsWith("apply 2") || call.equals("synchronize 2");
    rig.importRules(allowIngress("app=client", "app=web", 80));
    assertEquals(EndpointState.NOT_READY, rig.get("2").state());
    change(Map.of("TraceNotification", "Disabled"), null);
    assertEquals("Disabled", rig.get("1").realizedOptions().get("TraceNotification"));
    rig.datapath.fails = call -> false;
    rig.advance(Duration.ofSeconds(20));
    assertEquals(EndpointState.READY, rig.get("2").state());
    assertEquals("Disabled", rig.get("2").realizedOptions().get("TraceNotification"));
  }

  /** An endpoint whose deletion is queued before the change needs none. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldNotFailForAnEndpointThatIsDeletedBeforeItsTurn(boolean isFinished) {
    twoEndpoints();
    rig.datapath.holds = call -> call.equals("attach 2");
    final CompletableFuture<?> before =
        rig.conductor
            .endpoints()
            .configure(EndpointIdentifier.local(2), Map.of("DropNotification", "Disabled"), null);
    rig.run();
    assertFalse(before.isDone(), "the deletion follows it");
    rig.datapath.fails = call -> !isFinished && call.equals("detach 2");
    rig.conductor.endpoints().delete(EndpointIdentifier.local(2));
    rig.run();
    final CompletableFuture<Void> answer =
        rig.conductor.configuration().change(Map.of("TraceNotification", "Disabled"), null);
    rig.run();
    rig.datapath.holds = call -> false;
    rig.datapath.answerHeld();
    rig.now(answer);
    assertEquals("Disabled", wanted().toMap().get("TraceNotification"));
    assertEquals(wanted(), realized());
    assertEquals("Disabled", rig.get("1").realizedOptions().get("TraceNotification"));
    assertEquals(isFinished ? 1 : 2, rig.conductor.endpoints().list(List.of()).size());
  }

  @Test
  void shouldEnforcePolicyAsWantedAndKeepTheRevision() {
    twoEndpoints();
    rig.importRules(allowIngress("app=web", "app=client", 80));
    final long revision = rig.conductor.policy().get(List.of()).revision();
    final Set<PolicyEntry> before = Set.copyOf(rig.datapath.policies.get(2).values());
    assertTrue(before.stream().anyMatch(DaemonConfigurationTest::isAllowAll), "no rule: open");
    change(null, "always");
    assertFalse(
        rig.datapath.policies.get(2).values().stream()
            .anyMatch(DaemonConfigurationTest::isAllowAll),
        "closed in both directions");
    assertEquals("both", rig.get("2").realizedPolicy().enforcement().text());
    change(null, "never");
    assertEquals("none", rig.get("1").realizedPolicy().enforcement().text());
    assertEquals(EnforcementMode.NEVER, rig.conductor.policy().mode());
    change(null, "default");
    assertEquals(before, Set.copyOf(rig.datapath.policies.get(2).values()));
    assertEquals("ingress", rig.get("1").realizedPolicy().enforcement().text());
    assertEquals(revision, rig.conductor.policy().get(List.of()).revision());
  }

  private static boolean isAllowAll(PolicyEntry entry) {
    return entry.identity() == 0 && !entry.isDeny();
  }

  @Test
  void shouldKeepAChangeUntilTheDaemonIsStartedWithAnotherValue() {
    twoEndpoints();
    change(Map.of("Debug", "Enabled", "PolicyTracing", "Enabled"), "always");
    rig.restart();
    assertEquals("Enabled", wanted().toMap().get("Debug"));
    assertEquals("Enabled", wanted().toMap().get("PolicyTracing"));
    assertEquals(EnforcementMode.ALWAYS, wanted().enforcement());
    final RuntimeOptions plain = rig.startOptions;
    rig.startOptions =
        new RuntimeOptions(
            EndpointOptions.defaults().with(MutableOption.DEBUG, "Enabled"),
            false,
            EnforcementMode.NEVER);
    rig.restart();
    assertEquals(EnforcementMode.NEVER, wanted().enforcement());
    assertEquals(
        List.of(new ChangedValue("PolicyTracing", "Enabled", "Disabled")),
        rig.configuration.saved,
        "what the operator has taken back does not come back");
    rig.startOptions = plain;
    rig.restart();
    assertEquals("Disabled", wanted().toMap().get("Debug"));
    assertEquals(EnforcementMode.DEFAULT, wanted().enforcement());
    assertEquals("Enabled", wanted().toMap().get("PolicyTracing"));
    change(Map.of("PolicyTracing", "Disabled"), null);
    assertEquals(List.of(), rig.configuration.saved);
  }

  @Test
  void shouldLeaveOutAStoredValueThatThisReleaseDoesNotKnow() {
    rig.configuration.saved =
        List.of(
            new ChangedValue("Debug", "Loud", "Disabled"),
            new ChangedValue("Unheard", "Enabled", "Disabled"),
            new ChangedValue("DropNotification", "Disabled", "Enabled"));
    rig.restart();
    assertEquals("Disabled", wanted().toMap().get("Debug"));
    assertEquals("Disabled", wanted().toMap().get("DropNotification"));
    assertEquals(1, rig.configuration.saved.size());
  }

  @Test
  void shouldTakeTheStrictestValueForOneThatThisReleaseDoesNotKnow() {
    rig.configuration.saved =
        List.of(
            new ChangedValue("policy-enforcement", "mostly", "default"),
            new ChangedValue("SourceIPVerification", "Perhaps", "Enabled"),
            new ChangedValue("Debug", "Loud", "Disabled"));
    rig.restart();
    assertEquals(EnforcementMode.ALWAYS, wanted().enforcement());
    assertEquals("Enabled", wanted().toMap().get("SourceIPVerification"));
    assertEquals("Disabled", wanted().toMap().get("Debug"));
  }

  /** The file stays for the person who repairs it, until the next change replaces it. */
  @Test
  void shouldBeStrictWhereTheStoredChangesCannotBeRead() {
    rig.startOptions =
        new RuntimeOptions(
            rig.startOptions
                .endpoint()
                .with(Map.of("PolicyAuditMode", "Enabled", "SourceIPVerification", "Disabled")),
            false,
            EnforcementMode.NEVER);
    rig.configuration.saved = List.of(new ChangedValue("Debug", "Enabled", "Disabled"));
    rig.configuration.isUnreadable = true;
    rig.restart();
    assertEquals(EnforcementMode.ALWAYS, wanted().enforcement());
    assertEquals("Disabled", wanted().toMap().get("PolicyAuditMode"));
    assertEquals("Enabled", wanted().toMap().get("SourceIPVerification"));
    assertEquals("Disabled", wanted().toMap().get("Conntrack"));
    assertEquals("Disabled", wanted().toMap().get("Debug"));
    assertEquals(wanted(), realized());
    assertEquals(1, rig.configuration.saved.size());
    change(Map.of("DropNotification", "Disabled"), "default");
    rig.configuration.isUnreadable = false;
    rig.restart();
    assertEquals(EnforcementMode.DEFAULT, wanted().enforcement());
    assertEquals("Disabled", wanted().toMap().get("DropNotification"));
    assertEquals("Disabled", wanted().toMap().get("PolicyAuditMode"), "it is stored now");
  }

  /** Their connections go on; what they should have is not known. */
  @Test
  void shouldLeaveRestoredEndpointsTheirConntrackWhereTheStoredChangesCannotBeRead() {
    twoEndpoints();
    rig.configure("2", Map.of("Conntrack", "Disabled"));
    rig.keepsOptions = false;
    rig.configuration.isUnreadable = true;
    rig.restart();
    assertEquals("Enabled", rig.get("1").options().get("Conntrack"));
    assertEquals("Disabled", rig.get("2").options().get("Conntrack"));
  }

  @Test
  void shouldGiveRestoredEndpointsTheOptionsOfTheDaemonUnlessTheyAreKept() {
    twoEndpoints();
    rig.create(
        "3",
        Requests.on("lxc3")
            .labels("app=router")
            .wired(new DatapathConfiguration(true, null, null, null, null, null)));
    rig.configure("1", Map.of("Debug", "Enabled"));
    change(Map.of("TraceNotification", "Disabled"), null);
    rig.restart();
    assertEquals("Enabled", debugOf(1));
    rig.keepsOptions = false;
    rig.restart();
    assertEquals("Disabled", debugOf(1));
    assertEquals("Disabled", rig.get("1").options().get("TraceNotification"), "the daemon's");
    assertEquals("Disabled", rig.get("3").options().get("SourceIPVerification"), "its wiring");
    assertEquals("Enabled", rig.get("2").options().get("SourceIPVerification"));
    rig.keepsOptions = true;
    rig.restart();
    assertEquals("Disabled", debugOf(1), "the options of the last run are stored");
  }

  /** Each starts from what the one before has left, however long the disk takes. */
  @Test
  void shouldMakeChangesOneAfterAnother() {
    twoEndpoints();
    final Deque<Runnable> writes = new ArrayDeque<>();
    rig.storing = writes::add;
    final var first =
        rig.conductor.configuration().change(Map.of("PolicyTracing", "Enabled"), null);
    final var second = rig.conductor.configuration().change(null, "always");
    rig.run();
    assertEquals(1, writes.size());
    while (!writes.isEmpty()) {
      writes.poll().run();
      rig.run();
    }
    rig.now(first);
    rig.now(second);
    assertEquals("Enabled", wanted().toMap().get("PolicyTracing"));
    assertEquals(EnforcementMode.ALWAYS, wanted().enforcement());
    assertEquals(2, rig.configuration.saved.size());
  }

  @Test
  void shouldTraceNoPolicyAfterAChangeThatIsUndone() throws Exception {
    twoEndpoints();
    final AtomicInteger failures = new AtomicInteger();
    rig.datapath.fails = call -> call.equals("attach 2") && failures.getAndIncrement() == 0;
    assertThrows(
        OperationException.class,
        () -> change(Map.of("PolicyTracing", "Enabled", "DropNotification", "Disabled"), null));
    try (RecordedLog log = RecordedLog.of(Class.forName("agent.policy.resolve.DecisionTrace"))) {
      rig.importRules(allowIngress("app=web", "app=client", 80));
      assertEquals(List.of(), log.take());
      change(Map.of("PolicyTracing", "Enabled"), null);
      rig.importRules(allowIngress("app=web", "app=client", 81));
      assertFalse(log.take().isEmpty());
    }
  }

  @Test
  void shouldTracePolicyAfterARestartWhereThatIsEnabled() throws Exception {
    twoEndpoints();
    change(Map.of("PolicyTracing", "Enabled"), null);
    rig.restart();
    try (RecordedLog log = RecordedLog.of(Class.forName("agent.policy.resolve.DecisionTrace"))) {
      rig.importRules(allowIngress("app=web", "app=client", 80));
      assertFalse(log.take().isEmpty());
    }
  }

  /** That the change has ended is stored after the policy is enforced as wanted. */
  @Test
  void shouldEnforcePolicyAsBeforeWhereTheEndOfAChangeCannotBeStored() {
    twoEndpoints();
    rig.importRules(allowIngress("app=web", "app=client", 80));
    final Set<PolicyEntry> before = Set.copyOf(rig.datapath.policies.get(1).values());
    rig.store.onSaved = record -> rig.configuration.fails = true;
    assertThrows(OperationException.class, () -> change(Map.of("Debug", "Enabled"), "never"));
    assertEquals(EnforcementMode.DEFAULT, rig.conductor.policy().mode());
    assertEquals(before, Set.copyOf(rig.datapath.policies.get(1).values()));
  }

  /** The endpoints that keep the policy of the previous run could not be built. */
  @Test
  void shouldRefuseAChangeWhileTheStoredRulesCannotBeRead() {
    twoEndpoints();
    rig.rules.save(new PolicyState(0, List.of(), List.of()));
    rig.restart();
    rig.datapath.calls.clear();
    assertThrows(OperationException.class, () -> change(Map.of("Debug", "Enabled"), null));
    assertEquals(List.of(), rig.datapath.calls);
    assertEquals("Disabled", wanted().toMap().get("Debug"));
    assertEquals("Disabled", rig.get("1").options().get("Debug"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"enabled", "ENABLED"})
  void shouldTakeTheValueOfAnOptionInAnyCase(String value) {
    change(Map.of("PolicyTracing", value, "Debug", value), null);
    assertEquals("Enabled", wanted().toMap().get("PolicyTracing"));
    assertEquals("Enabled", wanted().toMap().get("Debug"));
  }
}
