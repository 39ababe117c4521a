package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import agent.testkit.ParsedPacket;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * ARP and neighbour discovery: the programs answer for the gateway and for the address of the node,
 * which is the only neighbour of a workload.
 */
@KernelTest
class NeighbourKernelTest {
  private static final String LINK_LOCAL = "fe80::11";

  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @Test
  void shouldAnswerArpForTheGateway() {
    assertArpAnswered(HOST);
  }

  @Test
  void shouldAnswerArpForTheAddressOfTheNode() {
    assertArpAnswered(NODE);
  }

  private void assertArpAnswered(ScenarioHost asked) {
    final Outcome outcome =
        node.fromWorkload(ALICE, Packets.arpRequest(ALICE.mac(), ALICE.ipv4, asked.ipv4));
    assertEquals(Outcome.REDIRECT, outcome.action());
    assertArrayEquals(
        Packets.arpReply(ALICE.hostMac(), asked.ipv4, ALICE.mac(), ALICE.ipv4),
        Arrays.copyOf(outcome.frame(), 42));
  }

  @Test
  void shouldNotAnswerArpForOtherAddresses() {
    node.fromWorkload(ALICE, Packets.arpRequest(ALICE.mac(), ALICE.ipv4, BOB.ipv4))
        .dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
    node.fromWorkload(ALICE, Packets.arpRequest(ALICE.mac(), ALICE.ipv4, ALICE.ipv4))
        .dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
    node.fromWorkload(ALICE, Packets.arpRequest(ALICE.mac(), ALICE.ipv4, "0.0.0.0"))
        .dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
  }

  @Test
  void shouldPassArpToTheStackWithArpPassthrough() {
    node.with(ALICE, EndpointOption.ARP_PASSTHROUGH);
    node.fromWorkload(ALICE, Packets.arpRequest(ALICE.mac(), ALICE.ipv4, BOB.ipv4))
        .passesUncounted();
  }

  @Test
  void shouldDropArpWithAForgedSender() {
    node.fromWorkload(ALICE, Packets.arpRequest(ALICE.mac(), BOB.ipv4, HOST.ipv4))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
    node.fromWorkload(ALICE, Packets.arpRequest(BOB.mac(), ALICE.ipv4, HOST.ipv4))
        .dropsFor(DropReason.INVALID_SOURCE_MAC);
    node.fromWorkload(ALICE, Packets.arpReply(ALICE.mac(), BOB.ipv4, ALICE.hostMac(), HOST.ipv4))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
    final byte[] inside = Packets.arpRequest(BOB.mac(), ALICE.ipv4, HOST.ipv4);
    System.arraycopy(Packets.mac(ALICE.mac()), 0, inside, 6, 6);
    node.fromWorkload(ALICE, inside).dropsFor(DropReason.INVALID_SOURCE_MAC);
  }

  @Test
  void shouldDropAnAdvertisementOfTheAddressOfAnother() {
    final byte[] body = new byte[20];
    System.arraycopy(Packets.address(BOB.ipv6, 16), 0, body, 4, 16);
    node.fromWorkload(
            ALICE,
            Packets.ipv6(ALICE.ipv6, HOST.ipv6)
                .from(ALICE.mac())
                .to(ALICE.hostMac())
                .ttl(255)
                .icmp(136, 0, body))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
  }

  @Test
  void shouldForwardArpRequestsOfTheHostToTheWorkload() {
    node.toWorkload(ALICE, Packets.arpRequest(ALICE.hostMac(), HOST.ipv4, ALICE.ipv4))
        .passesUncounted();
    node.fromWorkload(ALICE, Packets.arpReply(ALICE.mac(), ALICE.ipv4, ALICE.hostMac(), HOST.ipv4))
        .passesUncounted();
  }

  @Test
  void shouldDropMalformedArp() {
    final byte[] request = Packets.arpRequest(ALICE.mac(), ALICE.ipv4, HOST.ipv4);
    request[15] = 6;
    node.fromWorkload(ALICE, request).dropsFor(DropReason.MALFORMED);
    final byte[] whole = Packets.arpRequest(ALICE.mac(), ALICE.ipv4, HOST.ipv4);
    node.fromWorkload(ALICE, Arrays.copyOf(whole, 41)).dropsFor(DropReason.MALFORMED);
  }

  @Test
  void shouldAnswerSolicitationsForTheGateway() {
    assertSolicitationsAnswered(HOST);
  }

  @Test
  void shouldAnswerSolicitationsForTheAddressOfTheNode() {
    assertSolicitationsAnswered(NODE);
  }

  private void assertSolicitationsAnswered(ScenarioHost asked) {
    for (final String sender : new String[] {ALICE.ipv6, LINK_LOCAL}) {
      final Outcome outcome = node.fromWorkload(ALICE, solicitation(sender, asked.ipv6));
      assertEquals(Outcome.REDIRECT, outcome.action());
      final ParsedPacket answer = outcome.parsed();
      assertEquals(ALICE.mac(), answer.destinationMac());
      assertEquals(ALICE.hostMac(), answer.sourceMac());
      assertEquals(address(asked.ipv6), address(answer.source()));
      assertEquals(address(sender), address(answer.destination()));
      assertEquals(136, answer.icmpType());
      assertEquals(255, answer.ttl());
      assertTrue(answer.checksumsAreRight());
      assertEquals(86, outcome.frame().length);
      assertEquals(0xe0, outcome.frame()[58] & 0xff, "router, solicited, override");
      assertArrayEquals(
          Packets.address(asked.ipv6, 16), Arrays.copyOfRange(outcome.frame(), 62, 78));
      assertArrayEquals(Packets.mac(ALICE.hostMac()), Arrays.copyOfRange(outcome.frame(), 80, 86));
    }
  }

  @Test
  void shouldDropOtherLinkControlMessages() {
    node.withoutPolicy();
    node.fromWorkload(ALICE, solicitation(ALICE.ipv6, BOB.ipv6))
        .dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
    node.fromWorkload(ALICE, solicitation("::", ALICE.ipv6)).dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
    for (final int type : new int[] {130, 131, 132, 133, 134, 137, 143}) {
      node.fromWorkload(ALICE, control(type, LINK_LOCAL, "ff02::16"))
          .dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
      node.toWorkload(ALICE, control(type, LINK_LOCAL, "ff02::16"))
          .dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
    }
  }

  @Test
  void shouldDropSolicitationsThatARouterForwarded() {
    node.fromWorkload(ALICE, solicitation(ALICE.ipv6, HOST.ipv6).ttl(254))
        .dropsFor(DropReason.MALFORMED);
  }

  @Test
  void shouldDropNeighbourDiscoveryWithAForgedSource() {
    node.fromWorkload(ALICE, solicitation(BOB.ipv6, HOST.ipv6))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
    node.fromWorkload(
            ALICE,
            Packets.neighbourAdvertisement(ALICE.mac(), BOB.ipv6, HOST.ipv6)
                .from(ALICE.mac())
                .to(ALICE.hostMac()))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
  }

  @Test
  void shouldForwardSolicitationsOfTheHostToTheWorkload() {
    node.toWorkload(
            ALICE, Packets.neighbourSolicitation(ALICE.hostMac(), HOST.ipv6, ALICE.ipv6).bytes())
        .passesUncounted();
    node.fromWorkload(
            ALICE,
            Packets.neighbourAdvertisement(ALICE.mac(), ALICE.ipv6, HOST.ipv6)
                .from(ALICE.mac())
                .to(ALICE.hostMac()))
        .passesUncounted();
  }

  @Test
  void shouldDropAdvertisementsToOthersThanTheNode() {
    node.withoutPolicy();
    for (final String destination : new String[] {BOB.ipv6, "2001:db8::1", "ff02::1"}) {
      node.fromWorkload(ALICE, advertisement(ALICE.ipv6, destination))
          .dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
    }
    node.fromWorkload(ALICE, advertisement(ALICE.ipv6, "fe80::1")).passesUncounted();
    node.fromWorkload(ALICE, advertisement(LINK_LOCAL, HOST.ipv6)).passesUncounted();
  }

  @Test
  void shouldDropNeighbourDiscoveryThatCarriesOtherData() {
    for (final int type : new int[] {135, 136}) {
      final byte[] whole =
          (type == 135 ? solicitation(ALICE.ipv6, HOST.ipv6) : advertisement(ALICE.ipv6, HOST.ipv6))
              .bytes();
      final byte[] body = Arrays.copyOfRange(whole, 58, whole.length);
      message(type, Arrays.copyOf(body, 20), null);
      message(type, Arrays.copyOf(body, 28 + 8), DropReason.MALFORMED);
      message(type, Arrays.copyOf(body, 1000), DropReason.MALFORMED);
      message(type, Arrays.copyOf(body, 24), DropReason.MALFORMED);
      message(type, changed(body, 20, 14), DropReason.MALFORMED); // a nonce
      message(type, changed(body, 21, 2), DropReason.MALFORMED);
      message(type, changed(body, 27, 0x77), DropReason.MALFORMED); // another MAC address
      node.fromWorkload(ALICE, Arrays.copyOf(whole, whole.length + 8))
          .dropsFor(DropReason.MALFORMED);
    }
  }

  @Test
  void shouldDropNeighbourDiscoveryToTheWorkloadThatIsNotOfTheNode() {
    node.withoutPolicy();
    final IpPacket solicitation =
        Packets.neighbourSolicitation(ALICE.hostMac(), BOB.ipv6, ALICE.ipv6);
    final IpPacket advertisement =
        Packets.neighbourAdvertisement(ALICE.hostMac(), BOB.ipv6, ALICE.ipv6);
    for (final IpPacket packet : new IpPacket[] {solicitation, advertisement}) {
      node.forwardedToWorkload(ALICE, packet).dropsFor(DropReason.NEIGHBOUR_UNKNOWN);
      node.toWorkload(ALICE, packet.ttl(254)).dropsFor(DropReason.MALFORMED);
    }
  }

  private void message(int type, byte[] body, DropReason reason) {
    final Outcome outcome =
        node.fromWorkload(
            ALICE,
            Packets.ipv6(ALICE.ipv6, HOST.ipv6).from(ALICE.mac()).ttl(255).icmp(type, 0, body));
    if (reason != null) {
      outcome.dropsFor(reason);
    } else if (type == 135) {
      assertEquals(Outcome.REDIRECT, outcome.action());
    } else {
      outcome.passesUncounted();
    }
  }

  private static byte[] changed(byte[] body, int offset, int value) {
    final byte[] copy = body.clone();
    copy[offset] = (byte) value;
    return copy;
  }

  private static IpPacket advertisement(String sender, String destination) {
    return Packets.neighbourAdvertisement(ALICE.mac(), sender, destination).from(ALICE.mac());
  }

  private static IpPacket solicitation(String sender, String target) {
    return Packets.neighbourSolicitation(ALICE.mac(), sender, target).from(ALICE.mac());
  }

  private static IpPacket control(int type, String from, String to) {
    return Packets.ipv6(from, to)
        .from(ALICE.mac())
        .ttl(type < 133 || type == 143 ? 1 : 255)
        .icmp(type, 0, new byte[20]);
  }

  private static String address(String text) {
    return Arrays.toString(Packets.address(text, 16));
  }
}
