package agent.datapath.manager;

import static agent.datapath.manager.DirectReturnNetwork.BACKEND4;
import static agent.datapath.manager.DirectReturnNetwork.BACKEND6;
import static agent.datapath.manager.DirectReturnNetwork.BACKEND_DEVICE;
import static agent.datapath.manager.DirectReturnNetwork.DEVICE;
import static agent.datapath.manager.DirectReturnNetwork.PORT;
import static agent.datapath.manager.DirectReturnNetwork.VIP4;
import static agent.datapath.manager.DirectReturnNetwork.VIP6;
import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.Balancing;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.Masquerading;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.SocketPorts;
import agent.maps.layout.BackendState;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.ServiceForwarding;
import agent.maps.layout.ServiceScope;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.VethPair;
import agent.types.AddressPair;
import agent.types.IpAddress;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Connections and datagrams of a client to a service with direct server return, with and without a
 * load balancer in XDP.
 */
@KernelTest
class DirectReturnTrafficKernelTest {
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final int LARGE_BYTES = 8000;

  private DirectReturnNetwork network;

  @BeforeEach
  void create() throws Exception {
    network = new DirectReturnNetwork();
  }

  @AfterEach
  void remove() throws Exception {
    network.close();
  }

  private DatapathManager launch(boolean hasBalancer) {
    final AddressPair up = pair("192.0.2.1", "2001:db8::1");
    final Map<String, AddressPair> addresses =
        Map.of(DEVICE, up, BACKEND_DEVICE, pair("198.51.100.1", "2001:db8:1::1"));
    final DatapathContext context =
        network
            .node
            .context()
            .cgroupRoot(network.group.path())
            .devices(Map.of(DEVICE, index(DEVICE), BACKEND_DEVICE, index(BACKEND_DEVICE)))
            .masquerading(new Masquerading(addresses, null, null, SocketPorts.NONE, null))
            .balancing(hasBalancer ? new Balancing(DEVICE, up) : Balancing.NONE);
    final DatapathManager manager = network.node.launch(context);
    serve(manager, ServiceForwarding.DSR, BACKEND4, BACKEND6);
    return manager;
  }

  private static void serve(
      DatapathManager manager, ServiceForwarding forwarding, String backend4, String backend6) {
    await(
        manager
            .services()
            .restore(
                List.of(
                    service(1, VIP4, forwarding, backend4), service(2, VIP6, forwarding, backend6)),
                Set.of()));
  }

  private static AddressPair pair(String ipv4, String ipv6) {
    return new AddressPair(IpAddress.parse(ipv4), IpAddress.parse(ipv6));
  }

  private int index(String device) {
    return VethPair.index(network.node.namespace(), device);
  }

  private static ServiceEntries service(
      int id, String frontend, ServiceForwarding forwarding, String backend) {
    return new ServiceEntries(
        id,
        IpAddress.parse(frontend),
        PORT,
        List.of(TCP, UDP),
        0,
        Set.of(ServiceScope.values()),
        forwarding,
        List.of(
            new ServiceEntries.Backend(IpAddress.parse(backend), PORT, BackendState.ACTIVE, 1)));
  }

  private static long forwarded(DatapathManager manager) {
    return manager.metrics().packets(MetricsDirection.NETWORK.number(), DropReason.NONE.number());
  }

  @ParameterizedTest
  @ValueSource(strings = {VIP4, VIP6})
  void shouldConnectToABackendThatAnswersTheClientItself(String frontend) throws Exception {
    final DatapathManager manager = launch(false);
    try (TcpConnection connection = TcpConnection.open(network.client, frontend, PORT)) {
      assertTrue(connection.exchangesMore(100, 5000));
      assertEquals(1, network.server.connections());
      assertTrue(forwarded(manager) > 100);
      manager.close();
      assertTrue(connection.exchangesMore(10, 5000), "without an agent");
    }
  }

  /** Its fragments are sent to the backend each in an outer packet, which fits its link. */
  @ParameterizedTest
  @CsvSource({
    VIP4 + ", false",
    VIP6 + ", false",
    VIP4 + ", true",
    VIP6 + ", true",
  })
  void shouldSendLargeDatagramsToOneBackend(String frontend, boolean hasBalancer) throws Exception {
    network.node.namespace().ip("link set " + BACKEND_DEVICE + " mtu 1600");
    network.backend.ip("link set net0 mtu 1600");
    try (DatapathManager manager = launch(hasBalancer);
        UdpEchoServer echo = UdpEchoServer.start(network.backend, frontend, PORT)) {
      final byte[] sent = new byte[LARGE_BYTES];
      new Random(1).nextBytes(sent);
      final byte[] answer =
          network.client.run(
              () -> {
                try (DatagramSocket socket = new DatagramSocket()) {
                  socket.setSoTimeout(10_000);
                  socket.connect(InetAddress.ofLiteral(frontend), PORT);
                  final DatagramPacket received = new DatagramPacket(new byte[65_536], 65_536);
                  for (int i = 0; i < 3; i++) {
                    socket.send(new DatagramPacket(sent, sent.length));
                    socket.receive(received);
                  }
                  return Arrays.copyOf(received.getData(), received.getLength());
                }
              });
      assertArrayEquals(sent, answer);
      assertEquals(3, echo.datagrams());
      assertTrue(forwarded(manager) >= 3 * 6, "six fragments each");
    }
  }

  /** Client and backend are on the link of the device, so that XDP translates both directions. */
  @ParameterizedTest
  @ValueSource(strings = {VIP4, VIP6})
  void shouldTranslateInXdpWhereTheServiceHasSnat(String frontend) throws Exception {
    network.client.ip(
        "address add 192.0.2.3/24 dev net0", "address add 2001:db8::3/64 dev net0 nodad");
    final DatapathManager manager = launch(true);
    try (TcpEchoServer near = TcpEchoServer.start(network.client, PORT)) {
      serve(manager, ServiceForwarding.SNAT, "192.0.2.3", "2001:db8::3");
      try (TcpConnection connection = TcpConnection.open(network.client, frontend, PORT)) {
        assertTrue(connection.exchangesMore(100, 5000));
        assertEquals(1, near.connections());
        final long before = forwarded(manager);
        assertEquals(
            2, // of queries and of answers, which XDP has added
            manager.maps().find("balancer_flows").orElseThrow().countEntries());
        assertTrue(connection.exchangesMore(100, 5000));
        assertTrue(forwarded(manager) >= before + 200);
        serve(manager, ServiceForwarding.DSR, "192.0.2.3", "2001:db8::3");
        assertTrue(connection.exchangesMore(100, 5000), "it keeps its way");
        manager.close();
        assertTrue(connection.exchangesMore(10, 5000), "without an agent");
      }
    }
  }
}
