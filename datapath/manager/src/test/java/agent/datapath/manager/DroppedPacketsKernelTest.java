package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.ModuleHealth;
import agent.datapath.manager.spec.ModuleHealth.Level;
import agent.datapath.manager.spec.PolicyEntry;
import agent.datapath.manager.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.Workload;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The health while packets are dropped because the node lacks something for them. */
@KernelTest
class DroppedPacketsKernelTest {
  private static final int TCP = 6;
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
    return manager.health().read().stream()
        .filter(module -> module.moduleId().equals("dp-drops"))
        .findFirst()
        .orElseThrow();
  }

  private TcpConnection.Outcome connect(int port) {
    return TcpConnection.attempt(client.namespace(), server.ipv4(), port, 400);
  }

  @Test
  void shouldSayThatConnectionsHaveNoProxy() throws Exception {
    try (TcpEchoServer open = TcpEchoServer.start(server.namespace(), OPEN);
        DatapathManager manager = node.launch(node.context())) {
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(101, client, 1001), ManagerTestNode.allowAll());
      ManagerTestNode.attach(
          manager,
          ManagerTestNode.spec(102, server, 1002),
          ManagerTestNode.ingressOnly(
              PolicyEntry.allow(0, PolicyDirection.INGRESS, TCP, OPEN),
              new PolicyEntry(
                  0,
                  PolicyDirection.INGRESS,
                  TCP,
                  REDIRECTED,
                  64,
                  PolicyVerdict.redirect(RedirectKind.HTTP))));
      assertEquals(TcpConnection.Outcome.CONNECTED, connect(OPEN));
      assertEquals(TcpConnection.Outcome.UNANSWERED, connect(DENIED));
      assertEquals(Level.OK, drops(manager).level(), drops(manager).message());

      final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
      while (drops(manager).level() == Level.OK && System.nanoTime() < endNs) {
        assertEquals(TcpConnection.Outcome.UNANSWERED, connect(REDIRECTED));
      }
      final ModuleHealth health = drops(manager);
      assertTrue(
          health.message().matches("packets are dropped: NO_PROXY [1-9]\\d*"), health.message());
      assertTrue(open.connections() > 0);
    }
    try (DatapathManager next = node.launch(node.context())) {
      assertEquals(Level.OK, drops(next).level(), "what a run before has counted");
    }
  }
}
