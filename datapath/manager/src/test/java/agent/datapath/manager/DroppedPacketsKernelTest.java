package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth;
import agent.conductor.ModuleHealth.Level;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The health while packets are dropped because the node lacks something for them. */
@KernelTest
class DroppedPacketsKernelTest {
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final int PROXY = 15_000;
  private static final int OPEN = 8080;
  private static final int REDIRECTED = 8081;
  private static final int DENIED = 8082;

  private ManagerTestNode node;
  private Workload client;
  private Workload server;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    client = node.workload(11);
    server = node.workload(12);
  }

  @AfterEach
  void remove() throws IOException {
    node.close();
  }

  private static ModuleHealth drops(DatapathManager manager) {
    return ManagerTestNode.health(manager, "dp-drops");
  }

  private TcpConnection.Outcome connect(int port) {
    return TcpConnection.attempt(client.namespace(), server.ipv4(), port, 400);
  }

  private static PolicyEntry redirected(int protocol, RedirectKind kind) {
    return new PolicyEntry(
        0, PolicyDirection.INGRESS, protocol, REDIRECTED, 64, PolicyVerdict.redirect(kind));
  }

  /** Attaches both workloads; the server has these entries for what comes to it. */
  private void attach(DatapathManager manager, PolicyEntry... ingress) {
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(101, client, 1001), ManagerTestNode.allowAll());
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(102, server, 1002), ManagerTestNode.ingressOnly(ingress));
  }

  private static long withoutProxy(DatapathManager manager) {
    return Stream.of(MetricsDirection.values())
        .mapToLong(
            direction ->
                manager.metrics().packets(direction.number(), DropReason.NO_PROXY.number()))
        .sum();
  }

  /** The port of the node refuses nothing meanwhile: the client tries again, until one is there. */
  @Test
  void shouldDropWhatOpensAFlowWhileTheSocketsOfTheProxyAreClosed() throws Exception {
    try (DatapathManager manager = node.launch(node.context())) {
      attach(manager, redirected(TCP, RedirectKind.HTTP), redirected(UDP, RedirectKind.DNS));
      ManagerTestNode.await(manager.redirects().serve(RedirectKind.HTTP, PROXY));
      ManagerTestNode.await(manager.redirects().serve(RedirectKind.DNS, PROXY));
      for (int round = 1; round <= 2; round++) {
        try (TcpEchoServer tcp = TcpEchoServer.start(node.namespace(), PROXY);
            UdpEchoServer udp =
                UdpEchoServer.start(node.namespace(), ManagerTestNode.GATEWAY4, PROXY)) {
          final long before = withoutProxy(manager);
          assertEquals(TcpConnection.Outcome.CONNECTED, connect(REDIRECTED));
          assertTrue(isAnswered(5000));
          assertEquals(before, withoutProxy(manager));
          assertEquals(1, tcp.connections());
          assertEquals(1, udp.datagrams());
        }
        final long before = withoutProxy(manager);
        assertEquals(TcpConnection.Outcome.UNANSWERED, connect(REDIRECTED));
        assertEquals(before + 1, withoutProxy(manager), "the SYN");
        assertFalse(isAnswered(400));
        assertEquals(before + 2, withoutProxy(manager), "the datagram");
      }
    }
  }

  private boolean isAnswered(int withinMs) {
    return UdpStream.isAnswered(client.namespace(), server.ipv4(), REDIRECTED, withinMs);
  }

  @Test
  void shouldSayThatConnectionsHaveNoProxy() throws Exception {
    try (TcpEchoServer open = TcpEchoServer.start(server.namespace(), OPEN);
        DatapathManager manager = node.launch(node.context())) {
      attach(
          manager,
          PolicyEntry.allow(0, PolicyDirection.INGRESS, TCP, OPEN),
          redirected(TCP, RedirectKind.HTTP));
      assertEquals(TcpConnection.Outcome.CONNECTED, connect(OPEN));
      assertEquals(TcpConnection.Outcome.UNANSWERED, connect(DENIED));
      assertEquals(Level.OK, drops(manager).level(), drops(manager).message());

      final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
      ModuleHealth health = drops(manager);
      while (health.level() == Level.OK && System.nanoTime() < endNs) {
        assertEquals(TcpConnection.Outcome.UNANSWERED, connect(REDIRECTED));
        health = drops(manager);
      }
      assertTrue(
          health.message().matches("packets are dropped: NO_PROXY [1-9]\\d*"), health.message());
      assertTrue(open.connections() > 0);
    }
    try (DatapathManager next = node.launch(node.context())) {
      assertEquals(Level.OK, drops(next).level(), "what a run before has counted");
    }
  }

  /** The guard looks at the counters also while the health is not read. */
  @Test
  void shouldNotTakeOldDropsForNewOnes() throws Exception {
    final AtomicLong aheadNs = new AtomicLong();
    try (DatapathManager manager =
        node.launch(node.context().nanoClock(() -> System.nanoTime() + aheadNs.get()))) {
      attach(manager, redirected(TCP, RedirectKind.HTTP));
      pass(aheadNs, 6);
      final long before = withoutProxy(manager);
      assertEquals(TcpConnection.Outcome.UNANSWERED, connect(REDIRECTED));
      assertTrue(withoutProxy(manager) > before);
      pass(aheadNs, 60);
      assertEquals(Level.OK, drops(manager).level(), drops(manager).message());
    }
  }

  /** Advances seconds in the agent, each of which takes a moment. */
  private static void pass(AtomicLong aheadNs, int seconds) throws InterruptedException {
    for (int i = 0; i < seconds; i++) {
      aheadNs.addAndGet(TimeUnit.SECONDS.toNanos(1));
      Thread.sleep(10);
    }
  }
}
