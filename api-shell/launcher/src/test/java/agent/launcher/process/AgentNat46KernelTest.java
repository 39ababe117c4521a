package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Ping;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Sockets of IPv6 of a workload reach servers of IPv4 by the range of NAT46. */
@KernelTest
class AgentNat46KernelTest {
  private static final String RANGE = "64:ff9b::";
  private static final String[] OPTIONS = {
    "--nat46-range", RANGE + "/96", "--device", WorldNetwork.DEVICE
  };
  private static final String WORLD = RANGE + "192.0.2.2";
  private static final String SERVICE = RANGE + "10.96.0.1";
  private static final int SERVED = 8080;
  private static final int SPLIT = 8081;
  private static final int CLOSED = 8082;
  private static final int PORT = 80;
  private static final int TIMEOUT_MS = 10_000;
  private static final int LARGE_BYTES = 6 << 20;

  private TestNode node;
  private NetworkNamespace world;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;
  private boolean isServed;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    world = WorldNetwork.connect(node);
    agent = node.agent(OPTIONS);
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    serve(world, "192.0.2.2");
    serve(server.namespace(), server.ipv4());
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private void serve(NetworkNamespace namespace, String address) throws IOException {
    node.keep(TcpEchoServer.start(namespace, SERVED));
    node.keep(UdpEchoServer.start(namespace, address, SERVED));
    node.keep(UdpEchoServer.start(namespace, address, SPLIT).letRoutersSplit());
  }

  /** The workload has no route of IPv4, and the host outside none to the workload. */
  @Test
  void shouldReachServersOfIpv4() throws Exception {
    client.namespace().ip("-4 route flush table main");
    for (final String address : new String[] {WORLD, RANGE + server.ipv4()}) {
      assertTrue(
          UdpStream.isAnswered(client.namespace(), address, SERVED, TIMEOUT_MS),
          address + "\n" + agent.log());
      assertTrue(Ping.isAnswered(client.namespace(), address, TIMEOUT_MS), address);
      exchange(address, SERVED);
    }
    final JsonNode gateway = nat46().at("/gateway");
    assertEquals("{\"enabled\":true,\"prefixes\":[\"64:ff9b::/96\"]}", gateway.toString());
    assertFalse(nat46().at("/service/enabled").asBoolean());
  }

  /**
   * Hosts split what is larger than their link; an IPv4 packet of 1,490 bytes is too large for the
   * link of the workload once it is one of IPv6. The server of the other workload leaves the
   * checksum of a whole packet to a device.
   */
  @Test
  void shouldCarryLargeDatagrams() throws Exception {
    for (final String address : new String[] {WORLD, RANGE + server.ipv4()}) {
      for (final int bytes : new int[] {1490 - 28, 1472, 1473, 1490, 8000, 60_000}) {
        assertTrue(
            UdpStream.isAnswered(client.namespace(), address, SPLIT, bytes, TIMEOUT_MS),
            bytes + " of " + address + "\n" + agent.log());
      }
      assertTrue(
          UdpStream.isAnswered(client.namespace(), address, SERVED, 8000, TIMEOUT_MS), address);
    }
  }

  /** A host that forbids routers to split its packets finds the MTU, and splits them itself. */
  @Test
  void shouldAnswerPacketsThatMayNotBeSplit() throws Exception {
    for (final String address : new String[] {WORLD, RANGE + server.ipv4()}) {
      final NetworkNamespace client = this.client.namespace();
      assertFalse(UdpStream.isAnswered(client, address, SERVED, 1472, 500), address);
      assertTrue(
          UdpStream.isAnswered(client, address, SERVED, 1472, TIMEOUT_MS),
          address + "\n" + agent.log());
    }
    final String route = server.namespace().exec("ip", "route", "get", client.ipv4());
    assertTrue(route.contains("mtu 1480"), route);
  }

  /** The workload closes its socket before the answer arrives. */
  @Test
  void shouldReturnTheErrorsOfTheWorkload() throws Exception {
    for (final String address : new String[] {"192.0.2.2", server.ipv4()}) {
      final boolean isOutside = !address.equals(server.ipv4());
      final NetworkNamespace namespace = isOutside ? world : server.namespace();
      final InetSocketAddress at = new InetSocketAddress(InetAddress.ofLiteral(address), CLOSED);
      try (DatagramChannel host = namespace.call(() -> DatagramChannel.open().bind(at))) {
        final ByteBuffer buffer = ByteBuffer.allocate(8);
        final SocketAddress peer;
        try (DatagramChannel gone = client.namespace().call(DatagramChannel::open)) {
          gone.send(buffer, new InetSocketAddress(InetAddress.ofLiteral(RANGE + address), CLOSED));
          peer = host.receive(buffer.clear());
        }
        host.connect(peer).write(buffer.clear());
        host.socket().setSoTimeout(TIMEOUT_MS);
        final DatagramPacket none = new DatagramPacket(new byte[8], 8);
        assertThrows(
            PortUnreachableException.class, () -> host.socket().receive(none), agent.log());
      }
    }
  }

  /** More bytes than the kernel takes from a packet at once. */
  @Test
  void shouldSplitWhatFillsALargeLink() throws Exception {
    for (final TestWorkload workload : new TestWorkload[] {client, server}) {
      workload.namespace().ip("link set eth0 mtu 9000");
      node.namespace().ip("link set " + workload.veth().hostInterface() + " mtu 9000");
    }
    final String address = RANGE + server.ipv4();
    for (final int bytes : new int[] {8970 - 20, 8970, 30_000}) {
      assertTrue(
          UdpStream.isAnswered(client.namespace(), address, SPLIT, bytes, TIMEOUT_MS),
          bytes + " bytes");
    }
  }

  private JsonNode nat46() throws IOException {
    return agent
        .expect(200, "GET", "/healthz", null)
        .json()
        .at("/orch-proxy-replacement/features/nat46X64");
  }

  /** Sends some megabytes and gets them back, in segments that the devices split. */
  private void exchange(String address, int port) throws Exception {
    final byte[] sent = new byte[LARGE_BYTES];
    new Random(46).nextBytes(sent);
    try (Socket socket = client.namespace().call(() -> new Socket(address, port))) {
      socket.setSoTimeout(TIMEOUT_MS);
      assertTrue(EchoedBytes.comeBack(socket, sent), address);
    }
  }

  @Test
  void shouldJudgeThemByRulesOfIpv4() throws Exception {
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "client"}},
          "egress": [{"toCIDR": ["192.0.2.2/32"],
                      "toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}]}]}]}]
        """);
    assertEquals(
        Outcome.CONNECTED,
        TcpConnection.attempt(client.namespace(), WORLD, SERVED, TIMEOUT_MS),
        agent.log());
    assertFalse(UdpStream.isAnswered(client.namespace(), WORLD, SERVED, 300));
    assertEquals(
        Outcome.UNANSWERED,
        TcpConnection.attempt(client.namespace(), RANGE + server.ipv4(), SERVED, 400));
  }

  /** The backend is the workload itself, another one, a host outside, and none. */
  @Test
  void shouldReachServices() throws Exception {
    serve(client.namespace(), client.ipv4());
    for (final String backend : new String[] {client.ipv4(), server.ipv4(), "192.0.2.2"}) {
      back("{\"ip\": \"%s\", \"port\": %d}".formatted(backend, SERVED));
      assertTrue(
          UdpStream.isAnswered(client.namespace(), SERVICE, PORT + 1, TIMEOUT_MS),
          backend + "\n" + agent.log());
      assertTrue(
          UdpStream.isAnswered(client.namespace(), SERVICE, PORT + 1, 8000, TIMEOUT_MS), backend);
      assertFalse(UdpStream.isAnswered(client.namespace(), SERVICE, PORT + 1, 1472, 500), backend);
      assertTrue(
          UdpStream.isAnswered(client.namespace(), SERVICE, PORT + 1, 1472, TIMEOUT_MS), backend);
      exchange(SERVICE, PORT);
    }
    back("");
    assertEquals(
        Outcome.REFUSED, TcpConnection.attempt(client.namespace(), SERVICE, PORT, TIMEOUT_MS));
  }

  private void back(String backends) throws Exception {
    for (int i = 0; i < 2; i++) {
      if (isServed) {
        agent.expect(200, "DELETE", "/service/" + (i + 1), null);
      }
      agent.expect(
          201,
          "PUT",
          "/service/" + (i + 1),
          """
          {"frontend-address": {"ip": "10.96.0.1", "port": %d, "protocol": "%s"},
           "backend-addresses": [%s]}
          """
              .formatted(PORT + i, i == 0 ? "TCP" : "UDP", backends));
    }
    isServed = true;
  }

  /** A link has a smaller MTU than that of the workload; an IPv6 packet is 20 bytes longer. */
  @Test
  void shouldTellTheWorkloadTheErrorsOfRouters() throws Exception {
    node.namespace().ip("link set " + WorldNetwork.DEVICE + " mtu 1400");
    assertFalse(UdpStream.isAnswered(client.namespace(), WORLD, SERVED, 1400, 500));
    final String routes = client.namespace().exec("ip", "-6", "route", "get", WORLD);
    assertTrue(routes.contains("mtu 1420"), routes);
  }

  /** The programs call each other also while no agent runs, and after the next one has begun. */
  @Test
  void shouldGoOnWithoutTheAgent() throws Exception {
    try (TcpConnection open = TcpConnection.open(client.namespace(), WORLD, SERVED)) {
      assertTrue(open.exchangesMore(20, TIMEOUT_MS), agent.log());
      agent.kill();
      assertTrue(open.exchangesMore(20, TIMEOUT_MS), "without the agent");
      assertEquals(
          Outcome.CONNECTED, TcpConnection.attempt(client.namespace(), WORLD, SERVED, TIMEOUT_MS));
      node.agent(OPTIONS);
      assertTrue(open.exchangesMore(20, TIMEOUT_MS), "with the next agent");
      assertEquals(
          Outcome.CONNECTED, TcpConnection.attempt(client.namespace(), WORLD, SERVED, TIMEOUT_MS));
    }
  }
}
