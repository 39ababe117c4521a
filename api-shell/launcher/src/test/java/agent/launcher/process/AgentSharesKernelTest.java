package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.PacketFlood;
import agent.testkit.Packets;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/**
 * One workload takes all that it can, while another one and the node look names up and connect: the
 * DNS proxy, and the ports of masqueraded flows.
 */
@KernelTest
class AgentSharesKernelTest {
  private static final String RULES =
      """
      [{"endpointSelector": {"matchLabels": {"app": "asking"}},
        "egress": [{"toEntities": ["world"],
          "toPorts": [{"ports": [{"port": "53", "protocol": "UDP"}],
            "rules": {"dns": [{"matchPattern": "*.example.com"}]}}]}]}]
      """;
  private static final int FLOOD_PER_MS = 20;
  private static final int LOOKUPS = 50;
  private static final int TIMEOUT_MS = 1500;
  private static final int SERVED = 8080;
  private static final int FIRST_PORT = 1024;
  private static final int PORTS = 65_536 - FIRST_PORT;

  private TestNode node;
  private NetworkNamespace world;
  private AgentProcess agent;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    world = WorldNetwork.connect(node);
    final NameServer server = NameServer.start(world, WorldNetwork.ADDRESSES.getFirst());
    node.keep(server);
    server.records("192.0.2.80 www.example.com");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** Returns whether a server answers one query with the record, at the first try. */
  private static boolean looksUp(NetworkNamespace from) throws Exception {
    final Name name = Name.fromConstantString("www.example.com.");
    final Message query = Message.newQuery(Record.newRecord(name, Type.A, DClass.IN));
    final byte[] bytes = query.toWire();
    try (DatagramSocket socket = from.run(DatagramSocket::new)) {
      socket.connect(new InetSocketAddress(WorldNetwork.ADDRESSES.getFirst(), 53));
      socket.setSoTimeout(TIMEOUT_MS);
      socket.send(new DatagramPacket(bytes, bytes.length));
      final DatagramPacket received = new DatagramPacket(new byte[512], 512);
      socket.receive(received);
      final Message answer = new Message(Arrays.copyOf(received.getData(), received.getLength()));
      return answer.getRcode() == Rcode.NOERROR
          && answer.getHeader().getID() == query.getHeader().getID()
          && answer.getSection(Section.ANSWER).size() == 1;
    } catch (SocketTimeoutException noAnswer) {
      return false;
    }
  }

  /** Sends junk until it is interrupted, at the rate of the flood, to these ports in turn. */
  private static void flood(DatagramSocket socket, String address, int[] ports, AtomicLong sent) {
    final byte[] junk = new byte[64];
    Arrays.fill(junk, (byte) 0xff);
    final long startNs = System.nanoTime();
    try {
      final InetAddress target = InetAddress.getByName(address);
      while (!Thread.currentThread().isInterrupted()) {
        final long elapsedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
        while (sent.get() < elapsedMs * FLOOD_PER_MS) {
          final int port = ports[(int) (sent.getAndIncrement() % ports.length)];
          socket.send(new DatagramPacket(junk, junk.length, target, port));
        }
        LockSupport.parkNanos(200_000);
      }
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /** Returns the ports on which the node takes datagrams at an address. */
  private int[] portsAt(String address) {
    return node.namespace()
        .exec("ss", "-Huln")
        .lines()
        .flatMap(line -> Arrays.stream(line.split(" +")))
        .filter(word -> word.startsWith(address + ":"))
        .mapToInt(word -> Integer.parseInt(word.substring(word.lastIndexOf(':') + 1)))
        .toArray();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldLookUpNamesWhileOthersSendJunkToTheProxy(boolean isByWorkload) throws Exception {
    agent = node.agent("--device", WorldNetwork.DEVICE);
    final TestWorkload alice = node.workload(agent, "alice", "app=asking");
    final TestWorkload mallory = node.workload(agent, "mallory", "app=asking");
    agent.expect(200, "PUT", "/policy", RULES);
    assertTrue(looksUp(alice.namespace()), agent.log());
    final String gateway = "10.210.0.1";
    final int[] proxy = portsAt(gateway);
    assertTrue(proxy.length > 0, () -> node.namespace().exec("ss", "-uln"));
    world.ip("route add 10.210.0.0/24 via 192.0.2.1");
    final NetworkNamespace from = isByWorkload ? mallory.namespace() : world;
    final String target = isByWorkload ? WorldNetwork.ADDRESSES.getFirst() : gateway;
    final int[] ports = isByWorkload ? new int[] {53} : proxy;
    final AtomicLong sent = new AtomicLong();
    final long startNs = System.nanoTime();
    final Thread flooding =
        from.start(
            "flood",
            () -> {
              try (DatagramSocket socket = new DatagramSocket()) {
                flood(socket, target, ports, sent);
              } catch (IOException failure) {
                throw new UncheckedIOException(failure);
              }
            });
    int answered = 0;
    try {
      Thread.sleep(300);
      for (int i = 0; i < LOOKUPS; i++) {
        answered += looksUp(alice.namespace()) ? 1 : 0;
        Thread.sleep(30);
      }
    } finally {
      flooding.interrupt();
      flooding.join();
    }
    final long ms = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
    assertEquals(LOOKUPS, answered, () -> sent + " datagrams of junk in " + ms + " ms");
    assertTrue(sent.get() > ms * FLOOD_PER_MS / 2, sent + " datagrams of junk in " + ms + " ms");
  }

  private static IpPacket of(TestWorkload workload) {
    return Packets.ipv4(workload.ipv4(), WorldNetwork.ADDRESSES.getFirst())
        .from(workload.veth().workloadMac())
        .to(workload.veth().hostMac());
  }

  /** Each port of a workload to the server of names and to another one. */
  @Test
  void shouldLeaveOthersAndTheNodeTheirPorts() throws Exception {
    agent =
        node.agent(
            "--device",
            WorldNetwork.DEVICE,
            "--bpf-ct-global-any-max",
            "262144",
            "--bpf-ct-global-tcp-max",
            "262144");
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    final TestWorkload asking = node.workload(agent, "asking", "app=asking");
    final TestWorkload mallory = node.workload(agent, "mallory", "app=mallory");
    agent.expect(200, "PUT", "/policy", RULES);
    try (TcpEchoServer server = TcpEchoServer.start(world, SERVED)) {
      mallory.namespace().exec("ip", "route", "add", "blackhole", "192.0.2.2/32"); // no resets
      PacketFlood.send(
          mallory.namespace(),
          "eth0",
          PORTS,
          number -> of(mallory).udp(FIRST_PORT + number, 53).bytes());
      PacketFlood.send(
          mallory.namespace(),
          "eth0",
          PORTS,
          number -> of(mallory).tcp(FIRST_PORT + number, SERVED).syn().bytes());
      for (final NetworkNamespace from :
          List.of(node.namespace(), alice.namespace(), asking.namespace())) {
        for (int i = 0; i < 25; i++) {
          assertTrue(looksUp(from), "lookup " + i + " from " + from.name());
        }
      }
      for (final NetworkNamespace from : List.of(node.namespace(), alice.namespace())) {
        for (int i = 0; i < 25; i++) {
          try (TcpConnection connection =
              TcpConnection.open(from, WorldNetwork.ADDRESSES.getFirst(), SERVED)) {
            assertTrue(connection.exchangesMore(1, 2000), i + " from " + from.name());
          }
        }
      }
      assertFalse(server.connections() == 0);
    }
    final String health = agent.expect(200, "GET", "/health", null).text();
    assertTrue(health.contains("half-open flows replaced"), health);
  }
}
