package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static agent.endpoint.TestRules.allowIngressFromCidr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.restore.RestoreReport;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointState;
import agent.policy.PolicyChange;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The kernel may take long: what is answered before it has answered is not true yet. */
class HeldAnswersTest {
  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void createEndpoints() {
    agent.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client"));
  }

  private void assertAnsweredLast(String held, CompletableFuture<?> answer) {
    agent.run();
    assertFalse(answer.isDone(), held);
    agent.datapath.holds = call -> false;
    assertTrue(agent.datapath.answerHeld() > 0, held);
    agent.run();
    assertTrue(answer.isDone(), held);
  }

  private void hold(String prefix) {
    agent.datapath.holds = call -> call.startsWith(prefix);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "known",
        "remembered",
        "applied",
        "synchronize 2",
        "detach 77",
        "attach 2",
        "ipcache read"
      })
  void shouldNotBeRestoredBeforeTheKernelAnswers(String held) {
    agent.importRules(allowIngress("app=web", "app=client", 80));
    agent.datapath.policies.put(77, new HashMap<>());
    hold(held);
    final CompletableFuture<RestoreReport> report = agent.beginRestart();
    assertAnsweredLast(held, report);
    assertEquals(List.of(1, 2), report.join().restored(), held);
    assertFalse(agent.datapath.policies.containsKey(77), held);
    assertEquals(EndpointState.READY, agent.get("2").state());
  }

  @ParameterizedTest
  @ValueSource(strings = {"ipcache +", "applied"})
  void shouldNotAnswerAnImportBeforeItsWritesAreDone(String held) {
    hold(held);
    final CompletableFuture<?> answer =
        agent.importing(allowIngressFromCidr("app=web", "198.51.100.0/24", 80));
    assertAnsweredLast(held, answer);
    assertEquals(EndpointState.READY, agent.get("1").state());
  }

  @Test
  void shouldNotAnswerADeletionOfRulesBeforeItsWritesAreDone() {
    agent.importRules(allowIngressFromCidr("app=web", "198.51.100.0/24", 80));
    for (final String held : List.of("ipcache -", "applied")) {
      hold(held);
      final CompletableFuture<?> answer =
          agent.conductor.policy().change(PolicyChange.delete(List.of()));
      assertAnsweredLast(held, answer);
      agent.importRules(allowIngressFromCidr("app=web", "198.51.100.0/24", 80));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"attach 3", "synchronize 3", "ipcache +"})
  void shouldNotAnswerACreationBeforeTheEndpointIsBuilt(String held) {
    hold(held);
    final CompletableFuture<?> answer =
        agent
            .conductor
            .endpoints()
            .create(
                EndpointIdentifier.parse("3"),
                Requests.on("lxc3").ipv4("10.5.0.11").labels("app=db").sync().build());
    assertAnsweredLast(held, answer);
    assertEquals(EndpointState.READY, agent.get("3").state());
  }

  @ParameterizedTest
  @ValueSource(strings = {"detach 2", "ipcache -"})
  void shouldNotAnswerADeletionBeforeTheEndpointIsGone(String held) {
    hold(held);
    assertAnsweredLast(held, agent.conductor.endpoints().delete(EndpointIdentifier.parse("2")));
    assertEquals(List.of(1), agent.datapath.attached.keySet().stream().toList());
  }
}
