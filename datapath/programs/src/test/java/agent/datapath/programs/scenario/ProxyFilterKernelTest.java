package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.ScenarioProxy.CLIENT;
import static agent.datapath.programs.scenario.ScenarioProxy.PORT;
import static agent.datapath.programs.scenario.ScenarioProxy.PROXY;
import static agent.datapath.programs.scenario.ScenarioProxy.arriving;
import static agent.datapath.programs.scenario.ScenarioProxy.opening;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.OwnSockets;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.RedirectKind;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The filters of the sockets of proxies, by real packets that arrive by real interfaces. */
@KernelTest
class ProxyFilterKernelTest {
  private static final int OTHER = 30;
  private static final int WAIT_MS = 2_000;

  private final ScenarioNode node = new ScenarioNode().routed();
  private final ScenarioProxy proxy = new ScenarioProxy(node);
  private ServerSocket server;
  private DatagramSocket datagrams;
  private long droppedBefore;

  @BeforeEach
  void listen() throws Exception {
    node.guard(DEVICE);
    node.network().addPlainDevice(OTHER);
    node.network().own(HOST);
  }

  @AfterEach
  void close() throws Exception {
    server.close();
    datagrams.close();
    node.close();
  }

  /** Opens the sockets of a proxy at its address of one family. */
  private void filter(Family family) throws Exception {
    final InetSocketAddress address = new InetSocketAddress(family.address(HOST), PROXY);
    server = node.network().call(() -> new ServerSocket(PROXY, 64, address.getAddress()));
    datagrams = node.network().call(() -> new DatagramSocket(address));
    datagrams.setSoTimeout(WAIT_MS);
    ScenarioProxy.serve(node, RedirectKind.HTTP, PROXY);
    final BpfObject object = node.load("proxy_filter", constants -> {});
    final byte[] bytes = address.getAddress().getAddress();
    assertEquals(1, OwnSockets.filter(object.program("proxy_tcp"), TCP, bytes, PROXY, PROXY));
    assertEquals(1, OwnSockets.filter(object.program("proxy_udp"), UDP, bytes, PROXY, PROXY));
  }

  private void redirect(Family family, ScenarioHost client, int protocol) {
    if (client.isLocal()) {
      node.policyOf(client).redirectTo(FAR, protocol, PORT, RedirectKind.HTTP);
      proxy.open(family, client, FAR, protocol);
    } else {
      node.policyOf(ALICE).redirectFrom(client, protocol, PORT, RedirectKind.HTTP);
      node.fromNetwork(arriving(opening(family.packet(client, ALICE), protocol, CLIENT, PORT)))
          .passesUncountedAs(
              arriving(opening(family.packet(client, HOST), protocol, CLIENT, PROXY)));
    }
  }

  /** The packet that a client's is rewritten to. */
  private static IpPacket rewritten(Family family, ScenarioHost client, int protocol, int port) {
    return opening(family.packet(client, HOST), protocol, port, PROXY);
  }

  private void arrive(int ifindex, IpPacket packet) {
    droppedBefore = dropped();
    node.network().arrive(ifindex, packet);
  }

  private long dropped() {
    return node.packets(MetricsDirection.NETWORK, DropReason.NOT_REDIRECTED);
  }

  private void assertTaken(Family family, ScenarioHost client, int protocol) throws Exception {
    if (protocol == UDP) {
      datagrams.receive(new DatagramPacket(new byte[64], 64));
    } else {
      for (int i = 0; !halfOpen().contains(family.address(client)); i++) {
        assertTrue(i < WAIT_MS, "no connection opens");
        Thread.sleep(1);
      }
    }
    assertEquals(droppedBefore, dropped());
  }

  private String halfOpen() {
    return node.network().exec("ss", "-Htn", "state", "syn-recv");
  }

  private void assertDropped(int protocol) throws Exception {
    for (int i = 0; dropped() == droppedBefore && i < WAIT_MS; i++) {
      Thread.sleep(1);
    }
    assertEquals(droppedBefore + 1, dropped());
    if (protocol == UDP) {
      datagrams.setSoTimeout(1);
      assertThrows(
          SocketTimeoutException.class,
          () -> datagrams.receive(new DatagramPacket(new byte[64], 64)));
      datagrams.setSoTimeout(WAIT_MS);
    } else {
      assertEquals("", halfOpen());
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTakeWhatTheProgramsHaveSentThere(Family family) throws Exception {
    filter(family);
    for (final int protocol : ScenarioProxy.protocols()) {
      redirect(family, ALICE, protocol);
      arrive(ALICE.ifindex, rewritten(family, ALICE, protocol, CLIENT));
      assertTaken(family, ALICE, protocol);
      redirect(family, PEER, protocol);
      arrive(DEVICE, rewritten(family, PEER, protocol, CLIENT));
      assertTaken(family, PEER, protocol);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropWhatNoProgramHasSentThere(Family family) throws Exception {
    filter(family);
    for (final int protocol : ScenarioProxy.protocols()) {
      for (final int ifindex : new int[] {ALICE.ifindex, DEVICE, OTHER}) {
        arrive(ifindex, rewritten(family, ALICE, protocol, CLIENT));
        assertDropped(protocol);
      }
      redirect(family, ALICE, protocol);
      arrive(ALICE.ifindex, rewritten(family, ALICE, protocol, CLIENT + 1));
      assertDropped(protocol);
      arrive(ALICE.ifindex, rewritten(family, BOB, protocol, CLIENT));
      assertDropped(protocol);
    }
  }

  /** A workload's packets come by its own interface. */
  @ParameterizedTest
  @EnumSource
  void shouldDropWhatComesInTheNameOfAWorkloadByAnotherInterface(Family family) throws Exception {
    filter(family);
    for (final int protocol : ScenarioProxy.protocols()) {
      redirect(family, ALICE, protocol);
      for (final int ifindex : new int[] {BOB.ifindex, DEVICE, OTHER}) {
        arrive(ifindex, rewritten(family, ALICE, protocol, CLIENT));
        assertDropped(protocol);
      }
    }
  }

  /** No program of the agent is at the loopback, where a process can have any address. */
  @ParameterizedTest
  @EnumSource
  void shouldDropWhatTheNodeSendsItself(Family family) throws Exception {
    filter(family);
    node.network().own(PEER);
    redirect(family, PEER, UDP);
    droppedBefore = dropped();
    final InetSocketAddress from = new InetSocketAddress(family.address(PEER), CLIENT);
    final InetSocketAddress to = new InetSocketAddress(family.address(HOST), PROXY);
    try (DatagramSocket socket = node.network().call(() -> new DatagramSocket(from))) {
      socket.send(new DatagramPacket(new byte[8], 8, to));
    }
    assertDropped(UDP);
  }

  /** An entry that is no proxy's proves nothing. */
  @ParameterizedTest
  @EnumSource
  void shouldDropWhatBelongsToAnotherFlow(Family family) throws Exception {
    filter(family);
    ScenarioProxy.serve(node, RedirectKind.HTTP, 0);
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE).allowTo(HOST, protocol, PROXY);
      final IpPacket direct = rewritten(family, ALICE, protocol, CLIENT);
      node.fromWorkload(ALICE, ScenarioProxy.of(ALICE, direct)).passes();
      arrive(ALICE.ifindex, rewritten(family, ALICE, protocol, CLIENT));
      assertDropped(protocol);
    }
  }
}
