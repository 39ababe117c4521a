package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth.Level;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.RedirectedFlow;
import agent.endpoint.restore.RestoreReport;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointState;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A start waits for the kernel without blocking, and continues what the former run left. */
class RestoreOrderTest {
  private static final MacAddress WORKLOAD = MacAddress.parse("02:00:00:00:00:aa");

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void createEndpoints() {
    agent.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client"));
    agent.importRules(TestRules.allowIngress("app=web", "app=client", 80));
    agent.datapath.calls.clear();
  }

  /** Starts, and runs until it waits for the answers that the datapath holds. */
  private CompletableFuture<RestoreReport> startHolding(String call) {
    agent.datapath.holds = call::equals;
    final CompletableFuture<RestoreReport> restored = agent.beginRestart();
    agent.run();
    assertFalse(restored.isDone());
    return restored;
  }

  private void answer(CompletableFuture<RestoreReport> restored) {
    agent.datapath.holds = call -> false;
    agent.datapath.answerHeld();
    agent.run();
    assertEquals(List.of(1, 2), restored.join().restored());
  }

  @ParameterizedTest
  @ValueSource(strings = {"known", "remembered"})
  @Timeout(30)
  void shouldLoadNoRecordBeforeItKnowsWhatTheKernelHolds(String call) {
    final CompletableFuture<RestoreReport> restored = startHolding(call);
    assertFalse(agent.conductor.loaded().isDone());
    answer(restored);
    assertTrue(agent.conductor.loaded().isDone());
  }

  /** Until it is closed, an endpoint without labels could still send by its former policy. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldNotBeLoadedBeforeInvalidEndpointsAreClosed(boolean isDamaged) {
    if (isDamaged) {
      agent.store.remove(2);
      agent.damagedAtLoad = Map.of(2, "checksum differs");
    } else {
      final EndpointRecord record = agent.store.load().get(1);
      agent.store.save(
          record.withAddressing(
              new EndpointAddressing(IpAddress.parse("10.5.0.9"), null, null, null, null, null)));
    }
    agent.datapath.holds = "entry 2"::equals;
    final CompletableFuture<RestoreReport> restored = agent.beginRestart();
    agent.run();
    assertFalse(agent.conductor.loaded().isDone());
    agent.datapath.holds = call -> false;
    agent.datapath.answerHeld();
    agent.run();
    assertEquals(List.of(1), restored.join().restored());
    assertEquals(EndpointState.INVALID, agent.get("2").state());
  }

  @Test
  void shouldFindAnInterfaceThatTheListOfAllLeftOut() {
    agent.node.unlisted.add(agent.node.present.get("lxc2"));
    agent.restart();
    assertEquals(List.of(1, 2), agent.report.restored());
    assertEquals(EndpointState.READY, agent.get("2").state());
  }

  /** Entries that policy maps lose are those of identities that the ipcache still has. */
  @Test
  void shouldTakeNoPolicyEntryAwayBeforeTheIpcacheIsCompared() {
    final CompletableFuture<RestoreReport> restored = startHolding("ipcache read");
    assertTrue(agent.datapath.calls.stream().noneMatch(call -> call.startsWith("synchronize")));
    answer(restored);
    assertTrue(agent.datapath.calls.contains("synchronize 1"));
  }

  /** The first write of an entry with a redirect starts its proxy, which then has requests. */
  @Test
  void shouldJudgeRequestsBeforeAProxyCanHaveThem() {
    final int client = agent.get("2").identity().id();
    agent.datapath.holds = "applied"::equals;
    final CompletableFuture<RestoreReport> restored = agent.beginRestart();
    agent.run();
    assertTrue(agent.datapath.calls.stream().noneMatch(call -> call.startsWith("synchronize")));
    assertTrue(passes(client, 80));
    assertFalse(passes(client, 81));
    answer(restored);
    assertTrue(passes(client, 80));
  }

  /** Whether the policy of the first endpoint lets requests of the second one pass. */
  private boolean passes(int client, int port) {
    final IpAddress from = IpAddress.parse("10.5.0.10");
    final IpAddress to = IpAddress.parse("10.5.0.9");
    return agent
        .policy
        .requests()
        .dns(new RedirectedFlow(6, from, 40_000, client, 0, to, port, 0, 1), "www.example.com");
  }

  @Test
  void shouldNotSayThatItRestoresAfterItHasFailed() {
    agent.node.routesAreUnreadable = true;
    agent.restart();
    assertEquals(List.of("IPv4 routes: list: ENOBUFS"), agent.report.errors());
    assertEquals(List.of(1, 2), agent.report.restored());
    assertEquals(Level.OK, agent.conductor.restoreProgress().read().level());
    assertEquals(EndpointState.READY, agent.get("1").state());
  }

  /** A build needs none of the steps before it. */
  @ParameterizedTest
  @ValueSource(strings = {"all changes", "ipcache read", "synchronize 1"})
  void shouldBuildTheEndpointsWhateverStepHasThrown(String call) {
    final AtomicBoolean hasThrown = new AtomicBoolean();
    agent.datapath.fails =
        attempted -> {
          if (attempted.equals(call) && hasThrown.compareAndSet(false, true)) {
            throw new OperationException("a fault");
          }
          return false;
        };
    final Prefix former = Prefix.parse("198.51.100.0/24");
    agent.datapath.ipcache.put(former, new IpcacheEntry(former, 1 << 24, 0, false));
    assertRestoredWith("a fault");
    assertTrue(hasThrown.get());
    assertFalse(agent.datapath.ipcache.containsKey(former), "the ipcache is compared in any case");
  }

  @Test
  void shouldBuildTheEndpointsWhereNoPolicyMapCanGainEntries() {
    agent.datapath.fails = "all changes"::equals;
    assertRestoredWith("the kernel refused");
  }

  private void assertRestoredWith(String error) {
    agent.restart();
    assertEquals(List.of(error), agent.report.errors());
    assertEquals(List.of(1, 2), agent.report.restored());
    assertEquals(EndpointState.READY, agent.get("1").state());
    assertEquals(EndpointState.READY, agent.get("2").state());
    assertEquals(Level.OK, agent.conductor.restoreProgress().read().level());
  }

  @Test
  void shouldRemoveTheRouteOfAnInvalidEndpoint() {
    final IpAddress web = IpAddress.parse("10.5.0.9");
    final EndpointRecord record = agent.store.load().get(1);
    agent.store.save(
        record.withAddressing(new EndpointAddressing(web, null, null, null, null, null)));
    agent.node.routed.add(new WorkloadRoute("lxc2", WORKLOAD, web, null));
    agent.restart();
    assertEquals(EndpointState.INVALID, agent.get("2").state());
    assertEquals(List.of(new WorkloadRoute("lxc1", WORKLOAD, web, null)), routed());
  }

  private List<WorkloadRoute> routed() {
    return List.copyOf(agent.node.routed);
  }

  @Test
  void shouldForgetARememberedRemovalThatFinishesByARetry() {
    agent.store.fails = true;
    agent.delete("2");
    assertEquals(Set.of(2), agent.datapath.remembered);
    agent.store.fails = false;
    agent.datapath.fails = call -> call.equals("detach 2");
    agent.restart();
    assertEquals(EndpointState.DISCONNECTING, agent.get("2").state());
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(8));
    assertEquals(Set.of(), agent.datapath.remembered);
    assertEquals(1, agent.conductor.endpoints().list(List.of()).size());
  }

  /** A request about an endpoint whose removal continues waits until the attempt has ended. */
  @Test
  void shouldRunNoOtherOperationBesideARemovalThatContinues() {
    agent.store.fails = true;
    agent.delete("2");
    agent.store.fails = false;
    agent.datapath.holds = call -> call.equals("host side 2");
    agent.beginRestart();
    agent.run();
    final CompletableFuture<List<String>> again =
        agent.conductor.endpoints().delete(EndpointIdentifier.local(2));
    agent.run();
    assertEquals(1, agent.datapath.answerHeld(), "the second removal has not begun");
    agent.datapath.holds = call -> false;
    agent.run();
    assertTrue(again.isDone());
  }

  /** The maps are prepared, which is all that repairs need. */
  @Test
  void shouldWatchTheNodeWhileAnEndpointIsRestored() {
    final CompletableFuture<RestoreReport> restored = startHolding("attach 2");
    agent.advance(Duration.ofSeconds(1));
    assertTrue(agent.node.isSubscribed);
    agent.node.present.remove("lxc1");
    agent.node.events.add(handler -> handler.onDeviceRemoved(101, "lxc1"));
    agent.run();
    assertFalse(agent.datapath.attached.containsKey(1));
    answer(restored);
  }
}
