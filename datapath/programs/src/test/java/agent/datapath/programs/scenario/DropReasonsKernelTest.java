package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Nat46Packets.sent;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static agent.maps.layout.MetricsDirection.EGRESS;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.RedirectKind;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/**
 * A packet that is dropped for each reason, and counted for no other. A new reason does not compile
 * without one. {@code PREFILTER} is the reason of another program, see {@code PrefilterKernelTest}.
 */
@KernelTest
class DropReasonsKernelTest {
  private static final int CLIENT = 40000;
  private static final int PORT = 80;

  @ParameterizedTest
  @EnumSource(
      mode = Mode.EXCLUDE,
      names = {"NONE", "PREFILTER", "PROGRAM_REFUSED"})
  void shouldDropAPacketForTheReason(DropReason reason) {
    if (reason == DropReason.NOT_FORWARDABLE) {
      dropAtTheBalancer();
      return;
    }
    for (final Family family : Family.values()) {
      try (ScenarioNode node = new ScenarioNode()) {
        final Outcome outcome = drop(node, family, reason);
        if (reason == DropReason.SERVICE_UNSERVED) {
          assertEquals(reason, outcome.counted());
          assertEquals(ALICE.mac(), outcome.parsed().destinationMac()); // the sender is answered
        } else {
          outcome.dropsFor(reason);
        }
      }
    }
  }

  private static Outcome drop(ScenarioNode node, Family family, DropReason reason) {
    final IpPacket toPeer = family.packet(ALICE, PEER);
    return switch (reason) {
      case NONE, PREFILTER, PROGRAM_REFUSED, NOT_FORWARDABLE ->
          throw new IllegalArgumentException(reason.name());
      case POLICY_DENIED -> node.fromWorkload(ALICE, toPeer.udp(CLIENT, PORT));
      case POLICY_DENY_RULE -> {
        node.policyOf(ALICE).denyTo(PEER, UDP, PORT);
        yield node.fromWorkload(ALICE, toPeer.udp(CLIENT, PORT));
      }
      case INVALID_SOURCE_MAC -> node.fromWorkload(ALICE, toPeer.from(BOB.mac()).udp(CLIENT, PORT));
      case INVALID_SOURCE_ADDRESS ->
          node.fromWorkload(
              ALICE,
              family.packet(BOB, PEER).from(ALICE.mac()).to(ALICE.hostMac()).udp(CLIENT, PORT));
      case UNKNOWN_ETHERTYPE -> node.fromWorkload(ALICE, toPeer.vlan(7).udp(CLIENT, PORT));
      case MALFORMED -> {
        final byte[] request = Packets.arpRequest(ALICE.mac(), ALICE.ipv4, PEER.ipv4);
        yield node.fromWorkload(ALICE, Arrays.copyOf(request, request.length - 1));
      }
      case UNKNOWN_PROTOCOL ->
          node.fromWorkload(
              ALICE, toPeer.protocol(family == Family.IPV4 ? 58 : 1).payload(new byte[16]));
      case FRAGMENT_NOT_FOUND ->
          node.fromWorkload(
              ALICE, toPeer.id(7).udp(CLIENT, PORT).payloadOf(4800).fragments(2400).get(1));
      case CONNTRACK_FULL -> beyondTheTable(node, family);
      case ICMP_ERROR_UNTRACKED ->
          node.toWorkload(
              ALICE,
              family
                  .packet(PEER, ALICE)
                  .icmpError(family.unreachableType(), 3, toPeer.udp(CLIENT, PORT)));
      case NEIGHBOUR_UNKNOWN ->
          node.fromWorkload(ALICE, Packets.arpRequest(ALICE.mac(), ALICE.ipv4, BOB.ipv4));
      case FAMILY_DISABLED ->
          node.withoutPolicy().disable(family).fromWorkload(ALICE, toPeer.udp(CLIENT, PORT));
      case NO_ENDPOINT -> node.ofNoEndpoint("from_endpoint", toPeer.udp(CLIENT, PORT), EGRESS);
      case EXTENSION_HEADERS -> withManyHeaders(node);
      case SERVICE_UNSERVED -> {
        serveAlice(node, family);
        yield node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(CLIENT, PORT));
      }
      case TUPLE_IN_USE -> toServiceAndBackend(node, family);
      case PORTS_EXHAUSTED -> fromOnePort(node, family);
      case NO_PROXY -> {
        node.policyOf(ALICE).redirectTo(PEER, TCP, PORT, RedirectKind.HTTP);
        yield node.fromWorkload(ALICE, toPeer.tcp(CLIENT, PORT).syn());
      }
      case PROXY_SHARE -> beyondTheShare(node, toPeer);
      case NOT_REDIRECTED -> toTheProxy(node, family);
      case NOT_TRANSLATABLE ->
          node.nat46().withoutPolicy().fromWorkload(ALICE, sent(ALICE, PEER).sctp(CLIENT, PORT));
      case INVALID_ADDRESS -> toLoopback(node, family);
    };
  }

  private static Outcome toLoopback(ScenarioNode node, Family family) {
    final IpPacket packet =
        family == Family.IPV4
            ? Packets.ipv4(ALICE.ipv4, "127.0.0.1")
            : Packets.ipv6(ALICE.ipv6, "::1");
    return node.fromWorkload(ALICE, packet.from(ALICE.mac()).to(ALICE.hostMac()).udp(CLIENT, PORT));
  }

  private static Outcome beyondTheShare(ScenarioNode node, IpPacket toPeer) {
    node.policyOf(ALICE).redirectTo(PEER, UDP, PORT, RedirectKind.DNS);
    return RateWindow.inOne(
        () -> {
          ScenarioProxy.spendShare(node, ALICE.id, 0);
          return node.fromWorkload(ALICE, toPeer.udp(CLIENT, PORT));
        });
  }

  private static Outcome toTheProxy(ScenarioNode node, Family family) {
    ScenarioProxy.serve(node, RedirectKind.DNS, PORT);
    return node.withoutPolicy().fromWorkload(ALICE, family.packet(ALICE, HOST).udp(CLIENT, PORT));
  }

  private static Outcome beyondTheTable(ScenarioNode node, Family family) {
    node.fullFlowTables(1).withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(CLIENT, PORT)).reaches(BOB);
    return node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(CLIENT + 1, PORT));
  }

  private static Outcome withManyHeaders(ScenarioNode node) {
    final IpPacket packet = Family.IPV6.packet(ALICE, BOB).extension(IpPacket.HOP_BY_HOP, 1);
    for (int i = 0; i < 6; i++) {
      packet.extension(IpPacket.DESTINATION_OPTIONS, 2);
    }
    return node.withoutPolicy().fromWorkload(ALICE, packet.udp(CLIENT, PORT));
  }

  private static Outcome toServiceAndBackend(ScenarioNode node, Family family) {
    serveAlice(node, family, new Server(BOB, PORT));
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(CLIENT, PORT)).reaches(BOB);
    return node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(CLIENT, PORT));
  }

  private static Outcome fromOnePort(ScenarioNode node, Family family) {
    node.withoutPolicy().routed().masquerade(ScenarioNetwork.DEVICE, NODE);
    node.fromWorkload(ALICE, sctp(family, ALICE)).passes();
    return node.fromWorkload(BOB, sctp(family, BOB)); // SCTP keeps its port
  }

  private static IpPacket sctp(Family family, ScenarioHost workload) {
    return family.packet(workload, PEER).sctp(CLIENT, PORT);
  }

  private static void serveAlice(ScenarioNode node, Family family, Server... servers) {
    node.withoutPolicy().with(ALICE, EndpointOption.SERVICES);
    node.services(family).put(7, STRANGER, PORT, UDP, 0, servers);
  }

  /** The packet does not fit into the way to the backend, and may be split. */
  private static void dropAtTheBalancer() {
    final String frontend = "203.0.113.80";
    try (BalancerNode node = new BalancerNode()) {
      node.network().resolve(PEER, BalancerNode.DEVICE);
      node.network().mtu(BalancerNode.DEVICE, 1400);
      node.services(Family.IPV4).putOutside(7, frontend, PORT, UDP, 0, new Server(PEER, PORT));
      node.receive(BalancerNode.received(STRANGER.ipv4, frontend).udp(CLIENT, PORT).payloadOf(1400))
          .dropsFor(DropReason.NOT_FORWARDABLE);
    }
  }
}
