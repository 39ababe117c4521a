package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The fragments of masqueraded datagrams beside those of others, and where the stack makes them.
 */
@KernelTest
class MasqueradedFragmentsKernelTest {
  private static final int OWN = 30_000;
  private static final int PORT = 53;
  private static final int NUMBER = 77;
  private static final int BYTES = 2800;

  private final ScenarioNode node = new ScenarioNode().withoutPolicy().routed();

  @BeforeEach
  void masquerade() {
    node.masquerade(DEVICE, HOST).masquerade(ScenarioNode.LOOPBACK_IFINDEX, HOST);
  }

  @AfterEach
  void close() {
    node.close();
  }

  private static List<byte[]> datagram(Family family, ScenarioHost from, int number) {
    return family.packet(from, PEER).id(number).udp(OWN, PORT).payloadOf(BYTES).fragments(1480);
  }

  /** Returns the identification number of a fragment. */
  private static int number(Family family, byte[] frame) {
    final ByteBuffer bytes = ByteBuffer.wrap(frame);
    return family == Family.IPV4 ? bytes.getShort(18) & 0xffff : bytes.getInt(58);
  }

  private int leaving(Family family, byte[] fragment, boolean isOfNode) {
    final Outcome outcome = isOfNode ? node.toNetwork(fragment) : node.forwardedToNetwork(fragment);
    if (family == Family.IPV4) {
      int sum = 0;
      for (int i = 14; i < 34; i += 2) {
        sum += ByteBuffer.wrap(outcome.frame()).getShort(i) & 0xffff;
      }
      assertEquals(0xffff, (sum & 0xffff) + (sum >> 16), "the header's checksum");
    }
    return number(family, outcome.frame());
  }

  /** Three senders use one number at the same time, and go on with the next ones. */
  @ParameterizedTest
  @EnumSource
  void shouldGiveTheDatagramsOfEachSenderNumbersOfTheirOwn(Family family) {
    final Map<Integer, ScenarioHost> used = new HashMap<>();
    final List<ScenarioHost> senders = List.of(ALICE, BOB, HOST);
    for (int i = 0; i < 20; i++) {
      final List<Integer> numbers = new ArrayList<>();
      final int fragments = datagram(family, ALICE, NUMBER).size();
      for (int part = 0; part < fragments; part++) {
        for (int sender = 0; sender < senders.size(); sender++) {
          final ScenarioHost from = senders.get(sender);
          final byte[] fragment = datagram(family, from, NUMBER + i).get(part);
          if (from != HOST) {
            node.fromWorkload(from, fragment).passes();
          }
          final int number = leaving(family, fragment, from == HOST);
          if (part == 0) {
            numbers.add(number);
          }
          assertEquals(numbers.get(sender), number, from + " fragment " + part);
        }
      }
      if (!used.containsKey(NUMBER + i)) { // or another datagram has got it by chance
        assertEquals(NUMBER + i, numbers.getFirst(), "the first sender keeps its own");
      }
      for (int sender = 0; sender < senders.size(); sender++) {
        final ScenarioHost former = used.put(numbers.get(sender), senders.get(sender));
        assertTrue(former == null || former == senders.get(sender), numbers + " after " + used);
      }
    }
    assertEquals(60, used.size(), used.toString());
  }

  /** By chance alone, some of so many of the 16-bit numbers would be there twice. */
  @Test
  void shouldGiveNoNumberTwiceToASenderWhoseOwnIsTaken() {
    final byte[] first = datagram(Family.IPV4, ALICE, NUMBER).getFirst();
    node.fromWorkload(ALICE, first).passes();
    assertEquals(NUMBER, leaving(Family.IPV4, first, false));
    final byte[] hosts = datagram(Family.IPV4, HOST, NUMBER).getFirst();
    final Set<Integer> used = new HashSet<>();
    for (int i = 0; i < 2_000; i++) {
      assertTrue(used.add(leaving(Family.IPV4, hosts, true)), "number " + i);
    }
  }

  /** Both send whole datagrams that routers may split, with one number; those with DF keep it. */
  @Test
  void shouldCountTheWholeDatagramsOfAllSendersThatMayBeSplit() {
    final Set<Integer> used = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      for (final ScenarioHost from : List.of(ALICE, BOB)) {
        final IpPacket whole =
            Family.IPV4.packet(from, PEER).id(NUMBER).udp(OWN, PORT).payloadOf(8);
        final Outcome sent = node.fromWorkload(from, whole);
        final Outcome left =
            sent.action() == Outcome.PASS ? node.forwardedToNetwork(whole.bytes()) : sent;
        assertTrue(left.parsed().checksumsAreRight());
        assertTrue(used.add(number(Family.IPV4, left.frame())), used.toString());
        final Outcome kept = node.fromWorkload(from, whole.mayNotBeSplit());
        assertEquals(NUMBER, number(Family.IPV4, kept.frame()));
      }
    }
  }

  /** Those of the node that routers may split, beside those of a workload with the same number. */
  @Test
  void shouldCountTheWholeDatagramsOfTheNodeWithThoseOfWorkloads() {
    final List<UnaryOperator<IpPacket>> kinds =
        List.of(
            packet -> packet.udp(OWN + 1, PORT).payloadOf(8),
            packet -> packet.options(1).udp(OWN + 1, PORT).payloadOf(8),
            packet -> packet.tcp(OWN + 1, PORT).ack(),
            packet -> packet.icmp(0, 0, new byte[20]));
    final Set<String> used = new HashSet<>();
    for (int i = 0; i < 60; i++) {
      final IpPacket sent = Family.IPV4.packet(ALICE, PEER).id(NUMBER).udp(OWN, PORT).payloadOf(8);
      final Outcome left = node.fromWorkload(ALICE, sent);
      final byte[] outside =
          left.action() == Outcome.PASS
              ? node.forwardedToNetwork(sent.bytes()).frame()
              : left.frame();
      assertTrue(used.add(17 + " " + number(Family.IPV4, outside)), used.toString());
      for (final UnaryOperator<IpPacket> kind : kinds) {
        final IpPacket own = kind.apply(Family.IPV4.packet(HOST, PEER).id(NUMBER));
        final Outcome whole = node.toNetwork(own.bytes());
        assertEquals(Outcome.PASS, whole.action(), whole::toString);
        assertTrue(whole.parsed().checksumsAreRight());
        final String number = whole.frame()[23] + " " + number(Family.IPV4, whole.frame());
        assertTrue(used.add(number), number + " of " + used);
        node.toNetwork(own.mayNotBeSplit().bytes()).passesUncounted();
      }
    }
  }

  /** A device gives them numbers in sequence. */
  @Test
  void shouldLeaveNumbersForThePartsThatADeviceMakesOfADatagram() {
    final IpPacket ofNode = Family.IPV4.packet(HOST, PEER).udp(OWN + 1, PORT).payloadOf(1000);
    final IpPacket ofAlice = Family.IPV4.packet(ALICE, PEER).udp(OWN, PORT).payloadOf(1000);
    node.fromWorkload(ALICE, ofAlice);
    final int parts = 4;
    node.splitInto(300);
    int last = -1;
    for (int i = 0; i < 30; i++) {
      final Outcome own = node.toNetwork(ofNode.bytes());
      final Outcome sent = node.fromWorkload(ALICE, ofAlice);
      final Outcome left =
          sent.action() == Outcome.PASS ? node.forwardedToNetwork(ofAlice.bytes()) : sent;
      for (final Outcome outcome : List.of(own, left)) {
        final int number = number(Family.IPV4, outcome.frame());
        assertTrue(last < 0 || number - last >= parts, last + " and then " + number);
        last = number;
      }
    }
  }

  /** What the stack forwards with the address that it came with is of its sender. */
  @Test
  void shouldKeepTheNumbersOfOthersThatLeaveUnchanged() {
    node.forwardedToNetwork(Family.IPV4.packet(FAR, PEER).id(NUMBER).udp(OWN, PORT))
        .passesUncounted();
  }

  /** A sender that sends a datagram twice, or begins its numbers again, is not another sender. */
  @ParameterizedTest
  @EnumSource
  void shouldKeepTheNumberThatTheSenderItselfHasUsed(Family family) {
    for (int i = 0; i < 3; i++) {
      for (final byte[] fragment : datagram(family, ALICE, NUMBER)) {
        node.fromWorkload(ALICE, fragment).passes();
        assertEquals(NUMBER, leaving(family, fragment, false));
      }
    }
  }

  /** The device takes smaller packets than the workload sends. */
  @ParameterizedTest
  @EnumSource
  void shouldGiveAllPartsOfWhatTheStackSplitsOneSource(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(OWN, PORT).payloadOf(BYTES)).passes();
    final List<byte[]> shown =
        family
            .packet(HOST, PEER)
            .from(ALICE.mac())
            .to(ALICE.hostMac())
            .id(NUMBER)
            .udp(OWN, PORT)
            .payloadOf(BYTES)
            .fragments(1480);
    final List<byte[]> parts = datagram(family, ALICE, NUMBER);
    for (int i = 0; i < parts.size(); i++) {
      node.forwardedToNetwork(parts.get(i)).passesUncountedAs(shown.get(i));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotLetAFragmentLeaveWithTheAddressOfAWorkload(Family family) {
    final IpPacket whole = family.packet(ALICE, PEER).udp(OWN, PORT).payloadOf(BYTES);
    node.fromWorkload(ALICE, whole).passes();
    node.forwardedToNetwork(datagram(family, ALICE, NUMBER).get(1))
        .dropsFor(DropReason.FRAGMENT_NOT_FOUND);
    node.toNetwork(datagram(family, HOST, NUMBER).get(1)).passesUncounted();
  }
}
