package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.node.NodeInventory.SegmentSizes;
import agent.node.netlink.LinkSizes;
import agent.types.IpAddress;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Which devices decide the sizes of packets. */
class NodeInventoryTest {
  private static final LinkSizes LO = new LinkSizes(1, "lo", 65536, 9, 9, 9, 9);
  private static final LinkSizes ETH0 = new LinkSizes(2, "eth0", 9000, 65536, 65536, 65535, 65534);
  private static final LinkSizes ETH1 = new LinkSizes(3, "eth1", 1400, 70000, 80000, 65536, 65536);
  private static final LinkSizes WL1 =
      new LinkSizes(7, "wl1", 1300, 200000, 190000, 180000, 170000);
  private static final LinkSizes WL2 = new LinkSizes(8, "wl2", 1200, 150000, 250000, 65536, 240000);

  private static NodeInventory of(Optional<String> uplink, Set<String> facing, Integer... hosts) {
    return NodeInventory.of(
        List.of(), List.of(), List.of(LO, ETH0, ETH1, WL1, WL2), uplink, facing, Set.of(hosts));
  }

  @Test
  void shouldTakeTheMtuOfTheDefaultRouteElseTheSmallestThatFacesTheNetwork() {
    final Set<String> facing = Set.of("eth0", "eth1");
    assertMtu(9000, 9000, of(Optional.of("eth0"), facing));
    assertMtu(1400, 1400, of(Optional.empty(), facing));
    assertMtu(1400, 1400, of(Optional.of("gone0"), facing));
    assertMtu(1500, 1500, of(Optional.empty(), Set.of()));
  }

  private static void assertMtu(int device, int route, NodeInventory inventory) {
    assertEquals(device, inventory.deviceMtu());
    assertEquals(route, inventory.routeMtu());
  }

  @Test
  void shouldTakeTheMtuOfTheOptionAndNoMoreThanTheNetworkHasForRoutes() {
    final NodeInventory detected = of(Optional.empty(), Set.of("eth1"));
    assertMtu(1400, 1400, detected.withMtu(0));
    assertMtu(1300, 1300, detected.withMtu(1300));
    assertMtu(9000, 1400, detected.withMtu(9000));
  }

  @Test
  void shouldTakeTheSmallestSegmentsOfTheDevicesOfWorkloads() {
    final NodeInventory two = of(Optional.empty(), Set.of("eth0"), 7, 8);
    assertEquals(new SegmentSizes(150000, 190000, 65536, 170000), two.segments());
    assertTrue(two.segments().isBigIpv6());
    assertFalse(two.segments().isBigIpv4(), "65536 is not above 64 KiB");
    assertTrue(of(Optional.empty(), Set.of("eth0"), 7).segments().isBigIpv4());
  }

  @Test
  void shouldTakeTheSegmentsOfTheNetworkWhereThereIsNoWorkload() {
    assertEquals(
        new SegmentSizes(65536, 65536, 65535, 65534),
        of(Optional.empty(), Set.of("eth0", "eth1")).segments());
    assertNull(of(Optional.empty(), Set.of()).segments());
  }

  @Test
  void shouldKeepDevicesAndAddressesWithAnotherMtu() {
    final LocalAddress address = new LocalAddress(IpAddress.parse("192.0.2.1"), 24, "eth0");
    final NodeInventory found =
        NodeInventory.of(
            List.of("eth0", "eth1"),
            List.of(address),
            List.of(ETH0),
            Optional.of("eth0"),
            Set.of(),
            Set.of());
    for (final NodeInventory each : List.of(found, found.withMtu(1300))) {
      assertEquals(List.of("eth0", "eth1"), each.guardedDevices());
      assertEquals(List.of(address), each.addresses());
    }
  }
}
