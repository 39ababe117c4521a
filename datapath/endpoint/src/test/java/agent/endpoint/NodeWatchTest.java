package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Descriptors;
import agent.bindings.LibC;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.ipam.AddressFamily;
import agent.node.NodeEvents;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Events and comparisons of the node: addresses, gateways, routes, parameters, and their pace. */
class NodeWatchTest {
  private static final Duration COMPARISON = Duration.ofSeconds(6);
  private static final Duration PAUSE = Duration.ofMillis(50);

  /** After so many an idle strategy has parked: it spins first, and was woken before. */
  private static final int TURNS_UNTIL_A_PARK = 30;

  private static final IpAddress WEB = IpAddress.parse("10.5.0.9");
  private static final IpAddress GATEWAY = IpAddress.parse("10.5.0.1");

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void createEndpoint() {
    agent.node.hasDevice("lo", 1, null);
    agent.node.hasDevice("ext0", 2, null);
    agent.create("1", Requests.on("lxc1").ipv4(WEB.toString()).labels("app=web"));
    agent.advance(COMPARISON);
    assertHealthy();
  }

  private void assertHealthy() {
    assertEquals(Level.OK, agent.conductor.nodeFaults().read().level());
    assertEquals(
        "the node is configured as desired", agent.conductor.nodeFaults().read().message());
    assertEquals(HealthLevel.OK, agent.get("1").health().overall());
  }

  /** Passes an event to the conductor, and lets it repair what the event marks. */
  private void on(Consumer<NodeEvents.Handler> event) {
    agent.node.events.add(event);
    agent.advance(PAUSE);
  }

  private void assertFault(Level level, String message) {
    assertEquals(level, agent.conductor.nodeFaults().read().level());
    assertEquals(message, agent.conductor.nodeFaults().read().message());
  }

  private long repaired(Repairs.Kind kind) {
    final AtomicLong found = new AtomicLong();
    agent.repairs.forEach(
        (counted, number) -> {
          if (counted == kind) {
            found.set(number);
          }
        });
    return found.get();
  }

  private boolean isHost(String prefix) {
    final var entry = agent.datapath.ipcache.get(Prefix.parse(prefix));
    return entry != null && entry.isHost();
  }

  /**
   * While another program removes many devices, each list of what there is waits for the kernel's
   * lock: repairs have a fifth of the thread, and requests the rest.
   */
  @Test
  void shouldLeaveMostOfTheThreadToRequestsWhereRepairsAreSlow() {
    agent.node.onGateways = () -> agent.elapse(Duration.ofMillis(100));
    final int before = agent.node.gatewayComparisons;
    on(NodeEvents.Handler::onAddress);
    assertEquals(before + 1, agent.node.gatewayComparisons);
    for (int i = 0; i < 6; i++) {
      on(NodeEvents.Handler::onAddress);
    }
    assertEquals(before + 1, agent.node.gatewayComparisons, "350 of 400 ms have passed");
    on(NodeEvents.Handler::onAddress);
    assertEquals(before + 2, agent.node.gatewayComparisons);
    agent.node.onGateways = () -> {};
    agent.advance(Duration.ofSeconds(1));
    on(NodeEvents.Handler::onAddress);
    on(NodeEvents.Handler::onAddress);
    assertEquals(before + 4, agent.node.gatewayComparisons);
  }

  /** What it is followed by is not put off for good. */
  @Test
  void shouldPauseAComparisonAfterASlowStep() {
    agent.node.onGateways = () -> agent.elapse(Duration.ofMillis(100));
    agent.node.routed.clear();
    on(NodeEvents.Handler::onLost);
    agent.advance(Duration.ofMillis(300));
    assertEquals(0, agent.node.routed.size(), "the lists follow the pause");
    agent.advance(Duration.ofMillis(200));
    assertEquals(1, agent.node.routed.size());
  }

  @Test
  void shouldWriteAddressesOfTheNodeToTheIpcacheAtOnce() {
    agent.node.hasAddress("192.0.2.77");
    on(NodeEvents.Handler::onAddress);
    assertTrue(isHost("192.0.2.77/32"));
    agent.node.addresses.removeLast();
    on(NodeEvents.Handler::onAddress);
    assertFalse(isHost("192.0.2.77/32"));
  }

  @Test
  void shouldAddGatewaysAgainAndCompareTheRoutesThatTheKernelRemovedWithThem() {
    agent.node.addresses.removeIf(local -> local.address().equals(GATEWAY));
    agent.node.missingGateways.add(GATEWAY);
    agent.node.routed.clear();
    agent.datapath.calls.clear();
    on(NodeEvents.Handler::onAddress);
    assertEquals(1, repaired(Repairs.Kind.ADDRESS));
    assertEquals(List.of(), agent.node.missingGateways);
    assertEquals(List.of(), agent.datapath.calls, "its entry was the node's all the time");
    assertTrue(isHost("10.5.0.1/32"), "the gateway that was added is an address of the node");
    assertEquals(1, agent.node.routed.size());
    assertEquals(1, repaired(Repairs.Kind.ROUTE));
    assertHealthy();
  }

  @Test
  void shouldNotCompareTheRoutesWhereNoGatewayWasMissing() {
    agent.node.routed.clear();
    on(NodeEvents.Handler::onAddress);
    assertEquals(0, agent.node.routed.size());
    agent.advance(COMPARISON);
    assertEquals(1, agent.node.routed.size());
  }

  @Test
  void shouldReportGatewaysThatCannotBeAddedUntilTheyAre() {
    agent.node.gatewayFailure = "address 10.5.0.1/32: ENOMEM";
    agent.node.routed.clear();
    on(NodeEvents.Handler::onAddress);
    assertEquals(0, agent.node.routed.size(), "no route went with an address");
    assertFault(Level.DEGRADED, "gateway addresses are missing: address 10.5.0.1/32: ENOMEM");
    agent.node.gatewayFailure = null;
    on(NodeEvents.Handler::onAddress);
    assertHealthy();
    assertEquals(0, repaired(Repairs.Kind.ADDRESS));
  }

  @Test
  void shouldCompareTheGatewaysWithTheAddressesOfAllDevices() {
    agent.node.hasAddress("192.0.2.77");
    on(NodeEvents.Handler::onAddress);
    assertEquals(
        Set.of(IpAddress.parse("192.0.2.1"), GATEWAY, IpAddress.parse("192.0.2.77")),
        agent.node.comparedAddresses);
  }

  /** Packets to a new destination must not wait for the next repair. */
  @Test
  void shouldGiveANewLocalDestinationTheIdentityOfTheNodeInTheCycleThatReadsIt() {
    agent.node.events.add(NodeEvents.Handler::onAddress);
    agent.run();
    final int before = agent.node.gatewayComparisons;
    final Prefix added = Prefix.parse("203.0.113.0/24");
    agent.node.localRoutes.add(added);
    agent.node.events.add(handler -> handler.onLocalRoute(added, true));
    agent.run();
    assertEquals(before, agent.node.gatewayComparisons, "the repair is not due yet");
    assertTrue(isHost("203.0.113.0/24"));
    agent.node.localRoutes.clear();
    agent.node.events.add(handler -> handler.onLocalRoute(added, false));
    agent.run();
    assertTrue(isHost("203.0.113.0/24"), "what is gone is found by reading the table");
    agent.advance(PAUSE);
    assertFalse(isHost("203.0.113.0/24"));
    agent.node.events.add(handler -> handler.onLocalRoute(added, false));
    agent.run();
    assertFalse(isHost("203.0.113.0/24"));
  }

  @Test
  void shouldSetTheMtuOfTheInterfacesOfEndpointsAgain() {
    agent.create("2", Requests.on("lxc2").ipv6("f00d::5:0:22"));
    agent.node.changedMtus.put("lxc1", "lxc1: MTU 1500, was 9000");
    agent.node.changedMtus.put("lxc2", "lxc2: MTU 1500, was 9000");
    agent.advance(COMPARISON);
    assertEquals(Map.of(), agent.node.changedMtus);
    assertEquals(2, repaired(Repairs.Kind.SYSCTL));
  }

  @Test
  void shouldAddNoGatewayToADeviceThatIsDownAndReportIt() {
    agent.node.hasDevice("lo", 1, null, false);
    agent.node.missingGateways.add(GATEWAY);
    on(handler -> handler.onDevice(agent.node.present.get("lo")));
    assertFault(Level.STOPPED, "interface 'lo' is down");
    assertEquals(0, repaired(Repairs.Kind.ADDRESS));
    agent.node.hasDevice("lo", 1, null);
    on(handler -> handler.onDevice(agent.node.present.get("lo")));
    assertEquals(1, repaired(Repairs.Kind.ADDRESS));
    assertHealthy();
  }

  @Test
  void shouldReportADeviceOfTheNodeAsSoonAsItIsGone() {
    agent.node.present.remove("ext0");
    on(handler -> handler.onDeviceRemoved(2, "ext0"));
    assertFault(Level.STOPPED, "interface 'ext0' is gone");
  }

  /** An event about another device does not cause a comparison of the node. */
  @Test
  void shouldNotCompareTheNodeForADeviceThatItDoesNotNeed() {
    final int before = agent.node.gatewayComparisons;
    agent.node.hasDevice("tap0", 40, "tun");
    on(handler -> handler.onDevice(agent.node.present.get("tap0")));
    on(handler -> handler.onDeviceRemoved(40, "tap0"));
    assertEquals(before, agent.node.gatewayComparisons);
    on(handler -> handler.onDevice(agent.node.present.get("ext0")));
    assertEquals(before + 1, agent.node.gatewayComparisons);
  }

  @Test
  void shouldSetParametersOfTheNodeAgainAndCountThem() {
    agent.node.changedParameters.put("", List.of("net.ipv4.ip_forward", "net.ipv6.forwarding"));
    on(NodeEvents.Handler::onParameter);
    assertEquals(2, repaired(Repairs.Kind.SYSCTL));
    agent.node.parameterFailure = "net.ipv4.ip_forward cannot be set to 1: EROFS";
    on(NodeEvents.Handler::onParameter);
    assertFault(Level.DEGRADED, "net.ipv4.ip_forward cannot be set to 1: EROFS");
    agent.node.parameterFailure = null;
    on(NodeEvents.Handler::onParameter);
    assertHealthy();
  }

  @Test
  void shouldSetParametersOfTheInterfacesOfIpv4EndpointsAgain() {
    agent.create("2", Requests.on("lxc2").ipv6("f00d::5:0:22"));
    agent.create(
        "3",
        Requests.on("lxc3")
            .ipv4("10.5.0.33")
            .wired(new DatapathConfiguration(null, null, false, null, null, null)));
    for (final String name : List.of("lxc1", "lxc2", "lxc3")) {
      agent.node.changedParameters.put(name, List.of("net.ipv4.conf." + name + ".forwarding"));
    }
    agent.advance(COMPARISON);
    assertEquals(1, repaired(Repairs.Kind.SYSCTL));
    assertEquals(List.of("lxc2", "lxc3"), List.copyOf(agent.node.changedParameters.keySet()));
    agent.node.hasDevice("lxc1", 101, "veth", false);
    agent.node.changedParameters.put("lxc1", List.of("net.ipv4.conf.lxc1.forwarding"));
    agent.advance(COMPARISON);
    assertEquals(1, repaired(Repairs.Kind.SYSCTL), "an interface that is down is left alone");
  }

  @Test
  void shouldReportParametersOfInterfacesUntilAComparisonFindsNoneWrong() {
    agent.node.parameterFailure = "net.ipv4.conf.lxc1.rp_filter cannot be set to 0: EROFS";
    agent.advance(COMPARISON);
    final String failure = agent.node.parameterFailure;
    assertFault(Level.DEGRADED, failure + "; " + failure);
    agent.node.parameterFailure = null;
    agent.advance(COMPARISON);
    assertHealthy();
  }

  @Test
  void shouldAddARouteAgainThatAnotherProgramRemoved() {
    agent.node.routed.clear();
    on(handler -> handler.onRoute(IpAddress.parse("10.5.0.200"), 101, false));
    assertEquals(0, agent.node.routed.size(), "the route of no endpoint");
    on(handler -> handler.onRoute(WEB, 101, true));
    assertEquals(0, agent.node.routed.size(), "the event of the agent's own change");
    on(handler -> handler.onRoute(WEB, 101, false));
    assertEquals(1, agent.node.routed.size());
    assertEquals(1, repaired(Repairs.Kind.ROUTE));
    agent.node.routed.clear();
    on(handler -> handler.onRoute(WEB, 102, true));
    assertEquals(1, agent.node.routed.size(), "a route of the agent through another device");
    assertEquals(2, repaired(Repairs.Kind.ROUTE));
  }

  /** The route of a family is found by either address of the endpoint. */
  @Test
  void shouldFindTheEndpointOfAnIpv6Route() {
    agent.create("2", Requests.on("lxc2").ipv4("10.5.0.22").ipv6("f00d::5:0:22"));
    agent.node.routed.clear();
    on(handler -> handler.onRoute(IpAddress.parse("f00d::5:0:22"), 102, false));
    assertEquals(
        List.of("lxc2"), agent.node.routed.stream().map(route -> route.interfaceName()).toList());
  }

  @Test
  void shouldCompareARouteOnceForAnEvent() {
    final int before = agent.node.routeComparisons;
    on(handler -> handler.onRoute(WEB, 101, false));
    agent.advance(Duration.ofSeconds(1));
    assertEquals(before + 1, agent.node.routeComparisons);
  }

  /** Without its interface an endpoint has no routes, so none of them is wrong. */
  @Test
  void shouldReportNoRouteOfAnInterfaceThatIsDown() {
    agent.node.routed.clear();
    agent.node.routesFail = true;
    on(handler -> handler.onRoute(WEB, 101, false));
    assertEquals("refused", agent.get("1").health().reason());
    agent.node.hasDevice("lxc1", 101, "veth", false);
    agent.advance(COMPARISON);
    assertEquals("interface 'lxc1' is down", agent.get("1").health().reason());
    assertTrue(
        agent.get("1").log().stream()
            .anyMatch(entry -> entry.message().equals("the routes to the endpoint are in order")));
  }

  @Test
  void shouldReportARouteAtOnceThatCannotBeAdded() {
    agent.node.routed.clear();
    agent.node.routesFail = true;
    on(handler -> handler.onRoute(WEB, 101, false));
    assertEquals(HealthLevel.FAILURE, agent.get("1").health().overall());
    assertEquals("refused", agent.get("1").health().reason());
    assertEquals(0, repaired(Repairs.Kind.ROUTE));
    agent.node.routesFail = false;
    on(handler -> handler.onRoute(WEB, 101, false));
    assertHealthy();
    assertEquals(
        List.of("the routes to the endpoint are in order", "refused"),
        agent.get("1").log().stream().limit(2).map(entry -> entry.message()).toList());
  }

  @Test
  void shouldCompareEverythingAfterLostEvents() {
    agent.node.routed.clear();
    agent.node.present.remove("ext0");
    on(NodeEvents.Handler::onLost);
    assertEquals(1, agent.node.routed.size());
    assertFault(Level.STOPPED, "interface 'ext0' is gone");
  }

  @Test
  void shouldTryAgainSoonAfterAComparisonThatFailed() {
    agent.node.routed.clear();
    agent.node.routesAreUnreadable = true;
    on(NodeEvents.Handler::onLost);
    assertFault(Level.DEGRADED, "IPv4 routes: list: ENOBUFS");
    agent.node.routesAreUnreadable = false;
    agent.advance(Duration.ofMillis(449));
    assertEquals(0, agent.node.routed.size());
    agent.advance(Duration.ofMillis(1));
    assertEquals(1, agent.node.routed.size());
    assertHealthy();
  }

  @Test
  void shouldTryAgainSoonAfterARepairThatFailed() {
    agent.node.routed.clear();
    agent.node.routesAreUnreadable = true;
    on(handler -> handler.onRoute(WEB, 101, false));
    assertFault(Level.DEGRADED, "IPv4 routes: list: ENOBUFS");
    agent.node.routesAreUnreadable = false;
    agent.advance(Duration.ofMillis(500));
    assertEquals(1, agent.node.routed.size());
    assertHealthy();
  }

  /** A flood of events causes one repair in 50 milliseconds. */
  @Test
  void shouldRepairAtMostOnceInItsPause() {
    agent.node.events.add(NodeEvents.Handler::onAddress);
    agent.run();
    final int before = agent.node.gatewayComparisons;
    agent.node.events.add(NodeEvents.Handler::onAddress);
    agent.run();
    agent.advance(PAUSE.minusNanos(1));
    assertEquals(before, agent.node.gatewayComparisons);
    agent.advance(Duration.ofNanos(1));
    assertEquals(before + 1, agent.node.gatewayComparisons);
    agent.advance(Duration.ofSeconds(1));
    assertEquals(before + 1, agent.node.gatewayComparisons);
  }

  @Test
  void shouldReadABoundedNumberOfEventsInACycle() {
    for (int i = 0; i < 40; i++) {
      agent.node.events.add(handler -> handler.onDeviceRemoved(900, "tap0"));
    }
    assertEquals(32, agent.conductor.agent().doWork());
    assertEquals(8, agent.node.events.size());
    assertEquals(8, agent.conductor.agent().doWork());
    assertEquals(0, agent.conductor.agent().doWork());
  }

  /** A busy thread has many cycles in a millisecond, and each reading is a system call. */
  @Test
  void shouldReadEventsOnceInAMillisecondAndWhenTheyEndAPark() {
    try (Arena arena = Arena.ofConfined()) {
      final int readable = LibC.eventFd(arena.allocate(LibC.CALL_STATE), 1, 0);
      agent.node.eventDescriptor = readable;
      agent.restart();
      agent.elapse(Duration.ofMillis(1));
      agent.conductor.agent().doWork();
      agent.node.events.add(handler -> handler.onDeviceRemoved(900, "tap0"));
      agent.elapse(Duration.ofNanos(999_999));
      agent.conductor.agent().doWork();
      assertEquals(1, agent.node.events.size());
      agent.elapse(Duration.ofNanos(1));
      agent.conductor.agent().doWork();
      assertEquals(0, agent.node.events.size());
      agent.node.events.add(handler -> handler.onDeviceRemoved(901, "tap1"));
      for (int i = 0; i < TURNS_UNTIL_A_PARK; i++) {
        agent.conductor.agent().idleStrategy().idle(0);
      }
      agent.conductor.agent().doWork();
      assertEquals(0, agent.node.events.size());
      Descriptors.close(readable);
    }
  }

  @Test
  void shouldCompareInItsIntervalAndExpireLeases() {
    final var lease =
        agent.ipam.allocate(AddressFamily.IPV4, "cni", null, true).ipv4().orElseThrow();
    final int before = agent.node.gatewayComparisons;
    agent.advance(Duration.ofSeconds(50));
    assertEquals(before + 10, agent.node.gatewayComparisons);
    agent.advance(Duration.ofHours(1));
    assertTrue(agent.ipam.find(lease.address()).isEmpty());
  }

  @Test
  void shouldEndItsSubscriptionWhenItIsClosed() {
    assertTrue(agent.node.isSubscribed);
    agent.conductor.agent().onClose();
    assertFalse(agent.node.isSubscribed);
  }

  /** A write of the ipcache that fails is repeated by the next comparison. */
  @Test
  void shouldWriteAddressesAgainThatTheIpcacheRefused() {
    agent.datapath.fails = call -> call.startsWith("ipcache");
    agent.node.hasAddress("192.0.2.77");
    on(NodeEvents.Handler::onAddress);
    assertFalse(isHost("192.0.2.77/32"));
    agent.datapath.fails = call -> false;
    agent.advance(COMPARISON);
    assertTrue(isHost("192.0.2.77/32"));
  }

  @Test
  void shouldPauseForTwoSecondsAtMostAfterASlowRepair() {
    agent.node.onGateways = () -> agent.elapse(Duration.ofSeconds(1));
    final int before = agent.node.gatewayComparisons;
    on(NodeEvents.Handler::onAddress);
    on(NodeEvents.Handler::onAddress);
    agent.advance(Duration.ofMillis(1_899));
    assertEquals(before + 1, agent.node.gatewayComparisons, "1,999 ms have passed");
    agent.advance(Duration.ofMillis(1));
    assertEquals(before + 2, agent.node.gatewayComparisons);
  }

  /** What its removal has taken stays away, however long the other steps take. */
  @Test
  void shouldNotAddTheRouteAgainOfAnEndpointThatIsBeingRemoved() {
    agent.datapath.fails = call -> call.equals("detach 1");
    agent.delete("1");
    on(handler -> handler.onRoute(WEB, 101, false));
    assertEquals(0, agent.node.routed.size());
    agent.advance(COMPARISON);
    assertEquals(0, repaired(Repairs.Kind.ROUTE));
  }
}
