package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.node.NodeStore.NodeRecord;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class AddressingChoiceTest {
  private final List<LocalAddress> local = new ArrayList<>();
  private Optional<String> defaultDevice = Optional.empty();
  private NodeRecord before;

  private NodeAddressing choose(NodeOptions options) {
    return choice(options).choose();
  }

  private AddressingChoice choice(NodeOptions options) {
    final LocalAddresses addresses =
        new LocalAddresses() {
          @Override
          public List<LocalAddress> all() {
            return local;
          }

          @Override
          public List<Prefix> routedHere() {
            return List.of();
          }

          @Override
          public Optional<String> defaultDevice(boolean ipv4) {
            return defaultDevice;
          }
        };
    return new AddressingChoice(options, addresses, Optional.ofNullable(before));
  }

  private void has(String device, String address) {
    final int slash = address.indexOf('/');
    local.add(
        new LocalAddress(
            IpAddress.parse(address.substring(0, slash)),
            Integer.parseInt(address.substring(slash + 1)),
            device));
  }

  @Test
  void shouldDeriveRangesFromTheNodesIpv4Address() {
    has("lo", "127.0.0.1/8");
    has("eth0", "192.0.2.2/24");
    has("eth0", "fe80::1/64");
    has("eth0", "2001:db8::2/64");
    final NodeAddressing addressing = choose(NodeOptions.DEFAULTS);
    assertEquals(IpAddress.parse("192.0.2.2"), addressing.ipv4().node());
    assertEquals(Prefix.parse("10.2.0.0/16"), addressing.ipv4().range());
    assertEquals(IpAddress.parse("10.2.0.1"), addressing.ipv4().gateway());
    assertEquals(IpAddress.parse("2001:db8::2"), addressing.ipv6().node());
    assertEquals(Prefix.parse("f00d::c000:202:0:0/96"), addressing.ipv6().range());
    assertEquals(IpAddress.parse("f00d::c000:202:0:1"), addressing.ipv6().gateway());
  }

  @Test
  void shouldPreferTheDeviceOfTheDefaultRoute() {
    has("eth0", "192.0.2.2/24");
    has("eth1", "198.51.100.7/24");
    defaultDevice = Optional.of("eth1");
    assertEquals(IpAddress.parse("198.51.100.7"), choose(NodeOptions.DEFAULTS).ipv4().node());
  }

  @Test
  void shouldPreferTheDeviceThatIsNamed() {
    has("eth0", "192.0.2.2/24");
    has("eth1", "198.51.100.7/24");
    defaultDevice = Optional.of("eth1");
    final NodeOptions options =
        new NodeOptions(true, true, "auto", "auto", "auto", "auto", "f00d::/64", "eth0");
    assertEquals(IpAddress.parse("192.0.2.2"), choose(options).ipv4().node());
  }

  @Test
  void shouldChooseTheNextRangeWhereTheFirstIsANetworkOfTheNode() {
    has("eth0", "10.5.3.5/16");
    assertEquals(Prefix.parse("10.6.0.0/16"), choose(NodeOptions.DEFAULTS).ipv4().range());
  }

  @Test
  void shouldChooseAnotherPrivateRangeWhereTheNodeUsesAllOfTenSlash8() {
    has("eth0", "10.5.3.5/8");
    assertEquals(Prefix.parse("172.16.0.0/16"), choose(NodeOptions.DEFAULTS).ipv4().range());
  }

  @Test
  void shouldUseTheGatewayAsNodeAddressWhereTheNodeHasNone() {
    has("lo", "127.0.0.1/8");
    final NodeAddressing addressing = choose(NodeOptions.DEFAULTS);
    assertEquals(IpAddress.parse("10.1.0.1"), addressing.ipv4().node());
    assertEquals(Prefix.parse("f00d::a01:1:0:0/96"), addressing.ipv6().range());
    assertEquals(IpAddress.parse("f00d::a01:1:0:1"), addressing.ipv6().node());
  }

  @Test
  void shouldKeepTheRangesOfThePreviousRun() {
    has("eth0", "192.0.2.2/24");
    has("lo", "10.77.0.1/32");
    before = new NodeRecord(Prefix.parse("10.77.0.0/16"), Prefix.parse("f00d::7:0:0/96"));
    final NodeAddressing addressing = choose(NodeOptions.DEFAULTS);
    assertEquals(Prefix.parse("10.77.0.0/16"), addressing.ipv4().range());
    assertEquals(Prefix.parse("f00d::7:0:0/96"), addressing.ipv6().range());
    assertEquals(IpAddress.parse("192.0.2.2"), addressing.ipv4().node());
  }

  @Test
  void shouldNotUseTheGatewayOfThePreviousRunAsTheNodesAddress() {
    has("lo", "10.1.0.1/32");
    has("dummy0", "203.0.113.9/32");
    before = new NodeRecord(Prefix.parse("10.1.0.0/16"), null);
    assertEquals(IpAddress.parse("203.0.113.9"), choose(NodeOptions.DEFAULTS).ipv4().node());
  }

  /** The gateway is an address of the loopback device, before those that a person has added. */
  @Test
  void shouldUseAnotherAddressOfTheLoopbackThanTheGatewayOfThePreviousRun() {
    has("lo", "10.1.0.1/32");
    has("lo", "203.0.113.9/32");
    has("lo", "f00d::7:0:1/128");
    has("lo", "2001:db8::9/128");
    before = new NodeRecord(Prefix.parse("10.1.0.0/16"), Prefix.parse("f00d::7:0:0/96"));
    final NodeAddressing addressing = choose(NodeOptions.DEFAULTS);
    assertEquals(IpAddress.parse("203.0.113.9"), addressing.ipv4().node());
    assertEquals(IpAddress.parse("2001:db8::9"), addressing.ipv6().node());
  }

  @Test
  void shouldUseAnAddressLikeTheGatewayWhereItIsNotOnTheLoopback() {
    has("eth0", "10.1.0.1/24");
    has("eth1", "203.0.113.9/24");
    before = new NodeRecord(Prefix.parse("10.1.0.0/16"), null);
    assertEquals(IpAddress.parse("10.1.0.1"), choose(NodeOptions.DEFAULTS).ipv4().node());
  }

  @Test
  void shouldUseTheAddressesThatTheOptionsName() {
    has("eth0", "192.0.2.2/24");
    has("eth0", "2001:db8::2/64");
    has("eth0", "192.0.2.9/24");
    has("lo", "2001:db8::9/128");
    final NodeOptions options =
        new NodeOptions(
            true, true, "192.0.2.9", "2001:db8::9", "10.9.8.0/24", "fd00:1::/96", "f00d::/64", "");
    final NodeAddressing addressing = choose(options);
    assertEquals(IpAddress.parse("192.0.2.9"), addressing.ipv4().node());
    assertEquals(Prefix.parse("10.9.8.0/24"), addressing.ipv4().range());
    assertEquals(IpAddress.parse("2001:db8::9"), addressing.ipv6().node());
    assertEquals(IpAddress.parse("fd00:1::1"), addressing.ipv6().gateway());
  }

  @Test
  void shouldHaveNoAddressesOfADisabledFamily() {
    final NodeOptions options =
        new NodeOptions(true, false, "auto", "auto", "auto", "auto", "f00d::/64", "undefined");
    assertFalse(choose(options).ipv6().enabled());
  }

  @Test
  void shouldRecordTheRangesAndThoseOfThePreviousRunForADisabledFamily() {
    final Prefix former4 = Prefix.parse("10.77.0.0/16");
    final Prefix former6 = Prefix.parse("f00d::7:0:0/96");
    final Prefix now4 = Prefix.parse("10.9.0.0/16");
    final Prefix now6 = Prefix.parse("f00d::9:0:0/96");
    assertEquals(new NodeRecord(now4, null), recorded(now4, null));
    assertEquals(new NodeRecord(null, now6), recorded(null, now6));
    before = new NodeRecord(former4, former6);
    assertEquals(new NodeRecord(now4, now6), recorded(now4, now6));
    assertEquals(new NodeRecord(now4, former6), recorded(now4, null));
    assertEquals(new NodeRecord(former4, now6), recorded(null, now6));
  }

  /** Returns the record of a node with these ranges; null disables the family. */
  private NodeRecord recorded(Prefix range4, Prefix range6) {
    return choice(NodeOptions.DEFAULTS)
        .record(
            new NodeAddressing(
                range4 == null ? FamilyAddressing.DISABLED : FamilyAddressing.of(null, range4),
                range6 == null ? FamilyAddressing.DISABLED : FamilyAddressing.of(null, range6)));
  }

  @Test
  void shouldNameTheInvalidOption() {
    assertRefused("ipv4-node", with("10.0.0.999", "auto", "auto", "f00d::/64"));
    assertRefused("ipv4-node", with("2001:db8::1", "auto", "auto", "f00d::/64"));
    assertRefused("ipv4-range", with("auto", "10.0.0.0/31", "auto", "f00d::/64"));
    assertRefused("ipv4-range", with("auto", "nonsense", "auto", "f00d::/64"));
    assertRefused("ipv6-range", with("auto", "auto", "fd00::/64", "f00d::/64"));
    assertRefused("ipv6-cluster-alloc-cidr", with("auto", "auto", "auto", "f00d::/48"));
  }

  @Test
  void shouldRefuseAnAddressThatNoInterfaceHas() {
    has("eth0", "192.0.2.2/24");
    has("eth0", "2001:db8::2/64");
    assertRefused("ipv4-node", with("192.0.2.9", "auto", "auto", "f00d::/64"));
    assertRefused("ipv6-node", withNode6("2001:db8::9"));
    assertEquals(
        "ipv4-node: no interface of this node has 192.0.2.9",
        assertThrows(Refusal.class, () -> choose(with("192.0.2.9", "auto", "auto", "f00d::/64")))
            .getMessage());
    assertEquals(IpAddress.parse("2001:db8::2"), choose(withNode6("2001:db8::2")).ipv6().node());
    final NodeOptions withoutIpv4 =
        new NodeOptions(false, true, "192.0.2.9", "auto", "auto", "auto", "f00d::/64", "");
    assertFalse(choose(withoutIpv4).ipv4().enabled());
  }

  private static NodeOptions withNode6(String node6) {
    return new NodeOptions(true, true, "auto", node6, "auto", "auto", "f00d::/64", "undefined");
  }

  @Test
  void shouldRefuseARangeThatOverlapsTheNetworkOfADevice() {
    has("eth0", "10.5.3.5/16");
    has("eth1", "10.9.0.77/32");
    has("eth0", "fd00:1::5/64");
    has("lo", "10.77.0.1/32");
    has("lo", "fd00:77::1/128");
    for (final String range : List.of("10.5.9.0/24", "10.5.0.0/16", "10.0.0.0/8", "10.9.0.0/24")) {
      assertRefused("ipv4-range", with("auto", range, "auto", "f00d::/64"));
    }
    assertRefused("ipv6-range", with("auto", "auto", "fd00:1::/96", "f00d::/64"));
    assertEquals(
        "ipv4-range: 10.5.9.0/24 overlaps the network 10.5.0.0/16 of interface 'eth0'",
        assertThrows(Refusal.class, () -> choose(with("auto", "10.5.9.0/24", "auto", "f00d::/64")))
            .getMessage());
    final NodeAddressing again = choose(with("auto", "10.77.0.0/24", "fd00:77::/96", "f00d::/64"));
    assertEquals(IpAddress.parse("10.77.0.1"), again.ipv4().gateway(), "it is on the loopback");
    assertEquals(IpAddress.parse("fd00:77::1"), again.ipv6().gateway());
    final NodeOptions withoutIpv4 =
        new NodeOptions(false, true, "auto", "auto", "10.5.9.0/24", "auto", "f00d::/64", "");
    assertFalse(choose(withoutIpv4).ipv4().enabled());
  }

  private static NodeOptions with(String node4, String range4, String range6, String cluster) {
    return new NodeOptions(true, true, node4, "auto", range4, range6, cluster, "undefined");
  }

  private void assertRefused(String option, NodeOptions options) {
    final Refusal refusal = assertThrows(Refusal.class, () -> choose(options));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertEquals(option, refusal.field());
  }

  @Test
  void shouldNotUseTheIpv6GatewayOfThePreviousRunAsTheNodesAddress() {
    has("lo", "f00d::7:0:1/128");
    has("dummy0", "2001:db8::9/128");
    before = new NodeRecord(null, Prefix.parse("f00d::7:0:0/96"));
    assertEquals(IpAddress.parse("2001:db8::9"), choose(NodeOptions.DEFAULTS).ipv6().node());
  }

  /** Only the gateway, and only on the loopback device, is the agent's own. */
  @Test
  void shouldUseOtherAddressesOfTheRangeOfThePreviousRun() {
    has("lo", "10.1.0.1/32");
    has("eth0", "10.1.0.9/32");
    before = new NodeRecord(Prefix.parse("10.1.0.0/16"), null);
    assertEquals(IpAddress.parse("10.1.0.9"), choose(NodeOptions.DEFAULTS).ipv4().node());
    local.clear();
    has("lo", "10.1.0.2/32");
    assertEquals(IpAddress.parse("10.1.0.2"), choose(NodeOptions.DEFAULTS).ipv4().node());
    local.clear();
    has("eth0", "10.1.0.1/16");
    assertEquals(IpAddress.parse("10.1.0.1"), choose(NodeOptions.DEFAULTS).ipv4().node());
  }

  @Test
  void shouldPreferAnAddressOfADeviceToOneOfTheLoopback() {
    has("lo", "203.0.113.1/32");
    has("eth0", "192.0.2.2/24");
    assertEquals(IpAddress.parse("192.0.2.2"), choose(NodeOptions.DEFAULTS).ipv4().node());
    local.removeLast();
    assertEquals(IpAddress.parse("203.0.113.1"), choose(NodeOptions.DEFAULTS).ipv4().node());
  }

  @Test
  void shouldChooseTheRangesInTheOrderOfTheirNumbers() {
    has("eth0", "192.0.2.255/24");
    assertEquals(Prefix.parse("10.255.0.0/16"), choose(NodeOptions.DEFAULTS).ipv4().range());
    has("eth1", "10.255.1.1/16");
    assertEquals(Prefix.parse("10.0.0.0/16"), choose(NodeOptions.DEFAULTS).ipv4().range());
    has("eth2", "10.0.0.1/8");
    assertEquals(Prefix.parse("172.16.0.0/16"), choose(NodeOptions.DEFAULTS).ipv4().range());
    has("eth3", "172.16.0.1/12");
    assertEquals(Prefix.parse("100.64.0.0/16"), choose(NodeOptions.DEFAULTS).ipv4().range());
    has("eth4", "100.64.0.1/11");
    has("eth5", "100.96.0.1/12");
    has("eth6", "100.112.0.1/13");
    has("eth7", "100.120.0.1/14");
    has("eth8", "100.124.0.1/15");
    has("eth9", "100.126.0.1/16");
    assertEquals(Prefix.parse("100.127.0.0/16"), choose(NodeOptions.DEFAULTS).ipv4().range());
    has("eth10", "100.127.0.1/16");
    assertRefused("ipv4-range", NodeOptions.DEFAULTS);
  }

  @Test
  void shouldNotUseThe172NetworksOutsideThePrivateOnes() {
    has("eth0", "10.0.0.1/8");
    has("eth1", "172.16.0.1/13");
    has("eth2", "172.24.0.1/14");
    has("eth3", "172.28.0.1/15");
    has("eth4", "172.30.0.1/16");
    assertEquals(Prefix.parse("172.31.0.0/16"), choose(NodeOptions.DEFAULTS).ipv4().range());
    has("eth5", "172.31.0.1/16");
    assertEquals(Prefix.parse("100.64.0.0/16"), choose(NodeOptions.DEFAULTS).ipv4().range());
  }

  @Test
  void shouldTakeTheSmallestRangeOfTheOption() {
    assertEquals(
        Prefix.parse("10.9.0.0/30"),
        choose(with("auto", "10.9.0.0/30", "auto", "f00d::/64")).ipv4().range());
    assertRefused("ipv4-range", with("auto", "fd00::/30", "auto", "f00d::/64"));
    assertRefused("ipv6-range", with("auto", "auto", "fd00::/97", "f00d::/64"));
    assertRefused("ipv6-range", with("auto", "auto", "10.0.0.0/8", "f00d::/64"));
  }
}
