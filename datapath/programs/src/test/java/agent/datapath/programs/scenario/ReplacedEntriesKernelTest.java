package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.packet;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.kernel.FlowUsageArray;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.FlowUsageFlyweight;
import agent.maps.layout.RedirectKind;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The entries of a flow that takes the place of another one stay in their tables, whatever the
 * share of its endpoint has become: no flow has an entry in two of them.
 */
@KernelTest
class ReplacedEntriesKernelTest {
  private static final int PORT = ScenarioProxy.PORT;
  private static final int CLIENT = ScenarioProxy.CLIENT;
  private static final int SERVED = 8080;
  private static final Server BOBS = new Server(BOB, SERVED);

  private final ScenarioNode node =
      new ScenarioNode().routed().capacity(100, 100).with(ALICE, EndpointOption.SERVICES);
  private final FlowUsageArray usage = new FlowUsageArray(node.map("flow_usage"));

  @AfterEach
  void close() {
    usage.close();
    node.close();
  }

  /** Makes the tables full, or empty. */
  private void exhaust(boolean isExhausted) {
    for (int table = 0; table < FlowUsageFlyweight.OPENED_COUNT; table++) {
      for (final int id : new int[] {ALICE.id, BOB.id, FlowUsageArray.NODE}) {
        usage.credit(id, table, usage.opened(id, table) - (isExhausted ? 1000 : 0));
      }
    }
  }

  private void assertReplacedInTheOverflow(Runnable open, Runnable expire) {
    exhaust(true);
    open.run();
    final long entries = node.flows().inOverflow();
    assertTrue(entries > 0);
    assertEquals(0, node.flows().count());
    exhaust(false);
    expire.run();
    open.run();
    assertEquals(List.of(0L, entries), List.of(node.flows().count(), node.flows().inOverflow()));
  }

  private void expire(Family family, ScenarioHost a, int aPort, ScenarioHost b, int bPort) {
    if (node.flows().find(family, a, aPort, b, bPort, UDP) != null) {
      node.flows().expireInOverflow(family, a, aPort, b, bPort, UDP);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldReplaceThoseOfAServiceOfWorkloads(Family family) {
    node.withoutPolicy();
    node.services(family).put(7, STRANGER, PORT, UDP, 0, BOBS);
    assertReplacedInTheOverflow(
        () ->
            node.fromWorkload(ALICE, packet(family, ALICE, STRANGER, UDP, CLIENT, PORT, true))
                .reachesAs(BOB, packet(family, ALICE, BOB, UDP, CLIENT, SERVED, true)),
        () -> {
          expire(family, ALICE, CLIENT, STRANGER, PORT);
          expire(family, ALICE, CLIENT, BOB, SERVED);
        });
  }

  @ParameterizedTest
  @EnumSource
  void shouldReplaceThoseOfAServiceOfTheOutside(Family family) {
    node.withoutPolicy();
    node.services(family).putOutside(7, family.address(NODE), PORT, UDP, 0, BOBS);
    assertReplacedInTheOverflow(
        () -> node.fromNetwork(packet(family, PEER, NODE, UDP, CLIENT, PORT, true).to(DEVICE_MAC)),
        () -> {
          expire(family, PEER, CLIENT, NODE, PORT);
          expire(family, PEER, CLIENT, BOB, SERVED);
        });
  }

  @ParameterizedTest
  @EnumSource
  void shouldReplaceThoseOfAFlowToAProxy(Family family) throws Exception {
    final ScenarioProxy proxy = new ScenarioProxy(node);
    proxy.listen();
    node.policyOf(ALICE).redirectTo(PEER, UDP, PORT, RedirectKind.HTTP);
    assertReplacedInTheOverflow(
        () -> proxy.open(family, ALICE, PEER, UDP),
        () -> {
          expire(family, ALICE, CLIENT, PEER, PORT);
          expire(family, ALICE, CLIENT, HOST, ScenarioProxy.PROXY);
        });
    proxy.silence();
  }
}
