package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.MapFlag;
import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.InterfaceArray;
import agent.maps.layout.BackendState;
import agent.maps.layout.BalancerFlowKeyFlyweight;
import agent.maps.layout.DropReason;
import agent.maps.layout.ServiceForwarding;
import agent.maps.layout.ServiceGate;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import agent.testkit.SpecialAddresses;
import agent.types.IpAddress;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Packets of STRANGER to a frontend, whose backends PEER and FAR are elsewhere. */
@KernelTest
class BalancerKernelTest {
  private static final int ID = 7;
  private static final int PORT = 80;
  private static final int CLIENT = 31_337;
  private static final int SCTP = 132;
  private static final int CELLS = 251;
  private static final String NEXT_HOP_MAC = "02:00:00:00:99:01";
  private static final int ETHERNET_BYTES = 14;

  private final BalancerNode node = new BalancerNode();

  @BeforeEach
  void resolve() {
    node.network().resolve(PEER, BalancerNode.DEVICE);
    node.network().resolve(FAR, BalancerNode.DEVICE);
  }

  @AfterEach
  void close() {
    node.close();
  }

  private static String frontend(Family family) {
    return family == Family.IPV4 ? "203.0.113.80" : "2001:db8:80::1";
  }

  private void serve(Family family, int protocol, ScenarioHost... backends) {
    final Server[] servers =
        Arrays.stream(backends).map(host -> new Server(host, PORT)).toArray(Server[]::new);
    node.services(family).putOutside(ID, frontend(family), PORT, protocol, 0, servers);
  }

  private static IpPacket toFrontend(Family family) {
    return BalancerNode.received(family.address(STRANGER), frontend(family));
  }

  private static byte[] ipOf(byte[] frame) {
    return Arrays.copyOfRange(frame, ETHERNET_BYTES, frame.length);
  }

  /** Returns the outer packet of a packet whose hop limit has become less by one. */
  private static IpPacket outer(
      Family family, String source, ScenarioHost backend, IpPacket decremented) {
    final byte[] inner = ipOf(decremented.bytes());
    final IpPacket packet =
        family == Family.IPV4
            ? Packets.ipv4(source, backend.ipv4).protocol(4)
            : Packets.ipv6(source, backend.ipv6).protocol(41);
    return packet.payload(inner).ttl(64);
  }

  private byte[] sentTo(Family family, ScenarioHost backend, int ifindex, IpPacket decremented) {
    return outer(family, family.address(NODE), backend, decremented)
        .to(NEXT_HOP_MAC)
        .from(node.macOf(ifindex))
        .bytes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldEncapsulateTcpUdpAndSctpToTheBackend(Family family) {
    for (final int protocol : new int[] {TCP, UDP, SCTP}) {
      serve(family, protocol, PEER);
      final IpPacket packet =
          Family.ports(toFrontend(family), protocol, CLIENT, PORT).payload("hello").ttl(17);
      node.receive(packet)
          .becomes(BalancerOutcome.TX, sentTo(family, PEER, BalancerNode.DEVICE, packet.ttl(16)));
    }
  }

  /** RFC 1812, section 5.2.2. A flow that has a backend is no exception. */
  @Test
  void shouldDropAPacketWhoseHeaderIsNotIntact() {
    serve(Family.IPV4, UDP, PEER);
    final IpPacket packet = toFrontend(Family.IPV4).udp(CLIENT, PORT);
    final byte[] damaged = packet.bytes();
    damaged[24] ^= 1;
    node.receive(damaged).dropsFor(DropReason.MALFORMED);
    assertEquals(0, node.map("balancer_flows").countEntries());
    assertEquals(BalancerOutcome.TX, node.receive(packet).action());
    node.receive(damaged).dropsFor(DropReason.MALFORMED);
    final byte[] elsewhere =
        BalancerNode.received(STRANGER.ipv4, FAR.ipv4).udp(CLIENT, PORT).bytes();
    elsewhere[24] ^= 1;
    node.receive(elsewhere).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropWhatNoHostHasSentToAFrontend(Family family) {
    serve(family, TCP, PEER);
    SpecialAddresses.invalid(family == Family.IPV6)
        .forEach(
            source -> {
              node.receive(BalancerNode.received(source, frontend(family)).tcp(CLIENT, PORT).syn())
                  .dropsFor(DropReason.INVALID_ADDRESS);
              node.receive(BalancerNode.received(source, family.address(FAR)).udp(CLIENT, PORT))
                  .passes();
            });
    assertEquals(0, node.map("balancer_flows").countEntries());
  }

  @Test
  void shouldKeepTheIdentificationAndTheDontFragmentFlag() {
    serve(Family.IPV4, UDP, PEER);
    final IpPacket packet = toFrontend(Family.IPV4).id(4711).mayNotBeSplit().udp(CLIENT, PORT);
    node.receive(packet)
        .becomes(
            BalancerOutcome.TX,
            outer(Family.IPV4, NODE.ipv4, PEER, packet.ttl(63))
                .id(4711)
                .mayNotBeSplit()
                .to(NEXT_HOP_MAC)
                .from(node.macOf(BalancerNode.DEVICE))
                .bytes());
  }

  /** Of outer datagrams that routers may split (RFC 6864, section 4.2). */
  @Test
  void shouldNumberTheOuterDatagramsOfAllClients() {
    serve(Family.IPV4, UDP, PEER);
    final Set<Integer> numbers = new HashSet<>();
    for (int i = 0; i < 10; i++) {
      for (final ScenarioHost client : List.of(FAR, STRANGER)) {
        final IpPacket packet =
            BalancerNode.received(client.ipv4, frontend(Family.IPV4)).id(4711).udp(CLIENT, PORT);
        final BalancerOutcome outcome = node.receive(packet);
        assertEquals(BalancerOutcome.TX, outcome.action(), outcome::toString);
        assertTrue(numbers.add(BalancerOutcome.number(outcome.frame())), numbers::toString);
      }
    }
    assertEquals(20, numbers.size());
  }

  @ParameterizedTest
  @EnumSource
  void shouldCopyTheTrafficClass(Family family) {
    serve(family, UDP, PEER);
    final byte[] plain = toFrontend(family).udp(CLIENT, PORT).bytes();
    final byte[] marked = plain.clone();
    if (family == Family.IPV4) {
      marked[15] = (byte) 0xb9;
      final int sum = (marked[24] & 0xff) << 8 | marked[25] & 0xff;
      final int less = sum - 0xb9 <= 0 ? sum - 0xb9 + 0xffff : sum - 0xb9;
      marked[24] = (byte) (less >> 8);
      marked[25] = (byte) less;
    } else {
      marked[14] = 0x6b;
      marked[15] = (byte) 0x90;
    }
    final byte[] out = node.receive(marked).frame();
    final int inner = ETHERNET_BYTES + (family == Family.IPV4 ? 20 : 40);
    assertEquals(marked[14], out[14]);
    assertEquals(marked[15] & 0xf0, out[15] & 0xf0);
    assertEquals(marked[14], out[inner]);
    assertEquals(marked[15], out[inner + 1]);
    if (family == Family.IPV4) {
      assertEquals(marked[15], out[15]);
      assertEquals(0xffff, sumOf(out, ETHERNET_BYTES, 20));
      assertEquals(0xffff, sumOf(out, inner, 20));
    }
  }

  private static int sumOf(byte[] bytes, int offset, int length) {
    int sum = 0;
    for (int i = 0; i < length; i += 2) {
      sum += (bytes[offset + i] & 0xff) << 8 | bytes[offset + i + 1] & 0xff;
    }
    return (sum & 0xffff) + (sum >> 16);
  }

  @Test
  void shouldGiveFlowsOfIpv6DifferentLabels() {
    serve(Family.IPV6, UDP, PEER);
    final Set<Integer> labels = new HashSet<>();
    for (int flow = 0; flow < 100; flow++) {
      labels.add(node.receive(toFrontend(Family.IPV6).udp(CLIENT + flow, PORT)).flowLabel());
    }
    assertTrue(labels.size() > 95, labels.toString());
    final int label = node.receive(toFrontend(Family.IPV6).udp(CLIENT, PORT)).flowLabel();
    assertTrue(labels.contains(label), "the label of a flow stays");
  }

  @ParameterizedTest
  @EnumSource
  void shouldRedirectWhereTheBackendIsBehindAnotherDevice(Family family) {
    final int other = ScenarioNetwork.OTHER_DEVICE;
    node.network().route(PEER, "dev " + ScenarioNetwork.name(other));
    node.network().resolve(PEER, other);
    serve(family, UDP, PEER);
    final IpPacket packet = toFrontend(family).udp(CLIENT, PORT);
    node.receive(packet)
        .becomes(BalancerOutcome.REDIRECT, sentTo(family, PEER, other, packet.ttl(63)));
  }

  /** The outer source is the client's, since the stack refuses packets with an own address. */
  @ParameterizedTest
  @EnumSource
  void shouldHaveTheStackSendWhereTheNextHopIsNotResolved(Family family) {
    node.network().route(PEER, "dev " + ScenarioNetwork.name(ScenarioNetwork.OTHER_DEVICE));
    serve(family, UDP, PEER);
    final IpPacket packet = toFrontend(family).udp(CLIENT, PORT);
    node.receive(packet)
        .becomes(
            BalancerOutcome.PASS,
            outer(family, family.address(STRANGER), PEER, packet.ttl(63))
                .to(BalancerNode.MAC)
                .from(BalancerNode.ROUTER_MAC)
                .bytes());
  }

  private String backendOf(Family family, int flow) {
    final BalancerOutcome outcome = node.receive(toFrontend(family).tcp(CLIENT + flow, PORT).ack());
    assertEquals(BalancerOutcome.TX, outcome.action());
    return outcome.backend();
  }

  @ParameterizedTest
  @EnumSource
  void shouldSelectByTheTableAndTheTuple(Family family) {
    serve(family, TCP, PEER, FAR);
    final Server[] servers = {new Server(PEER, PORT), new Server(FAR, PORT)};
    final int[] choices = IntStream.range(0, CELLS).map(cell -> cell & 1).toArray();
    node.services(family).putTable(ID, 1, choices, servers);
    final String[] before =
        IntStream.range(0, 200).mapToObj(flow -> backendOf(family, flow)).toArray(String[]::new);
    final long atPeer = Arrays.stream(before).filter(family.address(PEER)::equals).count();
    assertTrue(atPeer > 60 && atPeer < 140, "of 200 flows at the first of two: " + atPeer);
    IntStream.range(0, 200).forEach(flow -> forgetFlow(family, CLIENT + flow));
    final String[] after =
        IntStream.range(0, 200).mapToObj(flow -> backendOf(family, flow)).toArray(String[]::new);
    assertEquals(Arrays.asList(before), Arrays.asList(after));
  }

  /** What passes to the stack because its backend is there goes to that backend. */
  @ParameterizedTest
  @EnumSource
  void shouldSelectTheBackendThatTheStackSelects(Family family) {
    serve(family, TCP, PEER, FAR);
    final int[] choices = IntStream.range(0, CELLS).map(cell -> cell & 1).toArray();
    node.services(family).putTable(ID, 1, choices, new Server(PEER, PORT), new Server(FAR, PORT));
    try (ScenarioNode stack = new ScenarioNode()) {
      final Server[] servers = {new Server(BOB, PORT), new Server(BOB, PORT + 1)};
      stack.services(family).putOutside(ID, frontend(family), PORT, TCP, 0, servers);
      stack.services(family).putTable(ID, 1, choices, servers);
      for (int flow = 0; flow < 50; flow++) {
        final boolean isFirst = backendOf(family, flow).equals(family.address(PEER));
        final IpPacket packet =
            toFrontend(family).tcp(CLIENT + flow, PORT).syn().to(ScenarioNode.DEVICE_MAC);
        assertEquals(
            isFirst ? PORT : PORT + 1, stack.fromNetwork(packet).parsed().destinationPort());
      }
    }
  }

  /** Removes what is kept of the flow of a client port, which must be there. */
  private void forgetFlow(Family family, int port) {
    final IpAddress client = IpAddress.parse(family.address(STRANGER));
    final IpAddress frontend = IpAddress.parse(frontend(family));
    final EntryBuffer flow = new EntryBuffer(node.map("balancer_flows"));
    new BalancerFlowKeyFlyweight()
        .wrap(flow.key(), 0)
        .client(client.isIpv4() ? 0 : client.high(), low(client))
        .frontend(frontend.isIpv4() ? 0 : frontend.high(), low(frontend))
        .clientPort(port)
        .frontendPort(PORT)
        .protocol(TCP);
    assertEquals(0, node.map("balancer_flows").delete(flow));
  }

  private static long low(IpAddress address) {
    return address.isIpv4() ? 0xffffL << 32 | address.low() & 0xffff_ffffL : address.low();
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheBackendOfAFlowWhenOthersCome(Family family) {
    serve(family, TCP, PEER);
    assertEquals(family.address(PEER), backendOf(family, 0));
    serve(family, TCP, FAR);
    assertEquals(family.address(PEER), backendOf(family, 0));
    assertEquals(family.address(FAR), backendOf(family, 1));
  }

  @ParameterizedTest
  @EnumSource
  void shouldMoveAFlowWhoseBackendGoesOrDoesNotAnswer(Family family) {
    for (final BackendState state :
        new BackendState[] {null, BackendState.QUARANTINED, BackendState.MAINTENANCE}) {
      serve(family, TCP, PEER);
      final int flow = state == null ? 0 : state.number();
      assertEquals(family.address(PEER), backendOf(family, flow));
      serve(family, TCP, FAR);
      node.services(family).state(ID, new Server(PEER, PORT), state);
      assertEquals(family.address(FAR), backendOf(family, flow));
      node.services(family).state(ID, new Server(PEER, PORT), BackendState.ACTIVE);
      assertEquals(family.address(FAR), backendOf(family, flow), "it stays there");
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveATerminatingBackendNoNewConnection(Family family) {
    serve(family, TCP, PEER);
    assertEquals(family.address(PEER), backendOf(family, 0));
    serve(family, TCP, FAR);
    node.services(family).state(ID, new Server(PEER, PORT), BackendState.TERMINATING);
    assertEquals(family.address(PEER), backendOf(family, 0));
    assertEquals(
        family.address(FAR),
        node.receive(toFrontend(family).tcp(CLIENT, PORT).syn()).backend(),
        "a new connection with the same tuple");
    assertEquals(family.address(FAR), backendOf(family, 0));
  }

  @ParameterizedTest
  @EnumSource
  void shouldForwardErrorsAboutPacketsOfTheBackendToIt(Family family) {
    serve(family, TCP, PEER);
    final String router = family == Family.IPV4 ? "198.51.100.99" : "2001:db8::99";
    final IpPacket answer =
        plain(frontend(family), family.address(STRANGER)).tcp(PORT, CLIENT).ack().payloadOf(900);
    final int type = family == Family.IPV4 ? 3 : 2;
    final IpPacket error =
        BalancerNode.received(router, frontend(family)).icmpError(type, 4, answer);
    node.receive(error).passes();
    assertEquals(family.address(PEER), backendOf(family, 0));
    serve(family, TCP, FAR);
    node.receive(error)
        .becomes(BalancerOutcome.TX, sentTo(family, PEER, BalancerNode.DEVICE, error.ttl(63)));
    final IpPacket other = plain("10.1.1.1", STRANGER.ipv4).tcp(PORT, CLIENT).ack();
    node.receive(
            BalancerNode.received("198.51.100.99", frontend(Family.IPV4)).icmpError(3, 4, other))
        .passes();
  }

  private static IpPacket plain(String source, String destination) {
    return source.contains(":")
        ? Packets.ipv6(source, destination)
        : Packets.ipv4(source, destination);
  }

  @ParameterizedTest
  @EnumSource
  void shouldAnswerPacketsThatDoNotFitTheRoute(Family family) {
    node.network().mtu(BalancerNode.DEVICE, 1400);
    serve(family, TCP, PEER);
    final int headers = family == Family.IPV4 ? 40 : 60;
    final int outerBytes = family == Family.IPV4 ? 20 : 40;
    final IpPacket fits =
        toFrontend(family)
            .mayNotBeSplit()
            .tcp(CLIENT, PORT)
            .ack()
            .payloadOf(1400 - outerBytes - headers);
    assertEquals(BalancerOutcome.TX, node.receive(fits).action());
    final IpPacket tooBig =
        toFrontend(family)
            .mayNotBeSplit()
            .tcp(CLIENT, PORT)
            .ack()
            .payloadOf(1401 - outerBytes - headers);
    final byte[] quoted = Arrays.copyOf(ipOf(tooBig.bytes()), 504);
    final byte[] body = new byte[4 + quoted.length];
    body[2] = (byte) (1400 - outerBytes >> 8);
    body[3] = (byte) (1400 - outerBytes);
    System.arraycopy(quoted, 0, body, 4, quoted.length);
    final IpPacket answer = plain(frontend(family), family.address(STRANGER)).ttl(64);
    final IpPacket error =
        family == Family.IPV4
            ? answer.mayNotBeSplit().id(0).icmp(3, 4, body)
            : answer.icmp(2, 0, body);
    node.receive(tooBig)
        .isAnsweredBy(error.from(BalancerNode.MAC).to(BalancerNode.ROUTER_MAC).bytes());
  }

  @Test
  void shouldDropWhatDoesNotFitAndMayBeFragmented() {
    node.network().mtu(BalancerNode.DEVICE, 1400);
    serve(Family.IPV4, UDP, PEER);
    node.receive(toFrontend(Family.IPV4).udp(CLIENT, PORT).payloadOf(1400))
        .dropsFor(DropReason.NOT_FORWARDABLE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropWhereTheRouteIsUnreachable(Family family) {
    node.network().route(PEER, "unreachable");
    serve(family, UDP, PEER);
    node.receive(toFrontend(family).udp(CLIENT, PORT)).dropsFor(DropReason.SERVICE_UNSERVED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveBackendsOfThisNodeToTheStackAlsoWhenOthersCome(Family family) {
    for (final ScenarioHost local : new ScenarioHost[] {ALICE, NODE}) {
      serve(family, TCP, local);
      node.receive(toFrontend(family).tcp(CLIENT + local.ordinal(), PORT).syn()).passes();
      serve(family, TCP, PEER);
      node.receive(toFrontend(family).tcp(CLIENT + local.ordinal(), PORT).ack()).passes();
      assertEquals(family.address(PEER), backendOf(family, 100 + local.ordinal()));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveBackendsOfAnotherPortToTheStack(Family family) {
    node.services(family)
        .putOutside(ID, frontend(family), PORT, TCP, 0, new Server(PEER, PORT + 1));
    node.receive(toFrontend(family).tcp(CLIENT, PORT).syn()).passes();
  }

  /** Flows that were sent to the backend before are still. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveServicesWithSnatToTheStack(Family family) {
    serve(family, TCP, PEER);
    assertEquals(family.address(PEER), backendOf(family, 0));
    final Server peer = new Server(PEER, PORT);
    for (final ServiceForwarding mode : ServiceForwarding.values()) {
      node.services(family).forward(mode).putOutside(ID, frontend(family), PORT, TCP, 0, peer);
      assertEquals(family.address(PEER), backendOf(family, 0));
      final int action =
          node.receive(toFrontend(family).tcp(CLIENT + mode.number() + 1, PORT).syn()).action();
      assertEquals(
          mode == ServiceForwarding.SNAT ? BalancerOutcome.PASS : BalancerOutcome.TX, action);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassWhatIsToNoServiceOrToOneWithoutBackends(Family family) {
    node.receive(toFrontend(family).tcp(CLIENT, PORT).syn()).passes();
    serve(family, TCP);
    node.receive(toFrontend(family).tcp(CLIENT, PORT).syn()).passes();
    serve(family, TCP, PEER);
    node.receive(toFrontend(family).tcp(CLIENT, PORT + 1).syn()).passes();
    node.receive(toFrontend(family).udp(CLIENT, PORT)).passes();
    node.receive(toFrontend(family).tcp(CLIENT, PORT).rst()).passes();
    node.receive(BalancerNode.received(family.address(ALICE), frontend(family)).tcp(CLIENT, PORT))
        .passes();
    assertEquals(family.address(PEER), backendOf(family, 0));
  }

  @ParameterizedTest
  @EnumSource
  void shouldServeThePortsOfTheNodesAddresses(Family family) {
    final String all = family == Family.IPV4 ? "0.0.0.0" : "::";
    node.services(family).putOutside(ID, all, PORT, UDP, 0, new Server(PEER, PORT));
    final IpPacket packet =
        BalancerNode.received(family.address(STRANGER), family.address(NODE)).udp(CLIENT, PORT);
    node.receive(packet)
        .becomes(BalancerOutcome.TX, sentTo(family, PEER, BalancerNode.DEVICE, packet.ttl(63)));
    node.receive(toFrontend(family).udp(CLIENT, PORT)).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassWhatItDoesNotParse(Family family) {
    serve(family, UDP, PEER);
    final int expiring = 1;
    node.receive(toFrontend(family).udp(CLIENT, PORT).ttl(expiring)).passes();
    node.receive(toFrontend(family).udp(CLIENT, PORT).vlan(5)).passes();
    node.receive(toFrontend(family).udp(CLIENT, PORT).to("02:00:00:00:00:21")).passes();
    node.receive(toFrontend(family).udp(CLIENT, PORT).to("ff:ff:ff:ff:ff:ff")).passes();
    node.receive(Family.slow(false, toFrontend(family).udp(CLIENT, PORT))).passes();
    if (family == Family.IPV4) {
      final int[] likePorts = {CLIENT >> 8, CLIENT & 0xff, PORT >> 8, PORT};
      node.receive(toFrontend(family).options(likePorts).udp(CLIENT, PORT)).passes();
    }
    for (final byte[] part : toFrontend(family).udp(CLIENT, PORT).payloadOf(900).fragments(512)) {
      node.receive(part).passes();
    }
    final byte[] whole = toFrontend(family).udp(CLIENT, PORT).payloadOf(64).bytes();
    for (int length = ETHERNET_BYTES; length < whole.length; length++) {
      node.receive(Arrays.copyOf(whole, length)).passes();
    }
    assertEquals(BalancerOutcome.TX, node.receive(whole).action());
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassAFamilyThatIsOff(Family family) {
    try (BalancerNode other = new BalancerNode(family != Family.IPV4, family != Family.IPV6)) {
      other.network().resolve(PEER, BalancerNode.DEVICE);
      for (final Family each : Family.values()) {
        other.services(each).putOutside(ID, frontend(each), PORT, UDP, 0, new Server(PEER, PORT));
        final BalancerOutcome outcome = other.receive(toFrontend(each).udp(CLIENT, PORT));
        assertEquals(each == family ? BalancerOutcome.PASS : BalancerOutcome.TX, outcome.action());
      }
    }
  }

  @Test
  void shouldPassWhileNoServiceIsReachableFromOutside() {
    serve(Family.IPV4, UDP, PEER);
    final EntryBuffer closed = new EntryBuffer(node.map("service_gate"));
    closed.value().putInt(0, ServiceGate.CLOSED.number());
    assertEquals(0, node.map("service_gate").update(closed, MapFlag.ANY));
    node.receive(toFrontend(Family.IPV4).udp(CLIENT, PORT)).passes();
  }

  /**
   * A backend whose address a workload of this node has got meanwhile is not sent to past policy.
   */
  @ParameterizedTest
  @EnumSource
  void shouldNotSendToTheInterfaceOfAWorkload(Family family) {
    serve(family, UDP, PEER);
    node.network().route(PEER, "dev " + ScenarioNetwork.name(ALICE.ifindex));
    node.network().resolve(PEER, ALICE.ifindex);
    final IpPacket packet = toFrontend(family).udp(CLIENT, PORT);
    assertEquals(BalancerOutcome.REDIRECT, node.receive(packet).action());
    try (InterfaceArray cells = new InterfaceArray(node.map("interfaces"))) {
      cells.set(InterfaceArray.index(ALICE.ifindex), InterfaceArray.cell(ALICE.ifindex, ALICE.id));
    }
    node.receive(packet).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheBackendOfAClientForItsAffinity(Family family) {
    final Server peer = new Server(PEER, PORT);
    final Server far = new Server(FAR, PORT);
    node.services(family).putOutside(ID, frontend(family), PORT, UDP, 600, peer, far);
    final String first = node.receive(toFrontend(family).udp(CLIENT, PORT)).backend();
    for (int flow = 1; flow < 30; flow++) {
      assertEquals(first, node.receive(toFrontend(family).udp(CLIENT + flow, PORT)).backend());
    }
  }
}
