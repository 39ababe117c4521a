package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static agent.endpoint.TestRules.allowIngressFromCidr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth.Level;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.IpcacheEntry;
import agent.endpoint.restore.RestoreReport;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.maps.layout.PolicyDirection;
import agent.policy.repository.PolicySnapshot;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Many endpoints are restored while the API is used. */
class RestoreInPartsTest {
  private static final int ENDPOINTS = 320;
  private static final int LAST = ENDPOINTS;
  private static final IpAddress CLIENT = IpAddress.parse("10.5.0.2");
  private static final IpAddress OUTSIDE = IpAddress.parse("198.51.100.7");

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void setUp() {
    for (int i = 1; i <= ENDPOINTS + 1; i++) {
      agent.node.hasDevice("wl" + i, 1000 + i);
    }
    for (int i = 1; i <= ENDPOINTS; i++) {
      final Requests request = Requests.on("wl" + i).labels(i == 2 ? "app=client" : "app=web");
      agent.create(
          Integer.toString(i),
          i == 2 ? request.ipv4(CLIENT.toString()) : request.ipv6("f00d::5:1:" + i));
    }
    agent.importRules(
        allowIngress("app=web", "app=client", 80),
        allowIngressFromCidr("app=web", "198.51.100.0/24", 80));
  }

  private CompletableFuture<RestoreReport> restartUntil(int attached) {
    attachedInThisRun.clear();
    final CompletableFuture<RestoreReport> restored = agent.beginRestart();
    agent.datapath.fails =
        call -> {
          if (call.startsWith("attach ")) {
            attachedInThisRun.add(Integer.parseInt(call.substring("attach ".length())));
          }
          return false;
        };
    while (attachedInThisRun.size() < attached && !restored.isDone()) {
      agent.conductor.agent().doWork();
    }
    return restored;
  }

  private final Set<Integer> attachedInThisRun = new HashSet<>();

  private <T> T answerOf(CompletableFuture<T> answer) {
    for (int cycles = 0; !answer.isDone(); cycles++) {
      assertTrue(cycles < 100_000, "no answer");
      agent.conductor.agent().doWork();
    }
    return answer.join();
  }

  private boolean letsIn(int endpoint, IpAddress peer, int port) {
    return agent.datapath.allows(endpoint, PolicyDirection.INGRESS, peer, 6, port);
  }

  private int restoring() {
    return (int)
        agent.conductor.endpoints().list(List.of()).stream()
            .filter(endpoint -> endpoint.state() == EndpointState.RESTORING)
            .count();
  }

  @Test
  void shouldListEveryEndpointBeforeTheFirstIsRestored() {
    final CompletableFuture<RestoreReport> restored = agent.beginRestart();
    answerOf(agent.conductor.loaded());
    assertFalse(restored.isDone());
    assertEquals(ENDPOINTS, restoring());
    assertEquals(ENDPOINTS, answerOf(restored).restored().size());
    assertEquals(0, restoring());
    assertTrue(
        agent.conductor.endpoints().list(List.of()).stream()
            .allMatch(endpoint -> endpoint.state() == EndpointState.READY));
  }

  @Test
  void shouldShowHowFarItIs() {
    final CompletableFuture<RestoreReport> restored = restartUntil(120);
    assertEquals(Level.DEGRADED, agent.conductor.restoreProgress().read().level());
    final String message = agent.conductor.restoreProgress().read().message();
    assertTrue(message.matches("restoring: 1[12][0-9] of 320 endpoints"), message);
    answerOf(restored);
    assertEquals(Level.OK, agent.conductor.restoreProgress().read().level());
  }

  @Test
  void shouldServeCallsToEndpointsOfEveryStateMeanwhile() {
    final CompletableFuture<RestoreReport> restored = restartUntil(20);
    final EndpointSnapshot changed =
        answerOf(
            agent
                .conductor
                .endpoints()
                .setUserLabels(EndpointIdentifier.local(LAST), List.of("role=late")));
    assertEquals(List.of("unspec:role=late"), changed.labels().user());
    assertEquals(EndpointState.READY, changed.state());
    assertTrue(attachedInThisRun.contains(LAST));
    assertEquals(
        "Enabled",
        answerOf(
                agent
                    .conductor
                    .endpoints()
                    .configure(EndpointIdentifier.local(1), Map.of("Debug", "Enabled"), null))
            .realizedOptions()
            .get("Debug"));
    assertEquals(
        List.of(),
        answerOf(agent.conductor.endpoints().delete(EndpointIdentifier.local(LAST - 1))));
    final EndpointSnapshot created =
        answerOf(
            agent
                .conductor
                .endpoints()
                .create(
                    EndpointIdentifier.local(0),
                    Requests.on("wl" + (ENDPOINTS + 1)).ipv6("f00d::5:1:999").build()));
    assertEquals(ENDPOINTS + 1, created.id());
    assertEquals(EndpointState.READY, created.state());
    assertFalse(restored.isDone(), "none of the calls waits for the whole restoration");
    assertTrue(restoring() > ENDPOINTS / 2);
    answerOf(restored);
    assertEquals(ENDPOINTS, agent.datapath.attached.size());
    assertFalse(agent.datapath.attached.containsKey(LAST - 1));
    assertEquals(ENDPOINTS, agent.node.routed.size());
  }

  @Test
  void shouldApplyAPolicyChangeToThoseRestoredAndThoseNotYet() {
    for (final int attached : new int[] {0, 20}) {
      final CompletableFuture<RestoreReport> restored = restartUntil(attached);
      final CompletableFuture<PolicySnapshot> answer =
          agent.importing(allowIngress("app=web", "app=client", 90 + attached));
      answerOf(answer);
      assertFalse(restored.isDone());
      for (final int id : new int[] {1, LAST}) {
        assertTrue(letsIn(id, CLIENT, 90 + attached));
        assertTrue(letsIn(id, OUTSIDE, 80));
        assertFalse(letsIn(id, OUTSIDE, 81));
      }
      answerOf(restored);
      assertTrue(letsIn(LAST, CLIENT, 90 + attached));
    }
  }

  @Test
  void shouldNeitherInterruptNorOpenAnyEndpointAtAnyWrite() {
    final int stranger = 77;
    agent.datapath.renumber(agent.datapath.identityOf(OUTSIDE), (1 << 24) + 500);
    agent.datapath.aroundWrites =
        () -> {
          for (final int id : new int[] {1, LAST / 2, LAST}) {
            assertTrue(letsIn(id, OUTSIDE, 80));
            assertTrue(letsIn(id, CLIENT, 80));
            assertFalse(letsIn(id, CLIENT, stranger));
            assertFalse(letsIn(id, OUTSIDE, stranger));
          }
        };
    final CompletableFuture<RestoreReport> restored = agent.beginRestart();
    answerOf(agent.conductor.loaded());
    final CompletableFuture<EndpointSnapshot> call =
        agent
            .conductor
            .endpoints()
            .setUserLabels(EndpointIdentifier.local(LAST), List.of("role=late"));
    final CompletableFuture<PolicySnapshot> rules =
        agent.importing(allowIngressFromCidr("app=web", "198.51.100.128/25", 80));
    answerOf(call);
    answerOf(rules);
    assertTrue(answerOf(restored).errors().isEmpty());
  }

  @Test
  void shouldLoseNothingByAnotherRestartInTheMiddle() {
    final Map<Integer, EndpointSpec> attached = new TreeMap<>(agent.datapath.attached);
    final Map<Prefix, IpcacheEntry> ipcache = new TreeMap<>(agent.datapath.ipcache);
    for (final int stopAfter : new int[] {0, 1, 50, ENDPOINTS - 1}) {
      restartUntil(stopAfter);
      assertEquals(attached, agent.datapath.attached);
      assertEquals(ipcache, agent.datapath.ipcache);
      assertEquals(ENDPOINTS, agent.node.routed.size());
    }
    assertEquals(ENDPOINTS, answerOf(agent.beginRestart()).restored().size());
    assertEquals(attached, agent.datapath.attached);
    assertEquals(ipcache, agent.datapath.ipcache);
  }

  @Test
  void shouldGoOnAfterEndpointsThatCannotBeRestored() {
    final List<Integer> failing = new ArrayList<>();
    agent.datapath.fails =
        call -> {
          final boolean fails = call.matches("attach \\d*7");
          if (fails && !failing.contains(Integer.parseInt(call.substring(7)))) {
            failing.add(Integer.parseInt(call.substring(7)));
          }
          return fails;
        };
    final RestoreReport report = answerOf(agent.beginRestart());
    assertEquals(ENDPOINTS / 10, report.failed().size());
    assertEquals(ENDPOINTS - ENDPOINTS / 10, report.restored().size());
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(10));
    assertTrue(
        agent.conductor.endpoints().list(List.of()).stream()
            .allMatch(endpoint -> endpoint.state() == EndpointState.READY));
  }

  @Test
  void shouldBringInterfacesUpAndRoutesBackBeforeItSaysReady() {
    agent.node.routed.clear();
    for (int i = 1; i <= ENDPOINTS; i++) {
      agent.node.down.add("wl" + i);
    }
    final CompletableFuture<RestoreReport> restored = agent.beginRestart();
    while (!restored.isDone()) {
      agent.conductor.agent().doWork();
      final Set<String> routed = new HashSet<>();
      agent.node.routed.forEach(route -> routed.add(route.interfaceName()));
      for (final EndpointSnapshot endpoint : agent.conductor.endpoints().list(List.of())) {
        if (endpoint.state() == EndpointState.READY) {
          final String name = endpoint.networking().interfaceName();
          assertFalse(agent.node.down.contains(name), name);
          assertTrue(routed.contains(name), name);
        }
      }
    }
    assertTrue(agent.node.down.isEmpty());
    assertEquals(ENDPOINTS, agent.node.routed.size());
  }
}
