package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.packet;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.ScenarioNetwork.OTHER_DEVICE;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.BackendState;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Packets of a workload to a service whose backend is outside, where flows of workloads leave with
 * the address of the node. STRANGER has the address of the service.
 */
@KernelTest
class MasqueradedServiceKernelTest {
  private static final int ID = 7;
  private static final int PORT = 80;
  private static final int SERVED = 8080;
  private static final int CLIENT = 40000;
  private static final int IDENTITY = 4711;
  private static final int[] PROTOCOLS = {TCP, UDP};

  private final ScenarioNode node =
      new ScenarioNode()
          .withoutPolicy()
          .routed()
          .masquerade(DEVICE, NODE)
          .with(ALICE, EndpointOption.SERVICES)
          .with(BOB, EndpointOption.SERVICES);

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveFlowsTheAddressOfTheNodeInBothDirections(Family family) {
    for (final ScenarioHost backend : List.of(PEER, FAR)) {
      for (final int protocol : PROTOCOLS) {
        serve(family, protocol, backend);
        for (final boolean isQuick : new boolean[] {true, false, true}) {
          node.fromWorkload(ALICE, query(family, ALICE, protocol, isQuick))
              .leavesAs(served(family, ALICE, CLIENT, backend, protocol, isQuick));
          node.fromNetwork(answer(family, CLIENT, backend, protocol, isQuick))
              .reachesAs(ALICE, shown(family, ALICE, protocol, isQuick));
        }
        node.flows().delete(family, ALICE, CLIENT, STRANGER, PORT, protocol);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheChecksumOfTheDeviceRight(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, PEER);
      for (final boolean isQuick : new boolean[] {true, false, true}) {
        assertEquals(
            0,
            node.checksummedFromWorkload(ALICE, query(family, ALICE, protocol, isQuick)),
            "query");
        assertEquals(
            0,
            node.checksummedFromNetwork(answer(family, CLIENT, PEER, protocol, isQuick)),
            "answer");
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveEachWorkloadAPortOfItsOwn(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, PEER);
      node.fromWorkload(ALICE, query(family, ALICE, protocol, true))
          .leavesAs(served(family, ALICE, CLIENT, PEER, protocol, true));
      final Outcome outcome = node.fromWorkload(BOB, query(family, BOB, protocol, true));
      final int port = outcome.parsed().sourcePort();
      assertNotEquals(CLIENT, port);
      for (int i = 0; i < 2; i++) {
        node.fromNetwork(answer(family, port, PEER, protocol, true))
            .reachesAs(BOB, shown(family, BOB, protocol, true));
        node.fromWorkload(BOB, query(family, BOB, protocol, true))
            .leavesAs(served(family, BOB, port, PEER, protocol, true));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateFragmentsInBothDirections(Family family) {
    serve(family, UDP, PEER);
    fragments(
        true,
        family.packet(ALICE, STRANGER).udp(CLIENT, PORT),
        ofLink(family.packet(NODE, PEER)).ttl(63).udp(CLIENT, SERVED));
    fragments(
        false,
        family.packet(PEER, NODE).to(DEVICE_MAC).udp(SERVED, CLIENT),
        family
            .packet(STRANGER, ALICE)
            .from(ALICE.hostMac())
            .to(ALICE.mac())
            .ttl(63)
            .udp(PORT, CLIENT));
  }

  private void fragments(boolean leave, IpPacket sent, IpPacket arrives) {
    final List<byte[]> out = sent.payloadOf(3000).fragments(1400);
    final List<byte[]> in = arrives.payloadOf(3000).fragments(1400);
    for (int i = 0; i < out.size(); i++) {
      final Outcome outcome =
          leave ? node.fromWorkload(ALICE, out.get(i)) : node.fromNetwork(out.get(i));
      assertEquals(Outcome.REDIRECT, outcome.action(), outcome::toString);
      assertArrayEquals(in.get(i), outcome.frame(), "fragment " + i);
    }
  }

  /** "Fragmentation needed" of a router, and that the client has gone. */
  @ParameterizedTest
  @EnumSource
  void shouldTranslateErrorsInBothDirections(Family family) {
    final int type = family.unreachableType();
    serve(family, UDP, PEER);
    node.fromWorkload(ALICE, query(family, ALICE, UDP, true))
        .leavesAs(served(family, ALICE, CLIENT, PEER, UDP, true));
    node.fromNetwork(
            family
                .packet(FAR, NODE)
                .to(DEVICE_MAC)
                .icmpError(type, 4, packet(family, NODE, PEER, UDP, CLIENT, SERVED, true)))
        .reachesAs(
            ALICE, family.packet(FAR, ALICE).icmpError(type, 4, query(family, ALICE, UDP, true)));
    node.fromWorkload(
            ALICE,
            family.packet(ALICE, STRANGER).icmpError(type, 3, shown(family, ALICE, UDP, true)))
        .leavesAs(
            ofLink(family.packet(NODE, PEER))
                .icmpError(type, 3, packet(family, PEER, NODE, UDP, SERVED, CLIENT, true)));
  }

  @ParameterizedTest
  @EnumSource
  void shouldAnswerWhatItCannotSendOn(Family family) {
    serve(family, UDP, PEER);
    for (int i = 0; i < 2; i++) {
      final IpPacket large = family.packet(ALICE, STRANGER).payloadOf(2000).udp(CLIENT, PORT);
      final Outcome outcome = node.fromWorkload(ALICE, large);
      assertEquals(Outcome.REDIRECT, outcome.action(), outcome::toString);
      assertEquals(DropReason.NOT_FORWARDABLE, outcome.counted());
      final byte[] frame = outcome.frame();
      final int at = family == Family.IPV4 ? 34 : 54;
      assertEquals(family == Family.IPV4 ? 3 : 2, frame[at]);
      assertEquals(1500, (frame[at + 6] & 0xff) << 8 | frame[at + 7] & 0xff);
      final int destination = family == Family.IPV4 ? at + 8 + 16 : at + 8 + 24;
      final int length = family == Family.IPV4 ? 4 : 16;
      assertArrayEquals(
          Packets.address(family == Family.IPV4 ? STRANGER.ipv4 : STRANGER.ipv6, length),
          Arrays.copyOfRange(frame, destination, destination + length),
          "the address that was sent to");
    }
  }

  /** No host behind this node has sent it there. */
  @ParameterizedTest
  @EnumSource
  void shouldDropAnswersWhoseHopLimitExpires(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, PEER);
      node.fromWorkload(ALICE, query(family, ALICE, protocol, true))
          .leavesAs(served(family, ALICE, CLIENT, PEER, protocol, true));
      for (final boolean isQuick : new boolean[] {true, false}) {
        for (int hops = 0; hops < 2; hops++) {
          node.fromNetwork(answer(family, CLIENT, PEER, protocol, isQuick).ttl(hops))
              .dropsFor(DropReason.NOT_FORWARDABLE);
        }
        final Outcome last =
            node.fromNetwork(answer(family, CLIENT, PEER, protocol, isQuick).ttl(2));
        assertEquals(Outcome.REDIRECT, last.action(), last::toString);
        assertEquals(DropReason.NONE, last.counted());
      }
    }
  }

  /** A packet to the workload, as its policy says. */
  private void assertDropped(IpPacket answer, DropReason reason) {
    final long before = node.packets(MetricsDirection.INGRESS, reason);
    final Outcome outcome = node.fromNetwork(answer);
    assertEquals(Outcome.SHOT, outcome.action(), outcome::toString);
    assertNull(outcome.counted(), outcome::toString);
    assertEquals(before + 1, node.packets(MetricsDirection.INGRESS, reason));
  }

  /** The policy judges the backend, also for answers that come after a change. */
  @ParameterizedTest
  @EnumSource
  void shouldAskThePolicyAgainInBothDirections(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, PEER);
      node.fromWorkload(ALICE, query(family, ALICE, protocol, true))
          .leavesAs(served(family, ALICE, CLIENT, PEER, protocol, true));
      node.raiseGeneration(ALICE.id);
      for (int i = 0; i < 2; i++) {
        node.fromNetwork(answer(family, CLIENT, PEER, protocol, true))
            .reachesAs(ALICE, shown(family, ALICE, protocol, true));
        node.fromWorkload(ALICE, query(family, ALICE, protocol, true))
            .leavesAs(served(family, ALICE, CLIENT, PEER, protocol, true));
      }
      node.policyOf(ALICE).denyTo(PEER, protocol, SERVED);
      node.raiseGeneration(ALICE.id);
      for (int i = 0; i < 2; i++) {
        assertDropped(answer(family, CLIENT, PEER, protocol, i == 0), DropReason.POLICY_DENY_RULE);
        node.fromWorkload(ALICE, query(family, ALICE, protocol, true))
            .dropsFor(DropReason.POLICY_DENY_RULE);
      }
      node.policyOf(ALICE).revokeTo(PEER, protocol, SERVED);
      node.raiseGeneration(ALICE.id);
      node.fromNetwork(answer(family, CLIENT, PEER, protocol, true))
          .reachesAs(ALICE, shown(family, ALICE, protocol, true));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellBothEntriesWhatTheFlowDoes(Family family) {
    serve(family, TCP, PEER);
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).tcp(CLIENT, PORT).syn());
    lifetime(family, 60);
    node.fromNetwork(family.packet(PEER, NODE).to(DEVICE_MAC).tcp(SERVED, CLIENT).syn().ack());
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).tcp(CLIENT, PORT).ack());
    lifetime(family, 21_600);
  }

  /** Whether services for clients outside are there, too, or not. */
  @ParameterizedTest
  @EnumSource
  void shouldNotDeliverAnswersToTheNextOwnerOfAnAddress(Family family) {
    serve(family, UDP, PEER);
    node.fromWorkload(ALICE, query(family, ALICE, UDP, true))
        .leavesAs(served(family, ALICE, CLIENT, PEER, UDP, true));
    node.reassign(ALICE);
    node.fromNetwork(answer(family, CLIENT, PEER, UDP, true)).passesUncounted();
    final String frontend = family.address(STRANGER);
    node.services(family).putOutside(ID + 1, frontend, PORT, TCP, 0, new Server(BOB, SERVED));
    for (final boolean isQuick : new boolean[] {true, false}) {
      node.fromNetwork(answer(family, CLIENT, PEER, UDP, isQuick)).passesUncounted();
    }
  }

  /** From one outside to another one, and to a workload. */
  @ParameterizedTest
  @EnumSource
  void shouldGiveTheFlowUpWhereTheBackendIsAnother(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, PEER);
      node.fromWorkload(ALICE, query(family, ALICE, protocol, true))
          .leavesAs(served(family, ALICE, CLIENT, PEER, protocol, true));
      serve(family, protocol, FAR);
      node.services(family).state(ID, new Server(PEER, SERVED), null);
      node.raiseGeneration(ALICE.id);
      for (int i = 0; i < 2; i++) {
        node.fromWorkload(ALICE, query(family, ALICE, protocol, true))
            .leavesAs(served(family, ALICE, CLIENT, FAR, protocol, true));
        node.fromNetwork(answer(family, CLIENT, FAR, protocol, true))
            .reachesAs(ALICE, shown(family, ALICE, protocol, true));
      }
      serve(family, protocol, BOB);
      node.services(family).state(ID, new Server(FAR, SERVED), BackendState.QUARANTINED);
      node.raiseGeneration(ALICE.id);
      for (int i = 0; i < 2; i++) {
        node.fromWorkload(ALICE, query(family, ALICE, protocol, true))
            .reachesAs(BOB, packet(family, ALICE, BOB, protocol, CLIENT, SERVED, true));
      }
    }
  }

  /** A flow that has begun without a proxy does not pass one. */
  @ParameterizedTest
  @EnumSource
  void shouldDropWhatAProxyIsToSee(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, PEER);
      node.fromWorkload(ALICE, query(family, ALICE, protocol, true))
          .leavesAs(served(family, ALICE, CLIENT, PEER, protocol, true));
    }
    node.policyOf(ALICE).revokeAll(PolicyDirection.EGRESS);
    for (final int protocol : PROTOCOLS) {
      node.policyOf(ALICE).redirectTo(PEER, protocol, SERVED, RedirectKind.HTTP);
      node.raiseGeneration(ALICE.id);
      for (final boolean isQuick : new boolean[] {true, false}) {
        node.fromWorkload(ALICE, query(family, ALICE, protocol, isQuick))
            .dropsFor(DropReason.NO_PROXY);
        assertDropped(answer(family, CLIENT, PEER, protocol, isQuick), DropReason.NO_PROXY);
      }
    }
  }

  /** About once a second; the flow keeps its address. */
  @ParameterizedTest
  @EnumSource
  void shouldFollowARouteThatChanges(Family family) {
    serve(family, UDP, PEER);
    node.fromWorkload(ALICE, query(family, ALICE, UDP, true));
    node.masquerade(OTHER_DEVICE, HOST)
        .network()
        .route(PEER, "dev " + ScenarioNetwork.name(OTHER_DEVICE));
    for (final boolean isQuick : new boolean[] {true, false}) {
      node.flows().expireAfter(Duration.ofSeconds(30), family, ALICE, CLIENT, STRANGER, PORT, UDP);
      node.fromWorkload(ALICE, query(family, ALICE, UDP, isQuick))
          .leavesAs(served(family, ALICE, CLIENT, PEER, UDP, isQuick));
      final Flows.Flow flow = node.flows().find(family, ALICE, CLIENT, STRANGER, PORT, UDP);
      assertEquals(isQuick ? OTHER_DEVICE : DEVICE, flow.responderId());
      node.network().route(PEER, "dev " + ScenarioNetwork.name(DEVICE));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldSendByTheRouteOfTheTrafficClass(Family family) {
    serve(family, UDP, PEER);
    node.masquerade(OTHER_DEVICE, HOST).network().routeByClass(0x10, PEER, OTHER_DEVICE);
    for (int i = 0; i < 4; i++) {
      for (final int trafficClass : new int[] {0, 0x11}) {
        node.fromWorkload(ALICE, query(family, ALICE, UDP, i < 2).trafficClass(trafficClass))
            .leavesAs(served(family, ALICE, CLIENT, PEER, UDP, i < 2).trafficClass(trafficClass));
        assertEquals(
            trafficClass == 0 ? DEVICE : OTHER_DEVICE,
            node.flows().find(family, ALICE, CLIENT, STRANGER, PORT, UDP).responderId());
      }
    }
  }

  /** The network sends nothing from the address of a workload. */
  @ParameterizedTest
  @EnumSource
  void shouldTakeNoQueryFromTheNetwork(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, PEER);
      node.fromWorkload(ALICE, query(family, ALICE, protocol, true))
          .leavesAs(served(family, ALICE, CLIENT, PEER, protocol, true));
      for (final boolean isQuick : new boolean[] {true, false}) {
        node.fromNetwork(query(family, ALICE, protocol, isQuick).to(DEVICE_MAC))
            .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellBothEntriesTheIdentityOfTheBackend(Family family) {
    serve(family, UDP, PEER);
    node.fromWorkload(ALICE, query(family, ALICE, UDP, true));
    node.writeIdentity(PEER, IDENTITY);
    node.raiseShardsOf(PEER);
    node.fromWorkload(ALICE, query(family, ALICE, UDP, true))
        .leavesAs(served(family, ALICE, CLIENT, PEER, UDP, true));
    for (final Flows.Flow flow :
        new Flows.Flow[] {
          node.flows().find(family, ALICE, CLIENT, STRANGER, PORT, UDP),
          node.flows().find(family, NODE, CLIENT, PEER, SERVED, UDP)
        }) {
      assertEquals(ALICE.identity, flow.initiatorIdentity(), flow::toString);
      assertEquals(IDENTITY, flow.responderIdentity(), flow::toString);
    }
  }

  private void lifetime(Family family, int seconds) {
    final Flows.Flow front = node.flows().find(family, ALICE, CLIENT, STRANGER, PORT, TCP);
    final Flows.Flow back = node.flows().find(family, NODE, CLIENT, PEER, SERVED, TCP);
    for (final Flows.Flow flow : new Flows.Flow[] {front, back}) {
      assertNotNull(flow);
      assertEquals(seconds, flow.lifetime().toSeconds(), 2, flow::toString);
    }
  }

  private void serve(Family family, int protocol, ScenarioHost backend) {
    node.services(family).put(ID, STRANGER, PORT, protocol, 0, new Server(backend, SERVED));
  }

  private static IpPacket ofLink(IpPacket packet) {
    return packet.from(ALICE.mac()).to(ALICE.hostMac());
  }

  private static IpPacket query(Family family, ScenarioHost client, int protocol, boolean isQuick) {
    return packet(family, client, STRANGER, protocol, CLIENT, PORT, isQuick);
  }

  private static IpPacket served(
      Family family,
      ScenarioHost client,
      int port,
      ScenarioHost backend,
      int protocol,
      boolean isQuick) {
    return packet(family, NODE, backend, protocol, port, SERVED, isQuick)
        .from(client.mac())
        .to(client.hostMac());
  }

  private static IpPacket answer(
      Family family, int port, ScenarioHost backend, int protocol, boolean isQuick) {
    return packet(family, backend, NODE, protocol, SERVED, port, isQuick).to(DEVICE_MAC);
  }

  private static IpPacket shown(Family family, ScenarioHost client, int protocol, boolean isQuick) {
    return packet(family, STRANGER, client, protocol, PORT, CLIENT, isQuick);
  }
}
