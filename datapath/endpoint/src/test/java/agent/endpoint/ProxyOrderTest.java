package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static agent.endpoint.TestRules.allowRequests;
import static agent.endpoint.TestRules.allowRequestsToName;
import static agent.endpoint.TestRules.named;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.endpoint.restore.RestoreReport;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Proxies run before flows are sent to them, and the flows that they have open are judged again
 * where an address has another identity.
 */
class ProxyOrderTest {
  private static final IpAddress CLIENT = IpAddress.parse("10.5.0.10");
  private static final IpAddress OUTSIDE = IpAddress.parse("198.51.100.7");
  private static final String CIDR = "10.64.0.0/16";
  private static final int WORLD = 9;

  private final FakeRig agent = new FakeRig();

  /** The identity of the client whenever open flows are judged again. */
  private final List<Integer> judged = new ArrayList<>();

  @BeforeEach
  void createEndpoints() {
    agent.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4(CLIENT.toString()).labels("app=client"));
    agent.importRules(named("wide", allowRequests("app=web", "10.64.0.0/16", 80)));
    agent.datapath.calls.clear();
    agent.datapath.onEnforced = () -> judged.add(agent.datapath.identityOf(CLIENT));
  }

  private int client() {
    return agent.get("2").identity().id();
  }

  private void answer() {
    agent.datapath.holds = call -> false;
    agent.datapath.answerHeld();
    agent.run();
  }

  /** Neither a policy map nor the ipcache, whose order stays. */
  @Test
  void shouldWriteNothingOfAnUpdateBeforeItsProxiesRun() {
    agent.datapath.holds = "proxies"::equals;
    final CompletableFuture<?> imported =
        agent.importing(named("narrow", allowRequests("app=web", "10.64.9.0/24", 81)));
    agent.run();
    final CompletableFuture<?> next =
        agent.importing(named("next", allowIngress("app=web", "app=client", 82)));
    agent.run();
    assertEquals(List.of("proxies"), agent.datapath.calls);
    answer();
    imported.join();
    next.join();
    assertEquals(
        List.of(
            "proxies",
            "apply 1 +1 -0 unused",
            "ipcache +[10.64.9.0/24]",
            "apply 1 +1 -0",
            "apply 1 +1 -0"),
        agent.datapath.calls);
  }

  @Test
  void shouldNotWaitForProxiesWithoutARuleOfRequests() {
    agent.datapath.holds = "proxies"::equals;
    agent.importRules(named("other", allowIngress("app=client", "app=web", 80)));
    assertEquals(List.of("apply 2 +1 -1"), agent.datapath.calls);
  }

  @Test
  void shouldWriteNothingAtAStartBeforeTheProxiesRun() {
    agent.datapath.holds = "proxies"::equals;
    final CompletableFuture<RestoreReport> restored = agent.beginRestart();
    agent.run();
    assertFalse(restored.isDone());
    assertEquals("proxies", agent.datapath.calls.getLast());
    assertFalse(agent.datapath.calls.toString().contains("apply"), agent.datapath.calls::toString);
    answer();
    assertEquals(List.of(1, 2), restored.join().restored());
  }

  @Test
  void shouldJudgeOpenFlowsByTheNewIdentityOfAnEndpoint() {
    final int before = client();
    agent.relabel("2", "role=friend");
    assertFalse(client() == before);
    assertEquals(client(), judged.getLast());
  }

  @Test
  void shouldJudgeOpenFlowsOfAnEndpointThatIsRemoved() {
    agent.delete("2");
    assertEquals(List.of(WORLD), judged);
  }

  @Test
  void shouldJudgeOpenFlowsOfAnEndpointThatMovesToAnotherInterface() {
    final List<String> calls = new ArrayList<>();
    agent.datapath.onEnforced = () -> calls.add(agent.datapath.calls.getLast());
    agent.modify("2", Requests.on("lxc4").state("ready"));
    assertEquals("ipcache -[10.5.0.10/32]", calls.getFirst());
  }

  @Test
  void shouldJudgeNoOpenFlowsWhereTheIdentityStays() {
    agent.configure("2", Map.of("DropNotification", "Disabled"));
    assertEquals(List.of(), judged);
  }

  @Test
  void shouldRefuseARuleWhoseProxyDoesNotStart() {
    agent.datapath.unserved = "proxy: bind: EADDRINUSE";
    final String message =
        assertThrows(
                OperationException.class,
                () -> agent.importRules(named("next", allowRequests("app=client", CIDR, 81))))
            .getMessage();
    assertEquals("proxy: bind: EADDRINUSE; the rules are as before", message);
  }

  /** Only the entries of the identity that its addresses get send flows to the proxy. */
  @Test
  void shouldStartTheProxyOfANameBeforeItsFirstAddressIsWritten() {
    agent.importRules(named("name", allowRequestsToName("app=client", "example.org", 81)));
    agent.datapath.calls.clear();
    agent.now(agent.conductor.policy().names(Map.of("example.org.", List.of(OUTSIDE))));
    assertEquals(
        List.of("proxies", "apply 2 +1 -0 unused", "ipcache +[198.51.100.7/32]"),
        agent.datapath.calls);
  }
}
