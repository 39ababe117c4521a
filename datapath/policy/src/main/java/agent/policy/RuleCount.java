package agent.policy;

import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * What rules hold, in the units of {@link PolicyLimits}: the heap that they need grows with these
 * numbers and with nothing else.
 *
 * @param rules the rules
 * @param peers elements of ingress and egress, peers that are no CIDR, ports and message types
 * @param cidrs CIDRs and exceptions
 * @param labels labels of rules and selectors, and the values of expressions
 * @param characters of all texts
 */
record RuleCount(long rules, long peers, long cidrs, long labels, long characters) {
  static final RuleCount NONE = new RuleCount(0, 0, 0, 0, 0);

  /** Counts one checked rule. */
  static RuleCount of(RuleSpec rule) {
    final Counter counter = new Counter();
    counter.selector(rule.endpointSelector());
    counter.labels(rule.labels());
    counter.text(rule.description());
    counter.elements(rule.ingress());
    counter.elements(rule.egress());
    counter.elements(rule.ingressDeny());
    counter.elements(rule.egressDeny());
    return new RuleCount(1, counter.peers, counter.cidrs, counter.labels, counter.characters);
  }

  RuleCount plus(RuleCount other) {
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
      peers += size(element.fqdns());
      cidrs += size(element.cidrs());
      texts(element.cidrs());
      texts(element.entities());
      if (element.fqdns() != null) {
        for (final FqdnSpec names : element.fqdns()) {
          text(names.matchName());
          text(names.matchPattern());
        }
      }
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
        element.toPorts().forEach(ports -> peers += 1 + size(ports.ports()));
      }
      if (element.icmps() != null) {
        element.icmps().forEach(icmp -> peers += 1 + size(icmp.fields()));
      }
    }

    private static int size(Collection<?> values) {
      return values == null ? 0 : values.size();
    }
  }
}
