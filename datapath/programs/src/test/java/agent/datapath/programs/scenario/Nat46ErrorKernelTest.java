package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Nat46Packets.received;
import static agent.datapath.programs.scenario.Nat46Packets.sent;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** ICMP errors about what a workload has sent to the range of NAT46. */
@KernelTest
class Nat46ErrorKernelTest {
  private static final int BODY = 14 + 40 + 4; /* of the message, in a frame of IPv6 */

  private final ScenarioNode node = new ScenarioNode().nat46().withoutPolicy();

  @BeforeEach
  void open() {
    for (final String kind : new String[] {"tcp", "udp", "echo"}) {
      assertEquals(Outcome.PASS, node.fromWorkload(ALICE, of(kind, sent(ALICE, PEER))).action());
    }
  }

  @AfterEach
  void close() {
    node.close();
  }

  private static IpPacket of(String kind, IpPacket packet) {
    return switch (kind) {
      case "tcp" -> packet.tcp(40000, 80).syn();
      case "udp" -> packet.udp(40000, 53).payload("an odd number of b.");
      default -> packet.echoRequest(7, 1);
    };
  }

  private static IpPacket ipv4() {
    return Family.IPV4.packet(ALICE, PEER);
  }

  /** An error of a router, and one of the peer; the quote has the packet that ALICE has sent. */
  @ParameterizedTest
  @CsvSource({"tcp,20", "tcp,8", "udp,8", "udp,27", "echo,8"})
  void shouldTranslateTheQuotedPacket(String kind, int quoted) {
    for (final ScenarioHost from : new ScenarioHost[] {STRANGER, PEER}) {
      node.toWorkload(
              ALICE, Family.IPV4.packet(from, ALICE).icmpError(3, 3, of(kind, ipv4()), 20 + quoted))
          .passesAs(
              received(from, ALICE).icmpError(1, 4, of(kind, sent(ALICE, PEER)), 40 + quoted));
    }
  }

  /** A device has summed up the error. */
  @ParameterizedTest
  @CsvSource({"tcp,20", "tcp,8", "udp,27", "echo,8"})
  void shouldKeepTheChecksumOfTheDeviceRight(String kind, int quoted) {
    final IpPacket error =
        Family.IPV4.packet(PEER, ALICE).icmpError(3, 3, of(kind, ipv4()), 20 + quoted);
    assertEquals(0, node.checksummedToWorkload(ALICE, error.bytes()));
  }

  /** Type and code in both families: RFC 7915, section 4.2. */
  @ParameterizedTest
  @CsvSource({
    "3,0,1,0,0",
    "3,1,1,0,0",
    "3,2,4,1,6",
    "3,3,1,4,0",
    "3,5,1,0,0",
    "3,9,1,1,0",
    "3,10,1,1,0",
    "3,12,1,0,0",
    "3,13,1,1,0",
    "3,15,1,1,0",
    "11,0,3,0,0",
    "11,1,3,1,0"
  })
  void shouldSayTheSameInTheOtherFamily(int type, int code, int type6, int code6, int number) {
    final Outcome outcome =
        node.toWorkload(
            ALICE,
            Family.IPV4.packet(STRANGER, ALICE).icmpError(type, code, of("tcp", ipv4()), 28));
    outcome.passesAs(received(STRANGER, ALICE).icmp(type6, code6, body(number, outcome.frame())));
  }

  /** The MTU grows by what the headers differ in, to the least of IPv6 at least. */
  @ParameterizedTest
  @CsvSource({"1480,1500", "1400,1420", "1260,1280", "576,1280", "0,1280"})
  void shouldTellTheMtuOfThePath(int mtu, int mtu6) {
    final IpPacket error = Family.IPV4.packet(STRANGER, ALICE);
    final byte[] body = new byte[4 + 28];
    body[2] = (byte) (mtu >>> 8);
    body[3] = (byte) mtu;
    System.arraycopy(of("tcp", ipv4()).bytes(), 14, body, 4, 28);
    final Outcome outcome = node.toWorkload(ALICE, error.icmp(3, 4, body));
    outcome.passesAs(received(STRANGER, ALICE).icmp(2, 0, body(mtu6, outcome.frame())));
    assertArrayEquals(
        Arrays.copyOfRange(of("tcp", sent(ALICE, PEER)).bytes(), 14, 14 + 48),
        Arrays.copyOfRange(outcome.frame(), BODY + 4, outcome.frame().length));
  }

  /** What follows the checksum: a number, and the packet as it is quoted. */
  private static byte[] body(int number, byte[] frame) {
    final byte[] body = Arrays.copyOfRange(frame, BODY, frame.length);
    body[0] = 0;
    body[1] = 0;
    body[2] = (byte) (number >>> 8);
    body[3] = (byte) number;
    return body;
  }

  @ParameterizedTest
  @ValueSource(ints = {14, 16})
  void shouldDropAnErrorWithoutACounterpart(int code) {
    final IpPacket error =
        Family.IPV4.packet(STRANGER, ALICE).icmpError(3, code, of("tcp", ipv4()), 28);
    assertEquals(Outcome.SHOT, node.actionOf("to_endpoint", ALICE, error.bytes()));
  }
}
