package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.FrameMutator;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * No program is more permissive with a damaged packet than {@link NaiveHeaders} and the policy are:
 * the policy of a workload lets TCP 80, UDP 53 and echo requests pass to and from one peer.
 *
 * <p>{@code -Drandom.seed} repeats a run, {@code -Drandom.mutations} sets how many each program
 * meets.
 */
@KernelTest
class MutatedPacketKernelTest {
  private static final int MUTATIONS = Integer.getInteger("random.mutations", 100_000);
  private static final long SEED = Long.getLong("random.seed", 20261122L);
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final int SHORTEST = 14;
  private static final int MAC_BYTES = 6;

  private final ScenarioNode node = new ScenarioNode();
  private final FrameMutator mutator = new FrameMutator(SEED);
  private final Set<String> flows = new HashSet<>();
  private final Set<String> firstFragments = new HashSet<>();
  private int passed;
  private int dropped;

  @AfterEach
  void close() {
    node.close();
  }

  private void allow(Family family) {
    node.policyOf(ALICE)
        .allowTo(PEER, TCP, 80)
        .allowTo(PEER, UDP, 53)
        .allowTo(PEER, family.icmp(), family.echoRequestType())
        .allowFrom(PEER, TCP, 80)
        .allowFrom(PEER, UDP, 53)
        .allowFrom(PEER, family.icmp(), family.echoRequestType());
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassNoMutatedPacketOfAWorkloadThatPolicyDenies(Family family) {
    allow(family);
    check("from_endpoint", packets(family, ALICE, PEER));
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassNoMutatedPacketToAWorkloadThatPolicyDenies(Family family) {
    allow(family);
    check("to_endpoint", packets(family, PEER, ALICE));
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassNoHeaderThatIsCutAtAnyByte(Family family) {
    allow(family);
    for (final byte[] frame : packets(family, ALICE, PEER)) {
      for (int length = SHORTEST; length <= frame.length; length++) {
        meet("from_endpoint", Arrays.copyOf(frame, length));
        meet("from_endpoint", withLength(Arrays.copyOf(frame, length), family));
      }
    }
    for (final byte[] frame : packets(family, PEER, ALICE)) {
      for (int length = SHORTEST; length <= frame.length; length++) {
        meet("to_endpoint", Arrays.copyOf(frame, length));
        meet("to_endpoint", withLength(Arrays.copyOf(frame, length), family));
      }
    }
    checkThatBothHappened();
  }

  /** The IP header has the length of the cut packet: it ends within a header. */
  private static byte[] withLength(byte[] frame, Family family) {
    final int at = SHORTEST + (family == Family.IPV4 ? 2 : 4);
    final int bytes = frame.length - SHORTEST - (family == Family.IPV4 ? 0 : 40);
    if (at + 1 < frame.length && bytes >= 0) {
      frame[at] = (byte) (bytes >>> 8);
      frame[at + 1] = (byte) bytes;
    }
    return frame;
  }

  @ParameterizedTest
  @EnumSource
  void shouldDeliverNoMutatedPacketOfTheNetworkButThoseOfFlows(Family family) {
    node.routed();
    allow(family);
    final IpPacket own = family.packet(ALICE, PEER).tcp(40000, 80).syn();
    node.fromWorkload(ALICE, own).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    final List<byte[]> replies = new ArrayList<>(packets(family, PEER, ALICE));
    replies.addAll(packets(family, BOB, ALICE));
    replies.addAll(packets(family, HOST, ALICE));
    for (int i = 0; i < 10; i++) {
      replies.add(network(family).tcp(80, 40000).ack().payload("hello").bytes());
      replies.add(network(family).udp(53, 40000).payload("hello").bytes());
    }
    replies.forEach(frame -> Arrays.fill(frame, 0, MAC_BYTES, (byte) 0)); // as of DEVICE_MAC
    node.network()
        .call(
            () -> {
              meetFromNetwork(family, replies);
              return null;
            });
    checkThatBothHappened();
  }

  private void meetFromNetwork(Family family, List<byte[]> replies) {
    final Set<String> local = Set.of(hex(family, ALICE), hex(family, BOB), hex(family, HOST));
    for (int i = 0; i < MUTATIONS; i++) {
      final byte[] frame = mutator.mutate(replies.get(i % replies.size()));
      final int action = node.actionOf("from_network", ALICE, frame);
      if (action == ScenarioNode.REFUSED) {
        continue;
      }
      final NaiveHeaders headers = NaiveHeaders.of(frame);
      if (action == Outcome.REDIRECT) {
        assertTrue(isOfFlow(headers, family), () -> describe("from_network", frame));
        passed++;
      } else if (action == Outcome.SHOT) {
        dropped++;
      }
      final boolean isToDevice =
          Arrays.equals(frame, 0, MAC_BYTES, new byte[MAC_BYTES], 0, MAC_BYTES);
      final boolean isForged = isToDevice && headers != null && local.contains(headers.source());
      assertTrue(!isForged || action == Outcome.SHOT, () -> describe("from_network", frame));
    }
  }

  private static IpPacket network(Family family) {
    return family.packet(PEER, ALICE);
  }

  private static boolean isOfFlow(NaiveHeaders headers, Family family) {
    return headers != null
        && !headers.isLater()
        && !headers.isFirst()
        && headers.source().equals(hex(family, PEER))
        && headers.destination().equals(hex(family, ALICE))
        && headers.destinationPort() == 40000
        && (headers.protocol() == TCP && headers.sourcePort() == 80
            || headers.protocol() == UDP && headers.sourcePort() == 53);
  }

  private void check(String program, List<byte[]> packets) {
    for (final byte[] frame : packets) {
      meet(program, frame);
    }
    for (int i = 0; i < MUTATIONS; i++) {
      meet(program, mutator.mutate(packets.get(i % packets.size())));
    }
    checkThatBothHappened();
  }

  private void checkThatBothHappened() {
    System.out.printf("random.seed=%d: %d passed, %d dropped%n", SEED, passed, dropped);
    assertTrue(passed > 100 && dropped > 1000, passed + " passed, " + dropped + " dropped");
  }

  private void meet(String program, byte[] frame) {
    final int action = node.actionOf(program, ALICE, frame);
    if (action == ScenarioNode.REFUSED || action == Outcome.SHOT) {
      dropped += action == Outcome.SHOT ? 1 : 0;
      return;
    }
    passed++;
    final boolean isSent = program.equals("from_endpoint");
    if (!isSent && frame[12] == 8 && frame[13] == 6) {
      return; // ARP of the node is passed as it is
    }
    assertTrue(mayPass(frame, isSent), () -> describe(program, frame));
    final NaiveHeaders headers = NaiveHeaders.of(frame);
    if (headers.isFirst()) {
      firstFragments.add(headers.datagram());
    }
    if (!headers.isLater()) {
      flows.add(headers.tuple());
    }
  }

  private boolean mayPass(byte[] frame, boolean isSent) {
    final NaiveHeaders headers = NaiveHeaders.of(frame);
    if (headers == null) {
      return false;
    }
    final Family family = headers.isIpv4() ? Family.IPV4 : Family.IPV6;
    if (headers.isLater()) {
      return firstFragments.contains(headers.datagram());
    }
    if (headers.isLinkControl()) {
      return headers.hopLimit() == 255 && (headers.type() == 135 || headers.type() == 136);
    }
    final boolean isBetweenBoth =
        isSent
            ? headers.source().equals(hex(family, ALICE))
                && headers.destination().equals(hex(family, PEER))
            : headers.source().equals(hex(family, PEER));
    if (headers.isEchoOfNumberZero() && flows.contains(headers.tuple())) {
      return true; // as identifier 0 is also no identifier, requests and replies have one tuple
    }
    if (headers.isError()) {
      final NaiveHeaders quoted = headers.quoted();
      return quoted != null
          && !quoted.isLater()
          && quoted.source().equals(headers.destination())
          && flows.contains(quoted.reversed());
    }
    return isBetweenBoth
        && (headers.protocol() == TCP && headers.destinationPort() == 80
            || headers.protocol() == UDP && headers.destinationPort() == 53
            || headers.isIcmp() && headers.type() == family.echoRequestType());
  }

  private static String describe(String program, byte[] frame) {
    return "random.seed=%d: %s passes %s".formatted(SEED, program, HexFormat.of().formatHex(frame));
  }

  private static String hex(Family family, ScenarioHost host) {
    final byte[] address = Packets.address(family.address(host), family == Family.IPV4 ? 4 : 16);
    return HexFormat.of().formatHex(address);
  }

  /** Packets of each kind that the programs read; some of them policy allows. */
  private static List<byte[]> packets(Family family, ScenarioHost from, ScenarioHost to) {
    final IpPacket reply = family.packet(to, from).tcp(80, 40000).ack();
    final List<byte[]> packets = new ArrayList<>();
    packets.add(family.packet(from, to).tcp(40000, 80).syn().payload("hello").bytes());
    packets.add(family.packet(from, to).tcp(40000, 81).syn().payload("hello").bytes());
    packets.add(family.packet(from, to).tcp(40000, 80).ack().payload("hello").bytes());
    packets.add(family.packet(from, to).udp(40000, 53).payload("hello").bytes());
    packets.add(family.packet(from, to).udp(40000, 54).payload("hello").bytes());
    packets.add(family.packet(from, to).sctp(40000, 80).payload("hello world").bytes());
    packets.add(family.packet(from, to).echoRequest(7, 1).bytes());
    packets.add(family.packet(from, to).echoReply(8, 1).bytes());
    packets.add(family.packet(from, to).icmp(family.timestampType(), 0, new byte[12]).bytes());
    packets.add(family.packet(from, to).icmpError(family.unreachableType(), 1, reply).bytes());
    packets.add(family.packet(from, to).protocol(47).payloadOf(24).bytes());
    packets.addAll(family.packet(from, to).id(3).udp(40000, 53).payloadOf(90).fragments(48));
    packets.addAll(family.packet(from, to).id(4).udp(40000, 54).payloadOf(90).fragments(48));
    packets.addAll(family.packet(from, to).id(5).tcp(40000, 80).syn().payloadOf(90).fragments(48));
    if (family == Family.IPV4) {
      packets.add(family.packet(from, to).options(7, 7, 4, 0, 0, 0, 0, 0).udp(40000, 53).bytes());
    } else {
      packets.add(
          family
              .packet(from, to)
              .extension(IpPacket.HOP_BY_HOP, 1)
              .extension(IpPacket.ROUTING, 2)
              .extension(IpPacket.AUTHENTICATION, 2)
              .extension(IpPacket.DESTINATION_OPTIONS, 1)
              .udp(40000, 53)
              .bytes());
    }
    return packets;
  }
}
