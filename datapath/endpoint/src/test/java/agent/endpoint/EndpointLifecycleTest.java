package agent.endpoint;

import static agent.endpoint.EndpointRig.assertFailed;
import static agent.endpoint.EndpointRig.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.IpcacheEntry;
import agent.endpoint.request.AddressingRequest;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointLog.LogEntry;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.WorkloadDescription;
import agent.ipam.AddressFamily;
import agent.maps.layout.AggregationLevel;
import agent.maps.layout.EndpointOption;
import agent.testkit.RecordedLog;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class EndpointLifecycleTest {
  private final FakeRig agent = new FakeRig();

  private Requests web() {
    return Requests.on("lxc1").ipv4("10.5.0.9").ipv6("f00d::5:0:9").labels("app=web");
  }

  @Test
  void shouldEnforceBeforeItAnswersASynchronousRequest() {
    final EndpointSnapshot endpoint = agent.create("12", web());
    assertEquals(EndpointState.READY, endpoint.state());
    assertEquals(12, endpoint.id());
    final EndpointSpec attached = agent.datapath.attached.get(12);
    assertEquals(101, attached.ifindex());
    assertEquals(MacAddress.parse("02:00:00:00:00:aa"), attached.mac());
    assertEquals(MacAddress.parse("02:00:00:00:00:65"), attached.hostMac());
    assertEquals(endpoint.identity().id(), attached.identity());
    assertEquals(
        new IpcacheEntry(Prefix.parse("10.5.0.9/32"), endpoint.identity().id(), 12, false),
        agent.datapath.ipcache.get(Prefix.parse("10.5.0.9/32")));
    assertEquals(1, agent.node.routed.size());
    assertEquals(12, agent.store.load().getFirst().id());
  }

  @Test
  void shouldAnswerOtherRequestsBeforeItEnforces() {
    final CompletableFuture<EndpointSnapshot> answer =
        agent.conductor.endpoints().create(EndpointIdentifier.parse("12"), web().later().build());
    while (!answer.isDone()) {
      agent.conductor.agent().doWork();
    }
    assertEquals(EndpointState.WAITING_TO_REGENERATE, answer.join().state());
    assertEquals(HealthLevel.BOOTSTRAP, answer.join().health().overall());
    assertTrue(agent.datapath.attached.isEmpty());
    assertEquals(1, agent.store.load().size());
    agent.run();
    assertEquals(EndpointState.READY, agent.get("12").state());
  }

  @Test
  void shouldWritePolicyBeforeProgramsAndItsAddressAfterBoth() {
    agent.datapath.calls.clear();
    agent.create("12", web());
    final List<String> calls = agent.datapath.calls;
    assertEquals(
        List.of("synchronize 12", "attach 12", "ipcache +[10.5.0.9/32, f00d::5:0:9/128]"), calls);
  }

  @Test
  void shouldWriteEveryTransitionIntoItsLog() {
    agent.create("12", web());
    assertEquals(
        List.of(
            EndpointState.READY,
            EndpointState.REGENERATING,
            EndpointState.WAITING_TO_REGENERATE,
            EndpointState.WAITING_FOR_IDENTITY),
        agent.get("12").log().stream().map(LogEntry::state).toList());
    assertTrue(agent.get("12").log().stream().allMatch(entry -> entry.code().equals("OK")));
  }

  @Test
  void shouldKeepTheLast256EntriesOfItsLog() {
    agent.create("12", web());
    for (int i = 0; i < 100; i++) {
      agent.relabel("12", "turn=" + i);
    }
    assertEquals(256, agent.get("12").log().size());
    assertTrue(agent.get("12").log().getFirst().message().contains("enforces"));
  }

  @Test
  void shouldAllocateAnIdForZeroAndForOtherPrefixes() {
    assertEquals(1, agent.create("0", web()).id());
    final EndpointSnapshot other =
        agent.create("container-id:abc", Requests.on("lxc2").ipv4("10.5.0.10"));
    assertEquals(2, other.id());
    assertEquals("abc", other.externalIdentifiers().containerId());
    assertEquals(2, agent.get("container-id:abc").id());
    agent.delete("2");
    assertEquals(3, agent.create("agent-local:0", Requests.on("lxc2").ipv4("10.5.0.11")).id());
  }

  @Test
  void shouldBeFoundByEveryNameThatItHas() {
    agent.create(
        "cni-attachment-id:abc:eth0",
        web().containerName("web").pod("default", "web-1").containerId("abc"));
    for (final String name :
        List.of(
            "1",
            "agent-local:1",
            "agent-global:c1:n1:1",
            "cni-attachment-id:abc:eth0",
            "container-id:abc",
            "container-name:web",
            "pod-name:default:web-1",
            "cep-name:default:web-1")) {
      assertEquals(1, agent.get(name).id(), name);
    }
    for (final String name :
        List.of("2", "agent-global:c2:n1:1", "pod-name:other:web-1", "container-name:abc")) {
      assertRefused(Refusal.Kind.NOT_FOUND, "id", () -> agent.get(name));
    }
  }

  @Test
  void shouldRefuseAnIdAnInterfaceOrAnAddressThatIsInUse() {
    agent.create("12", web());
    assertRefused(
        Refusal.Kind.CONFLICT,
        "id",
        () -> agent.create("12", Requests.on("lxc2").ipv4("10.5.0.10")));
    assertRefused(
        Refusal.Kind.CONFLICT,
        "interface-name",
        () -> agent.create("13", Requests.on("lxc1").ipv4("10.5.0.10")));
    assertRefused(
        Refusal.Kind.CONFLICT,
        "addressing.ipv4",
        () -> agent.create("13", Requests.on("lxc2").ipv4("10.5.0.9")));
    assertRefused(
        Refusal.Kind.CONFLICT,
        "addressing.ipv6",
        () -> agent.create("13", Requests.on("lxc2").ipv4("10.5.0.10").ipv6("f00d::5:0:9")));
    assertRefused(
        Refusal.Kind.CONFLICT,
        "addressing.ipv4",
        () -> agent.create("13", Requests.on("lxc2").ipv4("10.5.0.1")));
    assertEquals(1, agent.conductor.endpoints().list(List.of()).size());
    assertEquals(2, agent.ipam.leases().size());
  }

  /** Removing an endpoint sets its interface down, so an interface of the node must be refused. */
  @Test
  void shouldRefuseInterfacesThatAreNotWorkloadVeths() {
    agent.node.hasDevice("lo", 1, null);
    agent.node.hasDevice("br0", 2, "bridge");
    agent.node.hasDevice("ext0", 3);
    for (final String name : List.of("lo", "br0")) {
      assertRefused(
          Refusal.Kind.INVALID, "interface-name", () -> agent.create("1", Requests.on(name)));
    }
    assertRefused(
        Refusal.Kind.CONFLICT, "interface-name", () -> agent.create("1", Requests.on("ext0")));
    agent.create("1", Requests.on("lxc1"));
    assertRefused(
        Refusal.Kind.CONFLICT, "interface-name", () -> agent.modify("1", Requests.on("ext0")));
    assertEquals("lxc1", agent.get("1").networking().interfaceName());
    assertEquals(1, agent.node.routed.size());
  }

  @Test
  void shouldRefuseWhatIsMissingOrMalformedAndChangeNothing() {
    agent.datapath.calls.clear();
    assertInvalid("state", web().state(null));
    assertInvalid("state", web().state("running"));
    assertInvalid("interface-name", web().onInterface(null));
    assertInvalid("interface-name", web().onInterface("nosuch"));
    assertInvalid("interface-name", web().onInterface("a/b"));
    assertInvalid("interface-name", web().onInterface("lxc\0001"));
    assertInvalid("interface-index", web().index(55));
    assertInvalid("interface-index", web().onInterface(null).index(55));
    assertInvalid("mac", web().mac(null));
    assertInvalid("mac", web().mac("02:00"));
    assertInvalid("mac", web().mac("ff:ff:ff:ff:ff:ff"));
    assertInvalid("host-mac", web().hostMac("x"));
    assertInvalid("host-mac", web().hostMac("02:00:00:00:00:99"));
    assertInvalid("addressing.ipv4", web().ipv4("10.0.0.999"));
    assertInvalid("addressing.ipv4", web().ipv4("10.9.0.1"));
    assertInvalid("addressing.ipv4", web().ipv4("f00d::5:0:9"));
    assertInvalid("labels[0]", web().labels("=x"));
    assertInvalid("labels", web().labels("reserved:host"));
    assertInvalid("id", web().id(13));
    assertInvalid("id", web().id(70_000));
    assertInvalid("container-id", web().containerId("a\nb"));
    assertRefused(
        Refusal.Kind.INVALID,
        "container-id",
        () -> agent.create("container-id:abc", web().containerId("def")));
    assertRefused(
        Refusal.Kind.INVALID, "id", () -> agent.create("agent-global:c1:other:12", web()));
    assertEquals(List.of(), agent.datapath.calls);
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.identities.inUse());
    assertEquals(List.of(), agent.store.load());
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
  }

  private void assertInvalid(String field, Requests request) {
    assertRefused(Refusal.Kind.INVALID, field, () -> agent.create("12", request));
  }

  @Test
  void shouldFindTheInterfaceByItsIndex() {
    final EndpointSnapshot endpoint = agent.create("12", web().onInterface(null).index(103));
    assertEquals("lxc3", endpoint.networking().interfaceName());
  }

  @Test
  void shouldAllocateAnAddressOfEachFamilyWhereNoneIsNamed() {
    final EndpointAddressing addressing =
        agent.create("12", Requests.on("lxc1")).networking().addressing();
    assertTrue(FakeRig.RANGE4.contains(addressing.ipv4()));
    assertTrue(FakeRig.RANGE6.contains(addressing.ipv6()));
    assertEquals("default", addressing.ipv4PoolName());
    assertEquals(2, agent.ipam.leases().size());
  }

  @Test
  void shouldAdoptALeaseAndStopItsTimer() {
    final var lease =
        agent.ipam.allocate(AddressFamily.IPV4, "cni", null, true).ipv4().orElseThrow();
    agent.create(
        "12",
        Requests.on("lxc1")
            .addressing(
                new AddressingRequest(
                    lease.address().toString(), lease.expirationUuid(), null, null, null, null)));
    agent.advance(java.time.Duration.ofHours(1));
    assertEquals(12, agent.ipam.find(lease.address()).orElseThrow().endpointId());
    assertEquals(
        lease.expirationUuid(), agent.get("12").networking().addressing().ipv4ExpirationUuid());
  }

  @Test
  void shouldReturnALeaseToItsOwnerWhereTheEndpointIsRefused() {
    agent.ipam.allocateAddress("ip", IpAddress.parse("10.5.0.77"), "cni", null);
    agent.create("12", web());
    agent.store.fails = true;
    assertFailed(
        () -> agent.create("13", Requests.on("lxc2").ipv4("10.5.0.77").ipv6("f00d::5:0:10")));
    agent.store.fails = false;
    assertEquals("cni", agent.ipam.find(IpAddress.parse("10.5.0.77")).orElseThrow().owner());
    assertTrue(agent.ipam.find(IpAddress.parse("f00d::5:0:10")).isEmpty());
    assertEquals(1, agent.identities.inUse().size());
  }

  @Test
  void shouldAdoptALeaseOnlyWhenTheRecordIsStored() {
    final IpAddress leased = IpAddress.parse("10.5.0.77");
    agent.ipam.allocateAddress("ip", leased, "cni", null);
    final List<Integer> users = new ArrayList<>();
    agent.store.onSaved = record -> users.add(agent.ipam.find(leased).orElseThrow().endpointId());
    agent.create("13", Requests.on("lxc2").ipv4("10.5.0.77").ipv6("f00d::5:0:10"));
    assertEquals(0, users.getFirst());
    assertEquals(13, agent.ipam.find(leased).orElseThrow().endpointId());
  }

  @Test
  void shouldNotStoreAnEndpointWhoseAddressIsRefusedAfterTheCheck() {
    agent.store.onSaved =
        record -> agent.ipam.claim("ip", record.addressing().ipv4(), 99, null, null);
    assertRefused(Refusal.Kind.CONFLICT, "addressing.ipv4", () -> agent.create("12", web()));
    assertEquals(List.of(), agent.store.load());
    assertEquals(List.of(), agent.identities.inUse());
  }

  @Test
  void shouldGiveBackTheAddressThatWasClaimedBeforeTheRefusedOne() {
    final IpAddress leased = IpAddress.parse("10.5.0.77");
    agent.ipam.allocateAddress("ip", leased, "cni", null);
    agent.store.onSaved =
        record -> agent.ipam.claim("ip", record.addressing().ipv6(), 99, null, null);
    assertRefused(
        Refusal.Kind.CONFLICT,
        "addressing.ipv6",
        () -> agent.create("12", Requests.on("lxc1").ipv4("10.5.0.77").ipv6("f00d::5:0:10")));
    assertEquals(0, agent.ipam.find(leased).orElseThrow().endpointId());
    assertEquals("cni", agent.ipam.find(leased).orElseThrow().owner());
  }

  @Test
  void shouldNeitherAllocateNorReleaseExternalAddresses() {
    final DatapathConfiguration external =
        new DatapathConfiguration(null, true, null, null, null, null);
    agent.create("12", Requests.on("lxc1").ipv4("172.30.0.9").wired(external));
    assertEquals(List.of(), agent.ipam.leases());
    assertTrue(agent.datapath.ipcache.containsKey(Prefix.parse("172.30.0.9/32")));
    assertRefused(
        Refusal.Kind.INVALID,
        "addressing",
        () -> agent.create("13", Requests.on("lxc2").wired(external)));
    assertEquals(List.of(), agent.delete("12"));
  }

  @Test
  void shouldApplyTheRequestedDatapathConfiguration() {
    agent.create("12", web().wired(new DatapathConfiguration(true, null, false, true, null, null)));
    assertTrue(agent.node.routed.isEmpty());
    assertEquals("Disabled", agent.get("12").options().get("SourceIPVerification"));
    final int options = agent.datapath.attached.get(12).options();
    assertEquals(256, options & 256);
    assertEquals(0, options & 64);
  }

  /** The datapath sees the defaults where a request names no option. */
  @Test
  void shouldAttachProgramsWithTheDefaultOptions() {
    agent.create("12", web());
    final EndpointSpec attached = agent.datapath.attached.get(12);
    final int defaults =
        EndpointOption.CONNTRACK.number()
            | EndpointOption.CONNTRACK_ACCOUNTING.number()
            | EndpointOption.DROP_NOTIFICATION.number()
            | EndpointOption.TRACE_NOTIFICATION.number()
            | EndpointOption.POLICY_VERDICT_NOTIFICATION.number()
            | EndpointOption.SOURCE_IP_VERIFICATION.number();
    assertEquals(defaults, attached.options());
    assertEquals(AggregationLevel.NONE.number(), attached.aggregation());
  }

  @Test
  void shouldFreeEverythingWhenDeleted() {
    final int before = agent.datapath.ipcache.size();
    agent.create("12", web());
    assertEquals(List.of(), agent.delete("12"));
    assertRefused(Refusal.Kind.NOT_FOUND, "id", () -> agent.get("12"));
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.identities.inUse());
    assertEquals(List.of(), agent.store.load());
    assertEquals(Set.of(), agent.datapath.policies.keySet());
    assertEquals(Set.of(), agent.datapath.attached.keySet());
    assertEquals(before, agent.datapath.ipcache.size());
    assertEquals(Set.of(), agent.node.routed);
    assertRefused(Refusal.Kind.NOT_FOUND, "id", () -> agent.delete("12"));
  }

  @Test
  void shouldDeleteAllEndpointsOfAContainer() {
    agent.create("12", web().containerId("abc").containerInterface("eth0"));
    agent.create("13", Requests.on("lxc2").containerId("abc").containerInterface("eth1"));
    agent.create("14", Requests.on("lxc3").containerId("def"));
    assertEquals(List.of(), agent.now(agent.conductor.endpoints().deleteByContainerId("abc")));
    assertEquals(
        List.of(14),
        agent.conductor.endpoints().list(List.of()).stream().map(EndpointSnapshot::id).toList());
    assertRefused(
        Refusal.Kind.NOT_FOUND,
        "container-id",
        () -> agent.now(agent.conductor.endpoints().deleteByContainerId("abc")));
    assertRefused(
        Refusal.Kind.INVALID,
        "container-id",
        () -> agent.now(agent.conductor.endpoints().deleteByContainerId("")));
  }

  @Test
  void shouldRemoveASynchronousEndpointWhoseBuildFails() {
    agent.datapath.fails = call -> call.startsWith("attach");
    final OperationException failure =
        org.junit.jupiter.api.Assertions.assertThrows(
            OperationException.class, () -> agent.create("12", web()));
    assertEquals("endpoint 12: attach: the kernel refused", failure.getMessage());
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.store.load());
    assertFalse(agent.datapath.policies.containsKey(12));
  }

  @Test
  void shouldReturnTheFieldsOfTheCreateRequest() {
    final EndpointSnapshot endpoint = agent.create("12", web());
    assertEquals(
        new WorkloadDescription("4026532000", 4711, 7, null, "{\"a\":1}"), endpoint.workload());
    assertNull(endpoint.error());
    assertEquals("regenerate-endpoint-12", endpoint.controllers().getFirst().name());
    assertEquals(1, endpoint.controllers().getFirst().successCount());
  }

  /** No event has reported its new name yet. */
  @Test
  void shouldRefuseAnInterfaceThatAnotherEndpointHasByItsFormerName() {
    agent.create("12", web());
    agent.node.rename("lxc1", "renamed0");
    assertRefused(
        Refusal.Kind.CONFLICT,
        "interface-name",
        () -> agent.create("13", Requests.on("renamed0").ipv4("10.5.0.13")));
  }

  @Test
  void shouldOverrideDerivedLabelsOfTheSameSourceAlone() {
    agent.create("12", Requests.on("lxc1").labels("zone=1", "other:zone=1"));
    assertEquals(List.of("unspec:zone=1"), agent.relabel("12", "zone=2").labels().disabled());
  }

  /** The workload of an interface that is left may have had another address, too. */
  @Test
  void shouldLeaveNoRouteOnTheFormerInterfaceOfAnotherWorkload() {
    agent.create("12", web().mac("02:00:00:00:00:aa"));
    agent.modify("12", Requests.on("lxc4").state("ready").mac("02:00:00:00:00:bb"));
    assertEquals(
        List.of("lxc4"), agent.node.routed.stream().map(route -> route.interfaceName()).toList());
  }

  /** Options that differ in one thing each reach what they are for. */
  @Test
  void shouldTraceTheTranslationsOfAnEndpointByTheOptionForThem() {
    agent.create("12", web());
    agent.configure("12", Map.of("DebugPolicy", "Enabled"));
    assertEquals(Map.of(12, false), agent.translationsTraced);
    agent.configure("12", Map.of("DebugPolicy", "Disabled", "DebugLB", "Enabled"));
    assertEquals(Map.of(12, true), agent.translationsTraced);
    agent.delete("12");
    assertEquals(Map.of(12, false), agent.translationsTraced);
  }

  @Test
  void shouldTraceThePresentPolicyOfAnEndpointOnceItsOptionAsksForIt() throws Exception {
    agent.create("12", web());
    try (RecordedLog log = RecordedLog.of(Class.forName("agent.policy.resolve.DecisionTrace"))) {
      agent.configure("12", Map.of("Debug", "Enabled"));
      assertEquals(List.of(), log.take());
      agent.configure("12", Map.of("DebugPolicy", "Enabled"));
      assertFalse(log.take().isEmpty());
    }
  }
}
