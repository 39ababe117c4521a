package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.restore.RestoreReport;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointState;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Forty endpoints are restored in the kernel while requests are served. */
@KernelTest
class RestoreKernelTest {
  private static final int ENDPOINTS = 40;
  private static final int FIRST = 11;
  private static final int LAST = FIRST + ENDPOINTS - 1;
  private static final int PATIENCE_MS = 400;

  private final KernelRig agent;

  RestoreKernelTest() throws IOException {
    agent = new KernelRig();
  }

  @AfterEach
  void tearDown() throws IOException {
    agent.close();
  }

  private Outcome attempt(Workload from, Workload to, int port) throws Exception {
    return TcpConnection.attempt(from.namespace(), to.ipv4(), port, PATIENCE_MS);
  }

  private EndpointState state(int id) {
    return agent.get(Integer.toString(id)).state();
  }

  @Test
  void shouldServeRequestsAndEnforceWhileEndpointsAreRestored() throws Exception {
    final List<Workload> workloads = new ArrayList<>();
    for (int id = FIRST; id <= LAST; id++) {
      final Workload workload = agent.workload(id);
      workloads.add(workload);
      agent.create(id, workload, id == FIRST ? "app=client" : "app=web");
    }
    agent.importRules(allowIngress("app=web", "app=client", 8080));
    final Workload client = workloads.getFirst();
    final Workload other = workloads.get(1);
    final Workload last = workloads.getLast();
    try (TcpEchoServer http = TcpEchoServer.start(last.namespace(), 8080);
        TcpEchoServer admin = TcpEchoServer.start(last.namespace(), 9090);
        UdpEchoServer echo = UdpEchoServer.start(client.namespace(), client.ipv4(), 5400);
        UdpStream stream = UdpStream.start(last.namespace(), client.ipv4(), 5400, 2)) {
      agent.stop();
      // as after the end of a process between the attachment and the route
      agent.namespace().exec("ip", "link", "set", other.veth().hostInterface(), "down");
      final CompletableFuture<RestoreReport> restored = agent.begin();
      agent.now(agent.conductor.loaded());
      assertEquals(EndpointState.RESTORING, state(LAST));
      assertEquals(Outcome.CONNECTED, attempt(client, last, 8080));
      assertEquals(Outcome.UNANSWERED, attempt(client, last, 9090));

      agent.importRules(allowIngress("app=web", "app=client", 9090));
      assertEquals(Outcome.CONNECTED, attempt(client, last, 9090), "a rule reaches all at once");
      agent.relabel(LAST, "role=late");
      assertEquals(EndpointState.READY, state(LAST));
      assertEquals(List.of(), agent.delete(LAST - 1));
      assertEquals(LAST + 1, agent.create("0", request(workloads)).id());
      assertFalse(restored.isDone(), "no request waits for the whole restoration");
      assertEquals(EndpointState.RESTORING, state(LAST - 3));

      agent.now(restored);
      assertEquals(List.of(), restored.join().failed());
      for (int id = FIRST; id <= LAST - 2; id++) {
        assertEquals(EndpointState.READY, state(id));
      }
      assertTrue(
          agent
              .namespace()
              .exec("ip", "route", "get", other.ipv4())
              .contains(other.veth().hostInterface()));
      assertEquals(0, stream.stopAndCountLost());
      assertTrue(stream.sent() > 100 && echo.datagrams() > 100);
      assertTrue(http.connections() + admin.connections() >= 2);
      assertEquals(Outcome.UNANSWERED, attempt(other, last, 9090));
    }
    assertEquals(
        EndpointState.READY,
        agent.conductor.endpoints().get(EndpointIdentifier.local(LAST + 1)).state());
  }

  private Requests request(List<Workload> workloads) {
    final Workload workload = agent.workload(LAST + 1);
    workloads.add(workload);
    return KernelRig.requestFor(workload, "app=new");
  }
}
