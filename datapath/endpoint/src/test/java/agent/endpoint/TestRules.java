package agent.endpoint;

import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.PeerRuleSpec.ServiceSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Factories of rules for tests. */
final class TestRules {
  private TestRules() {}

  /**
   * Returns a rule that allows endpoints with label {@code from} to send to endpoints with label
   * {@code to} on one TCP port.
   */
  static RuleSpec allowIngress(String to, String from, int port) {
    return rule(to, List.of(peer(List.of(selector(from)), null, port)), null);
  }

  static RuleSpec allowIngressFromCidr(String to, String cidr, int port) {
    return rule(to, List.of(peer(null, List.of(cidr), port)), null);
  }

  /** Returns a rule that allows addresses of a CIDR to send GET requests to endpoints. */
  static RuleSpec allowRequests(String to, String cidr, int port) {
    final PeerRuleSpec peer =
        new PeerRuleSpec(
            null, null, List.of(cidr), null, null, getRequests(port), null, null, null, null);
    return rule(to, List.of(peer), null);
  }

  /** Returns a rule that allows endpoints to send GET requests to the addresses of a name. */
  static RuleSpec allowRequestsToName(String from, String name, int port) {
    final List<FqdnSpec> names = List.of(new FqdnSpec(name, null));
    final PeerRuleSpec peer =
        new PeerRuleSpec(null, null, null, null, null, getRequests(port), null, null, names, null);
    return new RuleSpec(selector(from), null, List.of(peer), null, null, null, null);
  }

  private static List<PortRuleSpec> getRequests(int port) {
    final RequestRuleSpec get =
        new RequestRuleSpec(List.of(new HttpSpec("GET", null, null, null, null)), null);
    final PortSpec tcp = new PortSpec(Integer.toString(port), null, "TCP");
    return List.of(new PortRuleSpec(List.of(tcp), null, get));
  }

  /** Returns a rule with 9000 ports: a policy map holds it for one identity, and not for two. */
  static RuleSpec manyPorts(String to, String from) {
    final List<PortSpec> ports =
        IntStream.range(0, 9000)
            .mapToObj(i -> new PortSpec("" + (2 * i + 1), null, "TCP"))
            .toList();
    final PeerRuleSpec peer =
        new PeerRuleSpec(
            List.of(selector(from)),
            null,
            null,
            null,
            null,
            List.of(new PortRuleSpec(ports, null)),
            null,
            null,
            null,
            null);
    return rule(to, List.of(peer), null);
  }

  static RuleSpec denyIngress(String to, String from, int port) {
    return rule(to, null, List.of(peer(List.of(selector(from)), null, port)));
  }

  /** Returns a rule that allows endpoints with the label to send to an entity. */
  static RuleSpec allowEgressTo(String from, String entity) {
    final PeerRuleSpec egress =
        new PeerRuleSpec(null, null, null, null, List.of(entity), null, null, null, null, null);
    return new RuleSpec(selector(from), null, List.of(egress), null, null, null, null);
  }

  /** Returns a rule that allows endpoints to send to a named TCP port of other endpoints. */
  static RuleSpec allowEgressToPort(String from, String to, String port) {
    final PortSpec named = new PortSpec(port, null, "TCP");
    final PeerRuleSpec egress =
        new PeerRuleSpec(
            List.of(selector(to)),
            null,
            null,
            null,
            null,
            List.of(new PortRuleSpec(List.of(named), null)),
            null,
            null,
            null,
            null);
    return new RuleSpec(selector(from), null, List.of(egress), null, null, null, null);
  }

  /** Returns a rule that allows endpoints with the label to send to the addresses of a name. */
  static RuleSpec allowEgressToName(String from, String name) {
    return allowEgressTo(from, new FqdnSpec(name, null));
  }

  /** Returns a rule that allows endpoints with the label to send to the addresses of names. */
  static RuleSpec allowEgressToNames(String from, String pattern) {
    return allowEgressTo(from, new FqdnSpec(null, pattern));
  }

  private static RuleSpec allowEgressTo(String from, FqdnSpec names) {
    final PeerRuleSpec egress =
        new PeerRuleSpec(null, null, null, null, null, null, null, null, List.of(names), null);
    return new RuleSpec(selector(from), null, List.of(egress), null, null, null, null);
  }

  /** Returns a rule that allows endpoints with the label to send to the backends of a service. */
  static RuleSpec allowEgressToService(String from, String namespace, String name) {
    final PeerRuleSpec egress =
        new PeerRuleSpec(
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            List.of(new ServiceSpec(name, namespace)));
    return new RuleSpec(selector(from), null, List.of(egress), null, null, null, null);
  }

  /** Returns a rule that allows addresses of this many CIDRs to send to endpoints. */
  static RuleSpec allowIngressFromCidrs(String to, int count) {
    final List<String> cidrs =
        IntStream.range(0, count)
            .mapToObj(i -> "100.%d.%d.%d/32".formatted(64 + (i >> 16), i >> 8 & 0xff, i & 0xff))
            .toList();
    return rule(to, List.of(peer(null, cidrs, 80)), null);
  }

  private static PeerRuleSpec peer(List<SelectorSpec> endpoints, List<String> cidrs, int port) {
    return new PeerRuleSpec(
        endpoints,
        null,
        cidrs,
        null,
        null,
        List.of(new PortRuleSpec(List.of(new PortSpec(Integer.toString(port), null, "TCP")), null)),
        null,
        null,
        null,
        null);
  }

  private static RuleSpec rule(
      String to, List<PeerRuleSpec> ingress, List<PeerRuleSpec> ingressDeny) {
    return new RuleSpec(selector(to), ingress, null, ingressDeny, null, null, null);
  }

  /** Returns the same rule with a label {@code name}. */
  static RuleSpec named(String name, RuleSpec rule) {
    return new RuleSpec(
        rule.endpointSelector(),
        rule.ingress(),
        rule.egress(),
        rule.ingressDeny(),
        rule.egressDeny(),
        List.of(new LabelSpec("name", name, null)),
        null);
  }

  static SelectorSpec selector(String label) {
    final int equals = label.indexOf('=');
    return new SelectorSpec(Map.of(label.substring(0, equals), label.substring(equals + 1)), null);
  }
}
