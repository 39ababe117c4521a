package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.manager.spec.SocketPorts;
import agent.launcher.options.OptionValues;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.node.Sysctls;
import agent.node.netfilter.MasqueradePorts;
import agent.node.netfilter.MasqueradedRange;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Which addresses of each family rules and the balancer get where the families differ. */
class AddressesOfOptionsTest {
  private static final Prefix RANGE4 = Prefix.parse("10.5.0.0/24");
  private static final Prefix RANGE6 = Prefix.parse("f00d::5:0:0/96");
  private static final IpAddress NODE4 = IpAddress.parse("192.0.2.1");
  private static final IpAddress NODE6 = IpAddress.parse("2001:db8::1");
  private static final IpAddress OWN4 = IpAddress.parse("198.51.100.7");
  private static final IpAddress OWN6 = IpAddress.parse("2001:db8:7::7");
  private static final FamilyAddressing IPV4 = FamilyAddressing.of(NODE4, RANGE4);
  private static final FamilyAddressing IPV6 = FamilyAddressing.of(NODE6, RANGE6);
  private static final NodeAddressing BOTH = new NodeAddressing(IPV4, IPV6);

  private static OptionValues options(String... arguments) {
    return OptionValues.read(List.of(arguments), Map.of());
  }

  private static List<MasqueradedRange> ranges(NodeAddressing addressing) {
    return new Settings(
            options("--ipv4-native-routing-cidr=10.0.0.0/8", "--ipv6-native-routing-cidr=fd00::/8"))
        .masquerade()
        .rules(addressing)
        .ranges();
  }

  @Test
  void shouldMasqueradeEachFamilyByItsOwnRangeAndPrefix() {
    final MasqueradedRange range4 =
        MasqueradedRange.of(RANGE4, List.of(IPV4.gateway(), NODE4), Prefix.parse("10.0.0.0/8"));
    final MasqueradedRange range6 =
        MasqueradedRange.of(RANGE6, List.of(IPV6.gateway(), NODE6), Prefix.parse("fd00::/8"));
    assertEquals(List.of(range4, range6), ranges(BOTH));
    assertEquals(List.of(range4), ranges(new NodeAddressing(IPV4, FamilyAddressing.DISABLED)));
    assertEquals(List.of(range6), ranges(new NodeAddressing(FamilyAddressing.DISABLED, IPV6)));
  }

  @Test
  void shouldGiveMasqueradedFlowsPortsBesideThoseOfSocketsInTheSharesOfTheOption() {
    final MasqueradePorts quarter = ports("25");
    assertEquals(2 * quarter.share(), ports("50").share(), 1);
    final SocketPorts sockets =
        SocketPorts.parse(Sysctls.ofKernel().get("ipv4", "ip_local_port_range"));
    assertEquals(MasqueradePorts.beside(sockets.first(), sockets.count(), 25), quarter);
  }

  private static MasqueradePorts ports(String share) {
    return new Settings(options("--masquerade-endpoint-share=" + share))
        .masquerade()
        .rules(BOTH)
        .ports();
  }

  private static AddressPair sources(AddressPair ofDevice) {
    return new BalancerOptions(options("--lb=eth7"))
        .balancing(BOTH, Map.of("eth7", ofDevice, "eth8", new AddressPair(OWN4, OWN6)))
        .sources();
  }

  @Test
  void shouldBalanceFromTheAddressOfTheNodeForAFamilyThatTheDeviceLacks() {
    assertEquals(new AddressPair(OWN4, OWN6), sources(new AddressPair(OWN4, OWN6)));
    assertEquals(new AddressPair(OWN4, NODE6), sources(new AddressPair(OWN4, null)));
    assertEquals(new AddressPair(NODE4, OWN6), sources(new AddressPair(null, OWN6)));
    assertEquals(new AddressPair(NODE4, NODE6), sources(AddressPair.NONE));
  }
}
