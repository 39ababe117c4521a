package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.kernel.FlowUsageArray;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.FlowUsageFlyweight;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Which flows are masqueraded, and what becomes of their entries later. */
@KernelTest
class MasqueradedRangesKernelTest {
  private static final int OWN = 40000;
  private static final int PORT = 53;

  /** Addresses of the link, with their edges. */
  private static final Map<Family, List<String>> OF_THE_LINK =
      Map.of(
          Family.IPV4, List.of("169.254.0.0", "169.254.1.7", "169.254.255.255"),
          Family.IPV6, List.of("fe80::7", "febf:ffff::1"));

  /** Addresses beside these. */
  private static final Map<Family, List<String>> OF_HOSTS =
      Map.of(
          Family.IPV4, List.of("169.253.255.255", "169.255.0.0"),
          Family.IPV6, List.of("fe7f:ffff::1", "fec0::1"));

  private final ScenarioNode node =
      new ScenarioNode().withoutPolicy().routed().masquerade(DEVICE, NODE).capacity(100, 100);
  private final FlowUsageArray usage = new FlowUsageArray(node.map("flow_usage"));

  @AfterEach
  void close() {
    usage.close();
    node.close();
  }

  private static IpPacket to(Family family, String address) {
    final IpPacket packet =
        family == Family.IPV4
            ? Packets.ipv4(ALICE.ipv4, address)
            : Packets.ipv6(ALICE.ipv6, address);
    return packet.from(ALICE.mac()).to(ALICE.hostMac()).udp(OWN, PORT);
  }

  private String sourceOutside(Family family, String address) {
    node.fromWorkload(ALICE, to(family, address)).passes();
    return node.forwardedToNetwork(to(family, address)).parsed().source();
  }

  /** The address of the node is not one of another link. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveFlowsToAddressesOfTheLinkTheirSource(Family family) {
    for (final String address : OF_THE_LINK.get(family)) {
      node.fromWorkload(ALICE, to(family, address)).passes();
      node.forwardedToNetwork(to(family, address)).passesUncounted();
    }
    final String alice =
        node.fromWorkload(ALICE, to(family, family.address(BOB))).parsed().source();
    for (final String address : OF_HOSTS.get(family)) {
      assertNotEquals(alice, sourceOutside(family, address), address);
    }
  }

  /** A flow that was traced bypasses the stack once it is not. */
  @ParameterizedTest
  @EnumSource
  void shouldBypassTheStackAgain(Family family) {
    final IpPacket sent = family.packet(ALICE, PEER).udp(OWN, PORT);
    final IpPacket answer = family.packet(PEER, NODE).to(DEVICE_MAC).udp(PORT, OWN);
    node.with(ALICE, EndpointOption.TRACE_NOTIFICATION);
    node.fromWorkload(ALICE, sent).passes();
    node.fromNetwork(answer)
        .passesUncountedAs(
            family.packet(PEER, ALICE).from(PEER.hostMac()).to(DEVICE_MAC).udp(PORT, OWN));
    node.without(ALICE, EndpointOption.TRACE_NOTIFICATION);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, sent).passes();
    node.fromNetwork(answer).reachesAs(ALICE, family.packet(PEER, ALICE).udp(PORT, OWN));
    node.fromWorkload(ALICE, sent)
        .leavesAs(family.packet(NODE, PEER).from(ALICE.mac()).to(ALICE.hostMac()).udp(OWN, PORT));
  }

  /** Of two CPUs that find one expired entry, one claims it, before it looks at anything else. */
  @ParameterizedTest
  @EnumSource
  void shouldClaimAnExpiredEntryBeforeItTakesItsPlace(Family family) throws Exception {
    node.fromWorkload(BOB, family.packet(BOB, PEER).udp(OWN, PORT)).passes();
    node.flows().expireAfter(Duration.ofSeconds(-1), family, NODE, OWN, PEER, PORT, UDP);
    final DatagramSocket socket =
        node.network().call(() -> new DatagramSocket(new InetSocketAddress("::", OWN)));
    try (socket) {
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(OWN, PORT)).passes();
    }
    final Duration left = node.flows().find(family, NODE, OWN, PEER, PORT, UDP).lifetime();
    assertTrue(left.isPositive() && left.compareTo(Duration.ofSeconds(1)) <= 0, left::toString);
  }

  /** Makes the tables full, or empty. */
  private void exhaust(boolean isExhausted) {
    for (int table = 0; table < FlowUsageFlyweight.OPENED_COUNT; table++) {
      for (final int id : new int[] {ALICE.id, FlowUsageArray.NODE}) {
        usage.credit(id, table, usage.opened(id, table) - (isExhausted ? 1000 : 0));
      }
    }
  }

  /** What takes the place of an entry is where that was, whatever the share has become. */
  @ParameterizedTest
  @EnumSource
  void shouldReplaceTheEntriesOfAFlowInTheirTables(Family family) {
    final IpPacket sent = family.packet(ALICE, PEER).udp(OWN, PORT);
    exhaust(true);
    node.fromWorkload(ALICE, sent).passes();
    assertEquals(List.of(0L, 2L), List.of(node.flows().count(), node.flows().inOverflow()));
    exhaust(false);
    node.flows().expireInOverflow(family, ALICE, OWN, PEER, PORT, UDP);
    node.fromWorkload(ALICE, sent).passes();
    assertEquals(List.of(0L, 2L), List.of(node.flows().count(), node.flows().inOverflow()));
    final IpPacket other = family.packet(ALICE, PEER).udp(OWN + 1, PORT);
    node.fromWorkload(ALICE, other).passes();
    assertEquals(List.of(2L, 2L), List.of(node.flows().count(), node.flows().inOverflow()));
    exhaust(true);
    node.flows().expireAfter(Duration.ofSeconds(-1), family, ALICE, OWN + 1, PEER, PORT, UDP);
    node.fromWorkload(ALICE, other).passes();
    assertEquals(List.of(2L, 2L), List.of(node.flows().count(), node.flows().inOverflow()));
  }

  /** The node takes the tuple of a flow over, whose entry is in the overflow or is not. */
  @ParameterizedTest
  @EnumSource
  void shouldKeepATupleForTheNodeInTheTableOfItsEntry(Family family) {
    final int esp = 50;
    node.own(NODE);
    exhaust(true);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).protocol(esp).payload("12345678")).passes();
    exhaust(false);
    node.toNetwork(family.packet(NODE, PEER).mayNotBeSplit().protocol(esp).payload("12345678"))
        .passesUncounted();
    assertEquals(List.of(0L, 2L), List.of(node.flows().count(), node.flows().inOverflow()));
  }
}
