package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Packets with malformed headers are dropped. */
@KernelTest
class MalformedKernelTest {
  private static final int ETHERNET_BYTES = 14;
  private static final long SEED = 20261120;

  private final ScenarioNode node = new ScenarioNode().withoutPolicy();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropEveryTruncationOfAValidPacket(Family family) {
    // BPF_PROG_TEST_RUN refuses frames without a complete IP header.
    final int shortest = ETHERNET_BYTES + (family == Family.IPV4 ? 20 : 40);
    final IpPacket[] packets = {
      family.packet(ALICE, BOB).tcp(40000, 80).syn().payload("hello"),
      family.packet(ALICE, BOB).udp(40000, 80).payload("hello"),
      family.packet(ALICE, BOB).echoRequest(7, 1),
      family.packet(ALICE, BOB).sctp(40000, 80).payload("hello world"),
    };
    for (final IpPacket packet : packets) {
      final byte[] whole = packet.bytes();
      node.fromWorkload(ALICE, whole).reaches(BOB);
      for (int length = shortest; length < whole.length; length++) {
        node.fromWorkload(ALICE, Arrays.copyOf(whole, length)).dropsFor(DropReason.MALFORMED);
        assertEquals(Outcome.SHOT, node.toWorkload(BOB, Arrays.copyOf(whole, length)).action());
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropHeadersThatContradictThemselves(Family family) {
    final int ip = ETHERNET_BYTES;
    final int tcp = ip + (family == Family.IPV4 ? 20 : 40);
    final byte[] valid = family.packet(ALICE, BOB).tcp(40000, 80).syn().payload("hello").bytes();
    node.fromWorkload(ALICE, with(valid, ip, 0x55)).dropsFor(DropReason.MALFORMED);
    node.fromWorkload(ALICE, with(valid, tcp + 12, 0x40)).dropsFor(DropReason.MALFORMED);
    node.fromWorkload(ALICE, with(valid, tcp + 12, 0xf0)).dropsFor(DropReason.MALFORMED);
    if (family == Family.IPV4) {
      node.fromWorkload(ALICE, with(valid, ip, 0x44)).dropsFor(DropReason.MALFORMED);
      node.fromWorkload(ALICE, with(valid, ip + 3, 19)).dropsFor(DropReason.MALFORMED);
      node.fromWorkload(ALICE, with(valid, ip + 3, 39)).dropsFor(DropReason.MALFORMED);
      node.fromWorkload(ALICE, with(valid, ip + 3, 0)).dropsFor(DropReason.MALFORMED);
      node.fromWorkload(ALICE, with(valid, ip + 2, 1)).dropsFor(DropReason.MALFORMED);
    } else {
      node.fromWorkload(ALICE, with(valid, ip + 5, 19)).dropsFor(DropReason.MALFORMED);
      node.fromWorkload(ALICE, with(valid, ip + 5, 0)).dropsFor(DropReason.MALFORMED);
      node.fromWorkload(ALICE, with(valid, ip + 4, 1)).dropsFor(DropReason.MALFORMED);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldIgnoreTrailingPadding(Family family) {
    final byte[] valid = family.packet(ALICE, BOB).udp(40000, 80).bytes();
    node.fromWorkload(ALICE, Arrays.copyOf(valid, valid.length + 20));
    final byte[] cut = family.packet(ALICE, BOB).protocol(17).payload(new byte[7]).bytes();
    node.fromWorkload(ALICE, Arrays.copyOf(cut, cut.length + 20)).dropsFor(DropReason.MALFORMED);
  }

  /** The frame is longer than the packet, so that only the length in the IP header is short. */
  @ParameterizedTest
  @EnumSource
  void shouldDropLayer4HeadersThatThePacketDoesNotHold(Family family) {
    final int[][] headers = {{6, 20}, {17, 8}, {132, 12}, {family.icmp(), 8}};
    for (final int[] header : headers) {
      for (int length = 0; length < header[1]; length++) {
        final byte[] payload = new byte[length];
        if (length > 12) {
          payload[12] = 0x50;
        }
        final byte[] frame = family.packet(ALICE, BOB).protocol(header[0]).payload(payload).bytes();
        final byte[] padded = Arrays.copyOf(frame, frame.length + 40);
        node.fromWorkload(ALICE, padded).dropsFor(DropReason.MALFORMED);
      }
    }
  }

  @Test
  void shouldNeverPassRandomBytes() {
    final Random random = new Random(SEED);
    final Set<Integer> actions = Set.of(Outcome.SHOT);
    for (int i = 0; i < 2000; i++) {
      final byte[] payload = new byte[random.nextInt(120)];
      random.nextBytes(payload);
      final int etherType = random.nextInt(0x10000);
      final byte[] frame = Packets.frame(ALICE.hostMac(), ALICE.mac(), etherType, payload);
      final int action = node.actionFor(ALICE, frame);
      assertTrue(actions.contains(action), "seed " + SEED + ", round " + i + ": " + action);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotForwardPacketsWithDamagedIpHeaders(Family family) {
    final Random random = new Random(SEED);
    final byte[][] valid = {
      family.packet(ALICE, PEER).tcp(40000, 80).syn().payload("hello").bytes(),
      family.packet(ALICE, PEER).udp(40000, 80).payload("hello").bytes(),
      family
          .packet(ALICE, PEER)
          .icmpError(family.unreachableType(), 1, family.packet(PEER, ALICE).tcp(80, 40000).ack())
          .bytes(),
      family.packet(ALICE, PEER).id(3).udp(40000, 80).payloadOf(900).fragments(512).get(1),
    };
    for (int i = 0; i < 4000; i++) {
      final byte[] frame = valid[i % valid.length].clone();
      for (int damaged = random.nextInt(4); damaged >= 0; damaged--) {
        final int at =
            ETHERNET_BYTES + random.nextInt(Math.min(frame.length, 110) - ETHERNET_BYTES);
        frame[at] = (byte) random.nextInt(256);
      }
      final int action = node.actionFor(ALICE, frame);
      final boolean whole = hasValidIpHeader(frame, family);
      assertTrue(
          action == Outcome.SHOT || whole,
          () -> "passed without a valid IP header: " + Arrays.toString(frame));
    }
  }

  /** Returns whether version and lengths of the IP header are consistent with the frame. */
  private static boolean hasValidIpHeader(byte[] frame, Family family) {
    final int version = (frame[ETHERNET_BYTES] & 0xf0) >> 4;
    final int ipBytes = frame.length - ETHERNET_BYTES;
    if (family == Family.IPV6) {
      final int payload = (frame[18] & 0xff) << 8 | frame[19] & 0xff;
      return version == 6 && payload <= ipBytes - 40;
    }
    final int header = (frame[ETHERNET_BYTES] & 0x0f) * 4;
    final int total = (frame[16] & 0xff) << 8 | frame[17] & 0xff;
    return version == 4 && header >= 20 && total >= header && total <= ipBytes;
  }

  private static byte[] with(byte[] frame, int offset, int value) {
    final byte[] changed = frame.clone();
    changed[offset] = (byte) value;
    return changed;
  }
}
