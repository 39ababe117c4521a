package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.GATEWAY4;
import static agent.datapath.manager.ManagerTestNode.GATEWAY6;
import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.PolicyEntry;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.PolicyDirection;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.UdpEchoServer;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A host of the network sends packets with the addresses of a workload and of the node, which come
 * in by a device that no program guards.
 */
@KernelTest
class ForgedSourceKernelTest {
  private static final int CLIENT = 101;
  private static final int SERVER = 102;
  private static final int CLIENT_IDENTITY = 1001;
  private static final int SERVER_IDENTITY = 1002;
  private static final int HOST_IDENTITY = 1;
  private static final int UDP = 17;
  private static final int FOR_CLIENT = 8081;
  private static final int FOR_HOST = 8082;
  private static final int CLIENT_PORT = 5000;
  private static final String BRIDGE_MAC = "02:00:00:00:0b:01";
  private static final int FORGED = 5;
  private static final long DEADLINE_SEC = 30;

  /** How the forging host is connected to the node. */
  private enum Link {
    /** No option names a device. */
    NO_DEVICE,
    /** The host program is on another device. */
    SECOND_DEVICE,
    /** The device is a port of a bridge. */
    BRIDGE
  }

  private final ManagerTestNode node = new ManagerTestNode();
  private final NetworkNamespace outside = NetworkNamespace.create("out");
  private DatapathManager manager;

  @AfterEach
  void close() throws IOException {
    if (manager != null) {
      manager.close();
    }
    node.close();
    outside.close();
  }

  private static Stream<Arguments> links() {
    return Stream.of(Link.values())
        .flatMap(link -> Stream.of(Arguments.of(link, 0), Arguments.of(link, 2)));
  }

  @ParameterizedTest
  @MethodSource("links")
  void shouldNotBelieveASourceOfTheNetworkThatIsOfThisNode(Link link, int reversePathFilter)
      throws Exception {
    connect(link, reversePathFilter);
    final Workload client = node.workload(11);
    final Workload server = node.workload(12);
    launch(link, client, server);
    check(client, server.ipv4(), client.ipv4(), GATEWAY4, server);
    check(client, server.ipv6(), client.ipv6(), GATEWAY6, server);
  }

  private void check(
      Workload client, String server, String clientAddress, String gateway, Workload at)
      throws Exception {
    try (UdpEchoServer forClient = UdpEchoServer.start(at.namespace(), server, FOR_CLIENT);
        UdpEchoServer forHost = UdpEchoServer.start(at.namespace(), server, FOR_HOST)) {
      send(outside, clientAddress, CLIENT_PORT, server, FOR_CLIENT);
      send(outside, gateway, CLIENT_PORT, server, FOR_HOST);
      assertEquals(0, forClient.datagrams() + forHost.datagrams(), "no flow exists");

      ask(client.namespace(), clientAddress, server, FOR_CLIENT);
      ask(node.namespace(), gateway, server, FOR_HOST);
      awaitEchoes(1, forClient);
      awaitEchoes(1, forHost);
      send(outside, clientAddress, CLIENT_PORT, server, FOR_CLIENT);
      send(outside, gateway, CLIENT_PORT, server, FOR_HOST);
      assertEquals(1, forClient.datagrams(), "the flow of the client is open");
      assertEquals(1, forHost.datagrams(), "the flow of the node is open");
      ask(client.namespace(), clientAddress, server, FOR_CLIENT);
      ask(node.namespace(), gateway, server, FOR_HOST);
      awaitEchoes(2, forClient);
      awaitEchoes(2, forHost);
    }
  }

  /** Sends datagrams with this source and waits until a program has dropped all of them. */
  private void send(NetworkNamespace from, String source, int port, String to, int toPort)
      throws Exception {
    final long before = drops();
    from.run(
        () -> {
          try (DatagramChannel channel = bound(source, port)) {
            for (int i = 0; i < FORGED; i++) {
              channel.send(ByteBuffer.allocate(8), address(to, toPort));
            }
            return null;
          }
        });
    final long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SEC);
    while (drops() < before + FORGED) {
      assertTrue(System.nanoTime() < end, "forged packets are dropped by a program");
      Thread.sleep(5);
    }
  }

  /** Sends one datagram from an address and waits for the answer. */
  private static void ask(NetworkNamespace from, String source, String to, int toPort)
      throws Exception {
    from.run(
        () -> {
          try (DatagramChannel channel = bound(source, CLIENT_PORT)) {
            channel.socket().setSoTimeout((int) TimeUnit.SECONDS.toMillis(DEADLINE_SEC));
            channel.send(ByteBuffer.allocate(8), address(to, toPort));
            channel.socket().receive(new DatagramPacket(new byte[8], 8));
            return null;
          }
        });
  }

  /** The server counts a datagram after its answer is sent. */
  private static void awaitEchoes(int count, UdpEchoServer server) throws InterruptedException {
    final long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SEC);
    while (server.datagrams() < count && System.nanoTime() < end) {
      Thread.sleep(5);
    }
    assertEquals(count, server.datagrams());
  }

  private static DatagramChannel bound(String source, int port) throws IOException {
    return DatagramChannel.open().bind(address(source, port));
  }

  private static InetSocketAddress address(String address, int port) {
    return new InetSocketAddress(InetAddress.ofLiteral(address), port);
  }

  /** By the workload's program; at the port of a bridge, whose frames are to another MAC, there. */
  private long drops() {
    return manager
            .metrics()
            .packets(MetricsDirection.INGRESS.number(), DropReason.POLICY_DENIED.number())
        + manager
            .metrics()
            .packets(MetricsDirection.NETWORK.number(), DropReason.INVALID_SOURCE_ADDRESS.number());
  }

  private void connect(Link link, int reversePathFilter) throws Exception {
    final VethPair cable = VethPair.create(node.namespace(), "ext0", outside, "eth0");
    final String device = link == Link.BRIDGE ? "br0" : "ext0";
    if (link == Link.BRIDGE) {
      node.namespace()
          .ip(
              "link add br0 type bridge",
              "link set ext0 master br0",
              "link set br0 address " + BRIDGE_MAC,
              "link set br0 up");
    }
    VethPair.create(node.namespace(), "other0", outside, "eth1");
    node.namespace()
        .ip("address add 192.0.2.1/24 dev " + device, "address add fd99::1/64 nodad dev " + device);
    outside.ip("address add 192.0.2.2/24 dev eth0", "address add fd99::2/64 nodad dev eth0");
    // A neighbour solicitation would have the forged source, too, and the workload get the answer.
    final String mac = link == Link.BRIDGE ? BRIDGE_MAC : cable.hostMac();
    outside.ip(
        "neigh replace fd99::1 dev eth0 nud permanent lladdr " + mac,
        "route add 10.77.0.12/32 via 192.0.2.1",
        "route add fd77::12/128 via fd99::1");
    for (final String source : List.of("10.77.0.11/32", GATEWAY4 + "/32")) {
      outside.ip("address add " + source + " dev lo");
    }
    for (final String source : List.of("fd77::11/128", GATEWAY6 + "/128")) {
      outside.ip("-6 address add " + source + " nodad dev lo");
    }
    node.namespace()
        .run(
            () -> {
              for (final String name : List.of("all", device)) {
                final Path parameters = Path.of("/proc/sys/net/ipv4/conf", name);
                Files.writeString(
                    parameters.resolve("rp_filter"), Integer.toString(reversePathFilter));
                Files.writeString(parameters.resolve("accept_local"), "1");
              }
              return null;
            });
  }

  private Map<String, Integer> guarding(String device) {
    return Map.of(device, VethPair.index(node.namespace(), device));
  }

  private void launch(Link link, Workload client, Workload server) {
    final DatapathContext context = node.context();
    manager =
        node.launch(
            switch (link) {
              case NO_DEVICE -> context;
              case SECOND_DEVICE -> context.devices(guarding("other0"));
              case BRIDGE -> context.devices(guarding("ext0"));
            });
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(CLIENT, client, CLIENT_IDENTITY), ManagerTestNode.allowAll());
    ManagerTestNode.attach(
        manager,
        ManagerTestNode.spec(SERVER, server, SERVER_IDENTITY),
        ManagerTestNode.ingressOnly(
            PolicyEntry.allow(CLIENT_IDENTITY, PolicyDirection.INGRESS, UDP, FOR_CLIENT),
            PolicyEntry.allow(HOST_IDENTITY, PolicyDirection.INGRESS, UDP, FOR_HOST)));
    await(
        manager
            .ipcache()
            .apply(
                Stream.of(GATEWAY4, GATEWAY6)
                    .map(
                        gateway ->
                            new IpcacheChange(
                                null,
                                new IpcacheEntry(
                                    Prefix.of(IpAddress.parse(gateway)), HOST_IDENTITY, 0, true)))
                    .toList()));
  }
}
