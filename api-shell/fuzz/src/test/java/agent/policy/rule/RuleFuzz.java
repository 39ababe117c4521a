package agent.policy.rule;

import agent.contract.WireFormat;
import agent.contract.policy.RuleModel;
import agent.fuzz.FuzzInputs;
import agent.maps.layout.PolicyDirection;
import agent.policy.read.RuleReader;
import agent.policy.spec.RuleSpec;
import agent.server.handler.RuleCodec;
import agent.types.Refusal;
import java.util.List;
import java.util.stream.Stream;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.json.JsonMapper;

/** Rules: as JSON, in the form of the domain, and checked with their selectors and ports. */
public final class RuleFuzz {
  /** Inputs to start from. */
  public static final List<byte[]> SEEDS =
      FuzzInputs.texts(
          "[{\"endpointSelector\":{},\"ingress\":[{}]}]",
          "[{\"endpointSelector\":{\"matchLabels\":{\"k8s:app\":\"web\"}},\"ingress\":[{"
              + "\"fromEndpoints\":[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\","
              + "\"values\":[\"b\"]}]}],\"toPorts\":[{\"ports\":[{\"port\":\"80\",\"endPort\":90,"
              + "\"protocol\":\"TCP\"}]}]}],\"labels\":[{\"key\":\"n\",\"value\":\"1\"}]}]",
          "[{\"endpointSelector\":{},\"egressDeny\":[{\"toCIDRSet\":[{\"cidr\":\"10.0.0.0/8\","
              + "\"except\":[\"10.1.0.0/16\"]}],\"icmps\":[{\"fields\":[{\"type\":8}]}]}]}]",
          "[{\"endpointSelector\":{},\"egress\":[{\"toEntities\":[\"world\"],\"toPorts\":[{"
              + "\"ports\":[{\"port\":8080}]}]}],\"description\":\"d\"}]",
          "[{\"endpointSelector\":{},\"egress\":[{\"toFQDNs\":[{\"matchName\":\"a.b\"}]}]}]",
          "[{\"endpointSelector\":{},\"egress\":[{\"toServices\":[{\"k8sService\":{"
              + "\"serviceName\":\"a\",\"namespace\":\"b\"}}]}]}]",
          "[{\"endpointSelector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}]},"
              + "\"ingress\":[{\"fromCIDR\":[\"fd00::/8\"],\"fromRequires\":[{}]}]}]");

  private static final JsonMapper JSON = WireFormat.strictMapper();
  private static final JavaType RULES =
      JSON.getTypeFactory().constructCollectionType(List.class, RuleModel.class);

  private RuleFuzz() {}

  /** Reads a document of rules. */
  public static void fuzzerTestOneInput(byte[] input) {
    final List<RuleSpec> specs;
    final List<Rule> rules;
    try {
      final List<RuleModel> models = JSON.readValue(input, RULES);
      if (models == null) {
        return;
      }
      specs = RuleCodec.decode(models);
      rules = RuleReader.read(specs);
    } catch (JacksonException | Refusal refused) {
      return;
    }
    final String written = JSON.writeValueAsString(specs.stream().map(RuleCodec::encode).toList());
    final List<RuleSpec> again = RuleCodec.decode(JSON.readValue(written, RULES));
    FuzzInputs.assertSame(specs, again, written);
    FuzzInputs.assertSame(sections(rules), sections(RuleReader.read(again)), written);
  }

  private static List<List<Section>> sections(List<Rule> rules) {
    return rules.stream()
        .flatMap(rule -> Stream.of(PolicyDirection.values()).map(rule::sections))
        .toList();
  }
}
