package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What delivery changes in a packet: MAC addresses, the TTL or hop limit, and checksums. */
@KernelTest
class DeliveryKernelTest {
  private static final int IPV4_CHECKSUM = 24;
  private static final int CARRY = 0xfe00;

  private final ScenarioNode node = new ScenarioNode().withoutPolicy();

  @AfterEach
  void close() {
    node.close();
  }

  /** The IPv4 checksums of these identifications overflow with the TTL, or are about to. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheFrameThatAFreshPacketWithTheNextTtlHas(Family family) {
    for (int id = 0; id < 0x10000; id++) {
      final byte[] frame = family.packet(ALICE, BOB).id(id).udp(40000, 53).bytes();
      final int checksum = (frame[IPV4_CHECKSUM] & 0xff) << 8 | frame[IPV4_CHECKSUM + 1] & 0xff;
      if (id == 1 || family == Family.IPV4 && checksum >= CARRY) {
        final IpPacket next = family.packet(ALICE, BOB).from(BOB.hostMac()).to(BOB.mac());
        assertArrayEquals(
            next.id(id).ttl(63).udp(40000, 53).bytes(),
            node.fromWorkload(ALICE, frame).reaches(BOB).frame(),
            () -> "checksum " + Integer.toHexString(checksum));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheChecksumOfTheDeviceRight(Family family) {
    node.routed();
    final IpPacket toBob = family.packet(ALICE, BOB).udp(40000, 53).payload("hello");
    for (final int ttl : new int[] {64, 3, 255}) {
      assertEquals(0, node.checksummedFromWorkload(ALICE, toBob.ttl(ttl)), "ttl " + ttl);
    }
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    final IpPacket answer = family.packet(PEER, ALICE).to(DEVICE_MAC).udp(53, 40000);
    node.fromNetwork(answer).reaches(ALICE);
    assertEquals(0, node.checksummedFromNetwork(answer));
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassAnExpiringPacketOfTheNetworkToTheStack(Family family) {
    node.routed();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    final IpPacket answer = family.packet(PEER, ALICE).to(DEVICE_MAC).udp(53, 40000);
    node.fromNetwork(answer.ttl(1)).passesUncounted();
    node.fromNetwork(answer.ttl(2)).reaches(ALICE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotDeliverAForgedPacketOfALocalFlowFromTheNetwork(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
    node.fromWorkload(BOB, family.packet(BOB, ALICE).udp(53, 40000)).reaches(ALICE);
    node.fromNetwork(family.packet(BOB, ALICE).to(DEVICE_MAC).udp(53, 40000))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
  }
}
