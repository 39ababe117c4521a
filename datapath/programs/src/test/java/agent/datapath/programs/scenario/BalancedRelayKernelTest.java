package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.ScenarioNetwork.OTHER_DEVICE;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.ProgramTestRun;
import agent.bindings.net.NetworkDevice;
import agent.datapath.programs.scenario.Flows.Flow;
import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.kernel.MetricsMap;
import agent.maps.layout.BalancerConfigFlyweight;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.ServiceForwarding;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.ParsedPacket;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Packets of flows that a node relays at a device with the load balancer: the program of the stack
 * opens the flows, the balancer translates what is plain.
 */
@KernelTest
class BalancedRelayKernelTest {
  private static final int ID = 7;
  private static final int PORT = 30080;
  private static final int SERVED = 8080;
  private static final int CLIENT = 40000;
  private static final String ROUTER_MAC = "02:00:00:00:07:07";
  private static final String NEXT_HOP_MAC = "02:00:00:00:99:01";
  private static final int ETHERNET = 14;
  private static final int[] PROTOCOLS = {TCP, UDP};
  private static final Server PEERS = new Server(PEER, SERVED);

  private final ScenarioNode node =
      new ScenarioNode().withoutPolicy().routed().masquerade(DEVICE, NODE);
  private final ProgramTestRun run = new ProgramTestRun(5000);
  private BpfObject balancer;

  @BeforeEach
  void load() {
    for (final ScenarioHost host : List.of(PEER, FAR, STRANGER)) {
      node.network().resolve(host, DEVICE);
    }
    balancer =
        node.load(
            "balancer",
            object ->
                new BalancerConfigFlyweight()
                    .wrap(object.constant("balancer_config"), 0)
                    .clear()
                    .enableIpv4(1)
                    .enableIpv6(1)
                    .source4(NODE.ipv4Number())
                    .source6(NODE.ipv6High(), NODE.ipv6Low()));
  }

  @AfterEach
  void close() {
    run.close();
    node.close();
  }

  private byte[] balanced(int action, byte[] frame) {
    run.input(frame);
    assertEquals(
        0,
        node.network()
            .<Integer>call(
                () -> run.runXdp(balancer.program("balancer"), frame.length, DEVICE, 1)));
    assertEquals(action, run.returnValue());
    return run.output().toArray(ValueLayout.JAVA_BYTE);
  }

  private void passes(IpPacket packet) {
    final byte[] frame = packet.bytes();
    assertArrayEquals(frame, balanced(BalancerOutcome.PASS, frame));
  }

  private void becomes(IpPacket wanted, IpPacket packet) {
    final byte[] frame = balanced(BalancerOutcome.TX, packet.bytes());
    final byte[] expected = wanted.ttl(63).to(NEXT_HOP_MAC).from(macOf(DEVICE)).bytes();
    assertArrayEquals(expected, frame);
    assertTrue(ParsedPacket.of(frame).checksumsAreRight());
  }

  private String macOf(int ifindex) {
    final long mac = node.network().call(() -> NetworkDevice.hardwareAddress(ifindex));
    final StringBuilder text = new StringBuilder();
    for (int shift = 40; shift >= 0; shift -= Byte.SIZE) {
      text.append(text.isEmpty() ? "" : ":").append("%02x".formatted(mac >> shift & 0xff));
    }
    return text.toString();
  }

  private void serve(Family family, ScenarioHost frontend, int protocol) {
    node.services(family)
        .forward(ServiceForwarding.SNAT)
        .putOutside(ID, family.address(frontend), PORT, protocol, 0, PEERS);
  }

  private static IpPacket packet(
      Family family, ScenarioHost from, ScenarioHost to, int protocol, int fromPort, int toPort) {
    final IpPacket packet = family.packet(from, to).mayNotBeSplit().payload("short");
    return Family.ports(packet, protocol, fromPort, toPort).from(ROUTER_MAC).to(DEVICE_MAC);
  }

  private static IpPacket query(Family family, int protocol) {
    return packet(family, FAR, NODE, protocol, CLIENT, PORT);
  }

  private static IpPacket relayed(Family family, int protocol) {
    return packet(family, NODE, PEER, protocol, CLIENT, SERVED);
  }

  private static IpPacket answer(Family family, int protocol) {
    return packet(family, PEER, NODE, protocol, SERVED, CLIENT);
  }

  private static IpPacket shown(Family family, int protocol) {
    return packet(family, NODE, FAR, protocol, PORT, CLIENT);
  }

  /** Opens a flow, and lets the balancer know of its answers, as it does within about a second. */
  private void open(Family family, int protocol) {
    serve(family, NODE, protocol);
    passes(query(family, protocol));
    node.fromNetwork(query(family, protocol));
    node.fromNetwork(answer(family, protocol));
    passes(answer(family, protocol)); // is not known yet
    expireSoon(family, protocol);
    becomes(relayed(family, protocol), query(family, protocol));
  }

  private void expireSoon(Family family, int protocol) {
    final Duration soon = Duration.ofSeconds(9);
    node.flows().expireAfter(soon, family, FAR, CLIENT, NODE, PORT, protocol);
    node.flows().expireAfter(soon, family, NODE, CLIENT, PEER, SERVED, protocol);
  }

  private List<Flow> entries(Family family, int protocol) {
    return List.of(
        node.flows().find(family, FAR, CLIENT, NODE, PORT, protocol),
        node.flows().find(family, NODE, CLIENT, PEER, SERVED, protocol));
  }

  /** Either order of each tuple, and checksums of any value. */
  @ParameterizedTest
  @EnumSource
  void shouldTranslateInBothDirections(Family family) {
    for (final int protocol : PROTOCOLS) {
      for (final ScenarioHost frontend : List.of(NODE, HOST)) {
        serve(family, frontend, protocol);
        for (final ScenarioHost client : List.of(FAR, STRANGER)) {
          final IpPacket query = packet(family, client, frontend, protocol, CLIENT, PORT);
          final IpPacket answer = answer(family, protocol);
          passes(query);
          node.fromNetwork(query);
          node.fromNetwork(answer);
          node.flows()
              .expireAfter(Duration.ofSeconds(9), family, client, CLIENT, frontend, PORT, protocol);
          for (int i = 0; i < 3; i++) {
            becomes(relayed(family, protocol), query);
            becomes(packet(family, frontend, client, protocol, PORT, CLIENT), answer);
          }
          node.flows().delete(family, client, CLIENT, frontend, PORT, protocol);
          node.flows().delete(family, NODE, CLIENT, PEER, SERVED, protocol);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepChecksumsRightForAnyPayload(Family family) {
    for (final int protocol : PROTOCOLS) {
      open(family, protocol);
      for (int i = 0; i < 200; i++) {
        final byte[] payload = {(byte) (i * 7), (byte) (i * 31), (byte) i, (byte) (255 - i)};
        becomes(
            relayed(family, protocol).payload(payload), query(family, protocol).payload(payload));
        becomes(
            shown(family, protocol).payload(payload), answer(family, protocol).payload(payload));
      }
    }
  }

  @Test
  void shouldLeaveUdpWithoutAChecksumWithout() {
    open(Family.IPV4, UDP);
    final byte[] frame = query(Family.IPV4, UDP).bytes();
    frame[40] = 0;
    frame[41] = 0;
    final byte[] sent = balanced(BalancerOutcome.TX, frame);
    assertEquals(0, sent[40] | sent[41]);
  }

  /** Two clients use one number; the program of the stack and the balancer count together. */
  @Test
  void shouldCountTheWholeDatagramsThatMayBeSplit() {
    serve(Family.IPV4, NODE, UDP);
    final Set<Integer> used = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      for (final ScenarioHost client : List.of(FAR, STRANGER)) {
        final byte[] query =
            Family.IPV4
                .packet(client, NODE)
                .id(77)
                .from(ROUTER_MAC)
                .to(DEVICE_MAC)
                .udp(CLIENT, PORT)
                .payloadOf(i)
                .bytes();
        final byte[] sent =
            i % 10 == 0 ? node.fromNetwork(query).frame() : balanced(BalancerOutcome.TX, query);
        assertTrue(ParsedPacket.of(sent).checksumsAreRight());
        assertEquals(NODE.ipv4, ParsedPacket.of(sent).source());
        assertTrue(used.add(ByteBuffer.wrap(sent).getShort(18) & 0xffff), used.toString());
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRefreshBothEntriesAsTheStackDoes(Family family) {
    for (final int protocol : PROTOCOLS) {
      open(family, protocol);
      final Duration lifetime = Duration.ofSeconds(protocol == TCP ? 21_000 : 50);
      for (final Flow entry : entries(family, protocol)) {
        assertTrue(entry.lifetime().compareTo(lifetime) > 0, entry.toString());
      }
      expireSoon(family, protocol);
      becomes(shown(family, protocol), answer(family, protocol));
      for (final Flow entry : entries(family, protocol)) {
        assertTrue(entry.lifetime().compareTo(lifetime) > 0, entry.toString());
        assertTrue(entry.has(ConntrackFlag.SEEN_REPLY), entry.toString());
      }
    }
  }

  /** Of a client whose other entry the kernel has evicted: its next packet opens both again. */
  @ParameterizedTest
  @EnumSource
  void shouldEndAFlowWhoseOtherEntryIsGone(Family family) {
    open(family, UDP);
    node.flows().delete(family, NODE, CLIENT, PEER, SERVED, UDP);
    node.flows().expireAfter(Duration.ofSeconds(9), family, FAR, CLIENT, NODE, PORT, UDP);
    becomes(relayed(family, UDP), query(family, UDP));
    passes(query(family, UDP));
    node.fromNetwork(query(family, UDP)).leavesAs(relayed(family, UDP));
    becomes(relayed(family, UDP), query(family, UDP));
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveWhatIsSpecialToTheStack(Family family) {
    for (final int protocol : PROTOCOLS) {
      open(family, protocol);
      passes(query(family, protocol).ttl(1));
      passes(answer(family, protocol).ttl(1));
      passes(query(family, protocol).payloadOf(1473)); // does not fit
      passes(Family.slow(false, query(family, protocol)));
      for (final byte[] part : query(family, protocol).payloadOf(900).fragments(512)) {
        assertArrayEquals(part, balanced(BalancerOutcome.PASS, part));
      }
      final byte[] whole = query(family, protocol).payloadOf(64).bytes();
      for (int length = 14; length < whole.length; length++) {
        final byte[] cut = Arrays.copyOf(whole, length);
        assertArrayEquals(cut, balanced(BalancerOutcome.PASS, cut));
      }
    }
    passes(query(family, TCP).fin());
    passes(query(family, TCP).rst());
    passes(answer(family, TCP).syn());
    passes(packet(family, FAR, NODE, TCP, CLIENT, PORT).syn());
    serve(family, NODE, SCTP);
    passes(packet(family, FAR, NODE, SCTP, CLIENT, PORT));
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveWhatDoesNotHoldToTheStack(Family family) {
    open(family, UDP);
    node.raiseGeneration(0);
    passes(query(family, UDP)); // whether the backend is kept
    becomes(shown(family, UDP), answer(family, UDP));
    node.fromNetwork(query(family, UDP)).leavesAs(relayed(family, UDP));
    becomes(relayed(family, UDP), query(family, UDP));
    node.flows().expireAfter(Duration.ofSeconds(-1), family, FAR, CLIENT, NODE, PORT, UDP);
    node.flows().expireAfter(Duration.ofSeconds(-1), family, NODE, CLIENT, PEER, SERVED, UDP);
    passes(query(family, UDP));
    passes(answer(family, UDP));
  }

  /** Whether another device sends for XDP is not known; the program of the stack learns routes. */
  @ParameterizedTest
  @EnumSource
  void shouldSendByItsOwnDeviceThatIsResolvedOnly(Family family) {
    open(family, UDP);
    node.masquerade(OTHER_DEVICE, NODE);
    node.network().route(PEER, "dev " + ScenarioNetwork.name(OTHER_DEVICE));
    node.network().resolve(PEER, OTHER_DEVICE);
    passes(query(family, UDP));
    assertEquals(OTHER_DEVICE, deviceByTheStack(family));
    passes(query(family, UDP));
    node.network().route(PEER, "dev " + ScenarioNetwork.name(DEVICE));
    passes(query(family, UDP));
    assertEquals(DEVICE, deviceByTheStack(family));
    becomes(relayed(family, UDP), query(family, UDP));
    node.network().forget(PEER, DEVICE);
    passes(query(family, UDP));
  }

  /** The bytes of frames, as at tc. */
  @ParameterizedTest
  @EnumSource
  void shouldCountTheBytesOfFrames(Family family) {
    open(family, UDP);
    final MetricsMap metrics = new MetricsMap(node.map("metrics"));
    final int network = MetricsDirection.NETWORK.number();
    assertEquals(0, metrics.refresh());
    final long before = metrics.bytes(network, DropReason.NONE.number());
    becomes(relayed(family, UDP), query(family, UDP));
    assertEquals(0, metrics.refresh());
    assertEquals(
        query(family, UDP).bytes().length,
        metrics.bytes(network, DropReason.NONE.number()) - before);
  }

  /** The route of another traffic class leads elsewhere. */
  @ParameterizedTest
  @EnumSource
  void shouldSendByTheRouteOfTheTrafficClass(Family family) {
    open(family, UDP);
    node.masquerade(OTHER_DEVICE, NODE);
    node.network().resolve(PEER, OTHER_DEVICE);
    node.network().routeByClass(0x10, PEER, OTHER_DEVICE);
    becomes(relayed(family, UDP), query(family, UDP));
    passes(query(family, UDP).trafficClass(0x10));
    becomes(relayed(family, UDP), query(family, UDP));
  }

  /** Refreshes the flow by the program of the stack; returns the device by which it sends. */
  private int deviceByTheStack(Family family) {
    expireSoon(family, UDP);
    node.fromNetwork(query(family, UDP));
    return entries(family, UDP).getFirst().responderId();
  }

  /**
   * As those of GRO, and of a namespace on this host: the kernel completes them when they leave.
   */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveChecksumsThatAreNotCompleteToTheStack(Family family) {
    for (final int protocol : PROTOCOLS) {
      open(family, protocol);
      for (int bytes = 0; bytes < 100; bytes += 7) {
        for (final IpPacket packet :
            List.of(
                query(family, protocol).payloadOf(bytes),
                answer(family, protocol).payloadOf(bytes))) {
          final byte[] frame = packet.bytes();
          incomplete(family, protocol, frame);
          assertArrayEquals(frame, balanced(BalancerOutcome.PASS, frame));
        }
      }
    }
  }

  /** Sets the sum of the pseudo header as the checksum of a packet: RFC 9293, RFC 8200. */
  private static void incomplete(Family family, int protocol, byte[] frame) {
    final boolean isIpv4 = family == Family.IPV4;
    final int l4 = ETHERNET + (isIpv4 ? 20 : 40);
    final ByteBuffer packet = ByteBuffer.wrap(frame);
    int sum = protocol + frame.length - l4;
    for (int at = isIpv4 ? l4 - 8 : l4 - 32; at < l4; at += Short.BYTES) {
      sum += packet.getShort(at) & 0xffff;
    }
    sum = (sum & 0xffff) + (sum >> 16);
    packet.putShort(l4 + (protocol == TCP ? 16 : 6), (short) ((sum & 0xffff) + (sum >> 16)));
  }

  /** Their lengths: of IP, and of the TCP header. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveHeadersThatAreNotWholeToTheStack(Family family) {
    final boolean isIpv4 = family == Family.IPV4;
    final int l4 = ETHERNET + (isIpv4 ? 20 : 40);
    for (final int protocol : PROTOCOLS) {
      open(family, protocol);
      final int header = protocol == TCP ? 20 : 8;
      for (int bytes = 0; bytes < header; bytes++) {
        final byte[] frame = query(family, protocol).payloadOf(64).bytes();
        frame[ETHERNET + (isIpv4 ? 3 : 5)] = (byte) (isIpv4 ? 20 + bytes : bytes);
        if (isIpv4) {
          correctChecksum(frame);
        }
        assertArrayEquals(frame, balanced(BalancerOutcome.PASS, frame), "bytes " + bytes);
      }
    }
    for (final int words : new int[] {0, 4, 8}) {
      final byte[] frame = query(family, TCP).payloadOf(0).bytes();
      frame[l4 + 12] = (byte) (words << 4);
      assertArrayEquals(frame, balanced(BalancerOutcome.PASS, frame), "words " + words);
    }
  }

  /** Writes the checksum of an IPv4 header without options (RFC 791). */
  private static void correctChecksum(byte[] frame) {
    final ByteBuffer header = ByteBuffer.wrap(frame, ETHERNET, 20).slice();
    header.putShort(10, (short) 0);
    int sum = 0;
    for (int i = 0; i < 20; i += 2) {
      sum += header.getShort(i) & 0xffff;
    }
    sum = (sum & 0xffff) + (sum >> 16);
    header.putShort(10, (short) ~((sum & 0xffff) + (sum >> 16)));
  }

  /** Which the program of the stack sends, too. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveFlowsOfDirectReturnThatTheStackHasToIt(Family family) {
    final Server same = new Server(PEER, PORT);
    node.services(family)
        .forward(ServiceForwarding.SNAT)
        .putOutside(ID, family.address(NODE), PORT, UDP, 0, same);
    passes(query(family, UDP));
    node.services(family)
        .forward(ServiceForwarding.DSR)
        .putOutside(ID, family.address(NODE), PORT, UDP, 0, same);
    assertEquals(Outcome.REDIRECT, node.fromNetwork(query(family, UDP)).action());
    passes(query(family, UDP));
  }
}
