package agent.policy.rule;

import agent.policy.request.Expression;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.ServiceSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import agent.types.EntrySource;
import agent.types.KeptTexts;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * What rules hold, in the units of {@code PolicyLimits}: the heap that they need grows with these
 * numbers and with nothing else.
 *
 * @param rules the rules
 * @param peers elements of ingress and egress, peers that are no CIDR, ports, message types, rules
 *     of requests and their header fields
 * @param cidrs CIDRs and exceptions
 * @param labels labels of rules and selectors, and the values of expressions
 * @param characters of all texts, and what the expressions among them need besides
 */
public record RuleCount(long rules, long peers, long cidrs, long labels, long characters) {
  /** What no rule holds. */
  public static final RuleCount NONE = new RuleCount(0, 0, 0, 0, 0);

  /** Counts one checked rule. */
  public static RuleCount of(RuleSpec rule) {
    final Counter counter = new Counter();
    counter.selector(rule.endpointSelector());
    counter.labels(rule.labels());
    counter.text(rule.description());
    counter.source(rule.source());
    counter.elements(rule.ingress());
    counter.elements(rule.egress());
    counter.elements(rule.ingressDeny());
    counter.elements(rule.egressDeny());
    return new RuleCount(1, counter.peers, counter.cidrs, counter.labels, counter.characters);
  }

  /**
   * Returns texts of checked rules, of which short ones are kept; a long one is written in pieces.
   *
   * @param write returns the text of a short rule
   */
  public static KeptTexts<RuleSpec> texts(Function<RuleSpec, String> write) {
    return new KeptTexts<>(
        rule -> of(rule).characters() > KeptTexts.LONGEST ? null : write.apply(rule));
  }

  /** Returns the sum. */
  public RuleCount plus(RuleCount other) {
    return new RuleCount(
        rules + other.rules,
        peers + other.peers,
        cidrs + other.cidrs,
        labels + other.labels,
        characters + other.characters);
  }

  private static final class Counter {
    private long peers;
    private long cidrs;
    private long labels;
    private long characters;

    void text(String text) {
      characters += text == null ? 0 : text.length();
    }

    private void texts(Collection<String> texts) {
      if (texts != null) {
        texts.forEach(this::text);
      }
    }

    /** That of the API is shared. */
    void source(EntrySource source) {
      if (!source.equals(EntrySource.API)) {
        text(source.text());
      }
    }

    void labels(List<LabelSpec> specs) {
      if (specs != null) {
        labels += specs.size();
        for (final LabelSpec label : specs) {
          text(label.key());
          text(label.value());
          text(label.source());
        }
      }
    }

    void selector(SelectorSpec selector) {
      if (selector == null) {
        return;
      }
      if (selector.matchLabels() != null) {
        labels += selector.matchLabels().size();
        for (final Map.Entry<String, String> label : selector.matchLabels().entrySet()) {
          text(label.getKey());
          text(label.getValue());
        }
      }
      if (selector.matchExpressions() != null) {
        for (final ExpressionSpec expression : selector.matchExpressions()) {
          labels += 1 + size(expression.values());
          text(expression.key());
          texts(expression.values());
        }
      }
    }

    void elements(Collection<PeerRuleSpec> elements) {
      if (elements != null) {
        elements.forEach(this::element);
      }
    }

    private void element(PeerRuleSpec element) {
      peers += 1 + size(element.endpoints()) + size(element.requires()) + size(element.entities());
      peers += size(element.fqdns()) + size(element.services());
      cidrs += size(element.cidrs());
      texts(element.cidrs());
      texts(element.entities());
      fqdns(element.fqdns());
      services(element.services());
      if (element.endpoints() != null) {
        element.endpoints().forEach(this::selector);
      }
      if (element.requires() != null) {
        element.requires().forEach(this::selector);
      }
      if (element.cidrSets() != null) {
        for (final CidrSetSpec set : element.cidrSets()) {
          cidrs += 1 + size(set.except());
          text(set.cidr());
          texts(set.except());
        }
      }
      if (element.toPorts() != null) {
        element.toPorts().forEach(this::ports);
      }
      if (element.icmps() != null) {
        element.icmps().forEach(icmp -> peers += 1 + size(icmp.fields()));
      }
    }

    private void ports(PortRuleSpec ports) {
      peers += 1 + size(ports.ports());
      if (ports.rules() != null) {
        peers += size(ports.rules().http()) + size(ports.rules().dns());
        fqdns(ports.rules().dns());
        if (ports.rules().http() != null) {
          ports.rules().http().forEach(this::http);
        }
      }
    }

    private void http(HttpSpec http) {
      expression(http.method());
      expression(http.path());
      expression(http.host());
      peers += size(http.headers()) + size(http.headerMatches());
      texts(http.headers());
      if (http.headerMatches() != null) {
        for (final HeaderMatchSpec match : http.headerMatches()) {
          text(match.name());
          text(match.value());
        }
      }
    }

    /** An expression needs more heap than its text. */
    private void expression(String text) {
      characters += text == null ? 0 : Expression.weight(text);
    }

    private void fqdns(List<FqdnSpec> specs) {
      if (specs != null) {
        for (final FqdnSpec names : specs) {
          text(names.matchName());
          text(names.matchPattern());
        }
      }
    }

    private void services(List<ServiceSpec> specs) {
      if (specs != null) {
        for (final ServiceSpec service : specs) {
          text(service.name());
          text(service.namespace());
        }
      }
    }

    private static int size(Collection<?> values) {
      return values == null ? 0 : values.size();
    }
  }
}
