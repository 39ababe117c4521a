package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Nat46Packets.CLIENT;
import static agent.datapath.programs.scenario.Nat46Packets.of;
import static agent.datapath.programs.scenario.Nat46Packets.received;
import static agent.datapath.programs.scenario.Nat46Packets.sent;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfLink;
import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.PacketCapture;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * IPv4 packets that do not fit the interface of a workload as IPv6 reach it in two fragments. The
 * first is a clone, which meets to_endpoint at the device of BPF_PROG_TEST_RUN and comes out of it.
 */
@KernelTest(since = "6.6")
class Nat46SplitKernelTest {
  private static final int ID = 0x1234;
  private static final int ETHERTYPE_IPV6 = 0x86dd;
  private static final int HEADERS = 14 + 40;
  private static final int WAIT_MS = 2000;
  private static final int SILENCE_MS = 50;

  private final ScenarioNode node = new ScenarioNode().nat46().withoutPolicy().routed();
  private PacketCapture capture;
  private BpfLink link;

  @BeforeEach
  void open() {
    capture = node.network().capture(ETHERTYPE_IPV6, ALICE);
    for (final String kind : new String[] {"tcp", "udp", "echo"}) {
      final IpPacket packet = of(kind, sent(ALICE, PEER), 1, false);
      assertEquals(Outcome.PASS, node.fromWorkload(ALICE, packet).action());
    }
  }

  private void limit(int mtu) {
    link = node.limit(ALICE, mtu);
  }

  @AfterEach
  void close() {
    link.close();
    capture.close();
    node.close();
  }

  private static IpPacket ipv4() {
    return Family.IPV4.packet(PEER, ALICE).id(ID);
  }

  /** What follows the header of IPv6 in the packet of the whole datagram. */
  private static byte[] datagram(String kind, int bytes) {
    final byte[] whole = of(kind, received(PEER, ALICE), bytes, true).bytes();
    return Arrays.copyOfRange(whole, HEADERS, whole.length);
  }

  /** A fragment of it. */
  private static byte[] piece(String kind, byte[] datagram, int begin, int end, boolean more) {
    final int protocol = kind.equals("tcp") ? 6 : kind.equals("udp") ? 17 : 58;
    return received(PEER, ALICE)
        .id(ID)
        .protocol(protocol)
        .payload(Arrays.copyOfRange(datagram, begin, end))
        .fragment(begin, more)
        .bytes();
  }

  /** Asserts that the workload gets a packet in two fragments. */
  private void arrivesAs(byte[] frame, byte[] first, byte[] second) {
    node.toWorkload(ALICE, frame).passesAs(second);
    assertArrayEquals(first, capture.next(WAIT_MS).orElseThrow());
    assertTrue(capture.next(SILENCE_MS).isEmpty(), "a third packet");
  }

  /** A link of 1,500 bytes has room for 1,480 bytes of IPv4, and 1,448 of an IPv6 fragment. */
  @ParameterizedTest
  @CsvSource({"tcp,1480", "udp,1480", "udp,1456", "udp,1448"})
  void shouldSplitFragmentsThatFillTheLink(String kind, int bytes) {
    final byte[] datagram = datagram(kind, 4000);
    limit(1500);
    int offset = 0;
    for (final byte[] frame : of(kind, ipv4(), 4000, true).fragments(bytes)) {
      final int end = Math.min(offset + bytes, datagram.length);
      final boolean more = end < datagram.length;
      if (end - offset <= 1448) {
        final byte[] expected = piece(kind, datagram, offset, end, more);
        node.toWorkload(ALICE, frame).passesAs(expected);
      } else {
        final byte[] first = piece(kind, datagram, offset, offset + 1448, true);
        final byte[] second = piece(kind, datagram, offset + 1448, end, more);
        arrivesAs(frame, first, second);
      }
      offset = end;
    }
    assertEquals(datagram.length, offset);
    assertTrue(capture.next(SILENCE_MS).isEmpty());
  }

  /** The clone has the address of the service already, by which no first fragment is known. */
  @Test
  void shouldSplitWhatAServiceAnswers() {
    node.with(ALICE, EndpointOption.SERVICES);
    node.services(Family.IPV4).putInside(7, STRANGER.ipv4, 53, UDP, new Server(BOB, 5353));
    final IpPacket query = sent(ALICE, STRANGER).udp(CLIENT, 53);
    assertEquals(Outcome.PASS, node.fromWorkload(ALICE, query).action());
    final IpPacket whole = received(STRANGER, ALICE).udp(53, CLIENT).payloadOf(4000);
    final byte[] datagram = Arrays.copyOfRange(whole.bytes(), HEADERS, HEADERS + 4008);
    final IpPacket answer = Family.IPV4.packet(BOB, ALICE).id(ID).udp(5353, CLIENT).payloadOf(4000);
    limit(1500);
    int offset = 0;
    for (final byte[] frame : answer.fragments(1480)) {
      node.fromWorkload(BOB, frame).passes();
      final byte[] forwarded = frame.clone();
      System.arraycopy(ipv4().udp(53, CLIENT).bytes(), 0, forwarded, 0, 12);
      final int end = Math.min(offset + 1480, datagram.length);
      final boolean isSplit = end - offset > 1448;
      node.forwardedToWorkload(BOB.ifindex, ALICE, forwarded)
          .passesAs(piece(whole, datagram, isSplit ? offset + 1448 : offset, end));
      if (isSplit) {
        assertArrayEquals(
            piece(whole, datagram, offset, offset + 1448), capture.next(WAIT_MS).orElseThrow());
      }
      offset = end;
    }
  }

  private static byte[] piece(IpPacket whole, byte[] datagram, int begin, int end) {
    return whole
        .id(ID)
        .protocol(UDP)
        .payload(Arrays.copyOfRange(datagram, begin, end))
        .fragment(begin, end < datagram.length)
        .bytes();
  }

  /** A packet that may be split fits with 20 bytes more, but not with one byte more than that. */
  @ParameterizedTest
  @CsvSource({"tcp,1500,1448", "udp,1500,1448", "echo,1500,1448", "udp,1280,1232", "udp,3000,2952"})
  void shouldSplitAPacketThatMayBeSplit(String kind, int mtu, int most) {
    final int header = kind.equals("tcp") ? 20 : 8;
    final int fits = mtu - 40 - header;
    limit(mtu);
    node.toWorkload(ALICE, of(kind, ipv4(), fits, true))
        .passesAs(of(kind, received(PEER, ALICE), fits, true));
    for (int bytes = fits + 1; bytes <= mtu - 20 - header; bytes += 7) {
      final byte[] datagram = datagram(kind, bytes);
      arrivesAs(
          of(kind, ipv4(), bytes, true).bytes(),
          piece(kind, datagram, 0, most, true),
          piece(kind, datagram, most, datagram.length, false));
    }
  }

  /** A device has summed up the packet. */
  @Test
  void shouldKeepTheChecksumOfTheDeviceRight() {
    limit(1500);
    for (final byte[] frame : of("udp", ipv4(), 3001, true).fragments(1480)) {
      assertEquals(0, node.checksummedToWorkload(ALICE, frame));
    }
    final byte[] whole = of("udp", ipv4(), 1461, true).bytes();
    assertEquals(0, node.checksummedToWorkload(ALICE, whole));
  }

  @Test
  void shouldNotRepairAWrongChecksum() {
    final byte[] frame = of("udp", ipv4(), 1462, true).bytes();
    final byte[] datagram = datagram("udp", 1462);
    frame[14 + 20 + 8 + 100] ^= 1;
    datagram[8 + 100] ^= 1;
    limit(1500);
    arrivesAs(
        frame,
        piece("udp", datagram, 0, 1448, true),
        piece("udp", datagram, 1448, datagram.length, false));
  }

  /** The device to which the sum of the pseudo header was left would sum up a fragment. */
  @ParameterizedTest
  @CsvSource({"tcp,16", "udp,6"})
  void shouldCompleteTheChecksumThatWasLeftToADevice(String kind, int offset) {
    final byte[] frame = of(kind, ipv4(), 1442, true).bytes();
    final byte[] datagram = datagram(kind, 1442);
    final int at = 14 + 20 + offset;
    final int sum = pseudoSum(frame);
    frame[at] = (byte) (sum >>> 8);
    frame[at + 1] = (byte) sum;
    limit(1480);
    arrivesAs(
        frame,
        piece(kind, datagram, 0, 1432, true),
        piece(kind, datagram, 1432, datagram.length, false));
  }

  /** The sum of the addresses, the protocol and the length: RFC 768, RFC 9293. */
  private static int pseudoSum(byte[] frame) {
    int sum = (frame[23] & 0xff) + frame.length - 14 - 20;
    for (int i = 26; i < 34; i += 2) {
      sum += (frame[i] & 0xff) << 8 | frame[i + 1] & 0xff;
    }
    return (sum & 0xffff) + (sum >>> 16);
  }

  /** RFC 7915, section 4: the MTU is that of the link less what the headers differ in. */
  @ParameterizedTest
  @CsvSource({"tcp,1500", "udp,1500", "udp,1400", "echo,1500"})
  void shouldAnswerWhatMayNotBeSplit(String kind, int mtu) {
    final int header = kind.equals("tcp") ? 20 : 8;
    limit(mtu);
    final int fits = mtu - 40 - header;
    node.toWorkload(ALICE, of(kind, ipv4(), fits, true).mayNotBeSplit())
        .passesAs(of(kind, received(PEER, ALICE), fits, true));
    answers(of(kind, ipv4(), fits + 1, true).mayNotBeSplit().bytes(), mtu - 20);
  }

  /** The fragments of the packet would have a Fragment header of eight bytes. */
  @Test
  void shouldAnswerTheFirstFragmentThatMayNotBeSplit() {
    limit(1500);
    final List<byte[]> frames = of("udp", ipv4(), 4000, true).mayNotBeSplit().fragments(1480);
    answers(frames.get(0), 1472);
    drops(frames.get(1));
    final byte[] body = new byte[4 + 1460];
    System.arraycopy(of("udp", sentAsIpv4(), 4000, false).bytes(), 14, body, 4, 1460);
    drops(ipv4().icmp(3, 3, body).mayNotBeSplit().bytes());
  }

  private static IpPacket sentAsIpv4() {
    return Family.IPV4.packet(ALICE, PEER);
  }

  /** Asserts that the sender of a packet is answered, as if the workload sent an error. */
  private void answers(byte[] frame, int mtu) {
    final byte[] body = new byte[4 + 28];
    body[2] = (byte) (mtu >>> 8);
    body[3] = (byte) mtu;
    System.arraycopy(frame, 14, body, 4, 28);
    final IpPacket answer = sentAsIpv4().id(0).mayNotBeSplit().icmp(3, 4, body);
    assertEquals(Outcome.REDIRECT, node.actionOf("to_endpoint", ALICE, frame));
    assertArrayEquals(answer.bytes(), node.output());
    node.fromWorkload(ALICE, answer).passes();
    assertTrue(capture.next(SILENCE_MS).isEmpty());
  }

  /** More than two fragments. */
  @Test
  void shouldNotSplitOthers() {
    limit(1500);
    drops(of("udp", ipv4(), 2889, true).bytes());
    arrivesAs(
        of("udp", ipv4(), 2888, true).bytes(),
        piece("udp", datagram("udp", 2888), 0, 1448, true),
        piece("udp", datagram("udp", 2888), 1448, 2896, false));
    assertTrue(capture.next(SILENCE_MS).isEmpty());
  }

  /** The packet is judged, and counted as forwarded, before it cannot be translated. */
  private void drops(byte[] frame) {
    assertEquals(Outcome.SHOT, node.actionOf("to_endpoint", ALICE, frame));
  }
}
