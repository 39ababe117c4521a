package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth;
import agent.conductor.ModuleHealth.Level;
import agent.datapath.spec.ConntrackLifetimes;
import agent.datapath.spec.Masquerading;
import agent.datapath.spec.SocketPorts;
import agent.maps.kernel.BatchWriter;
import agent.maps.kernel.BpfMap;
import agent.maps.layout.Conntrack4KeyFlyweight;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import agent.types.AddressPair;
import agent.types.IpAddress;
import java.io.Closeable;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Workloads that open flows to one destination until this node has no port for another one. Entries
 * of the conntrack table stand for all flows but those of a few ports.
 */
@KernelTest
class MasqueradeExhaustionKernelTest {
  private static final String DEVICE = "up0";
  private static final String NODE = "192.0.2.1"; // the low side of the tuples
  private static final String WORLD = "192.0.2.2";
  private static final String ANOTHER = "10.77.0.99";
  private static final int SERVED = 8080;
  private static final int FREE_PORT = 40_000;
  private static final int FREE_PORTS = 6;
  private static final int OWN_PORT = FREE_PORT + FREE_PORTS; // of the node itself
  private static final int TABLE = 131_072;
  private static final int LIFETIME_SEC = 2;
  private static final int TIMEOUT_MS = 400; // before a SYN is sent again
  private static final int ANSWERED_MS = 5000;
  private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(20);
  private static final long HOUR_NS = TimeUnit.HOURS.toNanos(1);

  /** Flows of one protocol by sockets, each of a source port that it asks for. */
  enum Protocol {
    TCP(6, "conntrack4_tcp") {
      @Override
      Closeable serve(NetworkNamespace world) {
        return TcpEchoServer.start(world, SERVED)::close;
      }

      @Override
      Flow connect(int port) throws IOException {
        final Socket socket = new Socket();
        try {
          socket.bind(new InetSocketAddress(port));
          socket.connect(server(), TIMEOUT_MS);
          socket.setTcpNoDelay(true);
        } catch (IOException refused) {
          socket.close();
          throw refused;
        }
        return new Flow(
            socket,
            (number, withinMs) -> {
              socket.setSoTimeout(withinMs);
              socket.getOutputStream().write(number);
              return socket.getInputStream().read();
            });
      }
    },
    UDP(17, "conntrack4_any") {
      @Override
      Closeable serve(NetworkNamespace world) {
        return UdpEchoServer.start(world, WORLD, SERVED)::close;
      }

      @Override
      Flow connect(int port) throws IOException {
        final DatagramSocket socket = new DatagramSocket(port);
        socket.connect(server());
        return new Flow(
            socket,
            (number, withinMs) -> {
              socket.setSoTimeout(withinMs);
              socket.send(new DatagramPacket(new byte[] {(byte) number}, 1));
              final DatagramPacket answer = new DatagramPacket(new byte[1], 1);
              socket.receive(answer);
              return answer.getData()[0];
            });
      }
    };

    private final int number;
    private final String table;

    Protocol(int number, String table) {
      this.number = number;
      this.table = table;
    }

    abstract Closeable serve(NetworkNamespace world);

    /** Opens a flow; where the socket learns of a failure later, the flow has no answer. */
    abstract Flow connect(int port) throws IOException;

    private static InetSocketAddress server() {
      return new InetSocketAddress(WORLD, SERVED);
    }
  }

  /** Sends a number and returns the one that is answered in time. */
  @FunctionalInterface
  private interface Exchange {
    int of(int number, int withinMs) throws IOException;
  }

  private record Flow(Closeable socket, Exchange exchange) {
    private void assertGoesOn(int number, int withinMs) throws IOException {
      assertEquals(number, exchange.of(number, withinMs));
    }
  }

  private final AtomicLong passedNs = new AtomicLong();
  private final List<Flow> flows = new ArrayList<>();
  private ManagerTestNode node;
  private NetworkNamespace world;
  private Workload alice;
  private Workload bob;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    world = NetworkNamespace.create("world");
    final VethPair up = VethPair.create(node.namespace(), DEVICE, world, "eth0");
    node.namespace().ip("address add " + NODE + "/24 dev " + DEVICE);
    world.ip("address add " + WORLD + "/24 dev eth0");
    alice = node.workload(11);
    bob = node.workload(12);
    final AddressPair own = new AddressPair(IpAddress.parse(NODE), null);
    manager =
        node.launch(
            node.context()
                .nanoClock(() -> System.nanoTime() + passedNs.get())
                .conntrackTcpMax(TABLE)
                .conntrackAnyMax(TABLE)
                .conntrackLifetimes(new ConntrackLifetimes(60, 60, LIFETIME_SEC, LIFETIME_SEC))
                .devices(Map.of(DEVICE, up.hostIfindex()))
                .masquerading(
                    new Masquerading(Map.of(DEVICE, own), null, null, SocketPorts.NONE, null)));
    await(manager.bypassStack(true));
    ManagerTestNode.attachAll(manager, List.of(alice, bob));
    passedNs.set(TimeUnit.SECONDS.toNanos(6)); // what a start drops has passed
    assertEquals(Level.OK, drops().level());
  }

  @AfterEach
  void remove() throws Exception {
    for (final Flow flow : flows) {
      flow.socket.close();
    }
    manager.close();
    world.close();
    node.close();
  }

  private ModuleHealth drops() {
    return ManagerTestNode.health(manager, "dp-drops");
  }

  private long exhausted() {
    return manager
        .metrics()
        .packets(MetricsDirection.EGRESS.number(), DropReason.PORTS_EXHAUSTED.number());
  }

  /** Occupies all ports of the node for the destination, but for the free ones and its own. */
  private void takePorts(Protocol protocol) {
    final BpfMap table = manager.maps().find(protocol.table).orElseThrow();
    final BatchWriter batch = new BatchWriter(table, 1024);
    final long expiresNs = System.nanoTime() + HOUR_NS;
    for (int port = 1; port < 65_536; port++) {
      if (port >= FREE_PORT && port <= OWN_PORT) {
        continue;
      }
      new Conntrack4KeyFlyweight()
          .wrap(batch.keys(), batch.keyOffset())
          .clear()
          .lowAddress((int) IpAddress.parse(NODE).low())
          .highAddress((int) IpAddress.parse(WORLD).low())
          .lowPort(port)
          .highPort(SERVED)
          .protocol(protocol.number);
      new ConntrackEntryFlyweight()
          .wrap(batch.values(), batch.valueOffset())
          .clear()
          .expiresNs(expiresNs)
          .end()
          .address(IpAddress.parse(ANOTHER).low() << Integer.SIZE, 0)
          .port(port);
      if (batch.add()) {
        assertEquals(0, batch.writeAll());
      }
    }
    assertEquals(0, batch.writeAll());
  }

  private Flow open(NetworkNamespace from, Protocol protocol, int port) throws Exception {
    final Flow flow = from.run(() -> protocol.connect(port));
    flows.add(flow);
    return flow;
  }

  private boolean isAnswered(Workload from, Protocol protocol, int port) throws Exception {
    final Flow flow;
    try {
      flow = from.namespace().run(() -> protocol.connect(port));
    } catch (SocketTimeoutException unanswered) {
      return false;
    }
    try {
      flow.assertGoesOn(9, protocol == Protocol.TCP ? ANSWERED_MS : TIMEOUT_MS);
      flows.add(flow);
      return true;
    } catch (SocketTimeoutException unanswered) {
      flow.socket.close();
      return false;
    }
  }

  private void assertAllGoOn(int number) throws IOException {
    for (final Flow flow : flows) {
      flow.assertGoesOn(number, ANSWERED_MS);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRefuseFlowsWhileNoPortIsFree(Protocol protocol) throws Exception {
    try (Closeable _ = protocol.serve(world)) {
      takePorts(protocol);
      open(node.namespace(), protocol, OWN_PORT);
      for (int i = 0; i < FREE_PORTS; i++) {
        open(alice.namespace(), protocol, FREE_PORT + i);
      }
      assertAllGoOn(1);
      assertEquals(0, exhausted());
      assertEquals(Level.OK, drops().level(), drops().message());

      assertFalse(isAnswered(bob, protocol, FREE_PORT), "a port of another workload");
      assertFalse(isAnswered(bob, protocol, OWN_PORT), "a port of the node itself");
      assertEquals(2, exhausted());
      assertEquals("packets are dropped: PORTS_EXHAUSTED 2", drops().message());
      assertAllGoOn(2);

      flows.remove(1).socket.close();
      final long endNs = System.nanoTime() + LIMIT_NS;
      boolean isServed = false;
      while (!isServed) {
        assertTrue(System.nanoTime() < endNs, "the port of the flow that ended");
        assertAllGoOn(3);
        isServed = isAnswered(bob, protocol, FREE_PORT);
      }
      assertAllGoOn(4);
      assertEquals(FREE_PORTS + 1, flows.size());
      assertEquals("packets are dropped: PORTS_EXHAUSTED " + exhausted(), drops().message());
    }
  }
}
