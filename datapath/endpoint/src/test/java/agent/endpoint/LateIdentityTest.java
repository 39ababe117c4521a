package agent.endpoint;

import static agent.endpoint.TestRules.allowEgressToPort;
import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.request.EndpointRequest.RequestedPort;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.identity.DelayedIdentityAllocator;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.maps.layout.PolicyDirection;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Tests endpoints whose identities arrive after the request. */
class LateIdentityTest {
  private static final IpAddress WEB = IpAddress.parse("10.5.0.9");
  private static final IpAddress CLIENT = IpAddress.parse("10.5.0.10");

  private final DelayedIdentityAllocator store = new DelayedIdentityAllocator();
  private final FakeRig agent = new FakeRig(() -> store);

  private CompletableFuture<EndpointSnapshot> ask(String id, Requests request) {
    final CompletableFuture<EndpointSnapshot> answer =
        agent.conductor.endpoints().create(EndpointIdentifier.parse(id), request.build());
    agent.run();
    return answer;
  }

  /** Completes the pending requests to the identity store and runs the conductor. */
  private void arrive() {
    while (store.pending() > 0) {
      store.runAll();
      agent.run();
    }
  }

  private static Requests web() {
    return Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web");
  }

  private static Requests client() {
    return Requests.on("lxc2").ipv4(CLIENT.toString()).labels("app=client");
  }

  @Test
  void shouldWaitForTheIdentityAndEnforceNothingUntilItArrives() {
    final CompletableFuture<EndpointSnapshot> answer = ask("12", web());
    assertFalse(answer.isDone());
    assertEquals(EndpointState.WAITING_FOR_IDENTITY, agent.get("12").state());
    assertNull(agent.get("12").identity());
    assertEquals(0, agent.store.load().getFirst().identity());
    assertTrue(agent.datapath.attached.isEmpty());
    arrive();
    assertEquals(EndpointState.READY, answer.join().state());
    final int identity = answer.join().identity().id();
    assertEquals(identity, agent.datapath.attached.get(12).identity());
    assertEquals(identity, agent.store.load().getFirst().identity());
  }

  @Test
  void shouldAnswerAnAsynchronousRequestBeforeTheIdentityArrives() {
    final CompletableFuture<EndpointSnapshot> answer = ask("12", web().later());
    assertEquals(EndpointState.WAITING_FOR_IDENTITY, answer.join().state());
    arrive();
    assertEquals(
        EndpointState.READY, agent.get("12").state(), "it is built without another request");
  }

  @Test
  void shouldServeOtherEndpointsWhileManyWait() {
    for (int i = 1; i <= 8; i++) {
      ask(Integer.toString(i), Requests.on("lxc" + i).labels("app=" + i).later());
    }
    assertEquals(8, store.pending());
    final CompletableFuture<List<String>> deleted =
        agent.conductor.endpoints().delete(EndpointIdentifier.parse("3"));
    agent.run();
    assertEquals(List.of(), deleted.join(), "waiting endpoints do not block the queue");
    arrive();
    assertEquals(7, agent.datapath.attached.size());
    assertEquals(
        7, agent.identities.inUse().size(), "the identity of the deleted endpoint is released");
  }

  @Test
  void shouldKeepWhatItEnforcesUntilTheIdentityOfNewLabelsArrives() {
    ask("1", web());
    ask("2", client());
    arrive();
    final Identity before = agent.get("2").identity();
    agent.importRules(allowIngress("app=web", "role=friend", 80));
    final CompletableFuture<EndpointSnapshot> answer =
        agent
            .conductor
            .endpoints()
            .setUserLabels(EndpointIdentifier.parse("2"), List.of("role=friend"));
    agent.run();
    assertFalse(answer.isDone());
    assertEquals(EndpointState.WAITING_FOR_IDENTITY, agent.get("2").state());
    assertEquals(before.id(), agent.datapath.identities.get(2));
    assertFalse(webLetsIn());
    arrive();
    assertEquals(EndpointState.READY, answer.join().state());
    assertTrue(webLetsIn());
    assertTrue(agent.identities.find(before.id()).isEmpty(), "the former identity is released");
  }

  private boolean webLetsIn() {
    return agent.datapath.allows(1, PolicyDirection.INGRESS, CLIENT, 6, 80);
  }

  @Test
  void shouldTakeTheIdentityOfTheLastLabelsWhereTheyChangeMeanwhile() {
    ask("2", client().later());
    agent.conductor.endpoints().setUserLabels(EndpointIdentifier.parse("2"), List.of("role=one"));
    agent.conductor.endpoints().setUserLabels(EndpointIdentifier.parse("2"), List.of("role=two"));
    agent.run();
    arrive();
    assertEquals(EndpointState.READY, agent.get("2").state());
    assertTrue(agent.get("2").identity().labels().toString().contains("role=two"));
    assertEquals(1, agent.identities.inUse().size(), "the other identities are released");
  }

  @Test
  void shouldAskAgainWhereTheStoreFailed() {
    store.fail(new OperationException("store: no leader"));
    ask("12", web().later());
    arrive();
    assertEquals(EndpointState.WAITING_FOR_IDENTITY, agent.get("12").state());
    assertEquals("identity: store: no leader", agent.get("12").error());
    store.fail(null);
    agent.advance(Duration.ofSeconds(1));
    arrive();
    assertEquals(EndpointState.READY, agent.get("12").state());
    assertNull(agent.get("12").error());
  }

  @Test
  void shouldRemoveASynchronousEndpointWhoseIdentityIsRefused() {
    store.fail(new OperationException("store: no leader"));
    final CompletableFuture<EndpointSnapshot> answer = ask("12", web());
    arrive();
    assertTrue(answer.isCompletedExceptionally());
    assertEquals("identity: store: no leader", answer.exceptionNow().getMessage());
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.store.load());
  }

  @Test
  void shouldGoOnEnforcingAfterARestartUntilTheIdentityArrives() {
    ask("1", web());
    ask("2", client());
    arrive();
    agent.importRules(allowIngress("app=web", "app=client", 80));
    assertTrue(webLetsIn());
    agent.restart();
    assertEquals(EndpointState.WAITING_FOR_IDENTITY, agent.get("1").state());
    assertTrue(webLetsIn(), "the kernel still enforces the policy of the previous run");
    assertFalse(agent.datapath.allows(1, PolicyDirection.INGRESS, CLIENT, 6, 81));
    arrive();
    assertEquals(EndpointState.READY, agent.get("1").state());
    assertTrue(webLetsIn());
    assertFalse(agent.datapath.allows(1, PolicyDirection.INGRESS, CLIENT, 6, 81));
  }

  @Test
  void shouldFollowIdentitiesOfOtherNodesWithoutARequest() {
    ask("1", web());
    arrive();
    agent.importRules(allowIngress("app=web", "app=client", 80));
    final LabelSet labels = LabelSet.parse("labels", List.of("app=client"));
    final Identity remote = store.addRemote(labels);
    agent.run();
    assertTrue(knows(remote.id()));
    store.removeRemote(labels);
    agent.run();
    assertFalse(knows(remote.id()));
  }

  private boolean knows(int identity) {
    return agent.datapath.policies.get(1).keySet().stream()
        .anyMatch(key -> key.identity() == identity);
  }

  /** The rules that name a port mean the same for its peers before and after. */
  @Test
  void shouldKnowTheNamedPortsAfterARestartBeforeTheIdentityArrives() {
    ask("1", client().onInterface("lxc1"));
    ask("2", web().onInterface("lxc2").namedPorts(new RequestedPort("http", 8080, "TCP")));
    arrive();
    agent.importRules(allowEgressToPort("app=client", "app=web", "http"));
    assertTrue(clientReachesWeb(8080));
    agent.restart();
    store.runNext();
    agent.run();
    assertEquals(EndpointState.READY, agent.get("1").state());
    assertEquals(EndpointState.WAITING_FOR_IDENTITY, agent.get("2").state());
    assertTrue(clientReachesWeb(8080));
    assertFalse(clientReachesWeb(8081));
    arrive();
    assertTrue(clientReachesWeb(8080));
  }

  private boolean clientReachesWeb(int port) {
    return agent.datapath.allows(1, PolicyDirection.EGRESS, WEB, 6, port);
  }
}
