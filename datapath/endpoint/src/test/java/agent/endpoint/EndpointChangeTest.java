package agent.endpoint;

import static agent.endpoint.EndpointRig.assertFailed;
import static agent.endpoint.EndpointRig.assertRefused;
import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointLabels;
import agent.endpoint.state.EndpointLog.LogEntry;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.PolicyEnforcement;
import agent.identity.DelayedIdentityAllocator;
import agent.identity.ReservedIdentity;
import agent.maps.layout.PolicyDirection;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Refusal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class EndpointChangeTest {
  private static final IpAddress WEB = IpAddress.parse("10.5.0.9");
  private static final IpAddress CLIENT = IpAddress.parse("10.5.0.10");

  private static final String OTHER_MAC = "02:00:00:00:00:bb";

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void setUp() {
    agent.create("1", Requests.on("lxc1").ipv4(WEB.toString()).labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4(CLIENT.toString()).labels("app=client"));
  }

  private boolean clientReachesWeb() {
    return agent.datapath.allows(1, PolicyDirection.INGRESS, CLIENT, 6, 80);
  }

  @Test
  void shouldChangeIdentityAndPolicyWithTheLabels() {
    agent.importRules(allowIngress("app=web", "role=friend", 80));
    assertFalse(clientReachesWeb());
    final int before = agent.get("2").identity().id();
    final EndpointSnapshot after = agent.relabel("2", "role=friend");
    assertNotEquals(before, after.identity().id());
    assertEquals(
        List.of("unspec:app=client", "unspec:role=friend"), after.labels().securityRelevant());
    assertTrue(clientReachesWeb());
    assertTrue(agent.identities.find(before).isEmpty());
    assertEquals(after.identity().id(), agent.datapath.identities.get(2));
    agent.relabel("2");
    assertFalse(clientReachesWeb());
  }

  @Test
  void shouldNeverDropWhatIsAllowedBeforeAndAfterALabelChange() {
    agent.importRules(allowIngress("app=web", "app=client", 80));
    assertTrue(clientReachesWeb());
    agent.datapath.aroundWrites = () -> assertTrue(clientReachesWeb());
    agent.relabel("2", "version=2");
    agent.relabel("2", "version=3");
  }

  @Test
  void shouldApplyThePolicyOfItsNewLabelsToTheEndpointItself() {
    agent.importRules(allowIngress("app=db", "app=nobody", 80));
    assertTrue(clientReachesWeb());
    final EndpointSnapshot after = agent.relabel("1", "app=db");
    assertEquals(PolicyEnforcement.INGRESS, after.realizedPolicy().enforcement());
    assertFalse(clientReachesWeb());
  }

  @Test
  void shouldOverrideTheDerivedLabelByTheUserLabel() {
    final EndpointLabels labels = agent.relabel("1", "app=db", "k8s:zone=a").labels();
    assertEquals(List.of("unspec:app=web"), labels.derived());
    assertEquals(List.of("unspec:app=web"), labels.disabled());
    assertEquals(List.of("k8s:zone=a", "unspec:app=db"), labels.user());
    assertEquals(List.of("k8s:zone=a", "unspec:app=db"), labels.securityRelevant());
  }

  @Test
  void shouldNotDisableADerivedLabelThatAUserLabelEquals() {
    final EndpointLabels labels = agent.relabel("1", "app=web").labels();
    assertEquals(List.of(), labels.disabled());
    assertEquals(List.of("unspec:app=web"), labels.user());
    assertEquals(List.of("unspec:app=web"), labels.securityRelevant());
  }

  @Test
  void shouldKeepTheIdentityWhereTheLabelsThatCountAreTheSame() {
    final int identity = agent.get("1").identity().id();
    final EndpointSnapshot after = agent.relabel("1", "pod-template-hash=5f7");
    assertEquals(identity, after.identity().id());
    assertEquals(EndpointState.READY, after.state());
    assertEquals(
        List.of(EndpointState.READY, EndpointState.WAITING_FOR_IDENTITY),
        after.log().stream().limit(2).map(LogEntry::state).toList());
  }

  @Test
  void shouldShareTheIdentityOfTheSameLabels() {
    agent.create("3", Requests.on("lxc3").labels("app=web"));
    assertEquals(agent.get("1").identity(), agent.get("3").identity());
    assertEquals(2, agent.identities.inUse().getFirst().refCount());
    agent.delete("1");
    assertEquals(1, agent.identities.inUse().getFirst().refCount());
  }

  @Test
  void shouldBeInitWithoutLabels() {
    assertEquals(5, agent.create("3", Requests.on("lxc3")).identity().id());
    assertEquals(
        List.of(3),
        agent.conductor.endpoints().list(List.of("reserved:init")).stream()
            .map(EndpointSnapshot::id)
            .toList());
  }

  @Test
  void shouldStoreLabelsBeforeItAnswers() {
    agent.store.fails = true;
    assertFailed(() -> agent.relabel("2", "role=friend"));
    assertEquals(List.of(), agent.get("2").labels().user());
    assertEquals(2, agent.identities.inUse().size());
    agent.store.fails = false;
    agent.relabel("2", "role=friend");
    assertEquals(List.of("unspec:role=friend"), agent.store.load().get(1).labels().user());
  }

  @Test
  void shouldRegenerateWithItsOptions() {
    agent.datapath.calls.clear();
    final EndpointSnapshot after =
        agent.configure(
            "1", Map.of("PolicyAuditMode", "enabled", "MonitorAggregationLevel", "Low"));
    assertEquals("Enabled", after.options().get("PolicyAuditMode"));
    assertEquals(after.options(), after.realizedOptions());
    assertEquals(1, agent.datapath.attached.get(1).aggregation());
    assertEquals(32, agent.datapath.attached.get(1).options() & 32);
    assertEquals(List.of("attach 1"), agent.datapath.calls);
    assertEquals(EndpointState.READY, after.state());
  }

  @Test
  void shouldChangeNoOptionWhereOneIsWrong() {
    final Map<String, String> before = agent.get("1").options();
    assertRefused(
        Refusal.Kind.INVALID,
        "options.Nonsense",
        () -> agent.configure("1", Map.of("Debug", "Enabled", "Nonsense", "Enabled")));
    assertRefused(
        Refusal.Kind.INVALID,
        "options.Debug",
        () -> agent.configure("1", Map.of("PolicyAuditMode", "Enabled", "Debug", "maybe")));
    assertRefused(
        Refusal.Kind.INVALID,
        "options.MonitorAggregationLevel",
        () -> agent.configure("1", Map.of("MonitorAggregationLevel", "Enabled")));
    assertEquals(before, agent.get("1").options());
  }

  @Test
  void shouldKeepThePreviousProgramsWhereNewOnesCannotBeBuilt() {
    agent.datapath.fails = call -> call.startsWith("attach");
    changeMacLater();
    final EndpointSnapshot after = agent.get("1");
    assertEquals(EndpointState.NOT_READY, after.state());
    assertEquals(HealthLevel.WARNING, after.health().overall());
    assertTrue(after.health().connected());
    assertEquals(OTHER_MAC, after.networking().mac().toString());
    assertEquals("02:00:00:00:00:aa", agent.datapath.attached.get(1).mac().toString());
    assertEquals("endpoint 1: attach: the kernel refused", after.error());
  }

  /** Requests a change whose answer does not wait for the build. */
  private void changeMacLater() {
    agent.modify("1", Requests.request().state("ready").mac(OTHER_MAC).later());
    agent.run();
  }

  @Test
  void shouldUndoAChangeOfOptionsThatCannotBeBuilt() {
    agent.datapath.fails = call -> call.startsWith("attach");
    final OperationException failure =
        assertThrows(
            OperationException.class,
            () -> agent.configure("1", Map.of("PolicyAuditMode", "Enabled")));
    assertEquals("endpoint 1: attach: the kernel refused", failure.getMessage());
    final EndpointSnapshot after = agent.get("1");
    assertEquals(EndpointState.READY, after.state());
    assertEquals(HealthLevel.OK, after.health().overall());
    assertEquals("Disabled", after.options().get("PolicyAuditMode"));
    assertEquals("Disabled", after.realizedOptions().get("PolicyAuditMode"));
  }

  @Test
  void shouldRetryAfterPausesThatDouble() {
    agent.datapath.fails = call -> call.startsWith("attach");
    changeMacLater();
    final int[] seconds = {1, 2, 4, 8, 8};
    int failures = 1;
    for (final int pause : seconds) {
      agent.advance(Duration.ofSeconds(pause).minusMillis(1));
      assertEquals(failures, agent.get("1").controllers().getFirst().failureCount());
      agent.advance(Duration.ofMillis(1));
      failures++;
      assertEquals(HealthLevel.WARNING, agent.get("1").health().overall());
      assertEquals(failures, agent.get("1").controllers().getFirst().consecutiveFailureCount());
    }
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(8));
    final EndpointSnapshot after = agent.get("1");
    assertEquals(EndpointState.READY, after.state());
    assertEquals(HealthLevel.OK, after.health().overall());
    assertEquals(0, after.controllers().getFirst().consecutiveFailureCount());
    assertEquals(OTHER_MAC, agent.datapath.attached.get(1).mac().toString());
  }

  @Test
  void shouldReportFailureWhereNothingIsEnforced() {
    agent.datapath.fails = call -> call.startsWith("attach");
    agent.create("3", Requests.on("lxc3").later());
    final EndpointSnapshot failed = agent.get("3");
    assertEquals(EndpointState.NOT_READY, failed.state());
    assertEquals(HealthLevel.FAILURE, failed.health().bpf());
    assertEquals(HealthLevel.WARNING, failed.health().policy());
    assertEquals(HealthLevel.FAILURE, failed.health().overall());
    assertFalse(failed.health().connected());
    assertEquals("Failure", failed.log().getFirst().code());
    agent.delete("3");
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofMinutes(5));
    assertFalse(agent.datapath.attached.containsKey(3));
  }

  @Test
  void shouldChangeWhatThePatchNamesAndLeaveTheRest() {
    final EndpointSnapshot after =
        agent.modify(
            "1",
            Requests.request()
                .state("ready")
                .mac("02:00:00:00:00:bb")
                .containerName("renamed")
                .sync());
    assertEquals("renamed", after.externalIdentifiers().containerName());
    assertEquals("02:00:00:00:00:bb", agent.datapath.attached.get(1).mac().toString());
    assertEquals(List.of("unspec:app=web"), after.labels().derived());
    assertEquals(WEB, after.networking().addressing().ipv4());
    assertEquals("lxc1", after.networking().interfaceName());
  }

  @Test
  void shouldMoveToAnotherInterface() {
    agent.modify("1", Requests.on("lxc4").state("ready"));
    assertEquals(104, agent.datapath.attached.get(1).ifindex());
    assertTrue(agent.node.routed.stream().anyMatch(r -> r.interfaceName().equals("lxc4")));
    assertTrue(agent.node.routed.stream().noneMatch(r -> r.interfaceName().equals("lxc1")));
    assertTrue(clientReachesWeb());
    assertRefused(
        Refusal.Kind.CONFLICT,
        "interface-name",
        () -> agent.modify("1", Requests.on("lxc2").state("ready")));
  }

  @Test
  void shouldRefuseAnotherAddressAndAnotherId() {
    assertRefused(
        Refusal.Kind.INVALID,
        "addressing.ipv4",
        () -> agent.modify("1", Requests.request().state("ready").ipv4("10.5.0.44")));
    assertRefused(
        Refusal.Kind.INVALID,
        "id",
        () -> agent.modify("1", Requests.request().state("ready").id(2)));
    assertRefused(
        Refusal.Kind.INVALID, "state", () -> agent.modify("1", Requests.request().state(null)));
    assertRefused(
        Refusal.Kind.NOT_FOUND, "id", () -> agent.modify("77", Requests.request().state("ready")));
  }

  @Test
  void shouldListThoseThatHaveAllLabels() {
    agent.create("3", Requests.on("lxc3").labels("k8s:app=web", "tier=front"));
    assertEquals(List.of(1, 3), ids("app=web"));
    assertEquals(List.of(3), ids("k8s:app=web"));
    assertEquals(List.of(1, 3), ids("any:app=web"));
    assertEquals(List.of(1), ids("unspec:app=web"));
    assertEquals(List.of(3), ids("app=web", "tier=front"));
    assertEquals(List.of(1, 2, 3), ids());
    assertRefused(Refusal.Kind.NOT_FOUND, "labels", () -> ids("app=nobody"));
    assertRefused(Refusal.Kind.INVALID, "labels[1]", () -> ids("app=web", "=x"));
  }

  private List<Integer> ids(String... labels) {
    return agent.conductor.endpoints().list(List.of(labels)).stream()
        .map(EndpointSnapshot::id)
        .toList();
  }

  /** Link-scope addresses of the node must have the host identity, not the world's. */
  @Test
  void shouldMapLinkScopePrefixesToTheHostIdentity() {
    for (final String address :
        List.of("fe80::1", "ff02::1", "ff02::fb", "224.0.0.251", "239.1.2.3", "255.255.255.255")) {
      assertEquals(
          ReservedIdentity.HOST.id(), agent.datapath.identityOf(IpAddress.parse(address)), address);
    }
    assertEquals(9, agent.datapath.identityOf(IpAddress.parse("223.255.255.255")));
    assertEquals(10, agent.datapath.identityOf(IpAddress.parse("fec0::1")));
  }

  @Test
  void shouldReportAMissingInterface() {
    agent.node.present.remove("lxc1");
    agent.node.hasAddress("192.0.2.99");
    agent.advance(Duration.ofSeconds(11));
    assertFalse(agent.get("1").health().connected());
    assertEquals(1, agent.datapath.identityOf(IpAddress.parse("192.0.2.99")));
    agent.node.hasDevice("lxc1", 101);
    agent.node.addresses.removeLast();
    agent.advance(Duration.ofSeconds(11));
    assertTrue(agent.get("1").health().connected());
    assertEquals(9, agent.datapath.identityOf(IpAddress.parse("192.0.2.99")));
  }

  /** Where nothing is built, nothing later stores the change. */
  @Test
  void shouldStoreAtOnceWhatNeedsNoBuild() {
    agent.modify("1", Requests.request().state("ready").containerName("other").sync());
    agent.relabel("1", "pod-template-hash=5f7");
    agent.restart();
    assertEquals("other", agent.get("1").externalIdentifiers().containerName());
    assertEquals(List.of("unspec:pod-template-hash=5f7"), agent.get("1").labels().user());
  }

  @Test
  void shouldAskTheStoreBeforeItChangesTheKernel() {
    agent.modify("1", Requests.request().state("ready").containerName("other"));
    agent.store.isDoubtful = true;
    agent.configure("1", Map.of("Debug", "Enabled"));
    assertEquals("other", agent.store.checked.externalIdentifiers().containerName());
    agent.datapath.calls.clear();
    agent.store.fails = true;
    assertFailed(() -> agent.configure("1", Map.of("Debug", "Disabled")));
    assertEquals(List.of(), agent.datapath.calls);
    assertEquals(EndpointState.READY, agent.get("1").state());
  }

  @Test
  void shouldCountEachChangeOfTheEndpoints() {
    final long before = agent.conductor.endpoints().version();
    agent.relabel("1", "role=friend");
    assertTrue(agent.conductor.endpoints().version() > before);
  }

  private static void arrive(FakeRig rig, DelayedIdentityAllocator allocator) {
    rig.run();
    while (allocator.pending() > 0) {
      allocator.runAll();
      rig.run();
    }
  }

  private static CompletableFuture<EndpointSnapshot> relabelling(FakeRig rig, String... labels) {
    return rig.conductor.endpoints().setUserLabels(EndpointIdentifier.parse("2"), List.of(labels));
  }

  private static FakeRig created(DelayedIdentityAllocator allocator) {
    final FakeRig rig = new FakeRig(() -> allocator);
    rig.conductor
        .endpoints()
        .create(EndpointIdentifier.parse("2"), Requests.on("lxc2").labels("app=client").build());
    arrive(rig, allocator);
    assertEquals(EndpointState.READY, rig.get("2").state());
    return rig;
  }

  /** The identity that was asked for meanwhile is given back when it comes. */
  @Test
  void shouldKeepTheIdentityWhereTheLabelsAreTakenBackBeforeItsSuccessorComes() {
    final DelayedIdentityAllocator allocator = new DelayedIdentityAllocator();
    final FakeRig rig = created(allocator);
    final int identity = rig.get("2").identity().id();
    final CompletableFuture<EndpointSnapshot> first = relabelling(rig, "role=one");
    rig.run();
    assertEquals(EndpointState.WAITING_FOR_IDENTITY, rig.get("2").state());
    final CompletableFuture<EndpointSnapshot> second = relabelling(rig);
    rig.run();
    assertEquals(EndpointState.READY, rig.get("2").state());
    assertEquals(identity, second.join().identity().id());
    assertTrue(
        rig.get("2").log().stream()
            .map(LogEntry::message)
            .anyMatch(("identity " + identity + " unchanged")::equals));
    arrive(rig, allocator);
    assertEquals(List.of(), first.join().labels().user());
    assertEquals(identity, rig.get("2").identity().id());
    assertEquals(1, rig.identities.inUse().size());
  }

  /** It is still held, so no store is asked for it. */
  @Test
  void shouldGoBackToTheFormerIdentityWithoutAskingForItAgain() {
    final DelayedIdentityAllocator allocator = new DelayedIdentityAllocator();
    final FakeRig rig = created(allocator);
    final int identity = rig.get("2").identity().id();
    rig.datapath.fails = call -> call.startsWith("identity 2 ");
    final CompletableFuture<EndpointSnapshot> refused = relabelling(rig, "role=one");
    rig.run();
    allocator.runNext();
    rig.datapath.fails = call -> call.startsWith("identity 2 ") && !refused.isDone();
    rig.run();
    assertEquals("endpoint 2: identity: the kernel refused", refused.exceptionNow().getMessage());
    assertEquals(EndpointState.READY, rig.get("2").state());
    assertEquals(identity, rig.get("2").identity().id());
    assertEquals(identity, rig.datapath.identities.get(2));
    arrive(rig, allocator);
    assertEquals(1, rig.identities.inUse().size());
  }
}
