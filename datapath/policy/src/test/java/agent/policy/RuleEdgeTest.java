package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.RuleSpecs.entities;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.on;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.datapath.spec.PolicyEntry;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyPrefix;
import agent.policy.resolve.EnforcementMode;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.IcmpFieldSpec;
import agent.policy.spec.PeerRuleSpec.IcmpRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.Refusal;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The first and the last port and message type that a rule can name, and what it leaves out. */
class RuleEdgeTest {
  private static final PeerRuleSpec HOST = entities("host");

  /** Returns the entries of an endpoint that one rule with this element selects. */
  private static List<PolicyEntry> entries(PeerRuleSpec element) {
    final LocalIdentityAllocator identities = new LocalIdentityAllocator();
    final Identity web = identities.acquire(LabelSet.parse("labels", List.of("app=web"))).join();
    final PolicyEngine engine =
        PolicyEngine.open(
            new PolicyContext().identities(identities).mode(EnforcementMode.ALWAYS).conclude());
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(ingress(SelectorSpec.ALL, element)), false);
    return engine.policyOf(1).orElseThrow().entries();
  }

  private static PolicyEntry host(int protocol, int port) {
    return PolicyEntry.allow(1, PolicyDirection.INGRESS, protocol, port);
  }

  private static String refused(PeerRuleSpec element) {
    return assertThrows(Refusal.class, () -> entries(element)).getMessage();
  }

  private static PeerRuleSpec icmp(String family, int type) {
    return on(HOST, new IcmpRuleSpec(List.of(new IcmpFieldSpec(family, Integer.toString(type)))));
  }

  @Test
  void shouldTakeTheFirstAndTheLastPort() {
    assertEquals(List.of(host(6, 1)), entries(on(HOST, new PortSpec("1", null, "TCP"))));
    assertEquals(List.of(host(17, 65535)), entries(on(HOST, new PortSpec("65535", null, "UDP"))));
    assertEquals(
        List.of(host(132, 65535)), entries(on(HOST, new PortSpec("65535", 65535, "SCTP"))));
    assertEquals(
        "[0].ingress[0].toPorts[0].ports[0].port: '65536' is not a valid port",
        refused(on(HOST, new PortSpec("65536", null, "TCP"))));
    assertEquals(
        "[0].ingress[0].toPorts[0].ports[0].endPort: '65536' is not a port from 65535 to 65535",
        refused(on(HOST, new PortSpec("65535", 65536, "TCP"))));
    assertEquals(
        "[0].ingress[0].toPorts[0].ports[0].endPort: '79' is not a port from 80 to 65535",
        refused(on(HOST, new PortSpec("80", 79, "TCP"))));
  }

  @Test
  void shouldMeanEveryProtocolWithPortsWhereNoneIsNamed() {
    for (final String any : new String[] {null, "", "ANY", "any"}) {
      assertEquals(
          List.of(host(6, 80), host(17, 80), host(132, 80)),
          entries(on(HOST, new PortSpec("80", null, any))));
    }
    assertEquals(List.of(host(6, 80)), entries(on(HOST, new PortSpec("80", null, "tcp"))));
  }

  @Test
  void shouldTakeTheFirstAndTheLastMessageTypeOfBothFamilies() {
    assertEquals(List.of(host(1, 0)), entries(icmp("IPv4", 0)));
    assertEquals(List.of(host(1, 255)), entries(icmp(null, 255)));
    assertEquals(List.of(host(58, 0)), entries(icmp("IPv6", 0)));
    assertEquals(List.of(host(58, 255)), entries(icmp("IPv6", 255)));
    for (final int type : new int[] {-1, 256}) {
      assertEquals(
          "[0].ingress[0].icmps[0].fields[0].type: '"
              + type
              + "' is not a message type from 0 to 255",
          refused(icmp("IPv4", type)));
    }
  }

  private static PeerRuleSpec icmpNamed(String family, String name) {
    return on(HOST, new IcmpRuleSpec(List.of(new IcmpFieldSpec(family, name))));
  }

  /** One name means another number in the other family, or none. */
  @Test
  void shouldKnowTheNamesOfMessageTypesOfEachFamily() {
    assertEquals(List.of(host(1, 8)), entries(icmpNamed(null, "EchoRequest")));
    assertEquals(List.of(host(1, 3)), entries(icmpNamed("IPv4", "DestinationUnreachable")));
    assertEquals(List.of(host(1, 43)), entries(icmpNamed("IPv4", "ExtendedEchoReply")));
    assertEquals(List.of(host(58, 128)), entries(icmpNamed("IPv6", "EchoRequest")));
    assertEquals(List.of(host(58, 1)), entries(icmpNamed("IPv6", "DestinationUnreachable")));
    assertEquals(List.of(host(58, 2)), entries(icmpNamed("IPv6", "PacketTooBig")));
    assertEquals(List.of(host(58, 161)), entries(icmpNamed("IPv6", "ExtendedEchoReply")));
    for (final String none : new String[] {"PacketTooBig", "echorequest", "", " 8", "0x8"}) {
      final String start = "[0].ingress[0].icmps[0].fields[0].type: '" + none + "' is neither ";
      final String message = refused(icmpNamed("IPv4", none));
      assertEquals(start, message.substring(0, start.length()));
    }
    for (final String odd : new String[] {"08", "-0", "99999999999999999999"}) {
      assertEquals(
          "[0].ingress[0].icmps[0].fields[0].type: '"
              + odd
              + "' is not a message type from 0 to 255",
          refused(icmpNamed("IPv6", odd)));
    }
  }

  @Test
  void shouldMeanAllOfAProtocolWithoutPorts() {
    final Map<String, Integer> numbers = Map.of("ICMP", 1, "ICMPv6", 58, "VRRP", 112, "IGMP", 2);
    numbers.forEach(
        (name, number) -> {
          final List<PolicyEntry> all =
              List.of(
                  new PolicyEntry(
                      1,
                      PolicyDirection.INGRESS,
                      number,
                      0,
                      PolicyPrefix.PROTOCOL,
                      host(6, 1).verdict()));
          assertEquals(all, entries(on(HOST, new PortSpec(null, null, name))));
          assertEquals(
              all, entries(on(HOST, new PortSpec("0", null, name.toLowerCase(Locale.ROOT)))));
        });
  }

  @Test
  void shouldReadEveryMessageTypeOfEveryElement() {
    final PeerRuleSpec several =
        new PeerRuleSpec(
            null,
            null,
            null,
            null,
            List.of("host"),
            null,
            List.of(
                new IcmpRuleSpec(
                    List.of(new IcmpFieldSpec("IPv4", "3"), new IcmpFieldSpec("IPv4", "8"))),
                new IcmpRuleSpec(List.of(new IcmpFieldSpec("IPv6", "128")))),
            null,
            null,
            null);
    assertEquals(List.of(host(1, 3), host(1, 8), host(58, 128)), entries(several));
  }

  @Test
  void shouldRefuseListsThatCouldBeReadAsNothingOrAsEverything() {
    assertEquals(
        "[0].ingress[0].icmps: is empty: omit the field to match all traffic",
        refused(new PeerRuleSpec(null, null, null, null, null, null, List.of(), null, null, null)));
    assertEquals(
        "[0].ingress[0].toPorts: is empty: omit the field to match all ports",
        refused(new PeerRuleSpec(null, null, null, null, null, List.of(), null, null, null, null)));
    assertEquals(
        "[0].ingress[0].toPorts[0].ports: is empty: omit the field to match all ports",
        refused(on(HOST)));
  }

  @Test
  void shouldRefuseEveryPairOfKindsOfPeers() {
    final List<String> cidr = List.of("10.0.0.0/8");
    final List<CidrSetSpec> set = List.of(new CidrSetSpec("10.0.0.0/8", List.of()));
    final List<String> host = List.of("host");
    final String end = " cannot be combined in one element: use one element for each";
    assertEquals(
        "[0].ingress[0]: fromCIDR and fromCIDRSet" + end,
        refused(new PeerRuleSpec(null, null, cidr, set, null, null, null, null, null, null)));
    assertEquals(
        "[0].ingress[0]: fromCIDR and fromEntities" + end,
        refused(new PeerRuleSpec(null, null, cidr, null, host, null, null, null, null, null)));
    assertEquals(
        "[0].ingress[0]: fromCIDRSet and fromEntities" + end,
        refused(new PeerRuleSpec(null, null, null, set, host, null, null, null, null, null)));
  }

  @Test
  void shouldNeedOneEntryADirection() {
    final PolicyContext context = new PolicyContext().identities(new LocalIdentityAllocator());
    assertThrows(IllegalArgumentException.class, () -> context.mapCapacity(1).conclude());
    assertEquals(
        EnforcementMode.DEFAULT, PolicyEngine.open(context.mapCapacity(2).conclude()).mode());
  }
}
