package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.node.Devices.Device;
import agent.node.NodeStore.NodeRecord;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The values of the node that others ask. */
class NodeOptionsTest {
  @Test
  void shouldTellAVethFromOtherDevices() {
    assertTrue(device("veth").isVeth());
    assertFalse(device("bridge").isVeth());
    assertFalse(device(null).isVeth());
  }

  private static Device device(String kind) {
    return new Device("lxc1", 5, MacAddress.of(7), 1500, true, kind, true, -1);
  }

  @Test
  void shouldListTheAddressesOfARouteIpv4First() {
    final IpAddress ipv4 = IpAddress.parse("10.5.0.9");
    final IpAddress ipv6 = IpAddress.parse("f00d::9");
    assertEquals(List.of(ipv4, ipv6), route(ipv4, ipv6).addresses());
    assertEquals(List.of(ipv6), route(null, ipv6).addresses());
    assertEquals(List.of(), route(null, null).addresses());
  }

  private static WorkloadRoute route(IpAddress ipv4, IpAddress ipv6) {
    return new WorkloadRoute("lxc1", MacAddress.of(7), ipv4, ipv6);
  }

  @Test
  void shouldFindTheFamilyOfAnAddress() {
    final FamilyAddressing ipv4 = FamilyAddressing.of(null, Prefix.parse("10.5.0.0/16"));
    final FamilyAddressing ipv6 = FamilyAddressing.of(null, Prefix.parse("f00d::5:0:0/96"));
    final NodeAddressing addressing = new NodeAddressing(ipv4, ipv6);
    assertEquals(ipv4, addressing.family(IpAddress.parse("192.0.2.1")));
    assertEquals(ipv6, addressing.family(IpAddress.parse("2001:db8::1")));
  }

  @Test
  void shouldKeepTheLastRecordInMemory() {
    final NodeStore store = NodeStore.inMemory();
    assertEquals(Optional.empty(), store.load());
    final NodeRecord record = new NodeRecord(Prefix.parse("10.5.0.0/16"), null);
    store.save(record);
    assertEquals(Optional.of(record), store.load());
  }

  @Test
  void shouldKnowTheNetworksOfItsAddresses() {
    final LocalAddress local = new LocalAddress(IpAddress.parse("192.0.2.77"), 24, "eth0");
    assertEquals(Prefix.parse("192.0.2.0/24"), local.network());
    assertEquals(
        Optional.empty(), new LocalAddress(IpAddress.parse("192.0.2.77"), 0, "eth0").broadcast());
    assertEquals(
        Optional.empty(), new LocalAddress(IpAddress.parse("2001:db8::1"), 24, "eth0").broadcast());
    assertEquals(
        Optional.of(IpAddress.parse("255.255.255.255")),
        new LocalAddress(IpAddress.parse("128.0.0.1"), 1, "eth0").broadcast());
  }

  /** A descriptor of 0 would be the standard input. */
  @Test
  void shouldHaveNoDescriptorWhereThereAreNoEvents() {
    assertEquals(-1, NodeEvents.NONE.descriptor());
    assertEquals(0, NodeEvents.NONE.poll(null, 1));
  }
}
