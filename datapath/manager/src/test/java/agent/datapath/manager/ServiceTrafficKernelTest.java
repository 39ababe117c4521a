package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.maps.layout.BackendState;
import agent.maps.layout.SocketCounter;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import agent.types.IpAddress;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Workloads that use services from sockets outside the control group of the programs. */
@KernelTest
class ServiceTrafficKernelTest {
  private static final int PORT = 80;
  private static final int TCP_SERVED = 8080;
  private static final int UDP_SERVED = 8081;
  private static final int TIMEOUT_MS = 5000;
  private static final int LARGE = 20_000;
  private static final int LARGEST_TABLE = 16_381;
  private static final int CONNECTIONS = 12;

  /** Addresses of one family. */
  enum Addresses {
    IPV4("10.96.0.1"),
    IPV6("fd96::1");

    private final String service;

    Addresses(String service) {
      this.service = service;
    }

    String of(Workload workload) {
      return this == IPV4 ? workload.ipv4() : workload.ipv6();
    }
  }

  private ManagerTestNode node;
  private Workload client;
  private List<Workload> servers;
  private TestControlGroup group;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    client = node.workload(11);
    servers = List.of(node.workload(12), node.workload(13));
    group = TestControlGroup.create();
    launch(LARGEST_TABLE);
  }

  private void launch(int tableMax, ServiceEntries... services) {
    manager = node.launch(node.context().cgroupRoot(group.path()).serviceTableMax(tableMax));
    await(manager.services().restore(List.of(services), Set.of()));
    ManagerTestNode.attachAll(manager, List.of(client, servers.get(0), servers.get(1)));
  }

  @AfterEach
  void remove() throws Exception {
    await(manager.services().restore(List.of(), Set.of()));
    manager.close();
    group.close();
    node.close();
  }

  private void serve(Addresses addresses, BackendState... states) {
    for (final boolean isTcp : new boolean[] {true, false}) {
      await(manager.services().put(service(addresses, isTcp, states)));
    }
  }

  private ServiceEntries service(Addresses addresses, boolean isTcp, BackendState... states) {
    final Backend[] backends = new Backend[states.length];
    for (int i = 0; i < states.length; i++) {
      final IpAddress address = IpAddress.parse(addresses.of(servers.get(i)));
      backends[i] = new Backend(address, isTcp ? TCP_SERVED : UDP_SERVED, states[i], 1);
    }
    return new ServiceEntries(
        isTcp ? 1 : 2,
        IpAddress.parse(addresses.service),
        PORT,
        List.of(isTcp ? 6 : 17),
        0,
        List.of(backends));
  }

  @ParameterizedTest
  @EnumSource
  void shouldServeConnectionsAndDatagrams(Addresses addresses) throws Exception {
    serve(addresses, BackendState.ACTIVE);
    try (TcpEchoServer tcp = TcpEchoServer.start(servers.get(0).namespace(), TCP_SERVED);
        UdpEchoServer udp =
            UdpEchoServer.start(
                servers.get(0).namespace(), addresses.of(servers.get(0)), UDP_SERVED);
        TcpConnection connection =
            TcpConnection.open(client.namespace(), addresses.service, PORT)) {
      assertTrue(connection.exchangesMore(200, TIMEOUT_MS));
      assertTrue(UdpStream.isAnswered(client.namespace(), addresses.service, PORT, TIMEOUT_MS));
      assertEquals(1, tcp.connections());
      assertEquals(1, udp.datagrams());
    }
    manager
        .services()
        .counters()
        .forEach((counter, count) -> assertEquals(0, count, "at the socket: " + counter));
    assertEquals(SocketCounter.values().length, manager.services().counters().size());
  }

  @ParameterizedTest
  @EnumSource
  void shouldSelectABackendByTheTuple(Addresses addresses) throws Exception {
    serve(addresses, BackendState.ACTIVE, BackendState.ACTIVE);
    try (UdpEchoServer first =
            UdpEchoServer.start(
                servers.get(0).namespace(), addresses.of(servers.get(0)), UDP_SERVED);
        UdpEchoServer second =
            UdpEchoServer.start(
                servers.get(1).namespace(), addresses.of(servers.get(1)), UDP_SERVED)) {
      for (int i = 0; i < 40; i++) {
        try (DatagramChannel channel = connected(addresses)) {
          exchange(channel);
          exchange(channel);
        }
      }
      assertEquals(80, first.datagrams() + second.datagrams());
      assertTrue(first.datagrams() > 0 && second.datagrams() > 0, "of 40 tuples");
      assertEquals(0, first.datagrams() % 2, "both datagrams of a flow");
    }
  }

  /** Only new connections select, by what is there then. */
  @ParameterizedTest
  @EnumSource
  void shouldKeepConnectionsWhereAnotherRunSelectsOtherwise(Addresses addresses) throws Exception {
    final List<TcpConnection> connections = new ArrayList<>();
    try (TcpEchoServer first = TcpEchoServer.start(servers.get(0).namespace(), TCP_SERVED);
        TcpEchoServer second = TcpEchoServer.start(servers.get(1).namespace(), TCP_SERVED)) {
      serve(addresses, BackendState.ACTIVE, BackendState.ACTIVE);
      for (int i = 0; i < CONNECTIONS; i++) {
        connections.add(TcpConnection.open(client.namespace(), addresses.service, PORT));
      }
      for (final int tableMax : new int[] {0, 251, 0, LARGEST_TABLE}) {
        manager.close();
        launch(tableMax, service(addresses, true, BackendState.ACTIVE, BackendState.ACTIVE));
        for (final TcpConnection connection : connections) {
          assertTrue(connection.exchangesMore(5, TIMEOUT_MS), "tables of " + tableMax);
        }
      }
      assertEquals(CONNECTIONS, first.connections() + second.connections());
    } finally {
      for (final TcpConnection connection : connections) {
        connection.close();
      }
    }
  }

  /** Only the flows of that backend notice. */
  @ParameterizedTest
  @EnumSource
  void shouldEndTheConnectionsToABackendThatGoes(Addresses addresses) throws Exception {
    try (TcpEchoServer first = TcpEchoServer.start(servers.get(0).namespace(), TCP_SERVED);
        TcpEchoServer second = TcpEchoServer.start(servers.get(1).namespace(), TCP_SERVED)) {
      serve(addresses, BackendState.ACTIVE);
      try (TcpConnection one = TcpConnection.open(client.namespace(), addresses.service, PORT)) {
        assertTrue(one.exchangesMore(10, TIMEOUT_MS));
        serve(addresses, BackendState.TERMINATING, BackendState.ACTIVE);
        try (TcpConnection two = TcpConnection.open(client.namespace(), addresses.service, PORT)) {
          assertTrue(one.exchangesMore(10, TIMEOUT_MS));
          assertTrue(two.exchangesMore(10, TIMEOUT_MS));
          assertEquals(1, first.connections());
          assertEquals(1, second.connections());
          serve(addresses, BackendState.MAINTENANCE, BackendState.ACTIVE);
          assertTrue(two.exchangesMore(10, TIMEOUT_MS));
          assertEquals("Connection reset", ended(one).getMessage());
          assertTrue(two.exchangesMore(10, TIMEOUT_MS));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveDatagramsToAnotherBackendAtOnce(Addresses addresses) throws Exception {
    serve(addresses, BackendState.ACTIVE);
    try (UdpEchoServer first =
            UdpEchoServer.start(
                servers.get(0).namespace(), addresses.of(servers.get(0)), UDP_SERVED);
        UdpEchoServer second =
            UdpEchoServer.start(
                servers.get(1).namespace(), addresses.of(servers.get(1)), UDP_SERVED);
        DatagramChannel channel = connected(addresses)) {
      exchange(channel);
      serve(addresses, BackendState.QUARANTINED, BackendState.ACTIVE);
      exchange(channel);
      assertEquals(1, first.datagrams());
      assertEquals(1, second.datagrams());
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRefuseConnectionsAndDatagramsToAServiceWithoutABackend(Addresses addresses)
      throws Exception {
    serve(addresses);
    assertEquals(
        TcpConnection.Outcome.REFUSED,
        TcpConnection.attempt(client.namespace(), addresses.service, PORT, TIMEOUT_MS));
    try (DatagramChannel channel = connected(addresses)) {
      assertThrows(PortUnreachableException.class, () -> exchange(channel));
    }
  }

  /** The error of the backend's stack reaches the socket that knows the service only. */
  @ParameterizedTest
  @EnumSource
  void shouldTellTheClientThatNoProcessListensAtTheBackend(Addresses addresses) throws Exception {
    serve(addresses, BackendState.ACTIVE);
    try (DatagramChannel channel = connected(addresses)) {
      assertThrows(PortUnreachableException.class, () -> exchange(channel));
    }
  }

  /** Only the first fragment of each has the ports. */
  @ParameterizedTest
  @EnumSource
  void shouldCarryDatagramsOfSeveralPackets(Addresses addresses) throws Exception {
    serve(addresses, BackendState.ACTIVE);
    try (UdpEchoServer server =
            UdpEchoServer.start(
                servers.get(0).namespace(), addresses.of(servers.get(0)), UDP_SERVED);
        DatagramChannel channel = connected(addresses)) {
      final byte[] sent = new byte[8000];
      for (int i = 0; i < sent.length; i++) {
        sent[i] = (byte) (i * 7);
      }
      channel.socket().setSoTimeout(TIMEOUT_MS);
      for (int i = 0; i < 3; i++) {
        channel.write(ByteBuffer.wrap(sent));
        final DatagramPacket answer = new DatagramPacket(new byte[65536], 65536);
        channel.socket().receive(answer);
        assertArrayEquals(sent, Arrays.copyOf(answer.getData(), answer.getLength()));
      }
      assertEquals(3, server.datagrams());
    }
  }

  /** The stack of the node tells the client what fits, about a packet to the backend. */
  @ParameterizedTest
  @EnumSource
  void shouldFindTheMtuOfThePathToABackend(Addresses addresses) throws Exception {
    await(manager.bypassStack(false));
    final String device = servers.get(0).veth().hostInterface();
    node.namespace().exec("ip", "link", "set", "dev", device, "mtu", "1300");
    serve(addresses, BackendState.ACTIVE);
    try (TcpEchoServer server = TcpEchoServer.start(servers.get(0).namespace(), TCP_SERVED);
        Socket socket =
            client
                .namespace()
                .run(() -> new Socket(InetAddress.ofLiteral(addresses.service), PORT))) {
      socket.setSoTimeout(TIMEOUT_MS);
      socket.getOutputStream().write(new byte[LARGE]);
      assertEquals(LARGE, socket.getInputStream().readNBytes(LARGE).length);
      assertEquals(LARGE, server.bytes());
    }
  }

  private DatagramChannel connected(Addresses addresses) throws Exception {
    return client
        .namespace()
        .run(
            () ->
                DatagramChannel.open()
                    .connect(
                        new InetSocketAddress(InetAddress.ofLiteral(addresses.service), PORT)));
  }

  /** Sends a datagram and gets it back. */
  private static void exchange(DatagramChannel channel) throws IOException {
    channel.write(ByteBuffer.wrap(new byte[] {1, 2, 3}));
    channel.socket().setSoTimeout(TIMEOUT_MS);
    final DatagramPacket answer = new DatagramPacket(new byte[16], 16);
    channel.socket().receive(answer);
    assertEquals(3, answer.getLength());
  }

  private static IOException ended(TcpConnection connection) throws InterruptedException {
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MS);
    while (connection.failure() == null && System.nanoTime() < deadline) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    return connection.failure();
  }
}
