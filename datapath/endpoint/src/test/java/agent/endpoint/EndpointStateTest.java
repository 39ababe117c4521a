package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.EndpointFaults;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointFaults.Part;
import agent.endpoint.state.ControllerStatus;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointHealth;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointLookup;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointSnapshots;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.EndpointStore;
import agent.endpoint.state.ExternalIdentifiers;
import agent.endpoint.state.LabelDerivation;
import agent.endpoint.state.MonitorAggregation;
import agent.endpoint.state.MutableOption;
import agent.endpoint.state.PolicyEnforcement;
import agent.endpoint.state.RegenerationController;
import agent.endpoint.state.WorkloadDescription;
import agent.identity.Identity;
import agent.identity.LabelFilter;
import agent.identity.LabelSet;
import agent.node.Devices.Device;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Refusal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The state of one endpoint and of the registry, without a conductor. */
class EndpointStateTest {
  private static final Instant NOW = Instant.parse("2026-11-20T00:00:00Z");
  private static final MacAddress HOST = MacAddress.parse("02:00:00:00:00:65");
  private static final EndpointDevice DEVICE =
      new EndpointDevice("lxc1", 101, MacAddress.parse("02:00:00:00:00:aa"), HOST);

  private final List<Fault> faults = new ArrayList<>();
  private final EndpointFaults source = id -> id == 12 ? faults : List.of();
  private final EndpointRegistry registry =
      new EndpointRegistry(
          new EndpointSnapshots(
              new NodeAddressing(
                  FamilyAddressing.of(null, FakeRig.RANGE4), FamilyAddressing.DISABLED)),
          new EndpointLookup("c1", "n1"),
          source,
          snapshot -> {});

  private static EndpointRecord record(int id) {
    return new EndpointRecord(
        id,
        0,
        new EndpointAddressing(
            IpAddress.parse("10.5.0.9"), null, null, IpAddress.parse("f00d::5:0:9"), null, null),
        new ExternalIdentifiers(null, null, null, null, null, null, null, null, false),
        DEVICE,
        new EndpointRecord.LabelSources(List.of("unspec:app=web"), List.of()),
        new EndpointRecord.Configuration(
            EndpointOptions.defaults().toMap(), DatapathConfiguration.DEFAULT),
        new WorkloadDescription(null, null, null, null, null),
        List.of(),
        EntrySource.API);
  }

  private static Endpoint endpoint(int id) {
    final EndpointRecord record = record(id);
    final Endpoint endpoint =
        new Endpoint(
            record,
            LabelDerivation.of(record, LabelFilter.defaults()),
            new RegenerationController(id, Duration.ofSeconds(1), Duration.ofSeconds(60)));
    endpoint.transition(EndpointState.WAITING_FOR_IDENTITY, "created", NOW);
    return endpoint;
  }

  private static Identity identity(int id, String... labels) {
    return new Identity(id, LabelSet.parse("l", List.of(labels)));
  }

  @Test
  void shouldDoubleThePauseUpToTheLongest() {
    final RegenerationController controller =
        new RegenerationController(12, Duration.ofSeconds(1), Duration.ofSeconds(60));
    final int[] seconds = {1, 1, 2, 4, 8, 16, 32, 60, 60};
    for (final int pause : seconds) {
      assertEquals(Duration.ofSeconds(pause), controller.pause());
      controller.failed(NOW, "refused");
    }
    for (int i = 0; i < 80; i++) {
      controller.failed(NOW, "refused");
    }
    assertEquals(Duration.ofSeconds(60), controller.pause(), "it does not overflow");
    final RegenerationController exact =
        new RegenerationController(12, Duration.ofSeconds(1), Duration.ofSeconds(2));
    exact.failed(NOW, "refused");
    exact.failed(NOW, "refused");
    assertEquals(Duration.ofSeconds(2), exact.pause());
  }

  @Test
  void shouldCountBuilds() {
    final RegenerationController controller =
        new RegenerationController(12, Duration.ofSeconds(1), Duration.ofSeconds(60));
    controller.failed(NOW, "one");
    controller.failed(NOW.plusSeconds(1), "two");
    controller.succeeded(NOW.plusSeconds(2));
    controller.failed(NOW.plusSeconds(3), "three");
    final ControllerStatus status = controller.status();
    assertEquals("regenerate-endpoint-12", status.name());
    assertEquals(1, status.consecutiveFailureCount());
    assertEquals(3, status.failureCount());
    assertEquals(1, status.successCount());
    assertEquals("three", status.lastFailureMessage());
    assertEquals(NOW.plusSeconds(3), status.lastFailure());
    assertEquals(NOW.plusSeconds(2), status.lastSuccess());
    assertEquals(1, controller.consecutiveFailures());
    assertEquals(status.uuid(), controller.status().uuid());
  }

  @Test
  void shouldRefuseATransitionThatTheTableDoesNotAllow() {
    final Endpoint endpoint = endpoint(12);
    assertThrows(
        IllegalStateException.class,
        () -> endpoint.transition(EndpointState.REGENERATING, "building", NOW));
    assertEquals(EndpointState.WAITING_FOR_IDENTITY, endpoint.state());
    assertEquals(1, endpoint.logEntries().size());
    final Endpoint fresh =
        new Endpoint(record(13), endpoint.labels(), new RegenerationController(13, null, null));
    assertThrows(
        IllegalStateException.class, () -> fresh.transition(EndpointState.READY, "ready", NOW));
  }

  @Test
  void shouldKeepFormerIdentitiesUntilTheyAreTaken() {
    final Endpoint endpoint = endpoint(12);
    final Identity first = identity(300, "a=1");
    final Identity second = identity(301, "a=2");
    endpoint.identify(first);
    assertEquals(List.of(), endpoint.takeFormerIdentities());
    endpoint.identify(second);
    assertSame(first, endpoint.formerIdentity(first.labels()));
    assertTrue(endpoint.hasFormerIdentity());
    assertNull(endpoint.formerIdentity(second.labels()));
    endpoint.identifyAgain(first);
    assertSame(first, endpoint.identity());
    assertNull(endpoint.formerIdentity(first.labels()));
    assertEquals(List.of(second), endpoint.takeFormerIdentities());
    assertEquals(List.of(), endpoint.takeFormerIdentities());
  }

  /** Open flows are judged again when its address has another identity. */
  @Test
  void shouldHaveAFormerIdentityWhereTheStoreHasAnother() {
    final Endpoint endpoint = endpoint(12);
    endpoint.stored(endpoint.record().withIdentity(0));
    endpoint.identify(identity(301, "a=1"));
    assertFalse(endpoint.hasFormerIdentity());
    endpoint.stored(endpoint.record().withIdentity(300));
    assertTrue(endpoint.hasFormerIdentity(), "that of the previous run");
    endpoint.stored(endpoint.record().withIdentity(301));
    assertFalse(endpoint.hasFormerIdentity());
  }

  @Test
  void shouldTellWhoWaitedForAFormerIdentity() {
    final Endpoint endpoint = endpoint(12);
    final CompletableFuture<Identity> first = new CompletableFuture<>();
    endpoint.await(first);
    final CompletableFuture<Void> waiting = endpoint.identified();
    endpoint.await(new CompletableFuture<>());
    assertFalse(endpoint.awaits(first));
    assertFalse(waiting.isDone());
    endpoint.identified().completeExceptionally(new IllegalStateException("refused"));
    assertTrue(waiting.isCompletedExceptionally());
    final CompletableFuture<Identity> last = new CompletableFuture<>();
    endpoint.await(last);
    assertTrue(endpoint.awaits(last));
    final CompletableFuture<Void> again = endpoint.identified();
    endpoint.await(null);
    assertTrue(again.isDone() && !again.isCompletedExceptionally());
    assertTrue(endpoint.identified().isDone());
  }

  @Test
  void shouldForgetAFaultOfAnotherInterfaceOnceItIsAttached() {
    final Endpoint endpoint = endpoint(12);
    endpoint.identify(identity(300, "a=1"));
    endpoint.interfaceFault(new Fault(Part.PROGRAMS, false, "is gone"));
    endpoint.attached(endpoint.spec());
    assertNull(endpoint.interfaceFault());
    assertEquals(DEVICE, endpoint.hooked());
    endpoint.interfaceFault(new Fault(Part.PROGRAMS, false, "is down"));
    endpoint.attached(endpoint.spec());
    assertEquals("is down", endpoint.interfaceFault().message());
    endpoint.hostInterfaceUp(true);
    assertTrue(endpoint.isHostInterfaceUp());
    endpoint.route(endpoint.wantedRoute());
    endpoint.routeFault(new Fault(Part.PROGRAMS, false, "refused"));
    endpoint.peerNamespaceId(4);
    endpoint.reachability().asked(endpoint.record().addressing(), 1, 10, 10);
    assertFalse(endpoint.reachability().isDue(2));
    endpoint.interfaceLost();
    assertTrue(endpoint.reachability().isDue(2), "it is asked anew on the next interface");
    assertTrue(endpoint.isInterfaceLost());
    assertNull(endpoint.attached());
    assertNull(endpoint.hooked());
    assertNull(endpoint.route());
    assertNull(endpoint.routeFault());
    assertFalse(endpoint.isHostInterfaceUp());
    assertEquals(Endpoint.UNKNOWN_NAMESPACE, endpoint.peerNamespaceId());
    endpoint.attached(endpoint.spec());
    assertFalse(endpoint.isInterfaceLost());
    endpoint.hostInterfaceUp(true);
    endpoint.detached();
    assertFalse(endpoint.isHostInterfaceUp());
    assertFalse(endpoint.isRemovalRemembered());
    endpoint.removalRemembered(true);
    assertTrue(endpoint.isRemovalRemembered());
    assertNull(endpoint.attached());
    assertNull(endpoint.hooked());
    assertNull(endpoint.realizedPolicy());
  }

  @Test
  void shouldRateItsHealthByWhatIsRealizedAndWhatFails() {
    final Endpoint endpoint = endpoint(12);
    assertHealth(endpoint, HealthLevel.BOOTSTRAP, false);
    endpoint.error("identity: refused");
    assertHealth(endpoint, HealthLevel.BOOTSTRAP, false);
    endpoint.controller().failed(NOW, "refused");
    assertHealth(endpoint, HealthLevel.FAILURE, false);
    endpoint.error(null);
    assertHealth(endpoint, HealthLevel.BOOTSTRAP, false);
    endpoint.identify(identity(300, "a=1"));
    endpoint.attached(endpoint.spec());
    assertEquals(HealthLevel.PENDING, endpoint.health().bpf());
    assertEquals(HealthLevel.BOOTSTRAP, endpoint.health().policy());
    assertTrue(endpoint.health().connected());
    endpoint.error("refused");
    assertEquals(HealthLevel.WARNING, endpoint.health().bpf());
    endpoint.transition(EndpointState.DISCONNECTING, "deleted", NOW);
    endpoint.interfaceFault(new Fault(Part.PROGRAMS, false, "is gone"));
    assertHealth(endpoint, HealthLevel.WARNING, true);
    endpoint.error(null);
    assertHealth(endpoint, HealthLevel.DISABLED, true);
    endpoint.transition(EndpointState.DISCONNECTED, "removed", NOW);
    assertFalse(endpoint.isLive());
    assertHealth(endpoint, HealthLevel.DISABLED, true);
  }

  private static void assertHealth(Endpoint endpoint, HealthLevel level, boolean isConnected) {
    assertEquals(level, endpoint.health().overall());
    assertEquals(isConnected, endpoint.health().connected());
  }

  @Test
  void shouldAddFaultsToItsHealthWorstFirst() {
    final EndpointHealth ok =
        new EndpointHealth(HealthLevel.OK, HealthLevel.OK, HealthLevel.OK, true, null);
    final Fault warning = new Fault(Part.PROGRAMS, true, "link was detached");
    final Fault failure = new Fault(Part.PROGRAMS, false, "another program is first");
    final Fault policy = new Fault(Part.POLICY, false, "map is full");
    assertEquals(
        new EndpointHealth(
            HealthLevel.WARNING, HealthLevel.OK, HealthLevel.WARNING, false, "link was detached"),
        ok.with(warning));
    assertEquals(
        new EndpointHealth(HealthLevel.OK, HealthLevel.OK, HealthLevel.WARNING, false, "no answer"),
        ok.with(new Fault(Part.WORKLOAD, true, "no answer")));
    assertEquals(
        new EndpointHealth(
            HealthLevel.OK, HealthLevel.FAILURE, HealthLevel.FAILURE, true, "map is full"),
        ok.with(policy));
    assertEquals("another program is first", ok.with(warning).with(failure).reason());
    assertEquals("another program is first", ok.with(failure).with(warning).reason());
    assertEquals("another program is first", ok.with(failure).with(policy).reason());
    assertFalse(ok.with(failure).with(policy).connected());
    final EndpointHealth disabled =
        new EndpointHealth(
            HealthLevel.DISABLED, HealthLevel.DISABLED, HealthLevel.DISABLED, false, null);
    assertNull(disabled.with(failure).reason());
    final EndpointHealth pending =
        new EndpointHealth(HealthLevel.FAILURE, HealthLevel.OK, HealthLevel.FAILURE, true, null);
    assertEquals("link was detached", pending.with(warning).reason());
  }

  @Test
  void shouldAssignIdsInOrderAndReuseThemLast() {
    assertEquals(1, registry.freeId());
    final Endpoint seventh = endpoint(7);
    registry.add(seventh);
    assertEquals(8, registry.freeId());
    registry.add(endpoint(EndpointIdentifier.MAX_LOCAL_ID));
    assertEquals(1, registry.freeId());
    registry.add(endpoint(6));
    assertEquals(8, registry.freeId(), "7 is in use");
    registry.remove(seventh);
    assertEquals(7, registry.freeId());
    assertNull(registry.find(7));
    assertTrue(registry.find(EndpointIdentifier.local(7)).isEmpty());
  }

  @Test
  void shouldFindEndpointsByEitherAddress() {
    final Endpoint endpoint = endpoint(12);
    registry.add(endpoint);
    assertSame(endpoint, registry.findByAddress(IpAddress.parse("10.5.0.9")));
    assertSame(endpoint, registry.findByAddress(IpAddress.parse("f00d::5:0:9")));
    assertNull(registry.findByAddress(IpAddress.parse("10.5.0.10")));
  }

  /** What was encoded before shows an endpoint that is gone. */
  @Test
  void shouldCountARemovalAsAChange() {
    final Endpoint endpoint = endpoint(12);
    registry.add(endpoint);
    final long before = registry.version();
    registry.remove(endpoint);
    assertTrue(registry.version() > before);
  }

  @Test
  void shouldPublishOnlyEndpointsThatItHolds() {
    final Endpoint endpoint = endpoint(12);
    registry.add(endpoint);
    registry.remove(endpoint);
    registry.publish(endpoint);
    assertEquals(List.of(), registry.published());
    final Endpoint other = endpoint(12);
    registry.add(other);
    assertFalse(registry.holds(endpoint));
    assertTrue(registry.holds(other));
    assertSame(other, registry.require(EndpointIdentifier.local(12)));
    assertSame(other, registry.require(EndpointIdentifier.parse("agent-global:c1:n1:12")));
    assertThrows(Refusal.class, () -> registry.require(EndpointIdentifier.local(13)));
  }

  @Test
  void shouldAddFaultsOfKernelObjectsUnlessTheEndpointIsDisabled() {
    final Endpoint endpoint = endpoint(12);
    registry.add(endpoint);
    registry.add(endpoint(13));
    faults.add(new Fault(Part.PROGRAMS, false, "another program is first"));
    final EndpointIdentifier id = EndpointIdentifier.local(12);
    assertEquals(HealthLevel.FAILURE, registry.get(id).health().overall());
    assertEquals(HealthLevel.FAILURE, registry.publish(endpoint).health().overall());
    assertEquals(
        List.of(HealthLevel.FAILURE, HealthLevel.BOOTSTRAP),
        registry.published().stream().map(snapshot -> snapshot.health().overall()).toList());
    endpoint.transition(EndpointState.DISCONNECTING, "deleted", NOW);
    assertEquals(HealthLevel.DISABLED, registry.publish(endpoint).health().overall());
  }

  @Test
  void shouldShowWhatPolicyIsNotResolvedAsNone() {
    final var snapshot = new EndpointSnapshots(null).of(endpoint(12));
    assertEquals(0, snapshot.policy().revision());
    assertEquals(PolicyEnforcement.NONE, snapshot.realizedPolicy().enforcement());
    assertEquals(Map.of(), snapshot.realizedOptions());
    assertEquals(EndpointOptions.defaults().toMap(), snapshot.options());
  }

  @Test
  void shouldNameTheDirectionsThatAreEnforced() {
    assertEquals("none", PolicyEnforcement.of(false, false).text());
    assertEquals("ingress", PolicyEnforcement.of(true, false).text());
    assertEquals("egress", PolicyEnforcement.of(false, true).text());
    assertEquals("both", PolicyEnforcement.of(true, true).text());
  }

  @Test
  void shouldKnowItsDeviceByIndexNameAndAddress() {
    assertTrue(DEVICE.isIndexAndMacOf(device("other", 101, HOST, "veth")));
    assertFalse(DEVICE.isIndexAndMacOf(device("lxc1", 102, HOST, "veth")));
    assertTrue(DEVICE.isNameAndMacOf(device("lxc1", 102, HOST, "veth")));
    assertFalse(DEVICE.isNameAndMacOf(device("other", 101, HOST, "veth")));
    for (final Device other :
        new Device[] {
          null, device("lxc1", 101, MacAddress.of(7), "veth"), device("lxc1", 101, HOST, "bridge")
        }) {
      assertFalse(DEVICE.isIndexAndMacOf(other));
      assertFalse(DEVICE.isNameAndMacOf(other));
    }
    assertNull(DEVICE.difference(device("lxc1", 101, HOST, "veth")));
    assertEquals(
        new EndpointDevice("other", 7, DEVICE.mac(), HOST),
        DEVICE.at(device("other", 7, MacAddress.of(9), "veth")));
  }

  private static Device device(String name, int index, MacAddress mac, String kind) {
    return new Device(name, index, mac, 1500, true, kind, true, -1);
  }

  @Test
  void shouldReadOptionsWithoutRegardToCase() {
    final EndpointOptions options =
        EndpointOptions.defaults()
            .with(Map.of("Debug", "ENABLED", "Conntrack", "disabled"))
            .with(MutableOption.MONITOR_AGGREGATION_LEVEL, "medium");
    assertEquals("Enabled", options.toMap().get("Debug"));
    assertEquals("Disabled", options.toMap().get("Conntrack"));
    assertEquals(
        MonitorAggregation.MEDIUM, options.with(MutableOption.DEBUG, "disabled").aggregation());
    assertEquals(MonitorAggregation.NONE, options.aggregation(), "each packet, to debug");
    assertTrue(options.enabled(MutableOption.DEBUG));
    assertFalse(options.enabled(MutableOption.CONNTRACK));
    assertEquals(
        EndpointOptions.defaults().bits() & ~MutableOption.CONNTRACK.bit(), options.bits());
    for (final MutableOption event :
        List.of(
            MutableOption.DROP_NOTIFICATION,
            MutableOption.TRACE_NOTIFICATION,
            MutableOption.POLICY_VERDICT_NOTIFICATION)) {
      final EndpointOptions quiet = options.with(event, "Disabled");
      assertEquals(options.bits(), quiet.bits(), "emitted to debug");
      assertEquals(
          options.bits() & ~event.bit(), quiet.with(MutableOption.DEBUG, "Disabled").bits());
    }
    assertNotEquals(EndpointOptions.defaults(), options);
    assertEquals(EndpointOptions.defaults(), EndpointOptions.defaults().with(Map.of()));
    assertEquals(options.toMap().toString(), options.toString());
    assertEquals(0, MutableOption.DEBUG_LB.bit());
    assertEquals(
        List.of("None", "Low", "Medium", "Maximum"),
        List.of(MonitorAggregation.values()).stream().map(MonitorAggregation::text).toList());
  }

  @Test
  void shouldLimitTheLengthOfAnIdentifier() {
    final String longest = "container-id:" + "x".repeat(1024 - "container-id:".length());
    assertEquals(longest, EndpointIdentifier.parse(longest).toString());
    assertThrows(Refusal.class, () -> EndpointIdentifier.parse(longest + "x"));
    assertThrows(Refusal.class, () -> EndpointIdentifier.parse(null));
    assertThrows(Refusal.class, () -> EndpointIdentifier.parse("container-id:a\u007fb"));
    assertEquals("container-id:a b", EndpointIdentifier.parse("container-id:a b").toString());
    assertThrows(Refusal.class, () -> EndpointIdentifier.parse("12:"));
    assertThrows(Refusal.class, () -> EndpointIdentifier.parse("1/"));
  }

  @Test
  void shouldNotFindAnEndpointByIdentifiersThatItDisabled() {
    final ExternalIdentifiers ids =
        new ExternalIdentifiers("abc", "web", "eth0", "4fe", null, "default", "web-1", null, true);
    final Endpoint endpoint = endpoint(12);
    endpoint.change(
        endpoint.record().withDescription(ids, endpoint.record().workload()), endpoint.labels());
    registry.add(endpoint);
    for (final String legacy :
        List.of("container-id:abc", "container-name:web", "pod-name:default:web-1")) {
      assertTrue(registry.find(EndpointIdentifier.parse(legacy)).isEmpty(), legacy);
    }
    for (final String name :
        List.of("cni-attachment-id:abc:eth0", "cep-name:default:web-1", "runtime-endpoint:4fe")) {
      assertEquals(12, registry.get(EndpointIdentifier.parse(name)).id(), name);
    }
    assertTrue(registry.find(EndpointIdentifier.parse("cep-name:default:web-2")).isEmpty());
    assertTrue(registry.find(EndpointIdentifier.parse("cep-name:other:web-1")).isEmpty());
    assertTrue(registry.find(EndpointIdentifier.parse("agent-global:c1:n2:12")).isEmpty());
  }

  @Test
  void shouldForgetWhatIsInvalidOnceItIsRemovedFromTheStore() {
    final EndpointStore store = EndpointStore.inMemory();
    store.save(record(12));
    store.invalid(12, "broken");
    assertEquals(Map.of(12, "broken"), store.unreadable());
    store.remove(12);
    assertEquals(Map.of(), store.unreadable());
    assertEquals(List.of(), store.load());
    store.invalid(13, "broken");
    store.load();
    assertEquals(Map.of(), store.unreadable());
  }

  @Test
  void shouldReadEveryDigitOfALocalId() {
    for (final int id : new int[] {0, 9, 10, 90_09, 65_535}) {
      assertEquals(id, EndpointIdentifier.parse(Integer.toString(id)).localId());
    }
    final EndpointLookup lookup = new EndpointLookup("c1", "n1");
    final var snapshot = new EndpointSnapshots(null).of(endpoint(12));
    assertTrue(lookup.matches(EndpointIdentifier.local(12), snapshot));
    assertFalse(lookup.matches(EndpointIdentifier.local(13), snapshot));
  }
}
