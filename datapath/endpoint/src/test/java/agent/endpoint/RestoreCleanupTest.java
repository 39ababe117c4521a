package agent.endpoint;

import static agent.endpoint.EndpointRig.assertFailed;
import static agent.endpoint.EndpointRig.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth.Level;
import agent.endpoint.restore.RestoreReport;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointState;
import agent.ipam.Lease;
import agent.ipam.LeaseStore;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a start finds that belongs to no readable record: orphans, leases, damaged records. */
class RestoreCleanupTest {
  private static final IpAddress WEB = IpAddress.parse("10.5.0.9");
  private static final Prefix ADDRESS = Prefix.parse("10.5.0.9/32");

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void createEndpoints() {
    agent.create("1", Requests.on("lxc1").ipv4(WEB.toString()).labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client"));
  }

  private Level level() {
    return agent.conductor.restoreProgress().read().level();
  }

  private String message() {
    return agent.conductor.restoreProgress().read().message();
  }

  private long attempts(String call) {
    return agent.datapath.calls.stream().filter(made -> made.equals(call)).count();
  }

  @Test
  void shouldReportAnOrphanUntilItIsRemovedAndTryAgainAfterPausesThatDouble() {
    agent.store.remove(1);
    agent.datapath.fails = call -> call.equals("detach 1");
    agent.restart();
    final String orphan =
        "endpoint 1 no longer exists, but removing its leftovers failed: link: EBUSY";
    assertEquals(List.of(orphan), agent.report.errors());
    assertEquals(Level.DEGRADED, level());
    assertEquals(orphan, message());
    agent.datapath.calls.clear();
    int tried = 0;
    for (final int seconds : new int[] {1, 2, 4, 8, 16, 32, 60, 60}) {
      agent.advance(Duration.ofSeconds(seconds).minusMillis(1));
      assertEquals(tried, attempts("detach 1"));
      agent.advance(Duration.ofMillis(1));
      tried++;
      assertEquals(tried, attempts("detach 1"));
    }
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(60));
    assertFalse(agent.datapath.attached.containsKey(1));
    assertEquals(Level.OK, level());
    assertEquals("no endpoint is being restored", message());
    agent.datapath.calls.clear();
    agent.advance(Duration.ofSeconds(180));
    assertEquals(0, attempts("detach 1"));
  }

  @Test
  void shouldKeepAnOrphanAttachedWhoseInterfaceCannotBeSetDown() {
    agent.store.remove(1);
    agent.node.routesFail = true;
    agent.restart();
    assertTrue(agent.datapath.attached.containsKey(1), "its workload has policy by its programs");
    assertEquals(
        "endpoint 1 no longer exists, but removing its leftovers failed:"
            + " ip link set down: Operation not permitted",
        message());
    agent.node.routesFail = false;
    agent.advance(Duration.ofSeconds(2));
    assertFalse(agent.datapath.attached.containsKey(1));
    assertTrue(agent.node.down.contains("lxc1"));
    assertEquals(Level.OK, level());
  }

  @Test
  void shouldKeepAnOrphanAttachedWhoseInterfaceIsNotFoundOut() {
    agent.store.remove(1);
    agent.datapath.fails = call -> call.equals("host side 1");
    agent.restart();
    assertTrue(agent.datapath.attached.containsKey(1));
    assertEquals(
        "endpoint 1 no longer exists, but removing its leftovers failed: the kernel refused",
        message());
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(2));
    assertFalse(agent.datapath.attached.containsKey(1));
    assertEquals(Level.OK, level());
  }

  /** The id of an orphan can be used again, which ends the fault and the retries. */
  @Test
  void shouldForgetAnOrphanWhoseIdIsUsedAgain() {
    agent.store.remove(1);
    agent.datapath.fails = call -> call.equals("detach 1");
    agent.restart();
    agent.datapath.fails = call -> false;
    agent.create("1", Requests.on("lxc3").ipv4("10.5.0.33").labels("app=new"));
    agent.advance(Duration.ofSeconds(10));
    assertEquals(103, agent.datapath.attached.get(1).ifindex());
    assertEquals(Level.OK, level());
  }

  /** Nothing of the orphan is touched while a new endpoint may get its id. */
  @Test
  void shouldRemoveAnOrphanWhereTheNewEndpointOfItsIdIsNotStored() {
    agent.store.remove(1);
    agent.datapath.fails = call -> call.equals("detach 1");
    agent.restart();
    agent.datapath.fails = call -> false;
    agent.datapath.calls.clear();
    final Deque<Runnable> writes = new ArrayDeque<>();
    agent.storing = writes::add;
    final CompletableFuture<?> refused =
        agent
            .conductor
            .endpoints()
            .create(
                EndpointIdentifier.parse("1"),
                Requests.on("lxc3").ipv4("10.5.0.33").labels("app=new").build());
    agent.advance(Duration.ofSeconds(3));
    assertEquals(0, attempts("detach 1"));
    agent.store.fails = true;
    writes.remove().run();
    agent.run();
    assertTrue(refused.isCompletedExceptionally());
    agent.advance(Duration.ofSeconds(8));
    assertFalse(agent.datapath.attached.containsKey(1));
    assertEquals(Level.OK, level());
  }

  @Test
  void shouldBeLoadedBeforeItIsRestored() {
    final CompletableFuture<RestoreReport> restored = agent.beginRestart();
    final CompletableFuture<Void> loaded = agent.conductor.loaded();
    assertFalse(loaded.isDone());
    while (!loaded.isDone()) {
      agent.conductor.agent().doWork();
    }
    assertFalse(restored.isDone());
    assertEquals(EndpointState.RESTORING, agent.get("1").state());
    assertEquals(Level.DEGRADED, level());
    assertEquals("restoring: 0 of 2 endpoints", message());
    agent.now(restored);
    assertEquals(Level.OK, level());
  }

  /**
   * A start that cannot read what the kernel holds fails; it restores nothing and opens nothing.
   */
  @Test
  void shouldFailWhereTheKernelCannotBeRead() {
    agent.datapath.fails = call -> call.equals("known");
    final CompletableFuture<RestoreReport> restored = agent.beginRestart();
    agent.run();
    assertEquals("the kernel refused", restored.exceptionNow().getMessage());
    assertEquals("the kernel refused", agent.conductor.loaded().exceptionNow().getMessage());
    assertEquals(Level.OK, level());
    assertTrue(agent.datapath.attached.containsKey(1));
  }

  /** The policy maps hold what is allowed now before the ipcache names a new identity. */
  @Test
  void shouldWriteWhatPolicyMapsGainBeforeTheIpcacheAndWhatTheyLoseAfter() {
    agent.importRules(TestRules.allowIngress("app=web", "app=client", 80));
    agent.datapath.calls.clear();
    agent.datapath.policies.get(1).clear();
    agent.datapath.ipcache.remove(ADDRESS);
    agent.restart();
    final List<String> calls = agent.datapath.calls;
    final int gain = calls.indexOf("apply 1 +2 -0");
    final int ipcache = calls.indexOf("ipcache +[10.5.0.9/32]");
    final int lose = calls.indexOf("synchronize 1");
    final int attach = calls.indexOf("attach 1");
    assertTrue(0 <= gain && gain < ipcache && ipcache < lose && lose < attach, calls.toString());
  }

  @Test
  void shouldRemoveRoutesToWorkloadsThatNoLongerExist() {
    final WorkloadRoute stale =
        new WorkloadRoute("lxc9", MacAddress.of(9), IpAddress.parse("10.5.0.99"), null);
    final DatapathConfiguration unrouted =
        new DatapathConfiguration(null, null, false, null, null, null);
    agent.create("3", Requests.on("lxc3").ipv4("10.5.0.33").wired(unrouted));
    agent.node.routed.add(stale);
    agent.node.routed.add(
        new WorkloadRoute(
            "lxc3", MacAddress.parse("02:00:00:00:00:aa"), IpAddress.parse("10.5.0.33"), null));
    agent.restart();
    assertEquals(
        Set.of("lxc1", "lxc2"),
        Set.copyOf(agent.node.routed.stream().map(WorkloadRoute::interfaceName).toList()),
        "an endpoint that asked for no route has none");
  }

  @Test
  void shouldKeepWhatIsKnownOfAnEndpointWithADamagedRecord() {
    final int identity = agent.get("1").identity().id();
    damage(1);
    agent.restart();
    final var closed = agent.get("1");
    assertEquals(EndpointState.INVALID, closed.state());
    assertEquals(HealthLevel.FAILURE, closed.health().overall());
    assertEquals("checksum differs", closed.error());
    assertEquals("lxc1", closed.networking().interfaceName());
    assertEquals(101, closed.networking().interfaceIndex());
    assertEquals("02:00:00:00:00:aa", closed.networking().mac().toString());
    assertEquals(WEB, closed.networking().addressing().ipv4());
    assertTrue(agent.identities.find(identity).isPresent(), "no other labels get its number");
    assertEquals(Map.of(), agent.datapath.policies.get(1), "closed");
    assertEquals(1, agent.ipam.find(WEB).orElseThrow().endpointId());
    assertEquals(identity, agent.datapath.ipcache.get(ADDRESS).identity());
    assertTrue(agent.node.routed.stream().anyMatch(r -> r.interfaceName().equals("lxc1")));
    assertRefused(
        Refusal.Kind.CONFLICT,
        "addressing.ipv4",
        () -> agent.create("5", Requests.on("lxc5").ipv4(WEB.toString())));
    agent.delete("1");
    assertTrue(agent.identities.find(identity).isEmpty(), "its number is free again");
  }

  @Test
  void shouldNotReplaceADamagedRecordWhereTheInterfaceHasChanged() {
    damage(1);
    agent.restart();
    agent.node.present.remove("lxc1");
    agent.node.hasDeviceWithMac("renamed0", 101, "02:00:00:00:00:77");
    agent.node.events.add(handler -> handler.onDevice(agent.node.present.get("renamed0")));
    agent.advance(Duration.ofSeconds(1));
    assertEquals("renamed0", agent.get("1").networking().interfaceName());
    assertEquals("02:00:00:00:00:77", agent.get("1").networking().hostMac().toString());
    assertTrue(agent.store.load().stream().noneMatch(record -> record.id() == 1));
  }

  private void damage(int id) {
    agent.store.remove(id);
    agent.damagedAtLoad = Map.of(id, "checksum differs");
  }

  /** The addresses of an endpoint are found by its leases where the ipcache has lost them. */
  @Test
  void shouldKeepTheLeasesOfAnEndpointWithADamagedRecord() {
    damage(1);
    agent.datapath.ipcache.remove(ADDRESS);
    agent.restart();
    assertEquals(WEB, agent.get("1").networking().addressing().ipv4());
    assertEquals(1, agent.ipam.find(WEB).orElseThrow().endpointId());
  }

  /** Where records may be lost unnoticed, what the kernel or a lease has is closed, not removed. */
  @Test
  void shouldCloseEndpointsOfTheKernelAndOfLeasesWhoseRecordsAreLost() {
    agent.store.remove(1);
    agent.store.remove(2);
    agent.datapath.policies.remove(2);
    agent.datapath.closed.remove(2); // a lease alone tells of it
    agent.store.isIncomplete = true;
    agent.restart();
    assertEquals(EndpointState.INVALID, agent.get("1").state());
    assertEquals(EndpointState.INVALID, agent.get("2").state());
    assertEquals(0, attempts("detach 1"));
    assertEquals(1, agent.ipam.find(WEB).orElseThrow().endpointId());
    assertEquals(2, agent.ipam.find(IpAddress.parse("10.5.0.10")).orElseThrow().endpointId());
    assertEquals(
        List.of(), agent.now(agent.conductor.endpoints().delete(EndpointIdentifier.local(1))));
    assertTrue(agent.ipam.find(WEB).isEmpty());
  }

  /** A run that accepts more could not start again. */
  @Test
  void shouldRefuseAnEndpointThatTheProcessMayNotHaveAndRestoreThoseThatItHas() {
    agent.mostEndpoints = 2;
    assertRefused(
        Refusal.Kind.UNAVAILABLE,
        "id",
        () -> agent.create("3", Requests.on("lxc3").ipv4("10.5.0.11").labels("app=late")));
    assertTrue(agent.ipam.find(IpAddress.parse("10.5.0.11")).isEmpty());
    agent.restart();
    assertEquals(EndpointState.READY, agent.get("2").state());
    agent.delete("1");
    agent.create("3", Requests.on("lxc3").ipv4("10.5.0.11").labels("app=late"));
    assertEquals(EndpointState.READY, agent.get("3").state());
  }

  /** An address that no pool holds is not leased, and one that a pool holds is leased again. */
  @Test
  void shouldLeaseTheAddressesOfAnEndpointWithADamagedRecordAgain() {
    damage(1);
    agent.leases = LeaseStore.inMemory();
    agent.restart();
    assertEquals(1, agent.ipam.find(WEB).orElseThrow().endpointId());
    assertTrue(agent.report.errors().isEmpty(), agent.report.errors().toString());
  }

  @Test
  void shouldNotLeaseExternalAddressesOfAnEndpointWithADamagedRecord() {
    final DatapathConfiguration external =
        new DatapathConfiguration(null, true, null, null, null, null);
    agent.create("3", Requests.on("lxc3").ipv4("172.30.0.9").wired(external));
    damage(3);
    agent.restart();
    assertEquals(IpAddress.parse("172.30.0.9"), agent.get("3").networking().addressing().ipv4());
    assertTrue(agent.ipam.find(IpAddress.parse("172.30.0.9")).isEmpty());
    assertEquals(List.of(), agent.report.errors());
  }

  /** Without an entry in the kernel nothing is known but the id, which stays in use. */
  @Test
  void shouldKeepTheIdOfADamagedRecordThatTheKernelDoesNotKnow() {
    agent.delete("2");
    agent.damagedAtLoad = Map.of(2, "checksum differs");
    agent.restart();
    final var closed = agent.get("2");
    assertEquals(EndpointState.INVALID, closed.state());
    assertEquals("", closed.networking().interfaceName());
    assertEquals(0, closed.networking().interfaceIndex());
    assertFalse(agent.datapath.policies.containsKey(2));
    assertEquals(1, agent.node.routed.size());
    assertRefused(Refusal.Kind.CONFLICT, "id", () -> agent.create("2", Requests.on("lxc2")));
    assertEquals(
        List.of(), agent.now(agent.conductor.endpoints().delete(EndpointIdentifier.local(2))));
  }

  /** What fails ends the process; until then no caller waits for good. */
  @Test
  void shouldAnswerChangesAfterARestorationThatFailed() {
    agent.datapath.fails = call -> call.equals("known");
    assertFailed(agent::restart);
    agent.datapath.fails = call -> false;
    assertEquals(0, agent.deleteRules().rules().size());
  }

  /** Policy for other labels must not become that of one of them. */
  @Test
  void shouldKeepTheIdentityOfEachEndpointWithADamagedRecord() {
    final int web = agent.get("1").identity().id();
    final int client = agent.get("2").identity().id();
    agent.store.remove(1);
    agent.store.remove(2);
    agent.damagedAtLoad = Map.of(1, "checksum differs", 2, "checksum differs");
    agent.restart();
    assertEquals(List.of(), agent.report.errors());
    assertTrue(agent.identities.find(web).isPresent());
    assertTrue(agent.identities.find(client).isPresent());
  }

  @Test
  void shouldKeepBothAddressesOfAnEndpointWithADamagedRecord() {
    final IpAddress ipv4 = IpAddress.parse("10.5.0.33");
    final IpAddress ipv6 = IpAddress.parse("f00d::5:0:33");
    agent.create("3", Requests.on("lxc3").ipv4(ipv4.toString()).ipv6(ipv6.toString()));
    damage(3);
    agent.restart();
    assertEquals(ipv4, agent.get("3").networking().addressing().ipv4());
    assertEquals(ipv6, agent.get("3").networking().addressing().ipv6());
    assertTrue(agent.datapath.ipcache.containsKey(Prefix.of(ipv4)));
    assertTrue(agent.datapath.ipcache.containsKey(Prefix.of(ipv6)));
  }

  @Test
  void shouldNotReleaseTheAddressesOfAnEndpointThatIsBeingStored() {
    agent.datapath.holds = "ipcache read"::equals;
    final CompletableFuture<RestoreReport> restored = agent.beginRestart();
    agent.run();
    final Deque<Runnable> writes = new ArrayDeque<>();
    agent.storing = writes::add;
    final CompletableFuture<?> created =
        agent
            .conductor
            .endpoints()
            .create(EndpointIdentifier.local(3), Requests.on("lxc3").labels("app=new").build());
    agent.run();
    final List<Lease> leases = agent.ipam.leases();
    assertEquals(2, leases.stream().filter(lease -> lease.endpointId() == 3).count());
    agent.datapath.holds = call -> false;
    agent.datapath.answerHeld();
    agent.now(restored);
    assertEquals(leases, agent.ipam.leases());
    agent.storing = Runnable::run;
    writes.forEach(Runnable::run);
    agent.now(created);
  }
}
