package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static agent.endpoint.TestRules.allowIngressFromCidr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.restore.RestoreReport;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.identity.Identity;
import agent.maps.layout.PolicyDirection;
import agent.node.Devices.Device;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Duration;
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
    assertEquals(web.realizedPolicy().allowedIngress(), after.realizedPolicy().allowedIngress());
    assertEquals(web.workload(), after.workload());
    assertEquals(3, agent.node.routed.size());
    assertEquals(41, agent.create("0", Requests.on("lxc4")).id());
  }

  @Test
  void shouldChangeNoVerdictDuringRestore() {
    agent.datapath.afterWrite =
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
    agent.datapath.afterWrite =
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
