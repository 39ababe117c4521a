package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointLog.LogEntry;
import agent.endpoint.state.EndpointState;
import agent.node.Devices.Device;
import agent.node.NodeEvents;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.types.MacAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the agent does by events of the host sides of workloads, between two comparisons. */
class InterfaceWatchTest {
  private static final Duration PAUSE = Duration.ofMillis(50);
  private static final Duration COMPARISON = Duration.ofSeconds(6);
  private static final MacAddress WORKLOAD = MacAddress.parse("02:00:00:00:00:aa");
  private static final String HOST_MAC = "02:00:00:00:00:65";

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void createEndpoints() {
    agent.node.hasDevice("lo", 1, null);
    agent.create("1", Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client"));
    agent.advance(COMPARISON);
    agent.datapath.calls.clear();
  }

  private void on(Consumer<NodeEvents.Handler> event) {
    agent.node.events.add(event);
    agent.advance(PAUSE);
  }

  private void onDevice(String name) {
    final Device device = agent.node.present.get(name);
    on(handler -> handler.onDevice(device));
  }

  private void assertHealth(HealthLevel level, boolean isConnected, String reason) {
    assertEquals(reason, agent.get("1").health().reason());
    assertEquals(level, agent.get("1").health().overall());
    assertEquals(isConnected, agent.get("1").health().connected());
    assertEquals(HealthLevel.OK, agent.get("2").health().overall(), "the other endpoint");
  }

  private void assertOk() {
    assertHealth(HealthLevel.OK, true, null);
    assertEquals(EndpointState.READY, agent.get("1").state());
  }

  private void remove() {
    agent.node.present.remove("lxc1");
    on(handler -> handler.onDeviceRemoved(101, "lxc1"));
  }

  @Test
  void shouldCloseAnEndpointInTheCycleThatReadsTheRemovalOfItsDevice() {
    agent.node.present.remove("lxc1");
    agent.node.events.add(handler -> handler.onDeviceRemoved(101, "lxc1"));
    agent.conductor.agent().doWork();
    assertFalse(agent.datapath.attached.containsKey(1));
    assertTrue(agent.datapath.attached.containsKey(2));
    agent.run();
    assertEquals(
        List.of("lxc2"), agent.node.routed.stream().map(route -> route.interfaceName()).toList());
    assertHealth(HealthLevel.FAILURE, false, "interface 'lxc1' is gone; the endpoint is closed");
    assertEquals("Failure", agent.get("1").log().getFirst().code());
    assertEquals(
        "interface 'lxc1' is gone; the endpoint is closed",
        agent.get("1").log().getFirst().message());
    agent.datapath.calls.clear();
    agent.advance(COMPARISON);
    assertEquals(List.of(), agent.datapath.calls, "it is closed");
  }

  @Test
  void shouldLeaveTheEndpointsOfOtherDevicesAlone() {
    on(handler -> handler.onDeviceRemoved(999, "other0"));
    agent.node.hasDevice("other0", 998);
    onDevice("other0");
    assertEquals(List.of(), agent.datapath.calls);
    assertOk();
  }

  /** Only its event tells that a device was replaced by one that is the same in all else. */
  @Test
  void shouldAttachAgainToADeviceThatReplacedItsOwn() {
    on(handler -> handler.onDeviceRemoved(101, "lxc1"));
    assertEquals(List.of("stop delivery 1", "attach 1"), without("ipcache"));
    assertEquals(101, agent.datapath.attached.get(1).ifindex());
    assertOk();
    assertEquals(2, agent.node.routed.size());
  }

  private List<String> without(String prefix) {
    return agent.datapath.calls.stream().filter(call -> !call.startsWith(prefix)).toList();
  }

  private void comes(int index, String hostMac, Device peer) {
    agent.node.hasDeviceWithMac("lxc1", index, hostMac);
    if (peer != null) {
      agent.node.peers.put(index, peer);
    }
    onDevice("lxc1");
  }

  private static Device peer(MacAddress mac, boolean isUp) {
    return new Device("eth0", 2, mac, 1500, isUp, "veth", isUp, -1);
  }

  @Test
  void shouldTakeANewDeviceOfTheSameAttachment() {
    remove();
    comes(177, HOST_MAC, peer(WORKLOAD, true));
    assertOk();
    assertEquals(177, agent.datapath.attached.get(1).ifindex());
    assertEquals(177, agent.store.load().getFirst().device().index());
    assertEquals(177, agent.get("1").networking().interfaceIndex());
    assertEquals(2, agent.node.routed.size());
    assertTrue(
        agent.get("1").log().stream()
            .map(LogEntry::message)
            .anyMatch("interface 'lxc1' exists again, and programs are attached to it"::equals));
  }

  @Test
  void shouldTakeNoDeviceOfAnotherWorkload() {
    remove();
    comes(177, HOST_MAC, peer(MacAddress.parse("02:00:00:00:00:bb"), true));
    final String reason = "interface 'lxc1' has index 177, not 101; the endpoint is closed";
    assertHealth(HealthLevel.FAILURE, false, reason);
    agent.node.peers.clear();
    comes(177, HOST_MAC, null);
    assertHealth(HealthLevel.FAILURE, false, reason);
    assertFalse(agent.datapath.attached.containsKey(1));
    assertEquals(101, agent.store.load().getFirst().device().index());
  }

  @Test
  void shouldTakeNoDeviceWithAnotherHostAddress() {
    remove();
    comes(101, "02:00:00:00:00:77", peer(WORKLOAD, true));
    assertHealth(
        HealthLevel.FAILURE,
        false,
        "interface 'lxc1' has MAC address 02:00:00:00:00:77, not 02:00:00:00:00:65;"
            + " the endpoint is closed");
    comes(177, "02:00:00:00:00:77", peer(WORKLOAD, true));
    assertFalse(agent.datapath.attached.containsKey(1));
  }

  /** What is not stored is not taken: the next run would not find the device. */
  @Test
  void shouldTakeANewDeviceOnlyOnceItIsStored() {
    remove();
    agent.store.fails = true;
    comes(177, HOST_MAC, peer(WORKLOAD, true));
    assertFalse(agent.datapath.attached.containsKey(1));
    agent.store.fails = false;
    agent.advance(COMPARISON);
    assertOk();
    assertEquals(177, agent.datapath.attached.get(1).ifindex());
  }

  @Test
  void shouldFollowARenamedDevice() {
    agent.node.present.remove("lxc1");
    agent.node.hasDeviceWithMac("renamed0", 101, HOST_MAC);
    onDevice("renamed0");
    assertEquals("renamed0", agent.get("1").networking().interfaceName());
    assertEquals("renamed0", agent.store.load().getFirst().device().name());
    assertOk();
    assertEquals(List.of(), agent.datapath.calls, "its programs stay attached");
    agent.store.isDoubtful = true;
    agent.configure("1", Map.of("Debug", "Enabled"));
    assertEquals("renamed0", agent.store.checked.device().name(), "what the store has");
    assertEquals(List.of(), agent.delete("1"));
    assertTrue(agent.node.down.contains("renamed0"));
  }

  /** The kernel keeps the route of a renamed device, which then has the new name. */
  @Test
  void shouldWithdrawTheRouteOfARenamedDeviceWhereItIsNow() {
    final WorkloadRoute before =
        agent.node.routed.stream()
            .filter(route -> route.interfaceName().equals("lxc1"))
            .findFirst()
            .orElseThrow();
    agent.node.routed.remove(before);
    agent.node.present.remove("lxc1");
    agent.node.hasDeviceWithMac("renamed0", 101, HOST_MAC);
    onDevice("renamed0");
    agent.advance(COMPARISON);
    assertEquals(List.of("lxc2", "renamed0"), routedInterfaces());
    agent.delete("1");
    assertEquals(List.of("lxc2"), routedInterfaces());
  }

  private List<String> routedInterfaces() {
    return agent.node.routed.stream().map(WorkloadRoute::interfaceName).sorted().toList();
  }

  /** Index and addresses identify the device at the next start, so the name need not be stored. */
  @Test
  void shouldFollowARenamedDeviceWhereTheStoreCannotBeWritten() {
    agent.store.fails = true;
    agent.node.present.remove("lxc1");
    agent.node.hasDeviceWithMac("renamed0", 101, HOST_MAC);
    onDevice("renamed0");
    assertEquals("renamed0", agent.get("1").networking().interfaceName());
    assertOk();
  }

  private void readdress(String mac) {
    agent.node.hasDeviceWithMac("lxc1", 101, mac);
    onDevice("lxc1");
  }

  @Test
  void shouldFollowAHostSideWithAnotherAddress() {
    for (final String mac : List.of("02:00:00:00:00:77", "02:00:00:00:00:78")) {
      readdress(mac);
      agent.advance(PAUSE);
      assertOk();
      assertEquals(mac, agent.datapath.attached.get(1).hostMac().toString());
      assertEquals(mac, agent.get("1").networking().hostMac().toString());
      assertEquals(mac, agent.store.load().getFirst().device().hostMac().toString());
      assertEquals(List.of("attach 1"), without("ipcache"), "it stays open");
      assertEquals(2, agent.node.routed.size());
      agent.datapath.calls.clear();
    }
  }

  /** The next run finds the interface by its link. */
  @Test
  void shouldFollowAnotherAddressWhereTheStoreCannotBeWritten() {
    agent.store.fails = true;
    readdress("02:00:00:00:00:77");
    agent.advance(PAUSE);
    assertEquals("02:00:00:00:00:77", agent.get("1").networking().hostMac().toString());
    agent.store.fails = false;
    agent.advance(Duration.ofSeconds(2));
    assertOk();
    assertEquals("02:00:00:00:00:77", agent.store.load().getFirst().device().hostMac().toString());
  }

  @Test
  void shouldCloseAnEndpointWhoseIndexAnotherDeviceHas() {
    agent.datapath.hasLinks = false;
    readdress("02:00:00:00:00:77");
    agent.advance(PAUSE);
    assertHealth(
        HealthLevel.FAILURE,
        false,
        "interface 'lxc1' has MAC address 02:00:00:00:00:77, not 02:00:00:00:00:65;"
            + " the endpoint is closed");
    assertFalse(agent.datapath.attached.containsKey(1));
  }

  @Test
  void shouldCloseAnEndpointOfWhoseInterfaceTheDatapathSaysNothing() {
    agent.datapath.fails = call -> call.startsWith("host side");
    readdress("02:00:00:00:00:77");
    agent.advance(PAUSE);
    assertFalse(agent.datapath.attached.containsKey(1));
    assertEquals(HealthLevel.FAILURE, agent.get("1").health().overall());
  }

  /** The device is removed while the datapath is asked: what it said is of the former one. */
  @Test
  void shouldTakeNoAddressOfADeviceThatIsRemovedMeanwhile() {
    agent.datapath.holds = call -> call.startsWith("host side");
    readdress("02:00:00:00:00:77");
    on(handler -> handler.onDeviceRemoved(101, "lxc1"));
    agent.datapath.holds = call -> false;
    agent.datapath.answerHeld();
    agent.advance(PAUSE);
    assertEquals(HOST_MAC, agent.get("1").networking().hostMac().toString());
    assertFalse(agent.datapath.attached.containsKey(1));
  }

  @Test
  void shouldReportADeviceThatIsDownAndNotTouchItsRoutes() {
    agent.node.hasDevice("lxc1", 101, "veth", false);
    agent.node.routed.clear();
    onDevice("lxc1");
    assertHealth(HealthLevel.FAILURE, false, "interface 'lxc1' is down");
    agent.advance(COMPARISON);
    assertEquals(1, agent.node.routed.size(), "only the route of the other endpoint");
    assertTrue(agent.datapath.attached.containsKey(1));
    agent.node.hasDevice("lxc1", 101);
    onDevice("lxc1");
    assertOk();
    assertEquals(2, agent.node.routed.size(), "its routes are compared when it is up");
    assertEquals("interface 'lxc1' is in order", agent.get("1").log().getFirst().message());
    assertEquals("OK", agent.get("1").log().getFirst().code());
  }

  private void hasNoCarrier(Device peer) {
    agent.node.present.put(
        "lxc1", new Device("lxc1", 101, MacAddress.parse(HOST_MAC), 1500, true, "veth", false, -1));
    agent.node.peers.clear();
    if (peer != null) {
      agent.node.peers.put(101, peer);
    }
    onDevice("lxc1");
  }

  @Test
  void shouldSayWhyADeviceHasNoCarrier() {
    hasNoCarrier(peer(WORKLOAD, false));
    assertHealth(HealthLevel.WARNING, false, "the workload's side of interface 'lxc1' is down");
    hasNoCarrier(peer(WORKLOAD, true));
    assertHealth(HealthLevel.WARNING, false, "interface 'lxc1' has no carrier");
    hasNoCarrier(null);
    assertHealth(
        HealthLevel.FAILURE,
        false,
        "the workload's side of interface 'lxc1' not found: its network namespace was removed");
    agent.node.hasDevice("lxc1", 101);
    onDevice("lxc1");
    assertOk();
  }

  /** The route of an endpoint whose workload's side is down is still repaired. */
  @Test
  void shouldKeepTheRoutesOfADeviceWithoutCarrier() {
    hasNoCarrier(peer(WORKLOAD, false));
    agent.node.routed.clear();
    onDevice("lxc1");
    assertEquals(
        List.of("lxc1"), agent.node.routed.stream().map(route -> route.interfaceName()).toList());
  }

  private void isInNamespace(int id) {
    agent.node.present.put(
        "lxc1", new Device("lxc1", 101, MacAddress.parse(HOST_MAC), 1500, true, "veth", true, id));
    onDevice("lxc1");
  }

  @Test
  void shouldReportAWorkloadThatMovedToAnotherNamespace() {
    isInNamespace(6);
    assertHealth(
        HealthLevel.FAILURE,
        false,
        "the workload's side of interface 'lxc1' moved to another network namespace");
    isInNamespace(-1);
    assertOk();
  }

  @Test
  void shouldKnowTheNamespaceOfANewDeviceByItself() {
    remove();
    agent.node.hasDeviceWithMac("lxc1", 177, HOST_MAC);
    agent.node.peers.put(177, peer(WORKLOAD, true));
    agent.node.present.put(
        "lxc1", new Device("lxc1", 177, MacAddress.parse(HOST_MAC), 1500, true, "veth", true, 6));
    onDevice("lxc1");
    agent.advance(COMPARISON);
    assertOk();
  }

  /** Both devices are there, and a request moves the endpoint from one to the other. */
  @Test
  void shouldKnowTheNamespaceOfTheDeviceThatAnEndpointIsMovedTo() {
    agent.node.present.put(
        "lxc4", new Device("lxc4", 104, MacAddress.parse(HOST_MAC), 1500, true, "veth", true, 6));
    agent.modify("1", Requests.on("lxc4").state("ready"));
    onDevice("lxc4");
    agent.advance(COMPARISON);
    assertOk();
    agent.node.present.put(
        "lxc4", new Device("lxc4", 104, MacAddress.parse(HOST_MAC), 1500, true, "veth", true, 7));
    onDevice("lxc4");
    assertHealth(
        HealthLevel.FAILURE,
        false,
        "the workload's side of interface 'lxc4' moved to another network namespace");
  }

  @Test
  void shouldNotWatchAnEndpointThatIsBeingRemoved() {
    agent.datapath.fails = call -> call.startsWith("detach");
    agent.delete("1");
    agent.datapath.calls.clear();
    on(handler -> handler.onDeviceRemoved(101, "lxc1"));
    assertEquals(List.of(), without("detach"));
  }

  /** A build in progress may attach programs after the close, so the endpoint is closed again. */
  @Test
  void shouldCloseAnEndpointAgainThatWasBeingBuilt() {
    agent.datapath.aroundWrites =
        () -> {
          if (agent.datapath.calls.contains("attach 1")) {
            agent.datapath.aroundWrites = () -> {};
            agent.node.present.remove("lxc1");
            agent.node.events.add(handler -> handler.onDeviceRemoved(101, "lxc1"));
          }
        };
    agent.modify("1", Requests.request().state("ready").mac("02:00:00:00:00:bb").later());
    agent.advance(COMPARISON);
    assertFalse(agent.datapath.attached.containsKey(1));
    assertFalse(agent.get("1").health().connected());
    assertEquals(HealthLevel.FAILURE, agent.get("1").health().overall());
  }

  /** Only an event or the next comparison reads a device again. */
  @Test
  void shouldReadADeviceOnceForEachEvent() {
    onDevice("lxc1");
    final int read = agent.node.readsByIndex;
    agent.advance(Duration.ofSeconds(2));
    assertEquals(read, agent.node.readsByIndex);
    remove();
    final int readGone = agent.node.readsByIndex;
    agent.advance(Duration.ofSeconds(2));
    assertEquals(readGone, agent.node.readsByIndex);
  }

  @Test
  void shouldBuildAgainByAnEventAndOtherwiseLeaveItToTheRetry() {
    remove();
    agent.datapath.fails = call -> call.equals("attach 1");
    agent.node.hasDevice("lxc1", 101);
    onDevice("lxc1");
    agent.advance(Duration.ofMillis(7500)); // retries after 1, 2 and 4 seconds; then after 8
    assertEquals(EndpointState.NOT_READY, agent.get("1").state());
    agent.datapath.calls.clear();
    agent.advance(Duration.ofSeconds(7));
    assertEquals(List.of(), without("ipcache"), "comparisons do not repeat the build");
    onDevice("lxc1");
    assertEquals(List.of("attach 1 fails"), attachments());
    agent.datapath.fails = call -> false;
    onDevice("lxc1");
    assertOk();
  }

  private List<String> attachments() {
    return agent.datapath.calls.stream().filter(call -> call.startsWith("attach")).toList();
  }

  @Test
  void shouldTryAgainToCloseWhereTheWriteFailed() {
    agent.datapath.fails = call -> call.startsWith("stop delivery");
    remove();
    assertTrue(agent.datapath.attached.containsKey(1));
    agent.datapath.fails = call -> false;
    agent.advance(COMPARISON);
    assertFalse(agent.datapath.attached.containsKey(1));
  }

  /** Its event is the only one: what is not marked waits for the next comparison. */
  @Test
  void shouldFollowAnotherAddressOfAnEndpointWhosePolicyIsBeingWritten() {
    agent.datapath.holds = "applied"::equals;
    agent.importing(TestRules.allowIngress("app=web", "app=client", 80));
    agent.run();
    assertEquals(EndpointState.REGENERATING, agent.get("1").state());
    readdress("02:00:00:00:00:77");
    agent.advance(PAUSE);
    agent.datapath.holds = call -> false;
    agent.datapath.answerHeld();
    agent.advance(PAUSE);
    agent.advance(PAUSE);
    assertOk();
    assertEquals("02:00:00:00:00:77", agent.datapath.attached.get(1).hostMac().toString());
  }
}
