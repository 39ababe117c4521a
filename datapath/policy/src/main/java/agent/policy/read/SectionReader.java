package agent.policy.read;

import agent.maps.layout.PolicyDirection;
import agent.policy.rule.CidrSelector;
import agent.policy.rule.Entity;
import agent.policy.rule.FqdnSelector;
import agent.policy.rule.PeerSelector;
import agent.policy.rule.Section;
import agent.policy.rule.ServiceSelector;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.ServiceSpec;
import agent.types.PlainText;
import agent.types.Prefix;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;

/**
 * Checks one element of {@code ingress}, {@code egress} or their deny forms. Labels, CIDRs, CIDR
 * sets, entities, names and services exclude each other in one element; two elements express both.
 * An element with nothing but {@code fromRequires} allows no peer, it only narrows other elements;
 * an allow with nothing at all selects no peer.
 */
final class SectionReader {
  private final String path;
  private final PolicyDirection direction;
  private final boolean deny;

  SectionReader(String path, PolicyDirection direction, boolean deny) {
    this.path = path;
    this.direction = direction;
    this.deny = deny;
  }

  Section read(PeerRuleSpec spec) {
    if (spec.unserved() != null && !spec.unserved().isEmpty()) {
      throw Refusal.invalid(path + "." + spec.unserved().getFirst(), "is not supported yet");
    }
    if (deny && spec.isEmpty()) {
      throw Refusal.invalid(
          path, "has no peers to deny; use " + name("Entities") + ": [all] to deny everything");
    }
    checkPeers(spec);
    final List<PeerSelector> outsiders = new ArrayList<>();
    outsiders.addAll(cidrs(spec.cidrs()));
    outsiders.addAll(cidrSets(spec.cidrSets()));
    outsiders.addAll(fqdns(spec.fqdns()));
    outsiders.addAll(services(spec.services()));
    final List<Entity> entities = entities(spec.entities());
    outsiders.addAll(entities);
    return new Section(
        direction,
        deny,
        isOfAllPeers(spec) || entities.contains(Entity.ALL),
        SelectorReader.readAll(field("Endpoints"), spec.endpoints()),
        SelectorReader.readAll(field("Requires"), spec.requires()),
        outsiders,
        new PortReader(direction, deny).read(path, spec));
  }

  /** An element with ports or ICMP and no list of peers is for all of them. */
  private static boolean isOfAllPeers(PeerRuleSpec spec) {
    return spec.namesNoPeer() && (spec.toPorts() != null || spec.icmps() != null);
  }

  private String name(String peers) {
    return Section.preposition(direction) + peers;
  }

  private String field(String peers) {
    return path + "." + name(peers);
  }

  private void checkPeers(PeerRuleSpec spec) {
    final List<String> named = new ArrayList<>();
    addNamed(named, "Endpoints", spec.endpoints());
    addNamed(named, "CIDR", spec.cidrs());
    addNamed(named, "CIDRSet", spec.cidrSets());
    addNamed(named, "Entities", spec.entities());
    addNamed(named, "FQDNs", spec.fqdns());
    addNamed(named, "Services", spec.services());
    if (named.size() > 1) {
      throw Refusal.invalid(
          path,
          String.join(" and ", named)
              + " cannot be combined in one element: use one element for each");
    }
  }

  private void addNamed(List<String> named, String peers, Collection<?> values) {
    if (values != null && !values.isEmpty()) {
      named.add(name(peers));
    }
  }

  private List<CidrSelector> cidrs(List<String> texts) {
    final List<CidrSelector> selectors = new ArrayList<>();
    for (int i = 0; texts != null && i < texts.size(); i++) {
      final String field = field("CIDR") + "[" + i + "]";
      selectors.add(new CidrSelector(prefix(field, texts.get(i)), List.of()));
    }
    return selectors;
  }

  private List<CidrSelector> cidrSets(List<CidrSetSpec> specs) {
    final List<CidrSelector> selectors = new ArrayList<>();
    for (int i = 0; specs != null && i < specs.size(); i++) {
      final String field = field("CIDRSet") + "[" + i + "]";
      final CidrSetSpec spec = RuleReader.present(field, specs.get(i));
      final Prefix prefix = prefix(field + ".cidr", spec.cidr());
      selectors.add(new CidrSelector(prefix, except(field + ".except", prefix, spec.except())));
    }
    return selectors;
  }

  /** An address of a name that is not known would pass a rule that denies the name. */
  private List<FqdnSelector> fqdns(List<FqdnSpec> specs) {
    if (specs != null && deny) {
      throw Refusal.invalid(field("FQDNs"), "is not allowed in deny rules");
    }
    final List<FqdnSelector> selectors = new ArrayList<>();
    for (int i = 0; specs != null && i < specs.size(); i++) {
      final String field = field("FQDNs") + "[" + i + "]";
      final FqdnSpec spec = RuleReader.present(field, specs.get(i));
      selectors.add(new FqdnSelector(RequestRuleReader.name(field, spec)));
    }
    return selectors;
  }

  private List<ServiceSelector> services(List<ServiceSpec> specs) {
    final List<ServiceSelector> selectors = new ArrayList<>();
    for (int i = 0; specs != null && i < specs.size(); i++) {
      final String field = field("Services") + "[" + i + "].k8sService";
      final ServiceSpec spec = RuleReader.present(field, specs.get(i));
      final String name =
          PlainText.checked(
              field + ".serviceName", RuleReader.present(field + ".serviceName", spec.name()));
      PlainText.checked(field + ".namespace", spec.namespace());
      if (name.isEmpty()) {
        throw Refusal.invalid(field + ".serviceName", "is empty");
      }
      selectors.add(
          new ServiceSelector(
              new ServiceName(name, Objects.requireNonNullElse(spec.namespace(), ""))));
    }
    return selectors;
  }

  private static List<Prefix> except(String path, Prefix prefix, List<String> texts) {
    final List<Prefix> holes = new ArrayList<>();
    for (int i = 0; texts != null && i < texts.size(); i++) {
      final String field = path + "[" + i + "]";
      final Prefix hole = prefix(field, texts.get(i));
      if (!prefix.covers(hole) || hole.equals(prefix)) {
        throw Refusal.invalid(field, hole + " is not within " + prefix);
      }
      holes.add(hole);
    }
    return holes;
  }

  private static Prefix prefix(String field, String text) {
    return Prefix.parse(field, RuleReader.present(field, text));
  }

  private List<Entity> entities(List<String> names) {
    final List<Entity> entities = new ArrayList<>();
    for (int i = 0; names != null && i < names.size(); i++) {
      final String name = names.get(i);
      final String field = field("Entities") + "[" + i + "]";
      entities.add(
          Entity.named(RuleReader.present(field, name))
              .orElseThrow(() -> Refusal.invalid(field, "'" + name + "' is not a valid entity")));
    }
    return entities;
  }
}
