package agent.policy;

import agent.policy.repository.PolicySnapshot;
import agent.policy.rule.RuleCount;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.IcmpRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.PeerRuleSpec.ServiceSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.DefaultDenySpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.EntrySource;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Factories of rules for tests. */
public final class RuleSpecs {
  private RuleSpecs() {}

  /** Returns the selector of those with one label. */
  public static SelectorSpec labels(String key, String value) {
    return new SelectorSpec(Map.of(key, value), null);
  }

  /** Returns an element whose peers are endpoints. */
  public static PeerRuleSpec endpoints(SelectorSpec... peers) {
    return new PeerRuleSpec(List.of(peers), null, null, null, null, null, null, null, null, null);
  }

  public static PeerRuleSpec requires(SelectorSpec... peers) {
    return new PeerRuleSpec(null, List.of(peers), null, null, null, null, null, null, null, null);
  }

  public static PeerRuleSpec cidrs(String... cidrs) {
    return new PeerRuleSpec(null, null, List.of(cidrs), null, null, null, null, null, null, null);
  }

  public static PeerRuleSpec cidrSet(String cidr, String... except) {
    return new PeerRuleSpec(
        null,
        null,
        null,
        List.of(new CidrSetSpec(cidr, List.of(except))),
        null,
        null,
        null,
        null,
        null,
        null);
  }

  /** Patterns are those with a star. */
  public static PeerRuleSpec fqdns(String... names) {
    return new PeerRuleSpec(
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        Arrays.stream(names).map(RuleSpecs::fqdn).toList(),
        null);
  }

  /** Services of a namespace by their names. */
  public static PeerRuleSpec services(String namespace, String... names) {
    return new PeerRuleSpec(
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        Arrays.stream(names).map(name -> new ServiceSpec(name, namespace)).toList());
  }

  private static FqdnSpec fqdn(String text) {
    return text.indexOf('*') < 0 ? new FqdnSpec(text, null) : new FqdnSpec(null, text);
  }

  public static PeerRuleSpec entities(String... entities) {
    return new PeerRuleSpec(
        null, null, null, null, List.of(entities), null, null, null, null, null);
  }

  /** Returns an element with ports. */
  public static PeerRuleSpec on(PeerRuleSpec peers, PortSpec... ports) {
    return new PeerRuleSpec(
        peers.endpoints(),
        peers.requires(),
        peers.cidrs(),
        peers.cidrSets(),
        peers.entities(),
        List.of(new PortRuleSpec(List.of(ports), null)),
        null,
        null,
        peers.fqdns(),
        peers.services());
  }

  public static PeerRuleSpec on(PeerRuleSpec peers, IcmpRuleSpec icmp) {
    return new PeerRuleSpec(
        peers.endpoints(),
        peers.requires(),
        peers.cidrs(),
        peers.cidrSets(),
        peers.entities(),
        null,
        List.of(icmp),
        null,
        null,
        null);
  }

  /** Ports on which only some requests may pass. */
  public static PeerRuleSpec on(PeerRuleSpec peers, RequestRuleSpec rules, PortSpec... ports) {
    return new PeerRuleSpec(
        peers.endpoints(),
        peers.requires(),
        peers.cidrs(),
        peers.cidrSets(),
        peers.entities(),
        List.of(new PortRuleSpec(List.of(ports), null, rules)),
        null,
        null,
        peers.fqdns(),
        peers.services());
  }

  /** Requests by method and path. */
  public static RequestRuleSpec http(String method, String path) {
    return new RequestRuleSpec(List.of(new HttpSpec(method, path, null, null, null)), null);
  }

  /** Patterns are those with a star. */
  public static RequestRuleSpec dns(String... names) {
    return new RequestRuleSpec(null, Arrays.stream(names).map(RuleSpecs::fqdn).toList());
  }

  /** Returns a port of UDP. */
  public static PortSpec udp(int port) {
    return new PortSpec(Integer.toString(port), null, "UDP");
  }

  public static PortSpec tcp(int port) {
    return new PortSpec(Integer.toString(port), null, "TCP");
  }

  /** Returns a rule of what may reach endpoints. */
  public static RuleSpec ingress(SelectorSpec subject, PeerRuleSpec... elements) {
    return new RuleSpec(subject, List.of(elements), null, null, null, null, null);
  }

  public static RuleSpec egress(SelectorSpec subject, PeerRuleSpec... elements) {
    return new RuleSpec(subject, null, List.of(elements), null, null, null, null);
  }

  public static RuleSpec ingressDeny(SelectorSpec subject, PeerRuleSpec... elements) {
    return new RuleSpec(subject, null, null, List.of(elements), null, null, null);
  }

  static RuleSpec egressDeny(SelectorSpec subject, PeerRuleSpec... elements) {
    return new RuleSpec(subject, null, null, null, List.of(elements), null, null);
  }

  public static RuleSpec named(RuleSpec rule, String key, String value) {
    return new RuleSpec(
        rule.endpointSelector(),
        rule.ingress(),
        rule.egress(),
        rule.ingressDeny(),
        rule.egressDeny(),
        List.of(new LabelSpec(key, value, null)),
        null);
  }

  /** Returns the same rule of a source. */
  static RuleSpec from(EntrySource source, RuleSpec rule) {
    return with(rule, rule.enableDefaultDeny(), source);
  }

  /** Returns the same rule that says itself where it turns enforcement on. */
  static RuleSpec enforcing(RuleSpec rule, DefaultDenySpec defaults) {
    return with(rule, defaults, rule.source());
  }

  private static RuleSpec with(RuleSpec rule, DefaultDenySpec defaults, EntrySource source) {
    return new RuleSpec(
        rule.endpointSelector(),
        rule.ingress(),
        rule.egress(),
        rule.ingressDeny(),
        rule.egressDeny(),
        rule.labels(),
        rule.description(),
        defaults,
        source);
  }

  /** Returns the snapshot of rules, whose characters are counted one by one. */
  static PolicySnapshot snapshot(long revision, RuleSpec... rules) {
    long characters = 0;
    for (final RuleSpec rule : rules) {
      characters += RuleCount.of(rule).characters();
    }
    return new PolicySnapshot(revision, List.of(rules), characters);
  }
}
