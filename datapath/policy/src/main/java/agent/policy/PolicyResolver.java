package agent.policy;

import agent.datapath.manager.spec.PolicyEntry;
import agent.identity.Identity;
import agent.identity.ReservedIdentity;
import agent.maps.layout.PolicyDirection;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Resolves rules to policy map entries. Mode default enforces the directions in which a rule
 * selects the endpoint, whether it allows or denies and even where its list is empty; mode always
 * enforces both; mode never none. A direction that is not enforced is one entry that allows
 * everything.
 */
final class PolicyResolver {
  private static final int ANY_IDENTITY = 0;

  private final Selections selections;
  private final EnforcementMode mode;
  private final AllowLocalhost allowLocalhost;

  /** The identities that selectors select. */
  @FunctionalInterface
  interface Selections {
    Set<Integer> identitiesOf(PeerSelector selector);
  }

  PolicyResolver(Selections selections, EnforcementMode mode, AllowLocalhost allowLocalhost) {
    this.selections = selections;
    this.mode = mode;
    this.allowLocalhost = allowLocalhost;
  }

  ResolvedPolicy resolve(Identity identity, List<Rule> rules, long revision) {
    final List<Rule> own =
        rules.stream().filter(rule -> rule.subject().selects(identity.labels())).toList();
    final List<PolicyEntry> entries = new ArrayList<>();
    final Set<PeerSelector> selectors = new HashSet<>();
    final List<RequestSection> requests = new ArrayList<>();
    final DirectionSummary ingress =
        resolve(PolicyDirection.INGRESS, own, entries, selectors, requests);
    final DirectionSummary egress =
        resolve(PolicyDirection.EGRESS, own, entries, selectors, requests);
    return new ResolvedPolicy(
        revision,
        identity.id(),
        VerdictTable.sorted(entries),
        ingress,
        egress,
        Set.copyOf(selectors),
        List.copyOf(requests));
  }

  private DirectionSummary resolve(
      PolicyDirection direction,
      List<Rule> rules,
      List<PolicyEntry> entries,
      Set<PeerSelector> selectors,
      List<RequestSection> requests) {
    if (!isEnforced(direction, rules)) {
      entries.add(PolicyEntry.allowAll(ANY_IDENTITY, direction));
      return DirectionSummary.OPEN;
    }
    final TreeMap<Integer, VerdictTable> tables = new TreeMap<>();
    tables.put(ANY_IDENTITY, new VerdictTable());
    final SummaryLines lines = new SummaryLines();
    for (final boolean deny : new boolean[] {false, true}) {
      final List<LabelSelector> required = required(direction, deny, rules);
      selectors.addAll(required);
      for (final Rule rule : rules) {
        for (final Section section : rule.sections(direction)) {
          if (section.deny() == deny) {
            apply(section, peers(section, required, selectors), tables, requests);
            lines.add(rule, section, required);
          }
        }
      }
    }
    if (direction == PolicyDirection.INGRESS && allowLocalhost == AllowLocalhost.ALWAYS) {
      table(tables, ReservedIdentity.HOST.id()).add(List.of(PortMatch.ALL), false);
    }
    return summary(direction, tables, lines, entries);
  }

  private boolean isEnforced(PolicyDirection direction, List<Rule> rules) {
    return switch (mode) {
      case ALWAYS -> true;
      case NEVER -> false;
      case DEFAULT -> rules.stream().anyMatch(rule -> rule.enforced().contains(direction));
    };
  }

  static List<LabelSelector> required(PolicyDirection direction, boolean deny, List<Rule> rules) {
    return rules.stream()
        .flatMap(rule -> rule.sections(direction).stream())
        .filter(section -> section.deny() == deny)
        .flatMap(section -> section.requires().stream())
        .distinct()
        .toList();
  }

  /** Returns the identities of the peers of a section; null for every peer. */
  private Set<Integer> peers(
      Section section, List<LabelSelector> required, Set<PeerSelector> selectors) {
    if (section.everybody()) {
      return null;
    }
    selectors.addAll(section.endpoints());
    selectors.addAll(section.outsiders());
    final Set<Integer> peers = new TreeSet<>();
    section.endpoints().forEach(selector -> peers.addAll(selections.identitiesOf(selector)));
    required.forEach(selector -> peers.retainAll(selections.identitiesOf(selector)));
    section.outsiders().forEach(selector -> peers.addAll(selections.identitiesOf(selector)));
    return peers;
  }

  private static void apply(
      Section section,
      Set<Integer> peersOrNull,
      TreeMap<Integer, VerdictTable> tables,
      List<RequestSection> requests) {
    final List<PortMatch> matches = section.wholeMatches();
    final List<PortTerm> terms = section.requestTerms();
    for (final int peer : peersOrNull == null ? Set.of(ANY_IDENTITY) : peersOrNull) {
      final VerdictTable table = table(tables, peer);
      table.add(matches, section.deny());
      terms.forEach(term -> table.redirect(term.matches(), term.rules().kind()));
    }
    terms.forEach(
        term ->
            requests.add(
                new RequestSection(
                    section.direction(), peersOrNull, term.matches(), term.rules())));
  }

  private static VerdictTable table(TreeMap<Integer, VerdictTable> tables, int identity) {
    return tables.computeIfAbsent(identity, id -> new VerdictTable());
  }

  private static DirectionSummary summary(
      PolicyDirection direction,
      TreeMap<Integer, VerdictTable> tables,
      SummaryLines lines,
      List<PolicyEntry> entries) {
    final VerdictTable any = tables.get(ANY_IDENTITY);
    final List<Integer> allowed = new ArrayList<>();
    final List<Integer> denied = new ArrayList<>();
    tables.forEach(
        (identity, table) -> {
          table.write(identity, direction, any, entries);
          if (table == any) {
            return;
          }
          if (table.allowsAnything(any)) {
            allowed.add(identity);
          }
          if (table.denies()) {
            denied.add(identity);
          }
        });
    return new DirectionSummary(
        true,
        any.allowsAnything(any),
        any.denies(),
        List.copyOf(allowed),
        List.copyOf(denied),
        lines.l4(),
        lines.cidr());
  }
}
