package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static agent.endpoint.TestRules.allowIngressFromCidr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.PolicyEntry;
import agent.endpoint.restore.RestoreReport;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.identity.Identity;
import agent.maps.layout.PolicyDirection;
import agent.node.Devices.Device;
import agent.policy.PolicyChange;
import agent.policy.repository.PolicyState;
import agent.policy.repository.Replacement;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RestorationTest {
  private static final IpAddress CLIENT = IpAddress.parse("10.5.0.10");
  private static final IpAddress OUTSIDE = IpAddress.parse("198.51.100.7");

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void setUp() {
    agent.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4(CLIENT.toString()).labels("app=client"));
    agent.create("40", Requests.on("lxc3").labels("app=gone"));
    agent.relabel("2", "role=friend");
    agent.importRules(
        allowIngress("app=web", "role=friend", 80),
        allowIngressFromCidr("app=web", "198.51.100.0/24", 80));
  }

  private boolean webLetsIn(IpAddress peer, int port) {
    return agent.datapath.allows(1, PolicyDirection.INGRESS, peer, 6, port);
  }

  private Map<Integer, Identity> identities() {
    final Map<Integer, Identity> identities = new TreeMap<>();
    agent
        .conductor
        .endpoints()
        .list(List.of())
        .forEach(endpoint -> identities.put(endpoint.id(), endpoint.identity()));
    return identities;
  }

  @Test
  void shouldRestoreEndpointsAfterARestart() {
    final Map<Integer, Identity> before = identities();
    final Map<?, ?> policies = Map.copyOf(agent.datapath.policies);
    final Map<Prefix, ?> ipcache = Map.copyOf(agent.datapath.ipcache);
    final EndpointSnapshot web = agent.get("1");
    agent.restart();
    assertEquals(
        new RestoreReport(List.of(1, 2, 40), List.of(), List.of(), List.of()), agent.report);
    assertEquals(before, identities());
    assertEquals(policies, agent.datapath.policies);
    assertEquals(ipcache, agent.datapath.ipcache);
    final EndpointSnapshot after = agent.get("1");
    assertEquals(EndpointState.READY, after.state());
    assertEquals(HealthLevel.OK, after.health().overall());
    assertEquals(web.networking(), after.networking());
    assertEquals(web.labels(), after.labels());
    assertEquals(web.options(), after.options());
    assertEquals(web.realizedPolicy().revision(), after.realizedPolicy().revision());
    assertEquals(
        web.realizedPolicy().ingress().allowed(), after.realizedPolicy().ingress().allowed());
    assertEquals(web.workload(), after.workload());
    assertEquals(3, agent.node.routed.size());
    assertEquals(41, agent.create("0", Requests.on("lxc4")).id());
  }

  @Test
  void shouldAddTheRouteOfAnEndpointWhoseBuildDidNotEnd() {
    agent.node.routed.clear();
    agent.restart();
    assertEquals(EndpointState.READY, agent.get("1").state());
    assertEquals(3, agent.node.routed.size());
  }

  @Test
  void shouldNotBeReadyWhereTheRouteCannotBeAddedAndAddItLater() {
    agent.node.routed.clear();
    agent.node.routesFail = true;
    agent.restart();
    assertEquals(List.of(1, 2, 40), agent.report.failed());
    assertEquals(EndpointState.NOT_READY, agent.get("1").state());
    assertEquals(HealthLevel.WARNING, agent.get("1").health().overall());
    agent.node.routesFail = false;
    agent.advance(Duration.ofMinutes(2));
    assertEquals(EndpointState.READY, agent.get("1").state());
    assertEquals(3, agent.node.routed.size());
  }

  @Test
  void shouldChangeNoVerdictDuringRestore() {
    agent.datapath.aroundWrites =
        () -> {
          assertTrue(webLetsIn(CLIENT, 80));
          assertTrue(webLetsIn(OUTSIDE, 80));
          assertFalse(webLetsIn(CLIENT, 81));
          assertFalse(webLetsIn(IpAddress.parse("203.0.113.1"), 80));
        };
    agent.restart();
    assertTrue(agent.report.errors().isEmpty());
  }

  @Test
  void shouldDropNothingWhereTheKernelHasFewerEntriesThanTheStores() {
    agent.datapath.policies.get(1).clear();
    agent.datapath.ipcache.clear();
    agent.restart();
    assertTrue(webLetsIn(CLIENT, 80));
    assertTrue(webLetsIn(OUTSIDE, 80));
    assertFalse(webLetsIn(OUTSIDE, 81));
  }

  @Test
  void shouldDropNothingWhereTheKernelHasACidrWithAnotherIdentity() {
    agent.datapath.renumber(agent.datapath.identityOf(OUTSIDE), (1 << 24) + 500);
    assertTrue(webLetsIn(OUTSIDE, 80));
    agent.datapath.aroundWrites =
        () -> {
          assertTrue(webLetsIn(OUTSIDE, 80));
          assertFalse(webLetsIn(OUTSIDE, 81));
        };
    agent.restart();
    assertTrue(agent.datapath.identityOf(OUTSIDE) < (1 << 24) + 500);
    assertEquals(2, ingressEntriesOfWeb());
  }

  private long ingressEntriesOfWeb() {
    return agent.datapath.policies.get(1).keySet().stream()
        .filter(key -> key.direction() == PolicyDirection.INGRESS)
        .count();
  }

  @Test
  void shouldRemoveAnEndpointWhoseInterfaceIsGone() {
    agent.node.present.remove("lxc3");
    agent.restart();
    assertEquals(List.of(40), agent.report.removed());
    assertFalse(agent.datapath.attached.containsKey(40));
    assertEquals(2, agent.store.load().size());
    assertEquals(2, agent.ipam.leases().size());
    assertEquals(2, agent.identities.inUse().size());
  }

  @Test
  void shouldRemoveAnEndpointWhoseInterfaceNameBelongsToAnotherDevice() {
    agent.node.hasDevice("lxc3", 777);
    agent.restart();
    assertEquals(List.of(40), agent.report.removed());
  }

  @Test
  void shouldFollowAnInterfaceThatWasGivenAnotherName() {
    final Device former = agent.node.present.remove("lxc3");
    agent.node.hasDevice("renamed", former.index());
    agent.restart();
    assertEquals(List.of(), agent.report.removed());
    assertEquals("renamed", agent.get("40").networking().interfaceName());
    assertEquals("renamed", agent.datapath.attached.get(40).interfaceName());
    assertEquals("renamed", agent.store.load().getLast().device().name());
  }

  /** The kernel ends a link with its interface: what has the link is the interface. */
  @Test
  void shouldKnowAnInterfaceWithAnotherAddressByItsLink() {
    agent.node.present.remove("lxc3");
    agent.node.hasDeviceWithMac("other3", 103, "02:00:00:00:00:77");
    agent.restart();
    assertEquals(List.of(), agent.report.removed());
    assertEquals(List.of(1, 2, 40), agent.report.restored());
    assertEquals(4, agent.ipam.leases().size());
    assertEquals("02:00:00:00:00:77", agent.datapath.attached.get(40).hostMac().toString());
    assertEquals("other3", agent.store.load().getLast().device().name());
    assertEquals("02:00:00:00:00:77", agent.store.load().getLast().device().hostMac().toString());
  }

  @Test
  void shouldKeepTheLeasesOfAnEndpointWhoseInterfaceIsInDoubt() {
    agent.node.hasDeviceWithMac("lxc3", 103, "02:00:00:00:00:77");
    agent.datapath.hasLinks = false;
    agent.restart();
    assertEquals(List.of(), agent.report.removed());
    assertEquals(List.of(40), agent.report.failed());
    assertEquals(4, agent.ipam.leases().size());
    agent.advance(Duration.ofSeconds(1));
    assertEquals(
        "interface-name: interface 'lxc3' has MAC address 02:00:00:00:00:77,"
            + " not 02:00:00:00:00:67",
        agent.get("40").health().reason());
    assertFalse(agent.datapath.attached.containsKey(40));
    agent.restart();
    assertEquals(4, agent.ipam.leases().size(), "the doubt has not ended");
  }

  @Test
  void shouldKeepTheLeasesOfAnEndpointWhoseHostSideCannotBeRead() {
    agent.node.hasDeviceWithMac("lxc3", 103, "02:00:00:00:00:77");
    agent.datapath.fails = call -> call.equals("host side 40");
    agent.restart();
    assertEquals(List.of(), agent.report.removed());
    assertEquals(4, agent.ipam.leases().size());
  }

  /** After the node has started again the kernel has nothing, and indexes are of others. */
  @Test
  void shouldRemoveAnEndpointWhoseIndexBelongsToAnotherInterfaceAfterTheNodeWasStarted() {
    agent.node.hasDeviceWithMac("lxc3", 103, "02:00:00:00:00:77");
    agent.datapath.policies.clear();
    agent.datapath.attached.clear();
    agent.datapath.closed.clear();
    agent.restart();
    assertEquals(List.of(40), agent.report.removed());
    assertEquals(2, agent.ipam.leases().size());
  }

  /** Its own name is another's now; index and address are its own. */
  @Test
  void shouldFollowAnInterfaceWhoseFormerNameAnotherHas() {
    agent.node.present.remove("lxc3");
    agent.node.hasDevice("renamed", 103);
    agent.node.hasDevice("lxc3", 777);
    agent.restart();
    assertEquals(List.of(), agent.report.removed());
    assertEquals("renamed", agent.get("40").networking().interfaceName());
  }

  @Test
  void shouldRemoveResourcesWithoutAStoredEndpoint() {
    agent.store.remove(40);
    agent.restart();
    assertFalse(agent.datapath.policies.containsKey(40));
    assertEquals(
        List.of("lxc3"),
        agent.node.interfacesSetDown,
        "without programs the workload has no policy");
    assertEquals(2, agent.ipam.leases().size());
    assertTrue(agent.datapath.ipcache.values().stream().noneMatch(e -> e.endpointId() == 40));
  }

  @Test
  void shouldRetryAnEndpointThatCannotBeRestored() {
    agent.datapath.fails = call -> call.equals("attach 2");
    agent.restart();
    assertEquals(List.of(1, 40), agent.report.restored());
    assertEquals(List.of(2), agent.report.failed());
    assertEquals(EndpointState.NOT_READY, agent.get("2").state());
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(1));
    assertEquals(EndpointState.READY, agent.get("2").state());
  }

  @Test
  void shouldContinueAfterAnInvalidRecord() {
    final EndpointRecord record = agent.store.load().get(1);
    agent.store.save(
        record.withLabels(new EndpointRecord.LabelSources(List.of("=broken"), List.of())));
    agent.restart();
    assertEquals(List.of(1, 40), agent.report.restored());
    assertEquals(1, agent.report.errors().size());
    assertTrue(agent.report.errors().getFirst().contains("endpoint 2"));
  }

  /** Its labels are not known, so neither is what it may send nor what its peers deny it. */
  @Test
  void shouldKeepAnEndpointClosedWhoseRecordIsNotValid() {
    final int identity = agent.get("2").identity().id();
    final EndpointRecord record = agent.store.load().get(1);
    agent.store.save(
        record.withLabels(new EndpointRecord.LabelSources(List.of("=broken"), List.of())));
    agent.restart();
    final EndpointSnapshot closed = agent.get("2");
    assertEquals(EndpointState.INVALID, closed.state());
    assertEquals(HealthLevel.FAILURE, closed.health().overall());
    assertEquals("lxc2", closed.networking().interfaceName());
    assertEquals(CLIENT, closed.networking().addressing().ipv4());
    assertTrue(agent.datapath.attached.containsKey(2), "its programs stay");
    assertEquals(Map.of(), agent.datapath.policies.get(2));
    assertEquals(identity, agent.datapath.ipcache.get(Prefix.of(CLIENT)).identity());
    assertEquals(List.of(), agent.node.interfacesSetDown);
    assertTrue(
        agent.node.routed.stream().anyMatch(route -> CLIENT.equals(route.ipv4())),
        "its packets stay on this node");

    FakeRig.assertRefused(
        Refusal.Kind.CONFLICT,
        "addressing.ipv4",
        () -> agent.create("5", Requests.on("lxc5").ipv4(CLIENT.toString())));
    FakeRig.assertRefused(
        Refusal.Kind.CONFLICT,
        "interface-name",
        () -> agent.create("5", Requests.on("lxc2").labels("app=x")));
    FakeRig.assertRefused(Refusal.Kind.CONFLICT, "id", () -> agent.relabel("2", "a=b"));
    assertNotEquals(
        identity,
        agent.create("6", Requests.on("lxc6").labels("app=other")).identity().id(),
        "its identity is not that of others");

    assertEquals(List.of(), agent.delete("2"));
    assertFalse(agent.datapath.attached.containsKey(2));
    assertFalse(agent.datapath.ipcache.containsKey(Prefix.of(CLIENT)));
    assertTrue(agent.ipam.find(CLIENT).isEmpty());
    assertTrue(agent.store.unreadable().isEmpty());
  }

  @Test
  void shouldKeepWhatTheKernelEnforcesWhileTheRulesCannotBeRead() {
    final Map<Integer, Map<PolicyEntry.Key, PolicyEntry>> policies = new HashMap<>();
    agent.datapath.policies.forEach((id, map) -> policies.put(id, Map.copyOf(map)));
    final Map<Prefix, IpcacheEntry> ipcache = Map.copyOf(agent.datapath.ipcache);
    agent.rules.save(new PolicyState(0, List.of(), List.of()));
    agent.datapath.aroundWrites = () -> assertEquals(policies, agent.datapath.policies);
    agent.restart();
    assertEquals(List.of(1, 2, 40), agent.report.failed());
    assertEquals(ipcache, agent.datapath.ipcache);
    assertTrue(webLetsIn(CLIENT, 80) && webLetsIn(OUTSIDE, 80) && !webLetsIn(CLIENT, 81));
    agent.advance(Duration.ofMinutes(2));
    assertEquals(EndpointState.NOT_READY, agent.get("1").state(), "it is not tried again");
    assertTrue(agent.get("1").error().contains("revision: 0"), agent.get("1").error());
    assertThrows(OperationException.class, () -> agent.configure("1", Map.of("Debug", "Enabled")));
    assertThrows(OperationException.class, () -> agent.conductor.policy().get(List.of()));
    assertThrows(
        OperationException.class,
        () ->
            agent.now(
                agent
                    .conductor
                    .policy()
                    .change(
                        PolicyChange.add(
                            List.of(allowIngress("app=web", "role=friend", 81)),
                            Replacement.of(false, List.of())))));
    assertEquals(policies, agent.datapath.policies);

    agent.datapath.aroundWrites = () -> {};
    assertEquals(
        EndpointState.READY, agent.create("7", Requests.on("lxc7").labels("app=client")).state());
    assertEquals(Map.of(), agent.datapath.policies.get(7), "a new endpoint is closed");
    assertEquals(List.of(), agent.delete("40"));
    assertFalse(agent.datapath.policies.containsKey(40));

    agent.deleteRules();
    for (final String id : List.of("1", "2", "7")) {
      assertEquals(EndpointState.READY, agent.get(id).state(), id);
    }
    assertTrue(webLetsIn(CLIENT, 81), "there are no rules now");
    assertFalse(agent.datapath.ipcache.containsKey(Prefix.parse("198.51.100.0/24")));
    agent.importRules(allowIngress("app=web", "role=friend", 80));
    assertFalse(webLetsIn(CLIENT, 81));
  }

  @Test
  void shouldCloseAnEndpointWithoutAPolicyMapWhileTheRulesCannotBeRead() {
    agent.rules.save(new PolicyState(0, List.of(), List.of()));
    agent.datapath.policies.clear();
    agent.datapath.attached.clear();
    agent.datapath.closed.clear();
    agent.datapath.identities.clear();
    agent.restart();
    assertEquals(List.of(1, 2, 40), agent.report.restored());
    assertEquals(Map.of(), agent.datapath.policies.get(1));
    assertFalse(webLetsIn(CLIENT, 80));
  }

  @Test
  void shouldNotMakeEndpointsInvalidWhereTheStoreCannotBeWritten() {
    final Device former = agent.node.present.remove("lxc1");
    agent.node.hasDevice("renamed", former.index());
    agent.node.present.remove("lxc3");
    agent.store.fails = true;
    agent.restart();
    assertEquals(List.of(1, 2), agent.report.restored());
    assertEquals(2, agent.report.errors().size(), agent.report.errors().toString());
    agent.store.fails = false;
    agent.restart();
    assertEquals(List.of(1, 2), agent.report.restored());
    assertEquals(List.of(), agent.report.errors());
  }

  @Test
  void shouldRestoreAnEndpointWithInvalidOptions() {
    final EndpointRecord record = agent.store.load().get(1);
    agent.store.save(
        record.withConfiguration(
            new EndpointRecord.Configuration(
                Map.of("Debug", "-1", "NoOption", "x"), record.configuration().datapath())));
    agent.restart();
    assertEquals(List.of(1, 2, 40), agent.report.restored());
    assertTrue(agent.report.errors().getFirst().contains("endpoint 2 has the default options"));
    assertEquals("Disabled", agent.get("2").options().get("Debug"));
  }

  @Test
  void shouldBeInvalidWhereTheAddressIsOutsideThePools() {
    final EndpointRecord record = agent.store.load().get(1);
    agent.store.save(
        record.withAddressing(
            new EndpointAddressing(IpAddress.parse("172.20.0.1"), null, null, null, null, null)));
    agent.restart();
    final EndpointSnapshot invalid = agent.get("2");
    assertEquals(EndpointState.INVALID, invalid.state());
    assertEquals(Map.of(), agent.datapath.policies.get(2), "closed");
    assertEquals(
        List.of("endpoint 2: addressing: 172.20.0.1 is outside every pool"), agent.report.errors());
    assertFalse(agent.datapath.ipcache.containsKey(Prefix.parse("172.20.0.1/32")));
    assertTrue(agent.node.routed.stream().noneMatch(r -> r.interfaceName().equals("lxc2")));
    assertEquals(HealthLevel.FAILURE, invalid.health().overall());
    FakeRig.assertRefused(Refusal.Kind.CONFLICT, "id", () -> agent.relabel("2", "a=b"));
    assertEquals(List.of(), agent.delete("2"));
  }

  @Test
  void shouldRemoveEverythingWhereTheStoresAreEmpty() {
    for (final int id : new int[] {1, 2, 40}) {
      agent.store.remove(id);
    }
    agent.restart();
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
    assertTrue(agent.datapath.policies.isEmpty());
    assertTrue(agent.node.routed.isEmpty());
    assertEquals(List.of(), agent.ipam.leases());
  }

  @Test
  void shouldRestoreMoreThanOnce() {
    agent.restart();
    agent.relabel("2");
    assertFalse(webLetsIn(CLIENT, 80));
    agent.restart();
    assertFalse(webLetsIn(CLIENT, 80));
    assertTrue(webLetsIn(OUTSIDE, 80));
    assertEquals(List.of(), agent.get("2").labels().user());
  }
}
