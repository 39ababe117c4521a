package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.ScenarioNode.LOOPBACK_IFINDEX;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Protocols whose masqueraded flows cannot get another port: what the node uses of them, or begins
 * to use, is the node's, whatever workloads send to the same peer.
 */
@KernelTest
class FixedTupleKernelTest {
  private static final int PORT = 5000;

  private static final int AH = 51;

  /** What an AH of IPv6 protects, which is an extension header there: IPComp. */
  private static final int PROTECTED = 108;

  /** IPIP, GRE, ESP, AH, L2TP and SCTP. */
  private static final int[] PROTOCOLS = {4, 47, 50, AH, 115, SCTP};

  private final ScenarioNode node =
      new ScenarioNode().withoutPolicy().routed().masquerade(DEVICE, NODE).own(NODE);

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveTheNodeTheTunnelThatItBegins(Family family) {
    for (final int protocol : PROTOCOLS) {
      node.fromWorkload(ALICE, packet(family, ALICE, PEER, protocol)).passes();
      node.fromNetwork(answer(family, PEER, protocol))
          .passesUncountedAs(
              packet(family, PEER, ALICE, protocol).from(PEER.hostMac()).to(DEVICE_MAC));
      for (int i = 0; i < 2; i++) {
        node.toNetwork(packet(family, NODE, PEER, protocol).mayNotBeSplit()).passesUncounted();
        node.fromNetwork(answer(family, PEER, protocol)).passesUncounted();
        for (final ScenarioHost workload : new ScenarioHost[] {ALICE, BOB}) {
          node.fromWorkload(workload, packet(family, workload, PEER, protocol))
              .dropsFor(DropReason.PORTS_EXHAUSTED);
        }
      }
      node.fromWorkload(ALICE, packet(family, ALICE, FAR, protocol)).passes();
      node.fromNetwork(answer(family, FAR, protocol))
          .passesUncountedAs(
              packet(family, FAR, ALICE, protocol).from(FAR.hostMac()).to(DEVICE_MAC));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheNodeTheTunnelThatItUsesUntilItEnds(Family family) {
    for (final int protocol : PROTOCOLS) {
      final int port = protocol == SCTP ? PORT : 0;
      final int keyed = keyed(family, protocol);
      node.toNetwork(packet(family, NODE, PEER, protocol).mayNotBeSplit()).passesUncounted();
      node.fromWorkload(ALICE, packet(family, ALICE, PEER, protocol))
          .dropsFor(DropReason.PORTS_EXHAUSTED);
      node.fromNetwork(answer(family, PEER, protocol)).passesUncounted();
      node.flows().expireAfter(Duration.ofSeconds(5), family, NODE, port, PEER, port, keyed);
      node.toNetwork(packet(family, NODE, PEER, protocol).mayNotBeSplit()).passesUncounted();
      assertEquals(
          ScenarioNode.ANY_LIFETIME_SEC, flow(family, NODE, protocol).lifetime().toSeconds(), 2);
      node.flows().expireAfter(Duration.ofSeconds(-1), family, NODE, port, PEER, port, keyed);
      node.fromWorkload(ALICE, packet(family, ALICE, PEER, protocol)).passes();
      node.fromNetwork(answer(family, PEER, protocol))
          .passesUncountedAs(
              packet(family, PEER, ALICE, protocol).from(PEER.hostMac()).to(DEVICE_MAC));
    }
  }

  /** A tunnel may only receive. SCTP to the node may be for a service, and is not noted. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheNodeTheTunnelByWhichItReceives(Family family) {
    node.masquerade(LOOPBACK_IFINDEX, NODE);
    for (final int protocol : PROTOCOLS) {
      node.fromNetwork(answer(family, PEER, protocol)).passesUncounted();
      if (protocol == SCTP) {
        node.fromWorkload(ALICE, packet(family, ALICE, PEER, protocol)).passes();
      } else {
        node.fromWorkload(ALICE, packet(family, ALICE, PEER, protocol))
            .dropsFor(DropReason.PORTS_EXHAUSTED);
      }
    }
  }

  /** Any host may send such packets, from any source. */
  @ParameterizedTest
  @EnumSource
  void shouldNoteNothingThatItReceivesWhereNothingIsMasqueraded(Family family) {
    for (final int protocol : PROTOCOLS) {
      node.fromNetwork(answer(family, PEER, protocol)).passesUncounted();
      assertNull(flow(family, NODE, protocol));
    }
  }

  /** Packets that others send through this node are not its own. */
  @ParameterizedTest
  @EnumSource
  void shouldNoteOnlyWhatHasAnAddressOfTheNode(Family family) {
    for (final int protocol : PROTOCOLS) {
      node.forwardedToNetwork(packet(family, STRANGER, PEER, protocol)).passesUncounted();
      node.fromNetwork(packet(family, PEER, STRANGER, protocol).to(DEVICE_MAC)).passesUncounted();
      assertNull(flow(family, STRANGER, protocol));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveTheNodeTheIdentifierOfItsEcho(Family family) {
    final IpPacket echo = family.packet(ALICE, PEER).echoRequest(7, 1);
    node.fromWorkload(ALICE, echo).passes();
    node.toNetwork(family.packet(NODE, PEER).mayNotBeSplit().echoRequest(7, 1)).passesUncounted();
    node.fromNetwork(family.packet(PEER, NODE).to(DEVICE_MAC).echoReply(7, 1)).passesUncounted();
    node.fromWorkload(ALICE, echo).passes();
    final byte[] shown = node.forwardedToNetwork(echo).frame();
    final int at = shown.length - 4;
    final int identifier = (shown[at] & 0xff) << 8 | shown[at + 1] & 0xff;
    assertNotEquals(7, identifier);
    node.fromNetwork(family.packet(PEER, NODE).to(DEVICE_MAC).echoReply(identifier, 1))
        .passesUncountedAs(
            family.packet(PEER, ALICE).from(PEER.hostMac()).to(DEVICE_MAC).echoReply(7, 1));
  }

  private static IpPacket answer(Family family, ScenarioHost peer, int protocol) {
    return packet(family, peer, NODE, protocol).to(DEVICE_MAC);
  }

  private static IpPacket packet(Family family, ScenarioHost from, ScenarioHost to, int protocol) {
    final IpPacket packet = family.packet(from, to).payload("an odd number of b.");
    if (family == Family.IPV6 && protocol == AH) {
      return packet.extension(AH, 1).protocol(PROTECTED);
    }
    return protocol == SCTP ? packet.sctp(PORT, PORT) : packet.protocol(protocol);
  }

  private Flows.Flow flow(Family family, ScenarioHost from, int protocol) {
    final int port = protocol == SCTP ? PORT : 0;
    return node.flows().find(family, from, port, PEER, port, keyed(family, protocol));
  }

  private static int keyed(Family family, int protocol) {
    return family == Family.IPV6 && protocol == AH ? PROTECTED : protocol;
  }
}
