package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.contract.WireFormat;
import agent.contract.policy.RuleModel;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.ServiceSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.DefaultDenySpec;
import agent.types.EntrySource;
import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** Rules are shown as they were imported: every field, and what is absent stays absent. */
class RuleCodecTest {
  private static final JsonMapper MAPPER = WireFormat.strictMapper();

  /** Names in the order in which they are written. */
  private static final String SELECTOR =
      "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[\"a\",\"b\"]}],"
          + "\"matchLabels\":{\"app\":\"x\"}}";

  private static final String REQUESTS =
      "{\"dns\":[{\"matchName\":\"a.b\"},{\"matchPattern\":\"*.b\"}],\"http\":[{\"headerMatches\":[{\"mismatch\":\"ADD\",\"name\":\"X-A\",\"value\":\"v\"},{\"name\":\"X-B\"}],\"headers\":[\"X-C: d\",\"X-E\"],\"host\":\"h\",\"method\":\"GET|HEAD\",\"path\":\"/.*\"},{}]}";

  private static final String PORTS =
      "[{\"ports\":[{\"endPort\":90,\"port\":\"80\",\"protocol\":\"TCP\"},{\"port\":\"http\"},{\"protocol\":\"VRRP\"}],\"rules\":"
          + REQUESTS
          + "}]";

  private static final String ICMPS =
      "[{\"fields\":[{\"family\":\"IPv6\",\"type\":128},{\"type\":\"EchoRequest\"}]}]";

  private static String ingress(int number) {
    return "[{\"fromCIDR\":[\"10.%d.0.0/16\"],\"fromCIDRSet\":[{\"cidr\":\"10.0.0.0/8\",\"except\":[\"10.1.0.0/16\"]}],\"fromEndpoints\":[%s],\"fromEntities\":[\"world\"],\"fromRequires\":[%s],\"icmps\":%s,\"toPorts\":%s}]"
        .formatted(number, SELECTOR, SELECTOR, ICMPS, PORTS);
  }

  private static String egress(int number) {
    return "[{\"icmps\":%s,\"toCIDR\":[\"10.%d.0.0/16\"],\"toCIDRSet\":[{\"cidr\":\"10.0.0.0/8\",\"except\":[\"10.1.0.0/16\"]}],\"toEndpoints\":[%s],\"toEntities\":[\"host\"],\"toPorts\":%s,\"toRequires\":[%s],\"toServices\":[{\"k8sService\":{\"namespace\":\"s\",\"serviceName\":\"c\"}},{\"k8sService\":{\"serviceName\":\"d\"}}]}]"
        .formatted(ICMPS, number, SELECTOR, PORTS, SELECTOR);
  }

  private static List<RuleSpec> decoded(String json) {
    final List<RuleModel> models =
        MAPPER.readValue(
            json, MAPPER.getTypeFactory().constructCollectionType(List.class, RuleModel.class));
    return RuleCodec.decode(models);
  }

  private static String encoded(List<RuleSpec> rules) {
    return MAPPER.writeValueAsString(rules.stream().map(RuleCodec::encode).toList());
  }

  @Test
  void shouldShowEveryFieldOfARule() {
    final String rule =
        "[{\"description\":\"d\",\"egress\":%s,\"egressDeny\":%s,\"endpointSelector\":%s,\"ingress\":%s,\"ingressDeny\":%s,\"labels\":[{\"key\":\"k\",\"source\":\"s\",\"value\":\"v\"}]}]"
            .formatted(egress(1), egress(2), SELECTOR, ingress(3), ingress(4));
    assertEquals(rule, encoded(decoded(rule)));
  }

  @Test
  void shouldKeepWhatIsAbsentAndWhatIsEmpty() {
    for (final String rule :
        List.of(
            "[{}]",
            "[{\"endpointSelector\":{}}]",
            "[{\"egress\":[],\"egressDeny\":[{}],\"ingress\":[{}],\"ingressDeny\":[]}]",
            "[{\"ingress\":[{\"fromEndpoints\":[],\"toPorts\":[{}]}],\"labels\":[{\"key\":\"k\"}]}]",
            "[{\"egress\":[{\"icmps\":[{}],\"toEndpoints\":[]}]}]",
            "[{\"egress\":[{\"toFQDNs\":[],\"toServices\":[]}]}]",
            "[{\"egress\":[{\"toPorts\":[{\"rules\":{}},{\"rules\":{\"dns\":[],\"http\":[]}}]}]}]",
            "[{\"egress\":[{\"toPorts\":[{\"rules\":{\"dns\":[{}],\"http\":[{\"headerMatches\":[{}],\"headers\":[]}]}}]}]}]")) {
      assertEquals(rule, encoded(decoded(rule)));
    }
  }

  @Test
  void shouldShowTheSourceOfARuleThatIsNotOfTheApi() {
    final String rule = "[{\"labels\":[],\"source\":\"%s\"}]";
    final List<RuleSpec> foreign = decoded(rule.formatted("cluster"));
    assertEquals(new EntrySource("cluster"), foreign.getFirst().source());
    assertEquals(rule.formatted("cluster"), encoded(foreign));
    assertEquals("[{\"labels\":[]}]", encoded(decoded(rule.formatted("api"))));
    assertEquals(EntrySource.API, decoded("[{}]").getFirst().source());
  }

  /** A rule says the same however its numbers are written. */
  @Test
  void shouldReadANumberOfAMessageTypeThatIsWrittenAsText() {
    final String rule = "[{\"ingress\":[{\"icmps\":[{\"fields\":[{\"type\":%s}]}]}]}]";
    assertEquals(decoded(rule.formatted("8")), decoded(rule.formatted("\"8\"")));
    assertEquals(rule.formatted("8"), encoded(decoded(rule.formatted("\"8\""))));
  }

  @Test
  void shouldTellEmptyRulesOfRequestsFromNone() {
    final List<PortRuleSpec> ports =
        decoded("[{\"egress\":[{\"toPorts\":[{\"rules\":{}},{}]}]}]")
            .getFirst()
            .egress()
            .getFirst()
            .toPorts();
    assertEquals(new RequestRuleSpec(null, null), ports.getFirst().rules());
    assertNull(ports.getLast().rules());
  }

  /** Each of two like fields has another value, so that one is not taken for the other. */
  @Test
  void shouldReadAndShowNamesAndDirectionsForWhatTheyAre() {
    final String text =
        "[{\"egress\":[{\"toFQDNs\":[{\"matchName\":\"a.b\"},{\"matchPattern\":\"*.b\"}],"
            + "\"toServices\":[{\"k8sService\":{\"namespace\":\"s\",\"serviceName\":\"c\"}}]}],"
            + "\"enableDefaultDeny\":{\"egress\":%b,\"ingress\":%b}}]";
    for (final boolean egress : new boolean[] {true, false}) {
      final String json = text.formatted(egress, !egress);
      final RuleSpec rule = decoded(json).getFirst();
      assertEquals(new DefaultDenySpec(!egress, egress), rule.enableDefaultDeny());
      final PeerRuleSpec peers = rule.egress().getFirst();
      assertEquals(List.of(new FqdnSpec("a.b", null), new FqdnSpec(null, "*.b")), peers.fqdns());
      assertEquals(List.of(new ServiceSpec("c", "s")), peers.services());
      assertEquals(json, encoded(List.of(rule)));
    }
  }
}
