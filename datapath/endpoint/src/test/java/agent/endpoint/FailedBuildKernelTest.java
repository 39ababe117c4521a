package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.bindings.Descriptors;
import agent.bindings.bpf.BpfFileSystem;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** No packet passes a workload whose first build fails, in neither direction. */
@KernelTest
class FailedBuildKernelTest {
  private static final int LATE = 14;
  private static final int PATIENCE_MS = 400;

  private KernelRig agent;
  private Workload web;
  private Workload late;
  private UdpEchoServer onNode;
  private UdpEchoServer inWorkload;
  private UdpStream out;
  private UdpStream in;

  /** What makes the build fail. */
  private enum Fault {
    /** The programs cannot be compiled, loaded, verified or attached. */
    PROGRAMS {
      @Override
      void inject(KernelRig agent) {
        agent.failing.add("attach");
      }

      @Override
      void end(KernelRig agent) {
        agent.failing.clear();
      }
    },

    /** The policy map cannot be created: its pin's place is taken. */
    POLICY_MAP {
      private static Path place(KernelRig agent) {
        return agent.bpfRoot().resolve("agent/maps/policy_00014");
      }

      @Override
      void inject(KernelRig agent) throws IOException {
        Files.createDirectory(place(agent));
      }

      @Override
      void end(KernelRig agent) throws IOException {
        Files.delete(place(agent));
      }
    },

    /** Not even dropping programs can be attached: another object is pinned in the link's place. */
    LINK {
      private static Path place(KernelRig agent) {
        return agent.bpfRoot().resolve("agent/endpoints/14/from_endpoint");
      }

      @Override
      void inject(KernelRig agent) throws IOException {
        Files.createDirectories(place(agent).getParent());
        final int map = BpfFileSystem.open(agent.bpfRoot().resolve("agent/maps/endpoints"));
        assertEquals(0, BpfFileSystem.pin(map, place(agent)));
        Descriptors.close(map);
      }

      @Override
      void end(KernelRig agent) {
        assertEquals(0, BpfFileSystem.unpin(place(agent)));
      }
    };

    abstract void inject(KernelRig agent) throws IOException;

    abstract void end(KernelRig agent) throws IOException;
  }

  @BeforeEach
  void setUp() throws Exception {
    agent = new KernelRig();
    web = agent.workload(11);
    agent.create(11, web, "app=web");
    agent.importRules(
        EndpointKernelTest.allowEgressTcp("app=late", "app=web", 8080),
        allowIngress("app=late", "app=nobody", 80));
    late = agent.workload(LATE);
    late.routeFromNode(); // packets from the node reach the workload before it is an endpoint
    final String gateway = agent.addressing().ipv4().gateway().toString();
    onNode = UdpEchoServer.start(agent.namespace(), gateway, 5300);
    inWorkload = UdpEchoServer.start(late.namespace(), late.ipv4(), 5301);
    out = UdpStream.start(late.namespace(), gateway, 5300, 2);
    in = UdpStream.start(agent.namespace(), late.ipv4(), 5301, 2);
    agent.await("traffic of the workload without an endpoint", () -> onNode.datagrams() > 3);
    agent.await("traffic to the workload without an endpoint", () -> inWorkload.datagrams() > 3);
  }

  @AfterEach
  void tearDown() throws IOException {
    for (final AutoCloseable part : List.of(out, in, onNode, inWorkload, agent)) {
      try {
        part.close();
      } catch (Exception failure) {
        throw new IOException(failure);
      }
    }
  }

  /** Asserts that no datagram arrives on either side while both sides send. */
  private void assertClosed() {
    send(30); // datagrams that passed before the workload was closed are read
    final long fromWorkload = onNode.datagrams();
    final long toWorkload = inWorkload.datagrams();
    send(150);
    assertEquals(fromWorkload, onNode.datagrams(), "from the workload");
    assertEquals(toWorkload, inWorkload.datagrams(), "to the workload");
    assertFalse(agent.get("14").state() == EndpointState.READY);
  }

  /** Waits until both sides have sent some more datagrams; the conductor runs meanwhile. */
  private void send(int datagrams) {
    final long from = out.sent() + datagrams;
    final long to = in.sent() + datagrams;
    agent.await("datagrams", () -> out.sent() >= from && in.sent() >= to);
  }

  private void assertEnforced() throws Exception {
    try (TcpEchoServer http = TcpEchoServer.start(web.namespace(), 8080);
        TcpEchoServer admin = TcpEchoServer.start(web.namespace(), 9090)) {
      assertEquals(
          Outcome.CONNECTED,
          TcpConnection.attempt(late.namespace(), web.ipv4(), 8080, 10 * PATIENCE_MS));
      assertEquals(
          Outcome.UNANSWERED,
          TcpConnection.attempt(late.namespace(), web.ipv4(), 9090, PATIENCE_MS));
      assertEquals(1, http.connections() + admin.connections());
    }
  }

  /** Removes the route of the test, so that the agent can add its own. */
  private void unroute() {
    agent.namespace().ip("route del " + late.ipv4() + "/32", "route del " + late.ipv6() + "/128");
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @EnumSource(Fault.class)
  void shouldStayClosedUntilARetrySucceeds(Fault fault) throws Exception {
    fault.inject(agent);
    agent.create("14", KernelRig.requestFor(late, "app=late").later());
    assertClosed();
    agent.await("a retry", () -> failures() > 1);
    assertClosed();
    assertEquals(HealthLevel.FAILURE, agent.get("14").health().overall());
    unrouteUnlessDown();
    fault.end(agent);
    agent.await("the build", () -> agent.get("14").state() == EndpointState.READY);
    agent.await( // the guard may have found the fault, too, and looks again in its next round
        "health", () -> agent.get("14").health().overall() == HealthLevel.OK);
    assertEnforced();
  }

  private int failures() {
    return agent.get("14").controllers().getFirst().consecutiveFailureCount();
  }

  /** A host side that is set down loses its routes. */
  private void unrouteUnlessDown() {
    if (agent.namespace().exec("ip", "route", "show", late.ipv4()).contains(late.ipv4())) {
      unroute();
    }
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @EnumSource(Fault.class)
  void shouldStayClosedWhereASynchronousCreationFails(Fault fault) throws Exception {
    fault.inject(agent);
    assertThrows(
        OperationException.class,
        () -> agent.create("14", KernelRig.requestFor(late, "app=late").sync()));
    send(30);
    final long fromWorkload = onNode.datagrams();
    final long toWorkload = inWorkload.datagrams();
    send(150);
    assertEquals(fromWorkload, onNode.datagrams());
    assertEquals(toWorkload, inWorkload.datagrams());
    fault.end(agent);
    agent.await("the removal", () -> agent.conductor.endpoints().list(List.of()).size() == 1);
    unrouteUnlessDown();
    final EndpointSnapshot created =
        agent.create("14", KernelRig.requestFor(late, "app=late").sync());
    assertEquals(EndpointState.READY, created.state());
    assertEnforced();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldRemoveTheKernelStateOfAWorkloadThatStayedClosed() throws Exception {
    final List<String> pins = agent.pins();
    Fault.PROGRAMS.inject(agent);
    agent.create("14", KernelRig.requestFor(late, "app=late").later());
    agent.await("a failure", () -> failures() > 0);
    assertEquals(
        List.of(), agent.now(agent.conductor.endpoints().delete(EndpointIdentifier.parse("14"))));
    assertEquals(pins, agent.pins());
  }
}
