package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import agent.bindings.bpf.KernelFunctions;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.VethPair;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A backend goes while all connections send, by each way to a service: its own end, and no other
 * one has an error.
 */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentBackendLossKernelTest {
  private static final int PORT = 30080;
  private static final int SERVED = 8080;
  private static final List<String> NODE = List.of("198.51.100.1", "2001:db8:100::1");
  private static final List<String> OUTSIDE = List.of("198.51.100.8", "2001:db8:100::8");
  private static final List<String> ALL = List.of("0.0.0.0", "::");

  private static final int BACKENDS = 3;
  private static final int CONNECTIONS = 16; // for each backend and family
  private static final int INTERVAL_MS = 20;
  private static final int REST_MS = 1000;
  private static final int LOSS_MS = 5000;
  private static final int WITHIN_MS = 10_000;

  /** Where the frontend becomes a backend. */
  enum Way {
    SOCKET,
    PACKET,
    NODE_PORT
  }

  /** What has one backend: TCP connections and connected datagram sockets of both families. */
  private record Served(List<TcpConnection> connections, List<UdpStream> streams) {
    boolean hasNoFailure() {
      return connections.stream().allMatch(connection -> connection.failure() == null);
    }

    boolean hasFailedAll() {
      return connections.stream().allMatch(connection -> connection.failure() != null);
    }
  }

  private final List<Served> served = new ArrayList<>();
  private final List<TestWorkload> servers = new ArrayList<>();
  private TestNode node;
  private TestControlGroup group;
  private NetworkNamespace outside;
  private AgentProcess agent;
  private TestWorkload client;
  private boolean isCreated;

  @BeforeEach
  void create() throws Exception {
    node = new TestNode();
    group = TestControlGroup.create();
    outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    address(node.namespace(), "ext0", NODE);
    address(outside, "eth0", OUTSIDE);
    agent = node.agent("--cgroup-root", group.path().toString(), "--device", "ext0");
    client = node.workload(agent, "client");
    for (int i = 0; i < BACKENDS; i++) {
      final TestWorkload server = node.workload(agent, "server" + i);
      node.keep(TcpEchoServer.start(server.namespace(), SERVED));
      node.keep(UdpEchoServer.start(server.namespace(), server.ipv4(), SERVED));
      node.keep(UdpEchoServer.start(server.namespace(), server.ipv6(), SERVED));
      servers.add(server);
    }
  }

  private static void address(NetworkNamespace namespace, String device, List<String> addresses) {
    namespace.exec("ip", "address", "add", addresses.get(0) + "/24", "dev", device);
    namespace.ip("-6 address add " + addresses.get(1) + "/64 dev " + device + " nodad");
  }

  @AfterEach
  void remove() throws Exception {
    node.close();
    group.close();
  }

  /** Writes the services of both families; a backend without a state is no longer one. */
  private void put(String... states) throws IOException {
    for (int family = 0; family < ALL.size(); family++) {
      final List<String> backends = new ArrayList<>();
      for (int i = 0; i < BACKENDS; i++) {
        if (!states[i].isEmpty()) {
          final TestWorkload server = servers.get(i);
          backends.add(
              "{\"ip\": \"%s\", \"port\": %d, \"state\": \"%s\"}"
                  .formatted(family == 0 ? server.ipv4() : server.ipv6(), SERVED, states[i]));
        }
      }
      agent.expect(
          isCreated ? 200 : 201,
          "PUT",
          "/service/" + (family + 1),
          """
          {"frontend-address": {"ip": "%s", "port": %d}, "backend-addresses": %s,
           "flags": {"type": "NodePort"}}
          """
              .formatted(ALL.get(family), PORT, backends));
    }
    isCreated = true;
  }

  private Served open(Way way, NetworkNamespace... from) throws IOException {
    final Served opened = new Served(new ArrayList<>(), new ArrayList<>());
    for (final String address : NODE) {
      for (int i = 0; i < CONNECTIONS; i++) {
        final TcpConnection connection =
            TcpConnection.open(from[i % from.length], address, PORT, INTERVAL_MS);
        node.keep(connection);
        opened.connections.add(connection);
      }
      final UdpStream stream = UdpStream.start(from[0], address, PORT, INTERVAL_MS);
      node.keep(stream);
      opened.streams.add(stream);
      within(WITHIN_MS, () -> stream.received() > 0, way + ": datagrams to " + address);
    }
    return opened;
  }

  /** New connections go to the active backend. */
  private Served openTo(int backend, Way way) throws Exception {
    final String[] states = new String[BACKENDS];
    for (int i = 0; i < BACKENDS; i++) {
      states[i] = i == backend ? "active" : "terminating";
    }
    put(states);
    return switch (way) {
      case SOCKET -> group.run(() -> open(way, client.namespace(), node.namespace()));
      case PACKET -> open(way, client.namespace());
      case NODE_PORT -> open(way, outside);
    };
  }

  private static void within(int milliseconds, BooleanSupplier condition, String what) {
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(milliseconds);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, what);
      pause(5);
    }
  }

  private static void pause(int milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    }
  }

  private static void expectTraffic(Served served, String what) {
    for (final TcpConnection connection : served.connections) {
      assertTrue(connection.exchangesMore(2, WITHIN_MS), what + ": " + connection.failure());
      assertNull(connection.failure(), what);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldEndNothingButTheConnectionsOfTheBackendThatGoes(Way way) throws Exception {
    assumeTrue(
        way != Way.SOCKET || KernelFunctions.has("bpf_sock_destroy"),
        "the kernel has no bpf_sock_destroy (Linux 6.5)");
    for (int i = 0; i < BACKENDS; i++) {
      served.add(openTo(i, way));
    }
    final Served lost = served.getFirst();
    put("terminating", "terminating", "active");
    pause(REST_MS);
    for (final Served each : served) {
      expectTraffic(each, "terminating backends keep their connections");
    }

    put("", "terminating", "active");
    within(LOSS_MS, lost::hasFailedAll, "the connections of the backend that went end");
    for (final UdpStream stream : lost.streams) {
      final long before = stream.received();
      within(LOSS_MS, () -> stream.received() >= before + 20, "datagrams reach another backend");
    }
    pause(REST_MS);
    for (final Served other : served.subList(1, BACKENDS)) {
      assertTrue(other.hasNoFailure());
      expectTraffic(other, "connections of other backends");
      for (final UdpStream stream : other.streams) {
        assertEquals(0, stream.stopAndCountLost(), () -> "datagrams of " + stream.sent());
      }
    }
    assertNotNull(lost.connections.getFirst().failure());
  }
}
