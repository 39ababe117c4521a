package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ConductorAgent;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointState;
import agent.policy.repository.PolicySnapshot;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Counts the commands and steps, not the time, that a request waits while many endpoints are
 * created.
 */
class FairnessTest {
  private static final int ENDPOINTS = 50;

  private final FakeRig agent = new FakeRig();

  FairnessTest() {
    for (int i = 1; i <= 2 * ENDPOINTS; i++) {
      agent.node.hasDevice("wl" + i, 200 + i);
    }
    agent.create("1", Requests.on("wl1").labels("app=web"));
    agent.create("2", Requests.on("wl2").labels("app=client"));
  }

  private void createMany(int first) {
    for (int i = first; i < first + ENDPOINTS; i++) {
      agent
          .conductor
          .endpoints()
          .create(
              EndpointIdentifier.local(i),
              Requests.on("wl" + i).labels("app=" + i).later().build());
    }
  }

  /** Returns the number of commands and steps of the conductor from the request to its answer. */
  private long stepsToAnswer(int port) {
    final ConductorAgent conductor = agent.conductor.agent();
    final long before = conductor.executed();
    final CompletableFuture<PolicySnapshot> answer =
        agent.importing(allowIngress("app=web", "app=client", port));
    while (!answer.isDone()) {
      assertTrue(conductor.doWork() > 0, "the conductor has no work before the answer");
    }
    return conductor.executed() - before;
  }

  @Test
  void shouldEnforceAPolicyWithinTwiceTheIdleStepsWhileFiftyEndpointsAreMade() {
    agent.run();
    final long idle = stepsToAnswer(80);
    agent.run();
    createMany(10);
    final ConductorAgent conductor = agent.conductor.agent();
    for (int i = 0; i < 20; i++) {
      conductor.doWork();
    }
    final int made = agent.datapath.attached.size();
    assertTrue(made < ENDPOINTS, "endpoints must still be in creation: " + made);
    final long busy = stepsToAnswer(81);
    assertTrue(busy <= 2 * idle, busy + " commands and steps, " + idle + " when idle");
    agent.run();
    assertEquals(ENDPOINTS + 2, agent.datapath.attached.size());
    assertTrue(
        agent.conductor.endpoints().list(List.of()).stream()
            .allMatch(endpoint -> endpoint.state() == EndpointState.READY));
  }
}
