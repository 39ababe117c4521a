package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Whose snapshot is published when the policy changes. */
class PublishedPolicyTest {
  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void createEndpoints() {
    agent.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client"));
    agent.create("3", Requests.on("lxc3").ipv4("10.5.0.11").labels("app=other"));
    agent.importRules(allowIngress("app=web", "role=friend", 80));
    agent.published.clear();
  }

  private Set<Integer> published() {
    return agent.published.stream().map(EndpointSnapshot::id).collect(Collectors.toSet());
  }

  @Test
  void shouldPublishOnlyTheEndpointsThatAnIdentityConcerns() {
    agent.relabel("2", "role=friend");
    assertEquals(Set.of(1, 2), published());
  }

  @Test
  void shouldPublishEveryEndpointWithANewRevision() {
    agent.importRules(allowIngress("app=web", "role=friend", 81));
    assertEquals(Set.of(1, 2, 3), published());
    final long revision = agent.conductor.policy().get(List.of()).revision();
    for (final String id : List.of("1", "2", "3")) {
      assertEquals(revision, agent.get(id).realizedPolicy().revision());
    }
  }

  /** It enforces the change as others do, though its build for another reason has failed. */
  @Test
  void shouldShowWhatAnEndpointEnforcesThatIsNotReady() {
    agent.datapath.fails = call -> call.equals("attach 1");
    agent.modify("1", Requests.request().state("ready").mac("02:00:00:00:00:bb").later());
    agent.run();
    assertEquals(EndpointState.NOT_READY, agent.get("1").state());
    agent.relabel("2", "role=friend");
    final int friend = agent.get("2").identity().id();
    assertEquals(EndpointState.NOT_READY, agent.get("1").state());
    assertEquals(List.of(friend), agent.get("1").realizedPolicy().ingress().allowed());
    agent.relabel("2");
    assertFalse(agent.get("1").realizedPolicy().ingress().allowed().contains(friend));
    assertTrue(published().contains(1));
  }
}
