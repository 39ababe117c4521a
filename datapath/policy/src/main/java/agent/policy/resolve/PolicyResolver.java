package agent.policy.resolve;

import agent.datapath.spec.PolicyEntry;
import agent.identity.Identity;
import agent.identity.ReservedIdentity;
import agent.maps.layout.PolicyDirection;
import agent.policy.rule.LabelSelector;
import agent.policy.rule.PeerSelector;
import agent.policy.rule.PortMatch;
import agent.policy.rule.PortName;
import agent.policy.rule.PortTerm;
import agent.policy.rule.Rule;
import agent.policy.rule.Section;
import agent.policy.spec.NamedPort;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;

/**
 * Resolves rules to policy map entries. Mode default enforces the directions in which a rule
 * selects the endpoint, whether it allows or denies and even where its list is empty, unless the
 * rule says that it does not turn enforcement on; mode always enforces both; mode never none. A
 * direction that is not enforced is one entry that allows everything, and in mode default the
 * denies.
 */
public final class PolicyResolver {
  private static final int ANY_IDENTITY = 0;

  private final Selections selections;
  private final PeerPorts peerPorts;
  private final EnforcementMode mode;
  private final AllowLocalhost allowLocalhost;

  /** The identities that selectors select. */
  @FunctionalInterface
  public interface Selections {
    Set<Integer> identitiesOf(PeerSelector selector);
  }

  /** The named ports of the endpoints of identities. */
  public interface PeerPorts {
    /** Returns the identities that have the name, maybe for another protocol. */
    Collection<Integer> identitiesWith(PortName name);

    /** Returns the ports that an identity has by a name, in order. */
    List<PortMatch> portsOf(int identity, PortName name);
  }

  /** Creates a resolver of rules whose selectors select these identities. */
  public PolicyResolver(
      Selections selections,
      PeerPorts peerPorts,
      EnforcementMode mode,
      AllowLocalhost allowLocalhost) {
    this.selections = selections;
    this.peerPorts = peerPorts;
    this.mode = mode;
    this.allowLocalhost = allowLocalhost;
  }

  /**
   * Resolves rules for one endpoint.
   *
   * @param ports its own named ports, which names in ingress rules mean
   */
  public ResolvedPolicy resolve(
      Identity identity, List<NamedPort> ports, List<Rule> rules, long revision) {
    return resolve(identity, ports, rules, revision, SummaryLines::of);
  }

  /** The same without the lines of the summaries, which do not depend on who is selected. */
  public ResolvedPolicy resolvePart(
      Identity identity, List<NamedPort> ports, List<Rule> rules, long revision) {
    return resolve(identity, ports, rules, revision, (direction, own) -> SummaryLines.NONE);
  }

  private ResolvedPolicy resolve(
      Identity identity,
      List<NamedPort> ports,
      List<Rule> rules,
      long revision,
      BiFunction<PolicyDirection, List<Rule>, SummaryLines> lines) {
    final List<Rule> own = new ArrayList<>();
    for (final Rule rule : rules) {
      if (rule.subject().selects(identity.labels())) {
        own.add(rule);
      }
    }
    final Draft draft = new Draft(ports, lines);
    final DirectionSummary ingress = resolve(PolicyDirection.INGRESS, own, draft);
    final DirectionSummary egress = resolve(PolicyDirection.EGRESS, own, draft);
    return new ResolvedPolicy(
        revision,
        identity.id(),
        VerdictTable.sorted(draft.entries),
        ingress,
        egress,
        Set.copyOf(draft.selectors),
        Set.copyOf(draft.portNames),
        List.copyOf(draft.requests));
  }

  /** What a policy has so far. */
  private static final class Draft {
    private final List<NamedPort> ownPorts;
    private final BiFunction<PolicyDirection, List<Rule>, SummaryLines> lines;
    private final List<PolicyEntry> entries = new ArrayList<>();
    private final Set<PeerSelector> selectors = new HashSet<>();
    private final Set<String> portNames = new HashSet<>();
    private final List<RequestSection> requests = new ArrayList<>();

    Draft(List<NamedPort> ownPorts, BiFunction<PolicyDirection, List<Rule>, SummaryLines> lines) {
      this.ownPorts = ownPorts;
      this.lines = lines;
    }
  }

  private DirectionSummary resolve(PolicyDirection direction, List<Rule> rules, Draft draft) {
    final boolean isEnforced = isEnforced(direction, rules);
    if (!isEnforced && (mode == EnforcementMode.NEVER || !denies(direction, rules))) {
      draft.entries.add(PolicyEntry.allowAll(ANY_IDENTITY, direction));
      return DirectionSummary.OPEN;
    }
    final TreeMap<Integer, VerdictTable> tables = new TreeMap<>();
    tables.put(ANY_IDENTITY, new VerdictTable());
    if (!isEnforced) {
      table(tables, ANY_IDENTITY).add(List.of(PortMatch.ALL), false);
    }
    for (final boolean deny : isEnforced ? new boolean[] {false, true} : new boolean[] {true}) {
      final List<LabelSelector> required = required(direction, deny, rules);
      draft.selectors.addAll(required);
      for (final Rule rule : rules) {
        for (final Section section : rule.sections(direction)) {
          if (section.deny() == deny) {
            apply(section, peers(section, required, draft.selectors), tables, draft);
          }
        }
      }
    }
    if (direction == PolicyDirection.INGRESS && allowLocalhost == AllowLocalhost.ALWAYS) {
      table(tables, ReservedIdentity.HOST.id()).add(List.of(PortMatch.ALL), false);
    }
    final SummaryLines lines = draft.lines.apply(direction, rules);
    return summary(direction, isEnforced, tables, lines, draft.entries);
  }

  private static boolean denies(PolicyDirection direction, List<Rule> rules) {
    for (final Rule rule : rules) {
      for (final Section section : rule.sections(direction)) {
        if (section.deny()) {
          return true;
        }
      }
    }
    return false;
  }

  private boolean isEnforced(PolicyDirection direction, List<Rule> rules) {
    return switch (mode) {
      case ALWAYS -> true;
      case NEVER -> false;
      case DEFAULT -> isSelected(direction, rules);
    };
  }

  private static boolean isSelected(PolicyDirection direction, List<Rule> rules) {
    for (final Rule rule : rules) {
      if (rule.enforced().contains(direction)) {
        return true;
      }
    }
    return false;
  }

  /** Returns what the rules that allow, or deny, in a direction require of every peer. */
  public static List<LabelSelector> required(
      PolicyDirection direction, boolean deny, List<Rule> rules) {
    final Set<LabelSelector> required = new LinkedHashSet<>();
    for (final Rule rule : rules) {
      for (final Section section : rule.sections(direction)) {
        if (section.deny() == deny) {
          required.addAll(section.requires());
        }
      }
    }
    return List.copyOf(required);
  }

  /** Returns the identities of the peers of a section; null for every peer. */
  private Set<Integer> peers(
      Section section, List<LabelSelector> required, Set<PeerSelector> selectors) {
    if (section.everybody()) {
      return required.isEmpty()
          ? null
          : narrowed(selections.identitiesOf(required.get(0)), required);
    }
    selectors.addAll(section.endpoints());
    selectors.addAll(section.outsiders());
    final Set<Integer> peers = new HashSet<>();
    section.endpoints().forEach(selector -> peers.addAll(selections.identitiesOf(selector)));
    section.outsiders().forEach(selector -> peers.addAll(selections.identitiesOf(selector)));
    return narrowed(peers, required);
  }

  private Set<Integer> narrowed(Set<Integer> peers, List<LabelSelector> required) {
    final Set<Integer> left = new TreeSet<>(peers);
    required.forEach(selector -> left.retainAll(selections.identitiesOf(selector)));
    return left;
  }

  private void apply(
      Section section,
      Set<Integer> peersOrNull,
      TreeMap<Integer, VerdictTable> tables,
      Draft draft) {
    final Set<PortMatch> whole = new LinkedHashSet<>();
    for (final PortTerm term : section.ports()) {
      if (term.name() != null && section.direction() == PolicyDirection.EGRESS) {
        draft.portNames.add(term.name().name());
        peersByPorts(term.name(), peersOrNull)
            .forEach((ports, peers) -> apply(section, term, ports, peers, tables, draft));
        continue;
      }
      final List<PortMatch> matches =
          term.name() == null ? term.matches() : term.name().in(draft.ownPorts);
      if (term.rules() == null) {
        whole.addAll(matches);
      } else {
        apply(section, term, matches, peersOrNull, tables, draft);
      }
    }
    add(section, whole, peersOrNull, tables);
  }

  /** Returns the peers that have a name by the ports that they give it to. */
  private Map<List<PortMatch>, Set<Integer>> peersByPorts(PortName name, Set<Integer> peersOrNull) {
    final Map<List<PortMatch>, Set<Integer>> byPorts = new LinkedHashMap<>();
    for (final int peer : peerPorts.identitiesWith(name)) {
      if (peersOrNull == null || peersOrNull.contains(peer)) {
        byPorts.computeIfAbsent(peerPorts.portsOf(peer, name), ports -> new TreeSet<>()).add(peer);
      }
    }
    return byPorts;
  }

  /** Adds one term of a section, with the ports that it means to these peers. */
  private static void apply(
      Section section,
      PortTerm term,
      List<PortMatch> matches,
      Set<Integer> peersOrNull,
      TreeMap<Integer, VerdictTable> tables,
      Draft draft) {
    if (term.rules() == null) {
      add(section, matches, peersOrNull, tables);
    } else if (!matches.isEmpty()) {
      for (final int peer : orAny(peersOrNull)) {
        table(tables, peer).redirect(matches, term.rules().kind());
      }
      draft.requests.add(
          new RequestSection(section.direction(), peersOrNull, matches, term.rules()));
    }
  }

  private static void add(
      Section section,
      Collection<PortMatch> matches,
      Set<Integer> peersOrNull,
      TreeMap<Integer, VerdictTable> tables) {
    if (!matches.isEmpty()) {
      for (final int peer : orAny(peersOrNull)) {
        table(tables, peer).add(matches, section.deny());
      }
    }
  }

  private static Set<Integer> orAny(Set<Integer> peersOrNull) {
    return peersOrNull == null ? Set.of(ANY_IDENTITY) : peersOrNull;
  }

  private static VerdictTable table(TreeMap<Integer, VerdictTable> tables, int identity) {
    return tables.computeIfAbsent(identity, id -> new VerdictTable());
  }

  private static DirectionSummary summary(
      PolicyDirection direction,
      boolean isEnforced,
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
        isEnforced,
        any.allowsAnything(any),
        any.denies(),
        List.copyOf(allowed),
        List.copyOf(denied),
        lines.l4(),
        lines.cidr());
  }
}
