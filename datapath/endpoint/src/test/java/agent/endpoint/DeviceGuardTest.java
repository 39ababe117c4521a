package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.conductor.ModuleHealth.Level;
import agent.node.LocalAddress;
import agent.types.AddressPair;
import agent.types.IpAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The devices of the network are guarded as they come and go, and so are their addresses. */
class DeviceGuardTest {
  private static final Duration COMPARISON = Duration.ofSeconds(6);
  private static final Duration PAUSE = Duration.ofMillis(50);

  private final FakeRig agent = new FakeRig();

  private FakeGuard start(String selection) {
    agent.node.hasDevice("lo", 1, null);
    agent.node.hasDevice("ext0", 2, null);
    agent.guard = new FakeGuard(selection);
    agent.restart();
    agent.advance(COMPARISON);
    return agent.guard;
  }

  private void onDevice(String name) {
    agent.node.events.add(handler -> handler.onDevice(agent.node.present.get(name)));
    agent.advance(PAUSE);
  }

  private void assertHealthy() {
    assertFault(Level.OK, "the node is configured as desired");
  }

  private void assertFault(Level level, String message) {
    assertEquals(level, agent.conductor.nodeFaults().read().level());
    assertEquals(message, agent.conductor.nodeFaults().read().message());
  }

  @Test
  void shouldGuardADeviceThatIsNamedAsSoonAsItIsThere() {
    final FakeGuard guard = start("ext0,eth+");
    assertEquals(List.of(Map.of("ext0", 2)), guard.guarded);
    agent.node.hasDevice("eth1", 31, null);
    onDevice("eth1");
    assertEquals(Map.of("ext0", 2, "eth1", 31), guard.guarded.getLast());
    agent.node.present.remove("eth1");
    agent.node.events.add(handler -> handler.onDeviceRemoved(31, "eth1"));
    agent.advance(PAUSE);
    assertEquals(Map.of("ext0", 2), guard.guarded.getLast());
    agent.advance(COMPARISON.multipliedBy(3));
    assertEquals(3, guard.guarded.size(), "what is guarded is not guarded again");
    assertHealthy();
  }

  @Test
  void shouldNotCompareTheNodeForADeviceThatNoNameSelects() {
    final FakeGuard guard = start("ext0");
    final int before = agent.node.gatewayComparisons;
    agent.node.hasDevice("eth1", 31, null);
    onDevice("eth1");
    assertEquals(before, agent.node.gatewayComparisons);
    assertEquals(1, guard.guarded.size());
  }

  @Test
  void shouldReportANetworkWithoutAnyGuardedDeviceUntilThereIsOne() {
    final FakeGuard guard = start("auto");
    assertEquals(List.of(), guard.guarded);
    assertFault(Level.DEGRADED, "no device program attached: --device selects none of [eth0]");
    agent.node.hasDevice("eth0", 30, null);
    agent.advance(COMPARISON);
    assertEquals(List.of(Map.of("eth0", 30)), guard.guarded);
    assertHealthy();
    agent.node.present.remove("eth0");
    agent.advance(COMPARISON);
    assertEquals(Map.of(), guard.guarded.getLast());
    agent.node.addresses.clear();
    agent.advance(COMPARISON);
    assertHealthy();
  }

  @Test
  void shouldGuardAgainWhatWasRefusedAndReportItMeanwhile() {
    final FakeGuard guard = start("ext0");
    guard.failure = "device eth1: attach: EPERM";
    agent.node.hasDevice("ext0", 77, null);
    onDevice("ext0");
    assertFault(Level.STOPPED, "device eth1: attach: EPERM");
    final int refused = guard.guarded.size();
    guard.failure = null;
    agent.advance(COMPARISON);
    assertEquals(refused + 1, guard.guarded.size());
    assertEquals(Map.of("ext0", 77), guard.guarded.getLast());
    assertHealthy();
    agent.advance(COMPARISON);
    assertEquals(refused + 1, guard.guarded.size());
  }

  @Test
  void shouldNotGuardOtherDevicesBeforeTheFormerCallHasEnded() {
    final FakeGuard guard = start("ext0");
    guard.holds = true;
    agent.node.hasDevice("ext0", 77, null);
    onDevice("ext0");
    agent.node.hasDevice("ext0", 78, null);
    onDevice("ext0");
    assertEquals(List.of(Map.of("ext0", 2), Map.of("ext0", 77)), guard.guarded);
    guard.holds = false;
    guard.answerHeld();
    agent.advance(COMPARISON);
    assertEquals(Map.of("ext0", 78), guard.guarded.getLast());
    assertEquals(3, guard.guarded.size());
  }

  @Test
  void shouldMasqueradeByTheAddressesThatDevicesHaveNow() {
    final FakeGuard guard = start("ext0");
    final AddressPair first = new AddressPair(IpAddress.parse("192.0.2.1"), null);
    assertEquals(List.of(Map.of("eth0", first)), guard.masqueraded);
    agent.node.addresses.add(new LocalAddress(IpAddress.parse("2001:db8::1"), 64, "ext0"));
    agent.node.events.add(handler -> handler.onAddress());
    agent.advance(PAUSE);
    assertEquals(
        Map.of("eth0", first, "ext0", new AddressPair(null, IpAddress.parse("2001:db8::1"))),
        guard.masqueraded.getLast());
    agent.advance(COMPARISON.multipliedBy(2));
    assertEquals(2, guard.masqueraded.size(), "what the programs know is not written again");
  }

  @Test
  void shouldWriteAddressesAgainThatWereRefusedAndReportItMeanwhile() {
    final FakeGuard guard = start("ext0");
    guard.failure = "map masquerade: update: E2BIG";
    agent.node.addresses.add(new LocalAddress(IpAddress.parse("198.51.100.9"), 24, "ext0"));
    agent.node.events.add(handler -> handler.onAddress());
    agent.advance(PAUSE);
    assertFault(Level.STOPPED, "map masquerade: update: E2BIG");
    final int refused = guard.masqueraded.size();
    guard.failure = null;
    agent.advance(COMPARISON);
    assertEquals(refused + 1, guard.masqueraded.size());
    assertHealthy();
  }

  /** A device of the network keeps its reverse path filter, which a host side has not. */
  @Test
  void shouldSetTheParametersOfAGuardedDeviceAsThoseOfTheNetwork() {
    start("ext0");
    agent.node.changedParameters.put("ext0", List.of("net.ipv4.conf.ext0.rp_filter"));
    agent.node.changedParameters.put("device ext0", List.of("net.ipv4.conf.ext0.forwarding"));
    agent.advance(COMPARISON);
    assertEquals(Set.of("ext0"), agent.node.changedParameters.keySet());
  }
}
