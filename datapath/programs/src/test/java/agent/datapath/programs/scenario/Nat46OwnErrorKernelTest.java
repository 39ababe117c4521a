package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Nat46Packets.received;
import static agent.datapath.programs.scenario.Nat46Packets.sent;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** ICMP errors that a workload sends about what it has got from the range of NAT46. */
@KernelTest
class Nat46OwnErrorKernelTest {
  private final ScenarioNode node = new ScenarioNode().nat46().withoutPolicy();

  @BeforeEach
  void open() {
    for (final String kind : new String[] {"tcp", "udp", "echo"}) {
      assertEquals(
          Outcome.PASS, node.fromWorkload(ALICE, of(kind, sent(ALICE, PEER), false)).action());
    }
  }

  @AfterEach
  void close() {
    node.close();
  }

  private static IpPacket of(String kind, IpPacket packet, boolean isAnswer) {
    final int from = isAnswer ? 53 : 40000;
    final int to = isAnswer ? 40000 : 53;
    return switch (kind) {
      case "tcp" -> packet.tcp(from, to).ack().payload("an odd number of b.");
      case "udp" -> packet.udp(from, to).payload("an odd number of b.");
      default -> isAnswer ? packet.echoReply(7, 1) : packet.echoRequest(7, 1);
    };
  }

  /** The packet that an error of the workload quotes, in either family. */
  private static IpPacket answer(String kind) {
    return of(kind, received(PEER, ALICE).ttl(9).trafficClass(0xb9), true);
  }

  private static IpPacket ipv4Answer(String kind) {
    final IpPacket packet = Family.IPV4.packet(PEER, ALICE).id(0).ttl(9).trafficClass(0xb9);
    return of(kind, packet, true);
  }

  private static IpPacket ipv4() {
    return Family.IPV4.packet(ALICE, PEER);
  }

  /** Asserts that the stack gets an error as the other one. */
  private void leaves(IpPacket error, IpPacket expected) {
    final Outcome outcome = node.fromWorkload(ALICE, error);
    final byte[] frame = outcome.frame();
    outcome.passesAs(expected.id((frame[18] & 0xff) << 8 | frame[19] & 0xff));
  }

  /** What is quoted of the L4 header may not have its checksum. */
  @ParameterizedTest
  @CsvSource({"tcp,39", "tcp,20", "tcp,8", "udp,27", "udp,9", "udp,8"})
  void shouldTranslateTheQuotedPacket(String kind, int quoted) {
    leaves(
        sent(ALICE, PEER).trafficClass(0x2e).icmpError(1, 4, answer(kind), 40 + quoted),
        ipv4().trafficClass(0x2e).icmpError(3, 3, ipv4Answer(kind), 20 + quoted));
  }

  /** Type and code in both families: RFC 7915, section 5.2. */
  @ParameterizedTest
  @CsvSource({
    "1,0,0,3,1,0",
    "1,1,0,3,10,0",
    "1,2,0,3,1,0",
    "1,3,0,3,1,0",
    "1,4,0,3,3,0",
    "2,0,1500,3,4,1480",
    "2,0,1280,3,4,1260",
    "2,0,70000,3,4,65515",
    "3,0,0,11,0,0",
    "3,1,0,11,1,0",
    "4,1,6,3,2,0"
  })
  void shouldSayTheSameInTheOtherFamily(
      int type, int code, int number, int type4, int code4, int number4) {
    leaves(
        sent(ALICE, PEER).icmp(type, code, body(number, answer("udp"), 48)),
        ipv4().icmp(type4, code4, body(number4, ipv4Answer("udp"), 28)));
  }

  /** What follows the checksum: a number, and the packet. */
  private static byte[] body(int number, IpPacket about, int quoted) {
    final byte[] body = new byte[4 + quoted];
    for (int i = 0; i < 4; i++) {
      body[i] = (byte) (number >>> 24 - 8 * i);
    }
    System.arraycopy(about.bytes(), 14, body, 4, quoted);
    return body;
  }

  @ParameterizedTest
  @CsvSource({"1,5,0", "1,7,0", "2,0,1279", "4,0,0", "4,2,0"})
  void shouldDropAnErrorWithoutACounterpart(int type, int code, int number) {
    drops(sent(ALICE, PEER).icmp(type, code, body(number, answer("udp"), 48)));
  }

  @Test
  void shouldDropAnErrorAboutAnotherPacket() {
    drops(sent(ALICE, PEER).icmpError(1, 4, of("udp", received(PEER, BOB), true)));
    drops(sent(ALICE, PEER).icmpError(1, 4, of("udp", Family.IPV6.packet(PEER, ALICE), true)));
    drops(sent(ALICE, PEER).icmpError(1, 4, answer("echo")));
    drops(sent(ALICE, PEER).icmpError(1, 4, answer("udp").fragment(0, true)));
    drops(sent(ALICE, PEER).icmpError(1, 4, answer("udp")).fragment(0, false));
    node.fromWorkload(ALICE, sent(ALICE, PEER).icmpError(1, 4, answer("udp"), 8))
        .dropsFor(DropReason.MALFORMED);
  }

  private void drops(IpPacket error) {
    node.fromWorkload(ALICE, error).dropsFor(DropReason.NOT_TRANSLATABLE);
  }

  /** A device has summed up the error. */
  @Test
  void shouldKeepTheChecksumOfTheDeviceRight() {
    final IpPacket error = sent(ALICE, PEER).icmpError(1, 4, answer("udp"));
    assertEquals(0, node.checksummedFromWorkload(ALICE, error));
  }

  /** The error is judged as one of IPv4, by the flow of the packet that it quotes. */
  @Test
  void shouldAskForTheFlowOfTheQuotedPacket() {
    final ScenarioNode strict = new ScenarioNode().nat46();
    try (strict) {
      strict
          .fromWorkload(ALICE, sent(ALICE, PEER).icmpError(1, 4, answer("udp")))
          .dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
    }
  }
}
