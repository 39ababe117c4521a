package agent.endpoint;

import static agent.endpoint.TestRules.allowEgressToService;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.PolicyDirection;
import agent.types.IpAddress;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What endpoints may reach while the backends of services change. */
class ServicePeerChangeTest {
  private static final ServiceName CART = new ServiceName("cart", "shop");
  private static final IpAddress CLIENT = IpAddress.parse("10.5.0.10");
  private static final IpAddress FIRST = IpAddress.parse("198.51.100.7");
  private static final IpAddress SECOND = IpAddress.parse("198.51.100.8");

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void setUp() {
    agent.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4(CLIENT.toString()).labels("app=client"));
    agent.importRules(allowEgressToService("app=web", "shop", "cart"));
  }

  private CompletableFuture<Void> back(ServiceName service, IpAddress... addresses) {
    return agent.conductor.policy().services(Map.of(service, List.of(addresses)));
  }

  private boolean webReaches(IpAddress peer) {
    return agent.datapath.allows(1, PolicyDirection.EGRESS, peer, 6, 443);
  }

  @Test
  void shouldReachTheBackendsThatTheServiceHasNow() {
    assertFalse(webReaches(FIRST));
    agent.now(back(CART, FIRST));
    assertTrue(webReaches(FIRST));
    agent.now(back(CART, SECOND));
    assertTrue(webReaches(SECOND));
    assertFalse(webReaches(FIRST));
    agent.now(back(CART));
    assertFalse(webReaches(SECOND));
  }

  @Test
  void shouldWriteTheAddressOfABackendAndNothingElse() {
    agent.now(back(CART, FIRST));
    agent.datapath.calls.clear();
    agent.now(back(CART, FIRST, SECOND));
    assertEquals(List.of("ipcache +[198.51.100.8/32]"), agent.datapath.calls);
    agent.datapath.calls.clear();
    agent.now(back(new ServiceName("cart", "other"), FIRST));
    agent.now(back(CART, SECOND, FIRST));
    assertEquals(List.of(), agent.datapath.calls);
  }

  /** Rules select an endpoint by its labels: its identity may be that of others, too. */
  @Test
  void shouldNotReachABackendThatIsAnEndpoint() {
    agent.now(back(CART, CLIENT, FIRST));
    assertFalse(webReaches(CLIENT));
    assertTrue(webReaches(FIRST));
    agent.delete("2");
    assertTrue(webReaches(CLIENT), "it is an address outside from then on");
    agent.create("3", Requests.on("lxc3").ipv4(CLIENT.toString()).labels("app=client"));
    assertFalse(webReaches(CLIENT));
  }

  /** Changes that come before the endpoints are restored wait, in their order. */
  @Test
  void shouldUseTheLastOfTheChangesThatWaited() {
    final CompletableFuture<?> restored = agent.beginRestart();
    final List<CompletableFuture<Void>> changes =
        List.of(back(CART, FIRST), back(CART, FIRST, SECOND), back(CART, SECOND));
    agent.now(restored);
    changes.forEach(agent::now);
    assertTrue(webReaches(SECOND));
    assertFalse(webReaches(FIRST));
  }

  @Test
  void shouldNotWaitForTheConductorWhereNoRuleSelectsTheService() {
    assertTrue(back(new ServiceName("cart", "other"), FIRST).isDone());
    assertFalse(back(CART, FIRST).isDone());
  }

  @Test
  void shouldNotTakeAChangeBeforeOneThatWaits() {
    final ServiceName other = new ServiceName("cart", "other");
    final CompletableFuture<?> restored = agent.beginRestart();
    final CompletableFuture<Void> both =
        agent.conductor.policy().services(Map.of(CART, List.of(SECOND), other, List.of(FIRST)));
    final CompletableFuture<Void> last = back(other, SECOND);
    agent.now(restored);
    agent.now(both);
    agent.now(last);
    agent.importRules(allowEgressToService("app=web", "other", "cart"));
    agent.now(back(CART));
    assertTrue(webReaches(SECOND));
    assertFalse(webReaches(FIRST));
  }

  @Test
  void shouldTakeAChangeAfterOneThatTheConductorRefused() {
    agent.fillQueue();
    final Refusal refusal = (Refusal) back(CART, FIRST).exceptionNow();
    assertEquals(Refusal.Kind.UNAVAILABLE, refusal.kind());
    agent.run();
    agent.now(back(CART, SECOND));
    assertTrue(webReaches(SECOND));
  }

  /** No policy map changes: the identity of the backends stays. */
  @Test
  void shouldJudgeOpenFlowsToABackendThatTheServiceHasLost() {
    agent.now(back(CART, FIRST, SECOND));
    final List<Boolean> judged = new ArrayList<>();
    agent.datapath.onEnforced = () -> judged.add(webReaches(SECOND));
    agent.now(back(CART, FIRST));
    assertEquals(List.of(false), judged);
  }

  @Test
  void shouldNotAnswerBeforeTheKernelHasTheAddressOfABackend() {
    agent.now(back(CART, FIRST));
    agent.datapath.holds = call -> call.startsWith("ipcache +");
    final CompletableFuture<Void> answer = back(CART, FIRST, SECOND);
    agent.run();
    assertFalse(answer.isDone());
    assertEquals(1, agent.datapath.answerHeld());
    agent.run();
    assertTrue(answer.isDone());
  }
}
