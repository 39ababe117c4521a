package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Answers to packets to a service without a backend. STRANGER has the address of the service. */
@KernelTest
class RejectKernelTest {
  private static final int ID = 7;
  private static final int PORT = 80;
  private static final int CLIENT = 40000;
  private static final int SEQUENCE = 0xfffffffe;
  private static final Server BOBS = new Server(BOB, 8080);

  private final ScenarioNode node =
      new ScenarioNode().withoutPolicy().with(ALICE, EndpointOption.SERVICES);

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldResetAConnectionToAServiceWithoutABackend(Family family) {
    serve(family, TCP);
    for (final boolean isQuick : new boolean[] {true, false}) {
      // What a segment occupies of the sequence: SYN and FIN one each, and its data.
      rejects(slow(isQuick, tcp(family).syn()), reset(family).sequence(0).ack(SEQUENCE + 1));
      rejects(
          slow(isQuick, tcp(family).syn().payloadOf(5)),
          reset(family).sequence(0).ack(SEQUENCE + 6));
      rejects(
          slow(isQuick, tcp(family).fin().payloadOf(4)),
          reset(family).sequence(0).ack(SEQUENCE + 5));
      rejects(slow(isQuick, tcp(family)), reset(family).sequence(0).ack(SEQUENCE));
      rejects(
          slow(isQuick, tcp(family).ack(0x12345678).payloadOf(500)),
          reset(family).sequence(0x12345678));
      rejects(slow(isQuick, tcp(family).syn().ack(77)), reset(family).sequence(77));
    }
    assertNull(node.flows().find(family, ALICE, CLIENT, STRANGER, PORT, TCP));
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellThatThePortOfAServiceWithoutABackendIsUnreachable(Family family) {
    for (final int protocol : new int[] {UDP, SCTP}) {
      serve(family, protocol);
      for (final boolean isQuick : new boolean[] {true, false}) {
        for (final int length : new int[] {0, 1, 1000}) {
          rejects(
              datagram(family, protocol, length, isQuick),
              unreachable(family, datagram(family, protocol, length, isQuick), isQuick));
        }
      }
      assertNull(node.flows().find(family, ALICE, CLIENT, STRANGER, PORT, protocol));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldResetAConnectionWhoseLastBackendHasGone(Family family) {
    serve(family, TCP, BOBS);
    node.fromWorkload(ALICE, tcp(family).syn());
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(BOBS.port(), CLIENT).syn().ack());
    gone(family, TCP);
    rejects(tcp(family).ack(0x87654321), reset(family).sequence(0x87654321));
  }

  /** RFC 9293, section 3.10.7.1. */
  @ParameterizedTest
  @EnumSource
  void shouldNotAnswerAReset(Family family) {
    serve(family, TCP, BOBS);
    node.fromWorkload(ALICE, tcp(family).syn());
    gone(family, TCP);
    node.fromWorkload(ALICE, tcp(family).rst()).dropsFor(DropReason.SERVICE_UNSERVED);
  }

  /** RFC 1122, section 3.2.2: the first fragment has the ports. */
  @ParameterizedTest
  @EnumSource
  void shouldAnswerTheFirstFragmentOnly(Family family) {
    serve(family, UDP, BOBS);
    final List<byte[]> fragments = udp(family).payloadOf(1000).fragments(512);
    node.fromWorkload(ALICE, fragments.getFirst());
    gone(family, UDP);
    node.fromWorkload(ALICE, fragments.get(1)).dropsFor(DropReason.SERVICE_UNSERVED);
    assertEquals(Outcome.REDIRECT, node.fromWorkload(ALICE, fragments.getFirst()).action());
  }

  /** Each of two frontends would answer what the other says. */
  @ParameterizedTest
  @EnumSource
  void shouldNotAnswerAFrontend(Family family) {
    node.without(EndpointOption.SOURCE_IP_VERIFICATION).with(ALICE, EndpointOption.SERVICES);
    serve(family, UDP);
    node.services(family).put(ID + 1, PEER, CLIENT, UDP, 0);
    final IpPacket packet =
        family.packet(PEER, STRANGER).from(ALICE.mac()).to(ALICE.hostMac()).udp(CLIENT, PORT);
    node.fromWorkload(ALICE, packet).dropsFor(DropReason.SERVICE_UNSERVED);
    final Outcome other = node.fromWorkload(ALICE, packet.udp(CLIENT + 1, PORT));
    assertEquals(Outcome.REDIRECT, other.action());
  }

  /** The other workload has a share of its own. */
  @ParameterizedTest
  @EnumSource
  void shouldLimitTheAnswersOfASecond(Family family) {
    node.with(BOB, EndpointOption.SERVICES);
    serve(family, UDP);
    final byte[] packet = udp(family).bytes();
    final long startNs = System.nanoTime();
    int sent = 0;
    int answers = 0;
    long most = 0;
    while (sent <= most + 500 && sent < 20_000) { // or the machine sends less than the share
      answers += node.fromWorkload(ALICE, packet).action() == Outcome.REDIRECT ? 1 : 0;
      sent++;
      most = 1_000 * (2 + (System.nanoTime() - startNs) / ScenarioNode.SECOND_NS);
    }
    assertTrue(answers >= 1_000 && answers <= most, answers + " answers to " + sent);
    final IpPacket others = family.packet(BOB, STRANGER).udp(CLIENT, PORT);
    assertEquals(Outcome.REDIRECT, node.fromWorkload(BOB, others).action());
  }

  private void rejects(IpPacket packet, IpPacket answer) {
    node.fromWorkload(ALICE, packet).rejectsAs(DropReason.SERVICE_UNSERVED, ALICE, answer);
  }

  private void serve(Family family, int protocol, Server... servers) {
    node.services(family).put(ID, STRANGER, PORT, protocol, 0, servers);
  }

  private void gone(Family family, int protocol) {
    serve(family, protocol);
    node.services(family).state(ID, BOBS, null);
    node.raiseGeneration(ALICE.id); // as the agent does with a service's change
  }

  private static IpPacket tcp(Family family) {
    return family.packet(ALICE, STRANGER).tcp(CLIENT, PORT).sequence(SEQUENCE);
  }

  private static IpPacket datagram(Family family, int protocol, int length, boolean isQuick) {
    return slow(
        isQuick,
        Family.ports(family.packet(ALICE, STRANGER).payloadOf(length), protocol, CLIENT, PORT));
  }

  private static IpPacket udp(Family family) {
    return family.packet(ALICE, STRANGER).udp(CLIENT, PORT);
  }

  private static IpPacket answer(Family family) {
    return family.packet(STRANGER, ALICE).id(0).mayNotBeSplit();
  }

  private static IpPacket reset(Family family) {
    return answer(family).tcp(PORT, CLIENT).window(0).rst();
  }

  /** The error quotes the IP headers and eight bytes. */
  private static IpPacket unreachable(Family family, IpPacket about, boolean isQuick) {
    final int code = family == Family.IPV4 ? 3 : 4;
    return answer(family)
        .icmpError(family.unreachableType(), code, about, family.headers(isQuick) + 8);
  }
}
