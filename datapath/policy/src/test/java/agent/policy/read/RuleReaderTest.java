package agent.policy.read;

import static agent.policy.RuleSpecs.cidrSet;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.entities;
import static agent.policy.RuleSpecs.fqdns;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.tcp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.IcmpFieldSpec;
import agent.policy.spec.PeerRuleSpec.IcmpRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import agent.types.Refusal;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class RuleReaderTest {
  private static final RuleSpec GOOD = ingress(SelectorSpec.ALL, on(entities("all"), tcp(80)));

  private static String refusal(RuleSpec... specs) {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> RuleReader.read(Arrays.asList(specs)));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    return refusal.getMessage();
  }

  @Test
  void shouldNameTheIndexAndThePathOfABadPort() {
    final RuleSpec bad =
        ingress(
            SelectorSpec.ALL, on(PeerRuleSpec.ALL, tcp(80), new PortSpec("70000", null, "TCP")));
    assertEquals(
        "[2].ingress[0].toPorts[0].ports[1].port: '70000' is not a valid port",
        refusal(GOOD, GOOD, bad, bad));
  }

  static Stream<Arguments> badPeers() {
    return Stream.of(
        Arguments.of(
            cidrs("10.0.0.0/8", "10.0.0.0/40"),
            "fromCIDR[1]: '10.0.0.0/40' is not a CIDR: its length is not between 0 and 32"),
        Arguments.of(cidrs("example.org"), "fromCIDR[0]: 'example.org' is not a CIDR"),
        Arguments.of(
            cidrSet("10.0.0.0/8", "10.1.0.0/16", "11.0.0.0/16"),
            "fromCIDRSet[0].except[1]: 11.0.0.0/16 is not within 10.0.0.0/8"),
        Arguments.of(
            cidrSet("10.0.0.0/8", "10.0.0.0/8"),
            "fromCIDRSet[0].except[0]: 10.0.0.0/8 is not within 10.0.0.0/8"),
        Arguments.of(
            new PeerRuleSpec(
                null,
                null,
                null,
                List.of(new CidrSetSpec(null, null)),
                null,
                null,
                null,
                null,
                null,
                null),
            "fromCIDRSet[0].cidr: is missing"),
        Arguments.of(entities("world", "mars"), "fromEntities[1]: 'mars' is not a valid entity"),
        Arguments.of(
            endpoints(labels("k8s:", "x")),
            "fromEndpoints[0].matchLabels.k8s:: 'k8s:=x' is not a valid label: the key is missing"),
        Arguments.of(
            endpoints(expression("app", "Like", "x")),
            "fromEndpoints[0].matchExpressions[0].operator: 'Like' is not one of In, NotIn, Exists, DoesNotExist"),
        Arguments.of(
            endpoints(expression("app", "In")),
            "fromEndpoints[0].matchExpressions[0].values: In requires at least one value"),
        Arguments.of(
            endpoints(expression("app", "Exists", "x")),
            "fromEndpoints[0].matchExpressions[0].values: Exists does not accept values"),
        Arguments.of(
            endpoints(expression("", "Exists")),
            "fromEndpoints[0].matchExpressions[0].key: 'any:' is not a valid label: the key is missing"),
        Arguments.of(
            endpoints(new SelectorSpec(null, Arrays.asList((ExpressionSpec) null))),
            "fromEndpoints[0].matchExpressions[0]: is missing"));
  }

  static Stream<Arguments> badPorts() {
    return Stream.of(
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("-1", null, "TCP")),
            "toPorts[0].ports[0].port: '-1' is not a valid port"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("080", null, "TCP")),
            "toPorts[0].ports[0].port: '080' is not a valid port"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("99999999999999", null, null)),
            "toPorts[0].ports[0].port: '99999999999999' is not a valid port"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("http-", null, "TCP")),
            "toPorts[0].ports[0].port: 'http-' is neither a port number nor a valid service name (RFC 6335"
                + " section 5.1)"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("http", 81, "TCP")),
            "toPorts[0].ports[0].endPort: is not allowed with a port name"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("http", null, "VRRP")),
            "toPorts[0].ports[0].port: 'http': VRRP has no ports: omit the field"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec(null, null, "TCP")),
            "toPorts[0].ports[0].port: is missing"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("80", 79, "TCP")),
            "toPorts[0].ports[0].endPort: '79' is not a port from 80 to 65535"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("80", 65536, "TCP")),
            "toPorts[0].ports[0].endPort: '65536' is not a port from 80 to 65535"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("0", 9, "TCP")),
            "toPorts[0].ports[0].endPort: is not allowed with port 0, which matches every port"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("80", null, "GRE")),
            "toPorts[0].ports[0].protocol: 'GRE' is not one of TCP, UDP, SCTP, ANY, ICMP, ICMPv6,"
                + " VRRP, IGMP"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("8", null, "icmp")),
            "toPorts[0].ports[0].port: '8': ICMP has no ports: omit the field"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec("0", 9, "VRRP")),
            "toPorts[0].ports[0].endPort: VRRP has no ports: omit the field"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new PortSpec(null, null, null)),
            "toPorts[0].ports[0].port: is missing"));
  }

  static Stream<Arguments> badPortRules() {
    return Stream.of(
        Arguments.of(ports(List.of()), "toPorts: is empty: omit the field to match all ports"),
        Arguments.of(ports(List.of(new PortRuleSpec(null, null))), "toPorts[0].ports: is missing"),
        Arguments.of(
            ports(List.of(new PortRuleSpec(List.of(tcp(80)), List.of("listener")))),
            "toPorts[0].listener: is not supported yet"),
        Arguments.of(
            new PeerRuleSpec(
                null, null, null, null, null, null, null, List.of("later"), null, null),
            "later: is not supported yet"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new IcmpRuleSpec(List.of(new IcmpFieldSpec("IPv4", "256")))),
            "icmps[0].fields[0].type: '256' is not a message type from 0 to 255"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new IcmpRuleSpec(List.of(new IcmpFieldSpec("IPv4", null)))),
            "icmps[0].fields[0].type: is missing"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new IcmpRuleSpec(List.of(new IcmpFieldSpec(null, "Packet")))),
            "icmps[0].fields[0].type: 'Packet' is neither a number from 0 to 255 nor an ICMP"
                + " message of IPv4: EchoReply, DestinationUnreachable, Redirect, EchoRequest,"
                + " RouterAdvertisement, RouterSolicitation, TimeExceeded, ParameterProblem,"
                + " Timestamp, TimestampReply, Photuris, ExtendedEchoRequest, ExtendedEchoReply"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new IcmpRuleSpec(List.of(new IcmpFieldSpec("IPX", "8")))),
            "icmps[0].fields[0].family: 'IPX' is neither IPv4 nor IPv6"),
        Arguments.of(
            on(PeerRuleSpec.ALL, new IcmpRuleSpec(List.of())),
            "icmps[0].fields: is empty: omit the field to match all traffic"));
  }

  private static SelectorSpec expression(String key, String operator, String... values) {
    return new SelectorSpec(null, List.of(new ExpressionSpec(key, operator, List.of(values))));
  }

  private static PeerRuleSpec ports(List<PortRuleSpec> rules) {
    return new PeerRuleSpec(null, null, null, null, null, rules, null, null, null, null);
  }

  @ParameterizedTest
  @MethodSource({"badPeers", "badPorts", "badPortRules"})
  void shouldNameWhatIsWrongInAnElement(PeerRuleSpec element, String message) {
    assertEquals(
        "[1].ingress[1]." + message,
        refusal(GOOD, ingress(SelectorSpec.ALL, PeerRuleSpec.ALL, element)));
  }

  @Test
  void shouldNameTheFieldsOfEgressByTheirOwnNames() {
    assertEquals(
        "[0].egressDeny[0].toCIDR[0]: 'x' is not a CIDR",
        refusal(new RuleSpec(SelectorSpec.ALL, null, null, null, List.of(cidrs("x")), null, null)));
  }

  static Stream<Arguments> badNames() {
    return Stream.of(
        Arguments.of(fqdns("a b"), "toFQDNs[0].matchName: 'a b' is not a DNS name"),
        Arguments.of(
            fqdns("a.b", "*..x"), "toFQDNs[1].matchPattern: '*..x' is not a pattern of DNS names"),
        Arguments.of(
            named(new FqdnSpec(null, null)),
            "toFQDNs[0]: exactly one of matchName and matchPattern is required"),
        Arguments.of(
            named(new FqdnSpec("a.b", "*.b")),
            "toFQDNs[0]: exactly one of matchName and matchPattern is required"),
        Arguments.of(named((FqdnSpec) null), "toFQDNs[0]: is missing"));
  }

  private static PeerRuleSpec named(FqdnSpec... names) {
    return new PeerRuleSpec(
        null, null, null, null, null, null, null, null, Arrays.asList(names), null);
  }

  @ParameterizedTest
  @MethodSource("badNames")
  void shouldNameWhatIsWrongWithNames(PeerRuleSpec element, String message) {
    assertEquals("[0].egress[0]." + message, refusal(egress(SelectorSpec.ALL, element)));
  }

  @Test
  void shouldRefuseNamesBesideOtherPeersAndInDenies() {
    assertEquals(
        "[0].egress[0]: toCIDR and toFQDNs cannot be combined in one element: use one element for each",
        refusal(
            egress(
                SelectorSpec.ALL,
                new PeerRuleSpec(
                    null,
                    null,
                    List.of("10.0.0.0/8"),
                    null,
                    null,
                    null,
                    null,
                    null,
                    List.of(new FqdnSpec("a.b", null)),
                    null))));
    assertEquals(
        "[0].egressDeny[0].toFQDNs: is not allowed in deny rules",
        refusal(
            new RuleSpec(SelectorSpec.ALL, null, null, null, List.of(fqdns("a.b")), null, null)));
  }

  @Test
  void shouldRefuseKindsOfPeersThatExcludeEachOther() {
    final PeerRuleSpec both =
        new PeerRuleSpec(
            List.of(SelectorSpec.ALL),
            null,
            List.of("10.0.0.0/8"),
            null,
            null,
            null,
            null,
            null,
            null,
            null);
    assertEquals(
        "[0].ingress[0]: fromEndpoints and fromCIDR cannot be combined in one element: use one element for each",
        refusal(ingress(SelectorSpec.ALL, both)));
    final PeerRuleSpec icmpAndPorts =
        new PeerRuleSpec(
            null,
            null,
            null,
            null,
            null,
            List.of(new PortRuleSpec(List.of(tcp(80)), null)),
            List.of(new IcmpRuleSpec(List.of(new IcmpFieldSpec(null, "8")))),
            null,
            null,
            null);
    assertEquals(
        "[0].ingress[0]: toPorts and icmps cannot be combined in one element: use one element for each",
        refusal(ingress(SelectorSpec.ALL, icmpAndPorts)));
  }

  @Test
  void shouldRefuseRulesThatSayNothing() {
    assertEquals("[0]: is missing", refusal((RuleSpec) null));
    assertEquals("[0].endpointSelector: is missing", refusal(ingress(null)));
    assertEquals(
        "[0]: the rule has none of ingress, egress, ingressDeny and egressDeny",
        refusal(new RuleSpec(SelectorSpec.ALL, null, null, null, null, null, null)));
    assertEquals(
        "[0].ingress[0]: is missing",
        refusal(
            new RuleSpec(
                SelectorSpec.ALL,
                Arrays.asList((PeerRuleSpec) null),
                null,
                null,
                null,
                null,
                null)));
  }

  @Test
  void shouldRefuseBadLabelsOfRules() {
    assertEquals(
        "[0].labels[0].key: is missing", refusal(withLabels(new LabelSpec(null, "x", null))));
    assertEquals(
        "[0].labels[1]: 'a:b:k' is not a valid label: 'a:b' is not a valid source",
        refusal(withLabels(new LabelSpec("k", null, null), new LabelSpec("k", null, "a:b"))));
    assertEquals(
        "[0].labels: conflicting labels 'unspec:k=1' and 'unspec:k=2'",
        refusal(withLabels(new LabelSpec("k", "1", null), new LabelSpec("k", "2", ""))));
  }

  private static RuleSpec withLabels(LabelSpec... labels) {
    return new RuleSpec(SelectorSpec.ALL, List.of(), null, null, null, List.of(labels), null);
  }
}
