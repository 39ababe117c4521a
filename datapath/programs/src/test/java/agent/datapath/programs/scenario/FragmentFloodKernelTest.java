package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What one sender of fragmented datagrams takes of the numbers that all have outside. */
@KernelTest
class FragmentFloodKernelTest {
  private static final int SHARE = 8;
  private static final int OWN = 30_000;
  private static final int PORT = 53;
  private static final int NUMBER = 77;

  /** More than the tables of a scenario have room for. */
  private static final int FLOOD = 6000;

  private final ScenarioNode node = new ScenarioNode().withoutPolicy().routed();

  @BeforeEach
  void masquerade() {
    node.masquerade(DEVICE, HOST).masquerade(ScenarioNode.LOOPBACK_IFINDEX, HOST);
    node.fragmentsPerSecond(SHARE);
  }

  @AfterEach
  void close() {
    node.close();
  }

  private static List<byte[]> datagram(Family family, ScenarioHost from, int number) {
    return family.packet(from, PEER).id(number).udp(OWN, PORT).payloadOf(2800).fragments(1480);
  }

  /** Returns the identification number with which a fragment leaves. */
  private int leaving(Family family, ScenarioHost from, byte[] fragment) {
    final Outcome outcome;
    if (from == HOST) {
      outcome = node.toNetwork(fragment);
    } else {
      node.fromWorkload(from, fragment).passes();
      outcome = node.forwardedToNetwork(fragment);
    }
    assertEquals(Outcome.PASS, outcome.action());
    final ByteBuffer bytes = ByteBuffer.wrap(outcome.frame());
    return family == Family.IPV4 ? bytes.getShort(18) & 0xffff : bytes.getInt(58);
  }

  /** Returns the one number with which all fragments of a datagram leave. */
  private int leaving(Family family, ScenarioHost from, int number) {
    final List<byte[]> fragments = datagram(family, from, number);
    final int first = leaving(family, from, fragments.getFirst());
    for (final byte[] fragment : fragments.subList(1, fragments.size())) {
      assertEquals(first, leaving(family, from, fragment), from + " " + number);
    }
    return first;
  }

  private static boolean isOfCrowd(Family family, int number) {
    return (family == Family.IPV4 ? number >>> 8 : number >>> 24 & 0x3f) % 64 == 63;
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheNumbersOfOneSenderWhateverAnotherSends(Family family) {
    assertEquals(NUMBER, leaving(family, BOB, NUMBER));
    final List<byte[]> own = datagram(family, ALICE, NUMBER);
    final int first = leaving(family, ALICE, own.getFirst());
    assertNotEquals(NUMBER, first);
    for (int i = 0; i < FLOOD; i++) {
      node.forwardedToNetwork(datagram(family, BOB, 1000 + i).getFirst());
    }
    assertEquals(first, leaving(family, ALICE, own.get(1)));
    assertNotEquals(first, leaving(family, BOB, first));
  }

  /** One in 64 numbers are those of senders beyond their share, and of no other. */
  @ParameterizedTest
  @EnumSource
  void shouldGiveAFloodNumbersOfItsOwn(Family family) {
    RateWindow.inOne(
        () -> {
          for (int i = 0; i < SHARE; i++) {
            assertEquals(NUMBER + i, leaving(family, BOB, NUMBER + i));
          }
          for (int i = 0; i < 20; i++) { // the first ones with numbers that are in the tables
            assertTrue(isOfCrowd(family, leaving(family, BOB, NUMBER + i)));
          }
        });
    final int ofCrowd = leaving(family, BOB, NUMBER);
    assertFalse(isOfCrowd(family, leaving(family, ALICE, ofCrowd)));
    assertEquals(1000, leaving(family, ALICE, 1000));
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveTheNodeNumbersWhateverOthersSend(Family family) {
    RateWindow.inOne(
        () -> {
          for (int i = 0; i < 2 * SHARE; i++) {
            assertEquals(NUMBER + i, leaving(family, HOST, NUMBER + i));
          }
        });
  }
}
