package agent.domain.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.Masquerading;
import agent.datapath.spec.SocketPorts;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.node.Sysctls;
import agent.node.netfilter.MasqueradePorts;
import agent.node.netfilter.MasqueradedRange;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What programs and rules masquerade where the families differ. */
class MasqueradeOptionsTest {
  private static final Prefix RANGE4 = Prefix.parse("10.5.0.0/24");
  private static final Prefix RANGE6 = Prefix.parse("f00d::5:0:0/96");
  private static final IpAddress NODE4 = IpAddress.parse("192.0.2.1");
  private static final IpAddress NODE6 = IpAddress.parse("2001:db8::1");
  private static final FamilyAddressing IPV4 = FamilyAddressing.of(NODE4, RANGE4);
  private static final FamilyAddressing IPV6 = FamilyAddressing.of(NODE6, RANGE6);
  private static final NodeAddressing BOTH = new NodeAddressing(IPV4, IPV6);
  private static final Prefix NAT46 = Prefix.parse("64:ff9b::/96");

  private static MasqueradeOptions options(String native4, String native6, int share) {
    return new MasqueradeOptions(true, true, true, native4, native6, share, NAT46);
  }

  private static List<MasqueradedRange> ranges(NodeAddressing addressing) {
    return options("10.0.0.0/8", "fd00::/8", 25).rules(addressing).ranges();
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
  void shouldTellTheProgramsWhatTheOptionsSay() {
    final Map<String, AddressPair> addresses = Map.of("eth7", new AddressPair(NODE4, NODE6));
    final Masquerading on = options("10.0.0.0/8", "auto", 40).masquerading(addresses, BOTH);
    assertEquals(addresses, on.addresses());
    assertEquals(Prefix.parse("10.0.0.0/8"), on.native4());
    assertEquals(RANGE6, on.native6());
    assertEquals(NAT46, on.nat46Range());
    assertEquals(40, on.endpointSharePercent());
    final Masquerading off = MasqueradeOptions.OFF.masquerading(addresses, BOTH);
    assertEquals(Prefix.ALL_IPV4, off.native4());
    assertEquals(Prefix.ALL_IPV6, off.native6());
  }

  @Test
  void shouldRefuseAPrefixOfTheOtherFamilyWhereItsOwnIsOn() {
    for (final String prefix : List.of("10.0.0.0/8", "fd00::/8")) {
      final boolean isIpv4 = prefix.equals("10.0.0.0/8");
      final MasqueradeOptions wrong =
          isIpv4 ? options("auto", prefix, 25) : options(prefix, "auto", 25);
      final String message =
          "ipv%d-native-routing-cidr: '%s' belongs to the other address family"
              .formatted(isIpv4 ? 6 : 4, prefix);
      assertEquals(message, assertThrows(Refusal.class, () -> wrong.rules(BOTH)).getMessage());
      assertEquals(
          message,
          assertThrows(Refusal.class, () -> wrong.masquerading(Map.of(), BOTH)).getMessage());
      wrong.rules(
          isIpv4
              ? new NodeAddressing(IPV4, FamilyAddressing.DISABLED)
              : new NodeAddressing(FamilyAddressing.DISABLED, IPV6));
    }
  }

  @Test
  void shouldInstallRulesWhereBothOptionsAskForThem() {
    for (final boolean isOn : new boolean[] {true, false}) {
      assertEquals(
          isOn, new MasqueradeOptions(isOn, true, true, "auto", "auto", 25, null).wantsRules());
      assertFalse(new MasqueradeOptions(isOn, false, true, "auto", "auto", 25, null).wantsRules());
    }
    assertTrue(options("auto", "auto", 25).rules(BOTH).areFirst());
    assertFalse(MasqueradeOptions.OFF.rules(BOTH).areFirst());
  }

  @Test
  void shouldGiveMasqueradedFlowsPortsBesideThoseOfSocketsInTheSharesOfTheOption() {
    final MasqueradePorts quarter = ports(25);
    assertEquals(2 * quarter.share(), ports(50).share(), 1);
    final SocketPorts sockets =
        SocketPorts.parse(Sysctls.ofKernel().get("ipv4", "ip_local_port_range"));
    assertEquals(MasqueradePorts.beside(sockets.first(), sockets.count(), 25), quarter);
  }

  private static MasqueradePorts ports(int share) {
    return options("auto", "auto", share).rules(BOTH).ports();
  }
}
