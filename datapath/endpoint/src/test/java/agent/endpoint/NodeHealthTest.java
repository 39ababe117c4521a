package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.conductor.ModuleHealth.Level;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointFaults.Part;
import agent.endpoint.state.EndpointHealth;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointState;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is wrong with kernel objects, interfaces and devices, in health; without events. */
class NodeHealthTest {
  private static final Duration COMPARISON = Duration.ofSeconds(6);

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void createEndpoint() {
    agent.node.hasDevice("lo", 1, null);
    agent.node.hasDevice("ext0", 2, null);
    agent.create("1", Requests.on("lxc1").labels("app=web"));
  }

  private EndpointHealth health() {
    return agent.get("1").health();
  }

  private void hasFaults(Fault... faults) {
    agent.faults.put(1, List.of(faults));
  }

  @Test
  void shouldAddFaultsOfKernelObjectsToTheHealthAtEachRead() {
    hasFaults(new Fault(Part.POLICY, true, "entries were deleted"));
    assertEquals(
        new EndpointHealth(
            HealthLevel.OK, HealthLevel.WARNING, HealthLevel.WARNING, true, "entries were deleted"),
        health());
    hasFaults(
        new Fault(Part.POLICY, true, "entries were deleted"),
        new Fault(Part.PROGRAMS, false, "another program is first"),
        new Fault(Part.PROGRAMS, false, "a second failure"));
    final EndpointHealth expected =
        new EndpointHealth(
            HealthLevel.FAILURE,
            HealthLevel.WARNING,
            HealthLevel.FAILURE,
            false,
            "another program is first");
    assertEquals(expected, health());
    assertEquals(expected, agent.conductor.endpoints().list(List.of()).getFirst().health());
    hasFaults(new Fault(Part.PROGRAMS, true, "link was detached"));
    assertEquals(HealthLevel.WARNING, health().bpf());
    hasFaults();
    assertEquals(
        new EndpointHealth(HealthLevel.OK, HealthLevel.OK, HealthLevel.OK, true, null), health());
  }

  @Test
  void shouldReportDevicesOfTheNodeThatAreGoneOrDown() {
    final Faults node = agent.conductor.nodeFaults();
    agent.advance(COMPARISON);
    assertEquals(Level.OK, node.read().level());
    agent.node.present.remove("ext0");
    agent.advance(COMPARISON);
    assertEquals(Level.STOPPED, node.read().level());
    assertEquals("interface 'ext0' is gone", node.read().message());
    agent.node.hasDevice("ext0", 2, null, false);
    agent.advance(COMPARISON);
    assertEquals("interface 'ext0' is down", node.read().message());
    agent.node.hasDevice("ext0", 2, null);
    agent.advance(COMPARISON);
    assertEquals(Level.OK, node.read().level());
  }

  @Test
  void shouldCloseAnEndpointByComparisonAndTryAgainWhereTheWriteFails() {
    agent.datapath.fails = call -> call.startsWith("stop delivery");
    agent.node.present.remove("lxc1");
    agent.advance(COMPARISON);
    assertEquals(HealthLevel.FAILURE, health().overall());
    assertEquals("interface 'lxc1' is gone; the endpoint is closed", health().reason());
    assertTrue(agent.datapath.attached.containsKey(1));
    agent.datapath.fails = call -> false;
    agent.advance(COMPARISON);
    assertFalse(agent.datapath.attached.containsKey(1));
    agent.datapath.calls.clear();
    agent.advance(COMPARISON);
    assertEquals(List.of(), agent.datapath.calls);
    assertTrue(agent.node.routed.isEmpty());
  }

  @Test
  void shouldBuildAClosedEndpointOnceItsDeviceIsThereAgain() {
    agent.node.present.remove("lxc1");
    agent.advance(COMPARISON);
    agent.node.hasDevice("lxc1", 101);
    agent.advance(COMPARISON);
    assertTrue(agent.datapath.attached.containsKey(1));
    assertEquals(1, agent.node.routed.size());
    assertEquals(HealthLevel.OK, health().overall());
    assertEquals(EndpointState.READY, agent.get("1").state());
    agent.datapath.calls.clear();
    agent.advance(COMPARISON);
    assertEquals(List.of(), agent.datapath.calls);
  }

  @Test
  void shouldReportARouteThatCannotBeAddedUntilItIs() {
    agent.node.routed.clear();
    agent.node.routesFail = true;
    agent.advance(COMPARISON);
    assertEquals(HealthLevel.FAILURE, health().overall());
    assertEquals("refused", health().reason());
    assertFalse(health().connected());
    agent.node.routesFail = false;
    agent.advance(COMPARISON);
    assertEquals(1, agent.node.routed.size());
    assertEquals(HealthLevel.OK, health().overall());
    assertTrue(health().connected());
  }

  @Test
  void shouldSetNoInterfaceDownThatAnotherDeviceHasNow() {
    agent.node.present.remove("lxc1");
    agent.advance(COMPARISON);
    agent.node.interfacesSetDown.clear();
    agent.node.routesFail = true;
    assertEquals(List.of(), agent.delete("1"));
  }
}
