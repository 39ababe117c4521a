package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfLink;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointHealth;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.testkit.KernelTest;
import agent.testkit.Workload;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The health of an endpoint follows its interface, its route, its hooks and its workload: each
 * change within ten seconds of its cause, and back within ten seconds of its end.
 */
@KernelTest
class ReachabilityKernelTest {
  private static final Duration DEADLINE = Duration.ofSeconds(10);
  private static final String DEVICE = "lxcep11";

  private KernelRig agent;
  private Workload web;

  @BeforeEach
  void setUp() throws Exception {
    agent = new KernelRig();
    web = agent.workload(11);
    agent.create(11, web, "app=web");
    awaitReached();
  }

  @AfterEach
  void tearDown() throws IOException {
    agent.close();
  }

  private void await(String what, Predicate<EndpointHealth> wanted) {
    final long deadlineNs = System.nanoTime() + DEADLINE.toNanos();
    while (!wanted.test(agent.health(11))) {
      assertTrue(System.nanoTime() < deadlineNs, () -> what + ": " + agent.health(11));
      agent.inNamespace(agent::run);
      LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
    }
  }

  private void awaitReached() {
    await(
        "reached",
        health ->
            health.connected()
                && health.bpf() == HealthLevel.OK
                && health.overall() == HealthLevel.OK);
  }

  private void awaitNotReached(HealthLevel bpf, HealthLevel overall, String reason) {
    await(
        reason,
        health ->
            !health.connected()
                && health.bpf() == bpf
                && health.overall() == overall
                && String.valueOf(health.reason()).contains(reason));
  }

  /** Runs the agent for a time in which no health may change. */
  private void assertReachedFor(Duration time) {
    final long endNs = System.nanoTime() + time.toNanos();
    while (System.nanoTime() < endNs) {
      agent.inNamespace(agent::run);
      assertTrue(agent.health(11).connected(), () -> agent.health(11).toString());
      assertEquals(HealthLevel.OK, agent.health(11).overall());
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
  }

  /** Adds the IPv4 address, and the routes that the kernel removed with it. */
  private static void address4(Workload workload) {
    workload.namespace().ip("address add " + workload.ipv4() + "/32 dev eth0");
    route4(workload);
  }

  private static void route4(Workload workload) {
    workload
        .namespace()
        .ip(
            "route replace 10.1.0.1/32 dev eth0 scope link",
            "route replace default via 10.1.0.1 dev eth0");
  }

  private static void address6(Workload workload) {
    workload
        .namespace()
        .ip(
            "address add " + workload.ipv6() + "/128 dev eth0 nodad",
            "route replace f00d::a01:1:0:1/128 dev eth0");
  }

  private static String silent(String... addresses) {
    return "the workload has not answered probes of " + String.join(", ", addresses);
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldStayReachedWhileTheWorkloadIsIdle() {
    assertReachedFor(Duration.ofSeconds(12));
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldFollowTheWorkloadsInterface() {
    web.namespace().ip("link set eth0 down");
    awaitNotReached(HealthLevel.WARNING, HealthLevel.WARNING, "the workload's side");
    web.namespace().ip("link set eth0 up");
    route4(web);
    address6(web);
    awaitReached();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldFollowTheHostSide() {
    agent.namespace().ip("link set " + DEVICE + " down");
    awaitNotReached(HealthLevel.FAILURE, HealthLevel.FAILURE, "is down");
    agent.namespace().ip("link set " + DEVICE + " up");
    awaitReached();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldFollowADeletedDevice() {
    web.veth().delete();
    awaitNotReached(HealthLevel.FAILURE, HealthLevel.FAILURE, "is gone");
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldFollowEachAddress() {
    web.namespace().ip("address delete " + web.ipv4() + "/32 dev eth0");
    awaitNotReached(HealthLevel.OK, HealthLevel.WARNING, silent(web.ipv4()) + " within");
    address4(web);
    awaitReached();
    web.namespace().ip("-6 address delete " + web.ipv6() + "/128 dev eth0");
    awaitNotReached(HealthLevel.OK, HealthLevel.WARNING, silent(web.ipv6()) + " within");
    address6(web);
    awaitReached();
  }

  /** The node's permanent neighbour entry leads to an address that no interface has. */
  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldFollowAChangedHardwareAddressOfTheWorkload() {
    web.namespace().ip("link set eth0 address 02:00:00:00:00:99");
    awaitNotReached(HealthLevel.OK, HealthLevel.WARNING, silent(web.ipv4(), web.ipv6()));
    web.namespace().ip("link set eth0 address " + web.veth().workloadMac());
    awaitReached();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldFollowTheRoute() {
    agent.namespace().ip("route replace " + web.ipv4() + "/32 dev lo proto static");
    awaitNotReached(HealthLevel.FAILURE, HealthLevel.FAILURE, "another route exists");
    agent.namespace().ip("route del " + web.ipv4() + "/32 dev lo proto static");
    awaitReached();
  }

  /** The guard attaches the programs again, and says so until its next round. */
  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldFollowTheHooks() {
    try (BpfLink link =
        BpfLink.openPinned(agent.bpfRoot().resolve("agent/endpoints/11/from_endpoint"))
            .orElseThrow()) {
      link.detach();
    }
    awaitNotReached(HealthLevel.WARNING, HealthLevel.WARNING, "");
    awaitReached();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldSayOfAWorkloadWithoutAnAddressThatItIsNotReached() {
    final Workload late = agent.workload(12);
    for (final String address : new String[] {late.ipv4() + "/32", late.ipv6() + "/128"}) {
      late.namespace().ip("address delete " + address + " dev eth0");
    }
    agent.create(12, late, "app=late");
    agent.await("silence", () -> agent.health(12).overall() == HealthLevel.WARNING);
    final int entries = agent.get("12").log().size();
    assertReachedFor(Duration.ofSeconds(5));
    assertEquals(entries, agent.get("12").log().size(), "it must not flap");
    assertFalse(agent.health(12).connected());
    address4(late);
    agent.await("one address", () -> agent.health(12).connected());
    assertEquals(HealthLevel.OK, agent.health(12).overall());
  }

  /** Without a route of the agent, too: the requests leave by the interface itself. */
  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldAskAWorkloadThatAnotherProgramRoutesTo() {
    final Workload routed = agent.workload(12).routeFromNode();
    agent.create(
        "12",
        KernelRig.requestFor(routed, "app=routed")
            .wired(new DatapathConfiguration(null, null, false, null, null, null)));
    agent.await("an answer", () -> agent.health(12).connected());
  }
}
