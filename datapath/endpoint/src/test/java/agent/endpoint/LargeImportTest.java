package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static agent.endpoint.TestRules.allowIngressFromCidrs;
import static agent.endpoint.TestRules.named;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.maps.layout.PolicyDirection;
import agent.policy.repository.PolicySnapshot;
import agent.policy.spec.RuleSpec;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A change of the rules that is large lets changes of endpoints that it is not about pass. */
class LargeImportTest {
  private static final int CIDRS = 40_000;

  /** So many steps and commands more than alone are carried out until a change is in force. */
  private static final int MOST_STEPS_BETWEEN = 10;

  private static final IpAddress LAST = IpAddress.parse("100.64.156.63");

  private final FakeRig agent = new FakeRig();
  private final List<Long> steps = new ArrayList<>();
  private long longestNs;

  /** Stores and resolves, as other threads of the agent do. */
  private final ExecutorService others = Executors.newFixedThreadPool(2);

  @AfterEach
  void stop() {
    others.shutdownNow();
  }

  @BeforeEach
  void setUp() {
    agent.mapCapacity = 2 * CIDRS;
    agent.restart();
    agent.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4("10.5.0.10").labels("app=other"));
  }

  private static RuleSpec large() {
    return named("large", allowIngressFromCidrs("app=web", CIDRS));
  }

  private void cycle() {
    final long beganNs = System.nanoTime();
    agent.conductor.agent().doWork();
    longestNs = Math.max(longestNs, System.nanoTime() - beganNs);
  }

  /** Changes an option of the other endpoint; returns the number of steps until that is done. */
  private long change() {
    return agent.stepsToToggle(2, this::cycle);
  }

  @Test
  void shouldLetAChangeOfAnotherEndpointPassWithinTenSteps() {
    change();
    final long alone = change();
    agent.storingRules = others;
    agent.resolving = others;
    final long beganNs = System.nanoTime();
    longestNs = 0;
    final CompletableFuture<PolicySnapshot> imported = agent.importing(large());
    while (!imported.isDone()) {
      steps.add(change() - alone);
    }
    final long tookNs = System.nanoTime() - beganNs;
    assertTrue(steps.size() >= 10, steps.size() + " changes while the rules were imported");
    for (final long more : steps) {
      assertTrue(more <= MOST_STEPS_BETWEEN, () -> "steps: " + steps);
    }
    assertTrue(longestNs < tookNs / 3, () -> longestNs + " of " + tookNs + " ns in one cycle");
    assertTrue(agent.datapath.allows(1, PolicyDirection.INGRESS, LAST, 6, 80));
    assertEquals(CIDRS, agent.policy.outsidePrefixes().size());
  }

  @Test
  void shouldLetAllPassWhileRulesAreStoredAndAnswerAfterwards() {
    final List<Runnable> writes = new ArrayList<>();
    agent.storingRules = writes::add;
    final CompletableFuture<PolicySnapshot> imported =
        agent.importing(allowIngress("app=web", "app=other", 80));
    agent.run();
    assertEquals(1, writes.size());
    final long revision = agent.conductor.policy().get(List.of()).revision();
    change();
    assertFalse(imported.isDone());
    final CompletableFuture<EndpointSnapshot> relabelled =
        agent
            .conductor
            .endpoints()
            .setUserLabels(EndpointIdentifier.parse("2"), List.of("user=one"));
    agent.run();
    assertFalse(relabelled.isDone(), "other changes of the policy follow");
    assertEquals(0, agent.conductor.policy().get(List.of()).rules().size());
    writes.getFirst().run();
    assertEquals(revision + 1, agent.now(imported).revision());
    agent.now(relabelled);
    assertTrue(
        agent.datapath.allows(1, PolicyDirection.INGRESS, IpAddress.parse("10.5.0.10"), 6, 80));
  }

  @Test
  void shouldFailWhereTheRulesCannotBeStoredAndServeTheNextOnes() {
    agent.storingRules =
        write -> {
          throw new OperationException("no space left on device");
        };
    final CompletableFuture<PolicySnapshot> imported = agent.importing(large());
    agent.run();
    assertEquals("no space left on device", imported.exceptionNow().getMessage());
    assertEquals(0, agent.policy.outsidePrefixes().size());
    agent.storingRules = Runnable::run;
    agent.importRules(allowIngress("app=web", "app=other", 80));
    assertTrue(
        agent.datapath.allows(1, PolicyDirection.INGRESS, IpAddress.parse("10.5.0.10"), 6, 80));
  }
}
