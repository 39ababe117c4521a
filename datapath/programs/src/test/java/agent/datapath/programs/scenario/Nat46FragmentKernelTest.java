package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Nat46Packets.CLIENT;
import static agent.datapath.programs.scenario.Nat46Packets.of;
import static agent.datapath.programs.scenario.Nat46Packets.received;
import static agent.datapath.programs.scenario.Nat46Packets.sent;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Fragments of what a workload sends to the range of NAT46, and of its answers. */
@KernelTest
class Nat46FragmentKernelTest {
  private static final int ID = 0x1234;

  private final ScenarioNode node = new ScenarioNode().nat46();

  @AfterEach
  void close() {
    node.close();
  }

  /** The packet is judged, and counted as forwarded, before it cannot be translated. */
  private void dropsTo(byte[] frame) {
    assertEquals(Outcome.SHOT, node.actionOf("to_endpoint", ALICE, frame));
  }

  private static IpPacket ipv4(ScenarioHost from, ScenarioHost to) {
    return Family.IPV4.packet(from, to).id(ID);
  }

  /** The identification has 16 bits in IPv4. */
  @ParameterizedTest
  @ValueSource(strings = {"tcp", "udp"})
  void shouldTranslateFragmentsOfTheWorkload(String kind) {
    node.withoutPolicy();
    final List<byte[]> sent =
        of(kind, sent(ALICE, PEER).id(0x5678_0000 | ID).trafficClass(0xb9), 3001, false)
            .fragments(1448);
    final List<byte[]> expected =
        of(kind, ipv4(ALICE, PEER).trafficClass(0xb9), 3001, false).fragments(1448);
    for (int i = 0; i < sent.size(); i++) {
      node.fromWorkload(ALICE, sent.get(i)).passesAs(expected.get(i));
    }
    assertEquals(1, node.flows().count());
  }

  @ParameterizedTest
  @ValueSource(strings = {"tcp", "udp"})
  void shouldTranslateFragmentsToTheWorkload(String kind) {
    open(kind);
    final List<byte[]> answer = of(kind, ipv4(PEER, ALICE).ttl(9), 3001, true).fragments(1024);
    final List<byte[]> expected =
        of(kind, received(PEER, ALICE).id(ID).ttl(9), 3001, true).fragments(1024);
    for (int i = 0; i < answer.size(); i++) {
      node.toWorkload(ALICE, answer.get(i)).passesAs(expected.get(i));
    }
  }

  /** Opens a flow to the range. */
  private void open(String kind) {
    node.withoutPolicy();
    assertEquals(
        Outcome.PASS, node.fromWorkload(ALICE, of(kind, sent(ALICE, PEER), 1, false)).action());
  }

  @Test
  void shouldDropLaterFragmentsWithoutTheFirst() {
    node.policyOf(ALICE).allowTo(PEER, UDP, 54);
    final List<byte[]> denied = of("udp", sent(ALICE, PEER).id(ID), 3000, false).fragments(1448);
    node.fromWorkload(ALICE, denied.get(0)).dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, denied.get(1)).waits();
    final List<byte[]> answer = of("udp", ipv4(PEER, ALICE), 3000, true).fragments(1024);
    node.toWorkload(ALICE, answer.get(1)).waits();
  }

  /** A device has summed up each of them. */
  @Test
  void shouldKeepTheChecksumOfTheDeviceRight() {
    open("udp");
    for (final byte[] frame : of("udp", sent(ALICE, PEER), 3001, false).fragments(1448)) {
      assertEquals(0, node.checksummedFromWorkload(ALICE, frame));
    }
    for (final byte[] frame : of("udp", ipv4(PEER, ALICE), 3001, true).fragments(1024)) {
      assertEquals(0, node.checksummedToWorkload(ALICE, frame));
    }
  }

  /** A whole packet with a Fragment header: RFC 6946. */
  @Test
  void shouldTranslateAPacketThatIsAFragmentOfItsOwn() {
    node.withoutPolicy();
    node.fromWorkload(ALICE, of("udp", sent(ALICE, PEER).id(ID), 1300, false).fragment(0, false))
        .passesAs(of("udp", ipv4(ALICE, PEER), 1300, false));
    node.fromWorkload(ALICE, sent(ALICE, PEER).id(ID).echoRequest(7, 1).fragment(0, false))
        .passesAs(ipv4(ALICE, PEER).echoRequest(7, 1));
  }

  /** The checksum of ICMPv6 covers the length of the datagram. */
  @Test
  void shouldDropFragmentsWithoutACounterpart() {
    open("udp");
    assertEquals(
        Outcome.PASS, node.fromWorkload(ALICE, sent(ALICE, PEER).echoRequest(7, 1)).action());
    final byte[] body = new byte[2000];
    body[1] = 7;
    for (final byte[] frame : sent(ALICE, PEER).icmp(128, 0, body).fragments(1448)) {
      node.fromWorkload(ALICE, frame).dropsFor(DropReason.NOT_TRANSLATABLE);
    }
    for (final byte[] frame : ipv4(PEER, ALICE).icmp(0, 0, body).fragments(1024)) {
      dropsTo(frame);
    }
    final byte[] unsummed = of("udp", ipv4(PEER, ALICE), 3000, true).fragments(1024).get(0);
    unsummed[14 + 20 + 6] = 0;
    unsummed[14 + 20 + 7] = 0;
    dropsTo(unsummed);
    for (final boolean more : new boolean[] {true, false}) {
      node.fromWorkload(
              ALICE,
              of("udp", sent(ALICE, PEER), 64, false)
                  .extension(IpPacket.DESTINATION_OPTIONS, 1)
                  .fragment(more ? 0 : 1024, more))
          .dropsFor(DropReason.NOT_TRANSLATABLE);
    }
    final IpPacket later = sent(ALICE, PEER).sctp(CLIENT, 53).payloadOf(64).fragment(1024, false);
    node.fromWorkload(ALICE, later).dropsFor(DropReason.NOT_TRANSLATABLE);
  }
}
