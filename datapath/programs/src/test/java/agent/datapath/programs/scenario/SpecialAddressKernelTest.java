package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import agent.testkit.SpecialAddresses;
import agent.testkit.SpecialAddresses.Block;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each block of the special-purpose address registries, as source and as destination. */
@KernelTest
class SpecialAddressKernelTest {
  private static final int CLIENT = 40000;
  private static final int PORT = 80;
  private static final String BROADCAST_MAC = "ff:ff:ff:ff:ff:ff";
  private static final String MULTICAST_MAC = "01:00:5e:00:00:fb";

  private final ScenarioNode node = new ScenarioNode().withoutPolicy();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropWhatAWorkloadSendsToNoHost(Family family) {
    forEach(
        family,
        (block, address) -> {
          final String own = family.address(ALICE);
          for (final boolean isQuick : new boolean[] {true, false}) {
            final IpPacket packet = packet(family, own, address).from(ALICE.mac());
            judge(
                block,
                node.fromWorkload(
                    ALICE, slow(isQuick, packet.to(ALICE.hostMac()).tcp(CLIENT, PORT).syn())));
          }
          final IpPacket echo = packet(family, own, address).from(ALICE.mac());
          judge(block, node.fromWorkload(ALICE, echo.to(ALICE.hostMac()).echoRequest(7, 1)));
        });
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropWhatAWorkloadSendsFromNoHost(Family family) {
    node.without(EndpointOption.SOURCE_IP_VERIFICATION);
    forEach(
        family,
        (block, address) -> {
          for (final boolean isQuick : new boolean[] {true, false}) {
            final IpPacket packet =
                packet(family, address, family.address(STRANGER)).from(ALICE.mac());
            judge(
                block,
                node.fromWorkload(
                    ALICE, slow(isQuick, packet.to(ALICE.hostMac()).udp(CLIENT, PORT))));
          }
        });
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropWhatAWorkloadIsSentFromNoHostOrToNone(Family family) {
    forEach(
        family,
        (block, address) -> {
          for (final boolean isQuick : new boolean[] {true, false}) {
            final IpPacket from = packet(family, address, family.address(ALICE));
            final IpPacket to = packet(family, family.address(STRANGER), address);
            for (final IpPacket packet : new IpPacket[] {from, to}) {
              packet.from(ALICE.hostMac()).to(ALICE.mac()).udp(CLIENT, PORT);
              judge(block, node.toWorkload(ALICE, slow(isQuick, packet)));
            }
          }
        });
  }

  /** The frame of an address that is in the range becomes an IPv4 packet, and is judged as one. */
  @Test
  void shouldDropWhatAWorkloadSendsToNoHostByTheRangeOfNat46() {
    node.nat46();
    forEach(
        Family.IPV4,
        (block, address) -> {
          final IpPacket packet =
              Packets.ipv6(ALICE.ipv6, Nat46Packets.RANGE + address).from(ALICE.mac());
          final Outcome outcome =
              node.fromWorkload(ALICE, packet.to(ALICE.hostMac()).tcp(CLIENT, PORT).syn());
          if (block.isOfHosts()) {
            assertEquals(Outcome.PASS, outcome.action(), address); // as IPv4
          } else {
            outcome.dropsFor(DropReason.INVALID_ADDRESS);
          }
        });
  }

  /** Neither a service nor its backend meets what no host has sent. */
  @ParameterizedTest
  @EnumSource
  void shouldNotTranslateWhatNoHostHasSentToAService(Family family) {
    final String frontend = family.address(STRANGER);
    node.services(family)
        .putOutside(7, frontend, PORT, WorkloadPolicy.TCP, 0, new Server(BOB, 8080));
    for (final Block block : SpecialAddresses.blocks(family == Family.IPV6)) {
      if (!block.isOfHosts()) {
        for (final String address : block.addresses()) {
          node.fromNetwork(
                  packet(family, address, family.address(STRANGER))
                      .to(DEVICE_MAC)
                      .tcp(CLIENT, PORT)
                      .syn())
              .passesUncounted();
        }
      }
    }
    assertEquals(0, node.flows().count());
    final String router = "02:00:00:00:07:07";
    final IpPacket query = family.packet(FAR, STRANGER).from(router).to(DEVICE_MAC);
    final IpPacket served = family.packet(FAR, BOB).from(router).to(DEVICE_MAC);
    node.fromNetwork(query.tcp(CLIENT, PORT).syn())
        .passesUncountedAs(served.tcp(CLIENT, 8080).syn());
  }

  /** Sockets of the node get what a frame to all brings to an address of the node. */
  @ParameterizedTest
  @EnumSource
  void shouldVerifyTheSourceOfFramesToManyOrToOthers(Family family) {
    node.routed();
    for (final String mac : new String[] {BROADCAST_MAC, MULTICAST_MAC, "02:00:00:00:77:77"}) {
      for (final ScenarioHost local : new ScenarioHost[] {BOB, HOST}) {
        node.fromNetwork(family.packet(local, HOST).to(mac).udp(CLIENT, 53))
            .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
        node.fromNetwork(family.packet(local, HOST).to(mac).vlan(0).udp(CLIENT, 53))
            .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
      }
      node.fromNetwork(family.packet(STRANGER, HOST).to(mac).udp(CLIENT, 53)).passesUncounted();
    }
  }

  /** RFC 4862, section 5.4.4: its owner defends an address that this node begins to use. */
  @Test
  void shouldPassNeighbourDiscoveryToTheStackWhateverItsSource() {
    final String allNodes = "33:33:00:00:00:01";
    final String stranger = "02:00:00:00:77:77";
    node.fromNetwork(Packets.neighbourAdvertisement(stranger, HOST.ipv6, "ff02::1").to(allNodes))
        .passesUncounted();
    node.fromNetwork(Packets.neighbourSolicitation(stranger, "::", HOST.ipv6)).passesUncounted();
    node.fromNetwork(Packets.neighbourSolicitation(stranger, HOST.ipv6, STRANGER.ipv6))
        .passesUncounted();
    node.fromNetwork(
            Packets.neighbourAdvertisement(stranger, HOST.ipv6, "ff02::1").to(allNodes).ttl(64))
        .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
    for (final int hopLimit : new int[] {64, 255}) {
      node.fromNetwork(
              Packets.ipv6(HOST.ipv6, "ff02::1").to(allNodes).ttl(hopLimit).echoRequest(1, 2))
          .dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
    }
  }

  private static void judge(Block block, Outcome outcome) {
    if (block.isOfHosts()) {
      outcome.isForwarded();
    } else {
      outcome.dropsFor(DropReason.INVALID_ADDRESS);
    }
  }

  private static void forEach(Family family, BiConsumer<Block, String> judge) {
    for (final Block block : SpecialAddresses.blocks(family == Family.IPV6)) {
      block.addresses().forEach(address -> judge.accept(block, address));
    }
  }

  private static IpPacket packet(Family family, String from, String to) {
    return family == Family.IPV4 ? Packets.ipv4(from, to) : Packets.ipv6(from, to);
  }
}
