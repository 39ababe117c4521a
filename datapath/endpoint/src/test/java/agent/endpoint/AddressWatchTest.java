package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth.Level;
import agent.endpoint.state.EndpointHealth;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.node.Devices.Device;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Reachability of endpoints by the answers of their workloads. */
class AddressWatchTest {
  private static final String IPV4 = "10.5.0.9";
  private static final String IPV6 = "f00d::5:0:9";

  /** A change of health takes this long at most. */
  private static final Duration DEADLINE = Duration.ofSeconds(10);

  private static final Duration SECOND = Duration.ofSeconds(1);

  /** After so long the agent looks for answers again. */
  private static final Duration LOOK_PAUSE = Duration.ofMillis(1);

  private final FakeProbes workloads = new FakeProbes();
  private final FakeRig agent = new FakeRig(workloads);

  private void create() {
    agent.create("1", Requests.on("lxc1").ipv4(IPV4).ipv6(IPV6));
  }

  private EndpointHealth health() {
    return agent.get("1").health();
  }

  private void assertReached() {
    assertEquals(
        new EndpointHealth(HealthLevel.OK, HealthLevel.OK, HealthLevel.OK, true, null), health());
  }

  private void assertSilent(String addresses) {
    assertEquals(
        new EndpointHealth(
            HealthLevel.OK,
            HealthLevel.OK,
            HealthLevel.WARNING,
            false,
            "the workload has not answered probes of " + addresses + " within 8 seconds"),
        health());
  }

  @Test
  void shouldCountAsReachedOnceItsWorkloadHasAnswered() {
    workloads.has(101, IPV4, IPV6);
    create();
    agent.advance(SECOND);
    assertReached();
  }

  @Test
  void shouldBeSilentWithinTenSecondsAndRecover() {
    workloads.has(101, IPV4, IPV6);
    create();
    agent.advance(SECOND);
    workloads.configured.clear();
    agent.advance(DEADLINE);
    assertSilent(IPV4 + ", " + IPV6);
    assertEquals("Warning", agent.get("1").log().getFirst().code());
    workloads.has(101, IPV4, IPV6);
    agent.advance(DEADLINE);
    assertReached();
    assertEquals(
        "the workload answers probes of its addresses", agent.get("1").log().getFirst().message());
  }

  /** Whenever the cause comes between two requests. */
  @Test
  void shouldNoticeItInTimeAtEveryMoment() {
    for (int millis = 0; millis < 4000; millis += 250) {
      workloads.has(101, IPV4);
      agent.create("1", Requests.on("lxc1").ipv4(IPV4));
      agent.advance(Duration.ofSeconds(20).plusMillis(millis));
      assertReached();
      workloads.configured.clear();
      agent.advance(DEADLINE);
      assertSilent(IPV4);
      workloads.has(101, IPV4);
      agent.advance(Duration.ofSeconds(4));
      assertReached();
      agent.delete("1");
    }
  }

  @Test
  void shouldNotMindTwoRequestsThatAreLost() {
    workloads.has(101, IPV4);
    agent.create("1", Requests.on("lxc1").ipv4(IPV4));
    agent.advance(Duration.ofSeconds(20));
    final int entries = agent.get("1").log().size();
    for (int i = 0; i < 20; i++) {
      workloads.configured.clear();
      final int before = workloads.asked.size();
      while (workloads.asked.size() < before + 2) {
        agent.advance(SECOND);
      }
      assertReached();
      workloads.has(101, IPV4);
      agent.advance(Duration.ofSeconds(3));
      assertReached();
    }
    assertEquals(entries, agent.get("1").log().size());
  }

  /** A workload that has no address yet is not a fault at once, and one fault from then on. */
  @Test
  void shouldReportAWorkloadThatNeverAnswersOnce() {
    create();
    agent.advance(Duration.ofSeconds(7));
    assertEquals(HealthLevel.OK, health().overall());
    assertFalse(health().connected());
    agent.advance(Duration.ofSeconds(3));
    assertSilent(IPV4 + ", " + IPV6);
    final int entries = agent.get("1").log().size();
    agent.advance(Duration.ofMinutes(5));
    assertSilent(IPV4 + ", " + IPV6);
    assertEquals(entries, agent.get("1").log().size());
  }

  @Test
  void shouldNotCountAFamilyThatTheWorkloadHasNeverConfigured() {
    workloads.has(101, IPV4);
    create();
    agent.advance(Duration.ofMinutes(1));
    assertReached();
    workloads.has(101, IPV4, IPV6);
    agent.advance(Duration.ofSeconds(4));
    workloads.has(101, IPV4);
    agent.advance(DEADLINE);
    assertSilent(IPV6);
    workloads.configured.clear();
    agent.advance(DEADLINE);
    assertSilent(IPV4 + ", " + IPV6);
    workloads.has(101, IPV6);
    agent.advance(DEADLINE);
    assertSilent(IPV4);
  }

  @Test
  void shouldTakeAnswersOnlyFromTheInterfaceAndForTheAddressOfTheEndpoint() {
    create();
    agent.create("2", Requests.on("lxc2").ipv4("10.5.0.10"));
    agent.advance(SECOND);
    for (int i = 0; i < 20; i++) {
      workloads.answer(102, IPV4);
      workloads.answer(101, "10.5.0.10");
      workloads.answer(101, "f00d::5:0:10");
      workloads.answer(77, IPV4);
      agent.advance(SECOND);
    }
    assertFalse(health().connected());
    assertFalse(agent.get("2").health().connected());
    agent.elapse(LOOK_PAUSE);
    workloads.answer(101, IPV6);
    workloads.answer(102, "10.5.0.10");
    agent.advance(SECOND);
    assertTrue(health().connected());
    assertTrue(agent.get("2").health().connected());
  }

  /** An answer from before the carrier was lost says nothing of afterwards. */
  @Test
  void shouldAskAgainAtOnceWhenTheCarrierIsBack() {
    workloads.has(101, IPV4, IPV6);
    create();
    agent.advance(SECOND);
    final Device up = agent.node.present.get("lxc1");
    agent.node.hasDevice("lxc1", 101, "veth", false);
    agent.node.events.add(handler -> handler.onDevice(agent.node.present.get("lxc1")));
    agent.advance(SECOND);
    assertEquals(HealthLevel.FAILURE, health().overall());
    workloads.configured.clear();
    agent.node.present.put("lxc1", up);
    agent.node.events.add(handler -> handler.onDevice(up));
    agent.advance(SECOND);
    assertEquals(HealthLevel.OK, health().overall());
    assertFalse(health().connected());
    agent.advance(DEADLINE);
    assertSilent(IPV4 + ", " + IPV6);
  }

  @Test
  void shouldAskOnTheNewInterfaceWhereTheEndpointMoves() {
    workloads.has(101, IPV4);
    agent.create("1", Requests.on("lxc1").ipv4(IPV4));
    agent.advance(SECOND);
    agent.modify("1", Requests.on("lxc4").state("ready"));
    assertFalse(health().connected());
    workloads.asked.clear();
    workloads.has(104, IPV4);
    agent.advance(SECOND);
    assertEquals(Set.of("104 " + IPV4), new HashSet<>(workloads.asked));
    agent.advance(LOOK_PAUSE);
    assertReached();
  }

  @Test
  void shouldNotAskAnEndpointThatIsDeletedOrWithoutACarrier() {
    workloads.has(101, IPV4);
    agent.create("1", Requests.on("lxc1").ipv4(IPV4));
    agent.create("2", Requests.on("lxc2").ipv4("10.5.0.10"));
    agent.advance(SECOND);
    agent.delete("1");
    agent.node.hasDevice("lxc2", 102, "veth", false);
    agent.advance(Duration.ofSeconds(6));
    workloads.asked.clear();
    agent.advance(Duration.ofSeconds(20));
    assertEquals(List.of(), workloads.asked);
  }

  /** In three seconds each endpoint is asked once; no second has more than its part. */
  @Test
  void shouldAskEachEndpointOnceInAnIntervalHoweverManyThereAre() {
    for (int i = 0; i < 100; i++) {
      agent.node.hasDevice("many" + i, 1000 + i);
      workloads.has(1000 + i, "10.5.0." + (50 + i));
      agent.create("0", Requests.on("many" + i).ipv4("10.5.0." + (50 + i)));
      agent.advance(Duration.ofMillis(40));
    }
    agent.advance(Duration.ofSeconds(30));
    workloads.asked.clear();
    agent.advance(Duration.ofSeconds(12));
    assertEquals(100, new HashSet<>(workloads.asked).size());
    assertTrue(workloads.asked.size() <= 500, () -> workloads.asked.size() + " requests");
  }

  /** Endpoints with other ids have other intervals, none of them longer than three seconds. */
  @Test
  void shouldAskEndpointsAtIntervalsThatDriftApart() {
    final Map<Integer, Integer> requestsInAMinute = Map.of(1, 20, 31, 23, 63, 25, 64, 20);
    for (final int id : List.of(1, 31, 63, 64)) {
      agent.node.hasDevice("drift" + id, 1000 + id);
      workloads.has(1000 + id, "10.5.0." + (50 + id));
      agent.create("" + id, Requests.on("drift" + id).ipv4("10.5.0." + (50 + id)));
    }
    agent.advance(Duration.ofSeconds(10));
    workloads.asked.clear();
    for (int i = 0; i < 300; i++) {
      agent.advance(Duration.ofMillis(200));
    }
    requestsInAMinute.forEach(
        (id, wanted) -> {
          final String request = (1000 + id) + " 10.5.0." + (50 + id);
          final long asked = workloads.asked.stream().filter(request::equals).count();
          assertTrue(Math.abs(asked - wanted) <= 1, request + ": " + asked + " times");
        });
  }

  @Test
  void shouldReportProbesThatCannotBeOpened() {
    final FakeProbes refused = new FakeProbes();
    refused.opensFail = true;
    final FakeRig rig = new FakeRig(refused);
    rig.node.hasDevice("lo", 1, null);
    rig.node.hasDevice("ext0", 2, null);
    rig.create("1", Requests.on("lxc1").ipv4(IPV4));
    rig.advance(DEADLINE);
    assertFalse(rig.get("1").health().connected());
    assertEquals(Level.STOPPED, rig.conductor.nodeFaults().read().level());
    assertEquals(
        "probes of workloads: packet socket: EPERM", rig.conductor.nodeFaults().read().message());
  }

  @Test
  void shouldCloseTheProbesWithTheAgent() {
    assertTrue(workloads.isOpen);
    agent.conductor.agent().onClose();
    assertFalse(workloads.isOpen);
  }

  /** The request tells the workload the gateway's hardware address, which may be another one. */
  @Test
  void shouldAskAtOnceWhereProgramsAreAttachedAgain() {
    workloads.has(101, IPV4);
    agent.create("1", Requests.on("lxc1").ipv4(IPV4));
    agent.advance(Duration.ofSeconds(20));
    workloads.asked.clear();
    while (workloads.asked.isEmpty()) {
      agent.advance(Duration.ofMillis(100));
    }
    workloads.asked.clear();
    agent.configure("1", Map.of("Debug", "Enabled"));
    agent.advance(Duration.ofMillis(400));
    assertEquals(List.of("101 " + IPV4), workloads.asked);
  }

  /** Nothing that was known of the former interface and its policy holds for the new one. */
  @Test
  void shouldForgetWhatWasOfTheFormerInterfaceWhereTheNewOneGetsNoPrograms() {
    create();
    agent.advance(DEADLINE);
    assertSilent(IPV4 + ", " + IPV6);
    agent.datapath.fails = call -> call.equals("attach 1") || call.equals("synchronize 1");
    agent.modify("1", Requests.on("lxc4").state("ready").later());
    assertEquals(
        new EndpointHealth(
            HealthLevel.FAILURE,
            HealthLevel.FAILURE,
            HealthLevel.FAILURE,
            false,
            "endpoint 1: policy map: the kernel refused"),
        health());
  }
}
