package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.EndpointSpec;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.PacketFlood;
import agent.testkit.Packets;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.Workload;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * One workload opens flows without end, and another keeps what it has. The other's connections are
 * idle, the far side speaks first, and its policy lets nothing in: without its entry in conntrack a
 * connection is cut.
 */
@KernelTest
class FloodKernelTest {
  private static final int TABLE = 4096;
  private static final int CONNECTIONS = 100; // over each family
  private static final int FLOOD = 40_000; // packets of each protocol and family
  private static final int TCP_PORT = 8080;
  private static final int UDP_PORT = 8081;
  private static final int FLOODER = 271;
  private static final String NOBODY4 = "198.51.100.7";
  private static final String NOBODY6 = "2001:db8:7::7";
  private static final int TIMEOUT_MS = 5000;
  private static final int HEARD_MS = 2000;

  private final ManagerTestNode node = new ManagerTestNode();
  private final List<AutoCloseable> open = new ArrayList<>();
  private final Workload flooder = node.workload(71);
  private final Workload victim = node.workload(72);
  private final Workload server = node.workload(73);

  @AfterEach
  void close() throws Exception {
    for (final AutoCloseable one : open) {
      one.close();
    }
    node.close();
  }

  @Test
  void shouldKeepTheIdleFlowsOfOneWorkloadWhileAnotherFloods() throws Exception {
    try (DatapathManager manager = node.launch(context())) {
      attach(manager);
      final List<Socket[]> idle = connect(victim.ipv4(), server.ipv4());
      idle.addAll(connect(victim.ipv6(), server.ipv6()));
      final List<DatagramSocket[]> pairs = exchangeDatagrams(server.ipv4());
      pairs.addAll(exchangeDatagrams(server.ipv6()));
      flood(number -> packet(NOBODY4).tcp(port(number), 80).syn().bytes());
      flood(number -> packet(NOBODY6).tcp(port(number), 80).syn().bytes());
      flood(number -> packet(NOBODY4).udp(port(number), 53).bytes());
      flood(number -> packet(NOBODY6).udp(port(number), 53).bytes());
      final long overflowed = manager.status().conntrack().overflowed();
      assertTrue(overflowed > FLOOD, overflowed + " flows beyond the share");
      assertEquals(
          CONNECTIONS * 4, speakFirst(idle) + sendFirst(pairs), "flows that are still there");
      try (TcpEchoServer echo = TcpEchoServer.start(server.namespace(), 8082)) {
        for (final Workload client : List.of(victim, flooder)) {
          try (TcpConnection fresh = TcpConnection.open(client.namespace(), server.ipv4(), 8082)) {
            assertTrue(fresh.exchangesMore(5, TIMEOUT_MS), "a new connection of either");
          }
        }
        assertEquals(2, echo.connections());
      }
    }
  }

  @Test
  void shouldTellWhoFloodsAndUntilWhen() throws Exception {
    try (DatapathManager manager = node.launch(context())) {
      attach(manager);
      assertEquals(ModuleHealth.Level.OK, shares(manager).level());
      int sent = 0;
      ModuleHealth flooded;
      do { // a round of the sweeps may end between the flood and the reading
        assertTrue(sent++ < 20);
        flood(number -> packet(NOBODY4).tcp(port(number), 80).syn().bytes());
        flooded = shares(manager);
      } while (flooded.level() != ModuleHealth.Level.DEGRADED);
      final String message = flooded.message();
      assertTrue(
          message.startsWith("conntrack share exceeded: endpoint " + FLOODER + " ("), message);
      final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
      while (shares(manager).level() != ModuleHealth.Level.OK && System.nanoTime() < deadline) {
        Thread.sleep(20);
      }
      assertEquals(ModuleHealth.Level.OK, shares(manager).level(), "after the flood");
    }
  }

  private DatapathContext context() {
    return node.context().conntrackTcpMax(TABLE).conntrackAnyMax(TABLE).conntrackGcIntervalSec(2);
  }

  private static ModuleHealth shares(DatapathManager manager) {
    return ManagerTestNode.health(manager, "conntrack-shares");
  }

  private void attach(DatapathManager manager) {
    final EndpointSpec spec = ManagerTestNode.spec(FLOODER, flooder, 2071);
    ManagerTestNode.attach(manager, spec, ManagerTestNode.allowAll());
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(272, victim, 2072), ManagerTestNode.ingressOnly());
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(273, server, 2073), ManagerTestNode.allowAll());
  }

  private void flood(PacketFlood.FrameMaker maker) {
    PacketFlood.send(flooder.namespace(), flooder.veth().workloadInterface(), FLOOD, maker);
  }

  private IpPacket packet(String to) {
    final boolean isIpv4 = to.equals(NOBODY4);
    return (isIpv4 ? Packets.ipv4(flooder.ipv4(), to) : Packets.ipv6(flooder.ipv6(), to))
        .from(flooder.veth().workloadMac())
        .to(flooder.veth().hostMac());
  }

  private static int port(int number) {
    return 1024 + number;
  }

  /** Returns the sockets of the victim and of the server, which have heard each other. */
  private List<Socket[]> connect(String from, String to) throws Exception {
    final List<Socket[]> pairs = new ArrayList<>();
    try (ServerSocket listener =
        server.namespace().run(() -> new ServerSocket(TCP_PORT, CONNECTIONS, address(to)))) {
      for (int i = 0; i < CONNECTIONS; i++) {
        final Socket client =
            victim
                .namespace()
                .run(
                    () -> {
                      final Socket socket = new Socket();
                      socket.bind(new InetSocketAddress(address(from), 0));
                      socket.connect(new InetSocketAddress(address(to), TCP_PORT), TIMEOUT_MS);
                      return socket;
                    });
        open.add(client);
        final Socket accepted = listener.accept();
        open.add(accepted);
        pairs.add(new Socket[] {client, accepted});
        client.getOutputStream().write(1);
        assertEquals(1, accepted.getInputStream().read());
        accepted.getOutputStream().write(1);
        assertEquals(1, client.getInputStream().read());
      }
    }
    return pairs;
  }

  private static int speakFirst(List<Socket[]> pairs) throws IOException {
    for (final Socket[] pair : pairs) {
      pair[1].getOutputStream().write(7);
    }
    int heard = 0;
    for (final Socket[] pair : pairs) {
      pair[0].setSoTimeout(HEARD_MS);
      try {
        heard += pair[0].getInputStream().read() == 7 ? 1 : 0;
      } catch (SocketTimeoutException cut) {
        continue;
      }
    }
    return heard;
  }

  /** Returns the sockets of the victim and of the server, which have heard each other. */
  private List<DatagramSocket[]> exchangeDatagrams(String to) throws Exception {
    final List<DatagramSocket[]> pairs = new ArrayList<>();
    for (int i = 0; i < CONNECTIONS; i++) {
      final int port = UDP_PORT + i;
      final DatagramSocket far =
          server.namespace().run(() -> new DatagramSocket(new InetSocketAddress(to, port)));
      final DatagramSocket near = victim.namespace().run(() -> new DatagramSocket());
      open.add(far);
      open.add(near);
      far.setSoTimeout(TIMEOUT_MS);
      near.setSoTimeout(TIMEOUT_MS);
      near.connect(address(to), port);
      near.send(new DatagramPacket(new byte[] {1}, 1));
      final DatagramPacket asked = new DatagramPacket(new byte[8], 8);
      far.receive(asked);
      far.connect(asked.getSocketAddress());
      far.send(new DatagramPacket(new byte[] {2}, 1));
      near.receive(new DatagramPacket(new byte[8], 8));
      pairs.add(new DatagramSocket[] {near, far});
    }
    return pairs;
  }

  private static int sendFirst(List<DatagramSocket[]> pairs) throws IOException {
    int heard = 0;
    for (final DatagramSocket[] pair : pairs) {
      pair[1].send(new DatagramPacket(new byte[] {3}, 1));
      pair[0].setSoTimeout(HEARD_MS);
      try {
        pair[0].receive(new DatagramPacket(new byte[8], 8));
        heard++;
      } catch (SocketTimeoutException cut) {
        continue;
      }
    }
    return heard;
  }

  private static InetAddress address(String text) throws IOException {
    return InetAddress.getByName(text);
  }
}
