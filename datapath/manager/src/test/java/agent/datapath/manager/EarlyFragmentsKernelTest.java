package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.Masquerading;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.datapath.spec.SocketPorts;
import agent.maps.kernel.MapCursor;
import agent.maps.layout.DropReason;
import agent.maps.layout.EarlyFragmentFlyweight;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyPrefix;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.PacketFlood;
import agent.testkit.Packets;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Datagrams whose fragments arrive in another order than they were sent in. */
@KernelTest
class EarlyFragmentsKernelTest {
  private static final String DEVICE = "up0";
  private static final String RANGE = "64:ff9b::/96";
  private static final int UDP = 17;
  private static final int CLIENT = 5353;
  private static final int SERVER = 7070;
  private static final int DENIED = 7071;
  private static final int BYTES = 60_000; // 42 fragments of an Ethernet frame
  private static final int PART = 1448;
  private static final int MOST_OF_ONE = 64;
  private static final int TIMEOUT_MS = 5000;
  private static final int NOTHING_MS = 300;
  private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(20);

  /** Addresses of one family. */
  enum Addresses {
    IPV4("192.0.2.1", "192.0.2.2"),
    IPV6("fd99::1", "fd99::2");

    private final String node;
    private final String world;

    Addresses(String node, String world) {
      this.node = node;
      this.world = world;
    }

    String of(Workload workload) {
      return this == IPV4 ? workload.ipv4() : workload.ipv6();
    }

    IpPacket packet(String from, String to) {
      return this == IPV4 ? Packets.ipv4(from, to) : Packets.ipv6(from, to);
    }
  }

  private ManagerTestNode node;
  private NetworkNamespace world;
  private VethPair up;
  private Workload alice;
  private Workload bob;
  private Workload carol;
  private DatapathManager manager;
  private int id = 100;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    world = NetworkNamespace.create("world");
    up = VethPair.create(node.namespace(), DEVICE, world, "eth0");
    node.namespace()
        .ip(
            "address add " + Addresses.IPV4.node + "/24 dev " + DEVICE,
            "address add " + Addresses.IPV6.node + "/64 nodad dev " + DEVICE,
            "address add fe80::1/64 nodad dev "
                + DEVICE); // asks for neighbours of what it forwards
    world.ip(
        "address add " + Addresses.IPV4.world + "/24 dev eth0",
        "address add " + Addresses.IPV6.world + "/64 nodad dev eth0",
        "route add default via " + Addresses.IPV4.node,
        "route add default via " + Addresses.IPV6.node);
    alice = node.workload(11);
    bob = node.workload(12);
    carol = node.workload(13);
    final AddressPair own =
        new AddressPair(IpAddress.parse(Addresses.IPV4.node), IpAddress.parse(Addresses.IPV6.node));
    manager =
        node.launch(
            node.context()
                .conntrackGcIntervalSec(1)
                .devices(Map.of(DEVICE, up.hostIfindex()))
                .masquerading(
                    new Masquerading(
                        Map.of(DEVICE, own), null, null, SocketPorts.NONE, Prefix.parse(RANGE))));
    await(manager.bypassStack(true));
    int number = 101;
    for (final Workload workload : List.of(alice, bob, carol)) {
      final List<PolicyEntry> policy = new ArrayList<>(ManagerTestNode.allowAll());
      policy.add(
          new PolicyEntry(
              0, PolicyDirection.EGRESS, UDP, DENIED, PolicyPrefix.PORT, PolicyVerdict.DENY));
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(number, workload, 1000 + number), policy);
      number++;
    }
  }

  @AfterEach
  void remove() throws IOException {
    manager.close();
    world.close();
    node.close();
  }

  private byte[] payload(int bytes) {
    final byte[] payload = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      payload[i] = (byte) (i / 7 + id);
    }
    return payload;
  }

  /** Returns the fragments of a new datagram, in their order. */
  private List<byte[]> fragments(IpPacket packet, int port, byte[] payload) {
    return new ArrayList<>(packet.id(id).udp(CLIENT, port).payload(payload).fragments(PART));
  }

  private List<byte[]> ofWorkload(
      Addresses family, Workload from, String to, int port, byte[] payload) {
    return fragments(
        family
            .packet(family.of(from), to)
            .from(from.veth().workloadMac())
            .to(from.veth().hostMac()),
        port,
        payload);
  }

  private List<byte[]> ofWorld(Addresses family, String to, int toPort, byte[] payload) {
    final IpPacket packet =
        family.packet(family.world, to).from(up.workloadMac()).to(up.hostMac()).id(id);
    return new ArrayList<>(packet.udp(SERVER, toPort).payload(payload).fragments(PART));
  }

  private static void send(Workload from, List<byte[]> frames) {
    assertEquals(
        frames.size(), PacketFlood.send(from.namespace(), "eth0", frames.size(), frames::get));
  }

  private void sendByWorld(List<byte[]> frames) {
    assertEquals(frames.size(), PacketFlood.send(world, "eth0", frames.size(), frames::get));
  }

  private static DatagramSocket socket(NetworkNamespace at, String address, int port)
      throws Exception {
    return at.run(
        () -> {
          final DatagramSocket socket =
              new DatagramSocket(new InetSocketAddress(InetAddress.ofLiteral(address), port));
          socket.setSoTimeout(TIMEOUT_MS);
          return socket;
        });
  }

  private static DatagramPacket receive(DatagramSocket socket, byte[] expected) throws IOException {
    final DatagramPacket packet = new DatagramPacket(new byte[65_536], 65_536);
    socket.receive(packet);
    assertArrayEquals(expected, Arrays.copyOf(packet.getData(), packet.getLength()));
    return packet;
  }

  private static boolean receivesNothing(DatagramSocket socket) throws IOException {
    socket.setSoTimeout(NOTHING_MS);
    try {
      socket.receive(new DatagramPacket(new byte[1], 1));
      return false;
    } catch (SocketTimeoutException nothing) {
      return true;
    } finally {
      socket.setSoTimeout(TIMEOUT_MS);
    }
  }

  private long drops(MetricsDirection direction) {
    return manager.metrics().packets(direction.number(), DropReason.FRAGMENT_NOT_FOUND.number());
  }

  /** What is left is counted by the sweep. */
  private void awaitDrops(int expected) throws InterruptedException {
    final long endNs = System.nanoTime() + LIMIT_NS;
    while (drops(MetricsDirection.EGRESS) < expected) {
      assertTrue(System.nanoTime() < endNs, drops(MetricsDirection.EGRESS) + " are counted");
      Thread.sleep(20);
    }
    assertEquals(expected, drops(MetricsDirection.EGRESS));
    assertEquals(0, waiting());
  }

  private void awaitWaiting(int expected) throws InterruptedException {
    final long endNs = System.nanoTime() + LIMIT_NS;
    while (waiting() != expected) {
      assertTrue(System.nanoTime() < endNs, waiting() + " wait");
      Thread.sleep(1);
    }
  }

  private long waiting() {
    final EarlyFragmentFlyweight fragment = new EarlyFragmentFlyweight();
    long waiting = 0;
    try (MapCursor cursor = new MapCursor()) {
      assertEquals(0, cursor.open(manager.maps().find("early_fragments").orElseThrow()));
      while (cursor.next()) {
        waiting += fragment.wrap(cursor.value(), 0).state() == 0 ? 0 : 1;
      }
      assertEquals(0, cursor.error());
    }
    return waiting;
  }

  /** Returns orders of the fragments of a datagram. */
  private static List<List<byte[]>> orders(List<byte[]> inOrder) {
    final List<byte[]> reversed = new ArrayList<>(inOrder.reversed());
    final List<byte[]> firstLast = new ArrayList<>(inOrder);
    Collections.rotate(firstLast, -1);
    final List<byte[]> twoSwapped = new ArrayList<>(inOrder);
    Collections.swap(twoSwapped, 0, 1);
    return List.of(reversed, firstLast, twoSwapped);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDeliverADatagramInAnyOrderToAWorkload(Addresses family) throws Exception {
    try (DatagramSocket server = socket(bob.namespace(), family.of(bob), SERVER)) {
      for (int round = 0; round < 9; round++) {
        id++;
        final byte[] payload = payload(BYTES);
        send(
            alice,
            orders(ofWorkload(family, alice, family.of(bob), SERVER, payload)).get(round % 3));
        receive(server, payload);
      }
    }
    assertEquals(0, drops(MetricsDirection.EGRESS) + drops(MetricsDirection.INGRESS));
  }

  /** The first fragments of two datagrams come after the later ones of both. */
  @ParameterizedTest
  @EnumSource
  void shouldKeepDatagramsApartThatWaitAtTheSameTime(Addresses family) throws Exception {
    try (DatagramSocket server = socket(bob.namespace(), family.of(bob), SERVER)) {
      final byte[] one = payload(4000);
      final List<byte[]> first = ofWorkload(family, alice, family.of(bob), SERVER, one);
      id++;
      final byte[] two = payload(4001);
      final List<byte[]> second = ofWorkload(family, alice, family.of(bob), SERVER, two);
      send(alice, List.of(second.get(2), first.get(1), second.get(1), first.get(2)));
      send(alice, List.of(first.get(0)));
      receive(server, one);
      send(alice, List.of(second.get(0)));
      receive(server, two);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveAndAnswerInAnyOrderMasqueraded(Addresses family) throws Exception {
    try (DatagramSocket server = socket(world, family.world, SERVER);
        DatagramSocket client = socket(alice.namespace(), family.of(alice), CLIENT)) {
      for (int order = 0; order < 3; order++) {
        id++;
        final byte[] payload = payload(BYTES);
        send(alice, orders(ofWorkload(family, alice, family.world, SERVER, payload)).get(order));
        final DatagramPacket received = receive(server, payload);
        assertEquals(InetAddress.ofLiteral(family.node), received.getAddress());
        sendByWorld(orders(ofWorld(family, family.node, received.getPort(), payload)).get(order));
        receive(client, payload);
      }
    }
  }

  /** What waits is an IPv4 packet already, or still. */
  @Test
  void shouldTranslateInAnyOrderWhatIsToTheRangeOfNat46() throws Exception {
    final Addresses ipv4 = Addresses.IPV4;
    try (DatagramSocket server = socket(world, ipv4.world, SERVER);
        DatagramSocket client = socket(alice.namespace(), alice.ipv6(), CLIENT)) {
      for (int order = 0; order < 3; order++) {
        id++;
        final byte[] payload = payload(BYTES);
        final String mapped = "64:ff9b::" + ipv4.world;
        send(alice, orders(ofWorkload(Addresses.IPV6, alice, mapped, SERVER, payload)).get(order));
        final int port = receive(server, payload).getPort();
        sendByWorld(orders(ofWorld(ipv4, ipv4.node, port, payload)).get(order));
        final DatagramPacket answer = receive(client, payload);
        assertEquals(InetAddress.ofLiteral(mapped), answer.getAddress());
      }
    }
  }

  /** What a device receives for a workload itself waits at the workload's interface. */
  @ParameterizedTest
  @EnumSource
  void shouldDeliverWhatTheNetworkReorders(Addresses family) throws Exception {
    try (DatagramSocket server = socket(bob.namespace(), family.of(bob), SERVER)) {
      for (int order = 0; order < 3; order++) {
        id++;
        final byte[] payload = payload(BYTES);
        sendByWorld(orders(ofWorld(family, family.of(bob), SERVER, payload)).get(order));
        receive(server, payload);
      }
      assertTrue(receivesNothing(server), "each once");
    }
    assertEquals(0, drops(MetricsDirection.INGRESS));
  }

  /** The node's own datagrams are those of the stack, which gets each fragment as it comes. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheDatagramsOfTheNodeToTheStack(Addresses family) throws Exception {
    try (DatagramSocket server = socket(node.namespace(), family.node, SERVER)) {
      for (int order = 0; order < 3; order++) {
        id++;
        final byte[] payload = payload(BYTES);
        sendByWorld(orders(ofWorld(family, family.node, SERVER, payload)).get(order));
        receive(server, payload);
      }
      assertTrue(receivesNothing(server), "each once");
    }
    awaitWaiting(0);
    assertEquals(0, drops(MetricsDirection.NETWORK), "all have passed");
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropWhatWaitsForAFirstFragmentThatPolicyDenies(Addresses family) throws Exception {
    try (DatagramSocket server = socket(bob.namespace(), family.of(bob), DENIED)) {
      final List<byte[]> reversed =
          ofWorkload(family, alice, family.of(bob), DENIED, payload(BYTES)).reversed();
      send(alice, reversed);
      assertTrue(receivesNothing(server));
      awaitDrops(reversed.size() - 1);
    }
  }

  /** One sends later fragments alone, as fast as it can; another one's wait beside them. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheShareOfOthers(Addresses family) throws Exception {
    final List<byte[]> alone =
        ofWorkload(family, alice, family.of(bob), SERVER, payload(4000)).subList(1, 3);
    try (DatagramSocket server = socket(bob.namespace(), family.of(bob), SERVER)) {
      for (int i = 0; i < 5; i++) {
        final int sent = 2000;
        assertEquals(
            sent,
            PacketFlood.send(alice.namespace(), "eth0", sent, number -> alone.get(number % 2)));
        id++;
        final byte[] payload = payload(BYTES);
        send(carol, ofWorkload(family, carol, family.of(bob), SERVER, payload).reversed());
        receive(server, payload);
      }
    }
    assertTrue(drops(MetricsDirection.EGRESS) >= 10_000 - MOST_OF_ONE, "all but the last ones");
    assertTrue(waiting() <= MOST_OF_ONE);
  }

  /** A host of a network that no program guards sends with the address of a workload. */
  @ParameterizedTest
  @EnumSource
  void shouldNotTakeWhatAnotherInterfaceHasReceivedForAWorkloads(Addresses family)
      throws Exception {
    final VethPair other = VethPair.create(node.namespace(), "other0", world, "eth1");
    node.namespace()
        .run(
            () -> {
              for (final String device : List.of("all", "other0")) {
                Files.writeString(Path.of("/proc/sys/net/ipv4/conf", device, "rp_filter"), "0");
              }
              return null;
            });
    await(manager.bypassStack(false)); // the programs of both meet what goes from one to the other
    final byte[] payload = payload(2000);
    final List<byte[]> own = ofWorkload(family, alice, family.of(bob), SERVER, payload);
    final IpPacket forged =
        family
            .packet(family.of(alice), family.of(bob))
            .from(other.workloadMac())
            .to(other.hostMac());
    try (DatagramSocket server = socket(bob.namespace(), family.of(bob), SERVER)) {
      final byte[] later = fragments(forged, SERVER, new byte[2000]).get(1);
      assertEquals(1, PacketFlood.send(world, "eth1", 1, _ -> later));
      awaitWaiting(1);
      send(alice, own.subList(0, 1));
      assertTrue(receivesNothing(server));
      send(alice, own.subList(1, 2));
      receive(server, payload);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountWhatIsLeft(Addresses family) throws Exception {
    final List<byte[]> fragments = ofWorkload(family, alice, family.of(bob), SERVER, payload(4000));
    send(alice, fragments.subList(1, 3));
    assertEquals(0, drops(MetricsDirection.EGRESS));
    awaitDrops(2);
    try (DatagramSocket server = socket(bob.namespace(), family.of(bob), SERVER)) {
      send(alice, fragments.subList(0, 1));
      assertTrue(receivesNothing(server), "they are gone");
    }
    assertEquals(2, drops(MetricsDirection.EGRESS));
  }
}
