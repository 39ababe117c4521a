package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.scenario.Flows.Rewriting;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Packets whose address and port a conntrack entry rewrites. Each result is compared with a packet
 * that is built with the other address, so that its checksums are those of a fresh packet.
 */
@KernelTest
class RewriteKernelTest {
  private static final String PAYLOAD = "an odd number of b.";
  private static final int[] PROTOCOLS = {TCP, UDP};

  private final ScenarioNode node = new ScenarioNode().withoutPolicy();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldRewriteTheDestinationAndDeliverToItsWorkload(Family family) {
    for (final int protocol : PROTOCOLS) {
      for (final int port : new int[] {8080, 0}) {
        final int from = 40000 + port;
        node.fromWorkload(ALICE, packet(family, ALICE, STRANGER, protocol, from, 80)).passes();
        rewrite(family, ALICE, from, STRANGER, 80, protocol, new Rewriting(true, BOB, port));
        final int to = port == 0 ? 80 : port;
        for (final boolean isQuick : new boolean[] {true, false}) {
          node.fromWorkload(
                  ALICE, slow(isQuick, packet(family, ALICE, STRANGER, protocol, from, 80)))
              .reachesAs(BOB, slow(isQuick, packet(family, ALICE, BOB, protocol, from, to)));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRewriteTheSourceOfThePacketsOfEitherSide(Family family) {
    for (final ScenarioHost from : List.of(ALICE, BOB)) {
      final ScenarioHost to = from == ALICE ? BOB : ALICE;
      for (final int protocol : PROTOCOLS) {
        for (final int port : new int[] {6000, 0}) {
          final int own = 40000 + port + from.id;
          node.fromWorkload(from, packet(family, from, to, protocol, own, 80)).reaches(to);
          rewrite(family, from, own, to, 80, protocol, new Rewriting(false, STRANGER, port));
          final int shown = port == 0 ? own : port;
          for (final boolean isQuick : new boolean[] {true, false}) {
            node.fromWorkload(from, slow(isQuick, packet(family, from, to, protocol, own, 80)))
                .reachesAs(to, slow(isQuick, packet(family, STRANGER, to, protocol, shown, 80)));
            node.fromWorkload(to, slow(isQuick, packet(family, to, from, protocol, 80, own)))
                .reaches(from);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRewriteThePacketsToAWorkload(Family family) {
    for (final int protocol : PROTOCOLS) {
      node.toWorkload(ALICE, packet(family, PEER, ALICE, protocol, 53, 40000)).passes();
      rewrite(family, PEER, 53, ALICE, 40000, protocol, new Rewriting(false, STRANGER, 5353));
      for (final boolean isQuick : new boolean[] {true, false}) {
        node.toWorkload(ALICE, slow(isQuick, packet(family, PEER, ALICE, protocol, 53, 40000)))
            .passesAs(slow(isQuick, packet(family, STRANGER, ALICE, protocol, 5353, 40000)));
        node.fromWorkload(ALICE, slow(isQuick, packet(family, ALICE, PEER, protocol, 40000, 53)))
            .passes();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveAUdpPacketWithoutAChecksumWithoutOne(Family family) {
    node.fromWorkload(ALICE, packet(family, ALICE, STRANGER, UDP, 40000, 53)).passes();
    rewrite(family, ALICE, 40000, STRANGER, 53, UDP, new Rewriting(true, BOB, 5353));
    for (final boolean isQuick : new boolean[] {true, false}) {
      final byte[] sent = slow(isQuick, packet(family, ALICE, STRANGER, UDP, 40000, 53)).bytes();
      final byte[] expected =
          Outcome.delivered(BOB, slow(isQuick, packet(family, ALICE, BOB, UDP, 40000, 5353)));
      setUdpChecksum(sent, PAYLOAD.length(), 0);
      setUdpChecksum(expected, PAYLOAD.length(), 0);
      assertArrayEquals(expected, node.fromWorkload(ALICE, sent).frame());
    }
  }

  /** A UDP checksum of 0 means that there is none, so it is written as 0xffff (RFC 768). */
  @ParameterizedTest
  @EnumSource
  void shouldNotWriteTheUdpChecksumZero(Family family) {
    node.fromWorkload(ALICE, packet(family, ALICE, STRANGER, UDP, 40000, 53)).passes();
    for (int i = 0; i < 4; i++) {
      final boolean isQuick = i < 2;
      final int port = i % 2 * 5353;
      rewrite(family, ALICE, 40000, STRANGER, 53, UDP, new Rewriting(true, BOB, port));
      final int to = port == 0 ? 53 : port;
      final IpPacket without = family.packet(ALICE, BOB).udp(40000, to).payload(new byte[2]);
      final int missing = udpChecksum(without.bytes(), 2);
      final byte[] payload = {(byte) (missing >>> 8), (byte) missing};
      final IpPacket sent = family.packet(ALICE, STRANGER).udp(40000, 53).payload(payload);
      final Outcome outcome = node.fromWorkload(ALICE, slow(isQuick, sent));
      assertEquals(0xffff, udpChecksum(outcome.frame(), 2));
      assertTrue(outcome.parsed().checksumsAreRight());
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheChecksumOfTheDeviceRight(Family family) {
    for (final int protocol : new int[] {TCP, UDP, SCTP}) {
      node.fromWorkload(ALICE, packet(family, ALICE, STRANGER, protocol, 40000, 80)).passes();
      rewrite(family, ALICE, 40000, STRANGER, 80, protocol, new Rewriting(true, BOB, 8080));
      for (final boolean isQuick : new boolean[] {true, false}) {
        final IpPacket sent = packet(family, ALICE, STRANGER, protocol, 40000, 80);
        assertEquals(
            0, node.checksummedFromWorkload(ALICE, slow(isQuick, sent)), "protocol " + protocol);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRewriteTheAddressesOfEchoAndKeepItsHeader(Family family) {
    final IpPacket ping = family.packet(ALICE, BOB).echoRequest(7, 1);
    node.fromWorkload(ALICE, ping).reaches(BOB);
    rewrite(family, ALICE, 7, BOB, 0, family.icmp(), new Rewriting(false, STRANGER, 9));
    node.fromWorkload(ALICE, ping).reachesAs(BOB, family.packet(STRANGER, BOB).echoRequest(7, 1));
    node.fromWorkload(BOB, family.packet(BOB, ALICE).echoReply(7, 1)).reaches(ALICE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldRewriteTheAddressesOfOtherProtocolsOnly(Family family) {
    node.fromWorkload(ALICE, packet(family, ALICE, BOB, SCTP, 40000, 80)).reaches(BOB);
    rewrite(family, ALICE, 40000, BOB, 80, SCTP, new Rewriting(false, STRANGER, 6000));
    node.fromWorkload(ALICE, packet(family, ALICE, BOB, SCTP, 40000, 80))
        .reachesAs(BOB, packet(family, STRANGER, BOB, SCTP, 40000, 80));
  }

  @ParameterizedTest
  @EnumSource
  void shouldRewriteOnlyTheAddressesOfLaterFragments(Family family) {
    node.fromWorkload(ALICE, packet(family, ALICE, BOB, UDP, 40000, 53)).reaches(BOB);
    rewrite(family, ALICE, 40000, BOB, 53, UDP, new Rewriting(false, STRANGER, 6000));
    final List<byte[]> sent =
        family.packet(ALICE, BOB).udp(40000, 53).payloadOf(1000).fragments(512);
    final List<byte[]> expected =
        family
            .packet(STRANGER, BOB)
            .from(BOB.hostMac())
            .to(BOB.mac())
            .ttl(63)
            .udp(6000, 53)
            .payloadOf(1000)
            .fragments(512);
    for (int i = 0; i < sent.size(); i++) {
      final Outcome outcome = node.fromWorkload(ALICE, sent.get(i));
      assertEquals(Outcome.REDIRECT, outcome.action(), outcome::toString);
      assertArrayEquals(expected.get(i), outcome.frame(), "fragment " + i);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRewriteThePacketThatRenewsTheVerdictAndThoseAfterIt(Family family) {
    for (final ScenarioHost from : List.of(ALICE, BOB)) {
      final ScenarioHost to = from == ALICE ? BOB : ALICE;
      for (final int protocol : PROTOCOLS) {
        final int port = 40000 + from.id;
        node.fromWorkload(from, packet(family, from, to, protocol, port, 80)).reaches(to);
        rewrite(family, from, port, to, 80, protocol, new Rewriting(false, STRANGER, 6000));
        node.raiseGeneration(ALICE.id);
        for (final boolean isQuick : new boolean[] {true, true, false}) {
          node.fromWorkload(from, slow(isQuick, packet(family, from, to, protocol, port, 80)))
              .reachesAs(to, slow(isQuick, packet(family, STRANGER, to, protocol, 6000, 80)));
        }
        node.raiseGeneration(ALICE.id);
        node.fromWorkload(to, packet(family, to, from, protocol, 80, port)).reaches(from);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRewriteThePacketsOfTheNetworkThatBypassTheStack(Family family) {
    node.routed();
    for (final int protocol : PROTOCOLS) {
      node.fromWorkload(ALICE, packet(family, ALICE, PEER, protocol, 40000, 53)).passes();
      final IpPacket answer = packet(family, PEER, ALICE, protocol, 53, 40000).to(DEVICE_MAC);
      node.fromNetwork(answer).reaches(ALICE);
      rewrite(family, PEER, 53, ALICE, 40000, protocol, new Rewriting(false, STRANGER, 5353));
      node.fromNetwork(answer)
          .reachesAs(ALICE, packet(family, STRANGER, ALICE, protocol, 5353, 40000));
      assertEquals(0, node.checksummedFromNetwork(answer), "protocol " + protocol);
    }
  }

  /** The stack, and the program of the receiver, know the flow by the source that was sent. */
  @ParameterizedTest
  @EnumSource
  void shouldNotRewriteTheSourceOfPacketsThatTheStackDelivers(Family family) {
    node.without(EndpointOption.HOST_ROUTING);
    for (final boolean isQuick : new boolean[] {true, false}) {
      final int port = isQuick ? 40000 : 40001;
      final IpPacket packet = slow(isQuick, packet(family, ALICE, BOB, UDP, port, 53));
      node.fromWorkload(ALICE, packet).passes();
      rewrite(family, ALICE, port, BOB, 53, UDP, new Rewriting(false, STRANGER, 6000));
      node.fromWorkload(ALICE, packet).passes();
      node.raiseGeneration(ALICE.id);
      node.fromWorkload(ALICE, packet).passes();
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheServiceOfAFlowWhoseVerdictIsRenewed(Family family) {
    node.fromWorkload(ALICE, packet(family, ALICE, BOB, UDP, 40000, 53)).reaches(BOB);
    node.flows().setService(family, ALICE, 40000, BOB, 53, UDP, 7, 9);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, packet(family, ALICE, BOB, UDP, 40000, 53)).reaches(BOB);
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, BOB, 53, UDP);
    assertEquals(7, flow.serviceId());
    assertEquals(9, flow.openedAt());
  }

  private void rewrite(
      Family family,
      ScenarioHost from,
      int fromPort,
      ScenarioHost to,
      int toPort,
      int protocol,
      Rewriting rewriting) {
    node.flows().rewrite(family, from, fromPort, to, toPort, protocol, rewriting);
  }

  private static IpPacket packet(
      Family family, ScenarioHost from, ScenarioHost to, int protocol, int fromPort, int toPort) {
    return Family.ports(family.packet(from, to).payload(PAYLOAD), protocol, fromPort, toPort);
  }

  /** The checksum is the last word of the header before the payload. */
  private static int udpChecksum(byte[] frame, int payloadBytes) {
    final int offset = frame.length - payloadBytes - 2;
    return (frame[offset] & 0xff) << 8 | frame[offset + 1] & 0xff;
  }

  private static void setUdpChecksum(byte[] frame, int payloadBytes, int checksum) {
    final int offset = frame.length - payloadBytes - 2;
    frame[offset] = (byte) (checksum >>> 8);
    frame[offset + 1] = (byte) checksum;
  }
}
