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
    final LocalAddresses addresses =
        new LocalAddresses() {
          @Override
          public List<LocalAddress> all() {
            return local;
          }

          @Override
          public Optional<String> defaultDevice(boolean ipv4) {
            return defaultDevice;
          }
        };
    return new AddressingChoice(options, addresses, Optional.ofNullable(before)).choose();
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

  @Test
  void shouldUseTheAddressesThatTheOptionsName() {
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
  void shouldNameTheInvalidOption() {
    assertRefused("ipv4-node", with("10.0.0.999", "auto", "auto", "f00d::/64"));
    assertRefused("ipv4-node", with("2001:db8::1", "auto", "auto", "f00d::/64"));
    assertRefused("ipv4-range", with("auto", "10.0.0.0/31", "auto", "f00d::/64"));
    assertRefused("ipv4-range", with("auto", "nonsense", "auto", "f00d::/64"));
    assertRefused("ipv6-range", with("auto", "auto", "fd00::/64", "f00d::/64"));
    assertRefused("ipv6-cluster-alloc-cidr", with("auto", "auto", "auto", "f00d::/48"));
  }

  private static NodeOptions with(String node4, String range4, String range6, String cluster) {
    return new NodeOptions(true, true, node4, "auto", range4, range6, cluster, "undefined");
  }

  private void assertRefused(String option, NodeOptions options) {
    final Refusal refusal = assertThrows(Refusal.class, () -> choose(options));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertEquals(option, refusal.field());
  }
}
