package agent.server.handler;

import agent.contract.policy.CidrSetModel;
import agent.contract.policy.EgressModel;
import agent.contract.policy.EndpointSelectorModel;
import agent.contract.policy.FqdnModel;
import agent.contract.policy.IcmpModel;
import agent.contract.policy.IngressModel;
import agent.contract.policy.LabelModel;
import agent.contract.policy.PortRuleModel;
import agent.contract.policy.RuleModel;
import agent.contract.policy.ServicePeerModel;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.IcmpFieldSpec;
import agent.policy.spec.PeerRuleSpec.IcmpRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.PeerRuleSpec.ServiceSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.DefaultDenySpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import agent.types.EntrySource;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** Converts rules between the contract and the domain; absent fields stay absent. */
public final class RuleCodec {
  private RuleCodec() {}

  /**
   * Converts rules to the form of the domain; checks their sources alone.
   *
   * @throws Refusal INVALID naming the source of a rule
   */
  public static List<RuleSpec> decode(List<RuleModel> rules) {
    final List<RuleSpec> specs = new ArrayList<>(rules.size());
    for (int i = 0; i < rules.size(); i++) {
      try {
        specs.add(one(rules.get(i), RuleCodec::decode));
      } catch (Refusal refusal) {
        throw refusal.at("[" + i + "]." + refusal.field());
      }
    }
    return specs;
  }

  private static RuleSpec decode(RuleModel rule) {
    return new RuleSpec(
        one(rule.endpointSelector(), RuleCodec::selector),
        each(rule.ingress(), RuleCodec::ingress),
        each(rule.egress(), RuleCodec::egress),
        each(rule.ingressDeny(), RuleCodec::ingress),
        each(rule.egressDeny(), RuleCodec::egress),
        each(rule.labels(), l -> new LabelSpec(l.key(), l.value(), l.source())),
        rule.description(),
        one(rule.enableDefaultDeny(), d -> new DefaultDenySpec(d.ingress(), d.egress())),
        one(rule.source(), EntrySource::new));
  }

  private static SelectorSpec selector(EndpointSelectorModel selector) {
    return new SelectorSpec(
        selector.matchLabels(),
        each(
            selector.matchExpressions(),
            e -> new ExpressionSpec(e.key(), e.operator(), e.values())));
  }

  private static PeerRuleSpec ingress(IngressModel rule) {
    return new PeerRuleSpec(
        each(rule.fromEndpoints(), RuleCodec::selector),
        each(rule.fromRequires(), RuleCodec::selector),
        rule.fromCIDR(),
        each(rule.fromCIDRSet(), c -> new CidrSetSpec(c.cidr(), c.exceptCidrs())),
        rule.fromEntities(),
        each(rule.toPorts(), RuleCodec::ports),
        each(rule.icmps(), RuleCodec::icmp),
        null,
        null,
        null);
  }

  private static PeerRuleSpec egress(EgressModel rule) {
    return new PeerRuleSpec(
        each(rule.toEndpoints(), RuleCodec::selector),
        each(rule.toRequires(), RuleCodec::selector),
        rule.toCIDR(),
        each(rule.toCIDRSet(), c -> new CidrSetSpec(c.cidr(), c.exceptCidrs())),
        rule.toEntities(),
        each(rule.toPorts(), RuleCodec::ports),
        each(rule.icmps(), RuleCodec::icmp),
        null,
        each(rule.toFQDNs(), f -> new FqdnSpec(f.matchName(), f.matchPattern())),
        each(rule.toServices(), RuleCodec::service));
  }

  private static ServiceSpec service(ServicePeerModel peer) {
    final ServicePeerModel.Name name = peer.service();
    return name == null
        ? new ServiceSpec(null, null)
        : new ServiceSpec(name.serviceName(), name.namespace());
  }

  private static PortRuleSpec ports(PortRuleModel rule) {
    return new PortRuleSpec(
        each(rule.ports(), p -> new PortSpec(p.port(), p.endPort(), p.protocol())),
        null,
        one(rule.rules(), RuleCodec::requests));
  }

  private static RequestRuleSpec requests(PortRuleModel.L7Rules rules) {
    return new RequestRuleSpec(
        each(
            rules.http(),
            h ->
                new HttpSpec(
                    h.method(),
                    h.path(),
                    h.host(),
                    h.headers(),
                    each(
                        h.headerMatches(),
                        m -> new HeaderMatchSpec(m.name(), m.value(), m.mismatch())))),
        each(rules.dns(), f -> new FqdnSpec(f.matchName(), f.matchPattern())));
  }

  private static IcmpRuleSpec icmp(IcmpModel rule) {
    return new IcmpRuleSpec(each(rule.fields(), f -> new IcmpFieldSpec(f.family(), f.type())));
  }

  /** Converts a rule to the form of the contract. */
  public static RuleModel encode(RuleSpec rule) {
    return new RuleModel(
        rule.description(),
        each(rule.egress(), RuleCodec::egress),
        each(rule.egressDeny(), RuleCodec::egress),
        one(rule.enableDefaultDeny(), d -> new RuleModel.DefaultDeny(d.egress(), d.ingress())),
        one(rule.endpointSelector(), RuleCodec::selector),
        each(rule.ingress(), RuleCodec::ingress),
        each(rule.ingressDeny(), RuleCodec::ingress),
        each(rule.labels(), l -> new LabelModel(l.key(), l.source(), l.value())),
        rule.source().equals(EntrySource.API) ? null : rule.source().text());
  }

  private static EndpointSelectorModel selector(SelectorSpec selector) {
    return new EndpointSelectorModel(
        each(
            selector.matchExpressions(),
            e -> new EndpointSelectorModel.Requirement(e.key(), e.operator(), e.values())),
        selector.matchLabels());
  }

  private static IngressModel ingress(PeerRuleSpec rule) {
    return new IngressModel(
        rule.cidrs(),
        each(rule.cidrSets(), c -> new CidrSetModel(c.cidr(), c.except())),
        each(rule.endpoints(), RuleCodec::selector),
        rule.entities(),
        each(rule.requires(), RuleCodec::selector),
        each(rule.icmps(), RuleCodec::icmp),
        each(rule.toPorts(), RuleCodec::ports));
  }

  private static EgressModel egress(PeerRuleSpec rule) {
    return new EgressModel(
        each(rule.icmps(), RuleCodec::icmp),
        rule.cidrs(),
        each(rule.cidrSets(), c -> new CidrSetModel(c.cidr(), c.except())),
        each(rule.endpoints(), RuleCodec::selector),
        rule.entities(),
        each(rule.fqdns(), f -> new FqdnModel(f.matchName(), f.matchPattern())),
        each(rule.toPorts(), RuleCodec::ports),
        each(rule.requires(), RuleCodec::selector),
        each(
            rule.services(),
            s -> new ServicePeerModel(new ServicePeerModel.Name(s.namespace(), s.name()))));
  }

  private static PortRuleModel ports(PortRuleSpec rule) {
    return new PortRuleModel(
        each(rule.ports(), p -> new PortRuleModel.Port(p.endPort(), p.port(), p.protocol())),
        one(rule.rules(), RuleCodec::requests));
  }

  private static PortRuleModel.L7Rules requests(RequestRuleSpec rules) {
    return new PortRuleModel.L7Rules(
        each(rules.dns(), f -> new FqdnModel(f.matchName(), f.matchPattern())),
        each(
            rules.http(),
            h ->
                new PortRuleModel.Http(
                    each(
                        h.headerMatches(),
                        m -> new PortRuleModel.HeaderMatch(m.mismatch(), m.name(), m.value())),
                    h.headers(),
                    h.host(),
                    h.method(),
                    h.path())));
  }

  private static IcmpModel icmp(IcmpRuleSpec rule) {
    return new IcmpModel(each(rule.fields(), f -> new IcmpModel.Field(f.family(), f.type())));
  }

  private static <T, R> R one(T value, Function<? super T, R> codec) {
    return value == null ? null : codec.apply(value);
  }

  /** Keeps an absent list absent: its meaning differs from that of an empty list. */
  private static <T, R> List<R> each(List<T> values, Function<? super T, R> codec) {
    return values == null ? null : values.stream().<R>map(v -> one(v, codec)).toList();
  }
}
