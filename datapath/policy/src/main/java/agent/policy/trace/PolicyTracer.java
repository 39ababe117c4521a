package agent.policy.trace;

import agent.datapath.spec.PolicyVerdict;
import agent.identity.Identity;
import agent.identity.Label;
import agent.identity.LabelSet;
import agent.identity.ReservedIdentity;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.repository.PolicyRepository;
import agent.policy.resolve.AllowLocalhost;
import agent.policy.resolve.DirectionSummary;
import agent.policy.resolve.EnforcementMode;
import agent.policy.resolve.MapLookup;
import agent.policy.resolve.PolicyResolver;
import agent.policy.resolve.ResolvedPolicy;
import agent.policy.rule.LabelSelector;
import agent.policy.rule.PeerSelector;
import agent.policy.rule.PortMatch;
import agent.policy.rule.PortName;
import agent.policy.rule.PortTerm;
import agent.policy.rule.Rule;
import agent.policy.rule.Section;
import agent.policy.spec.NamedPort;
import agent.policy.trace.PolicyQuery.Port;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Answers whether a flow would pass: resolves the rules for both ends as for endpoints, and looks
 * the flow up in the entries as the datapath does. The log explains it; it does not decide.
 */
public final class PolicyTracer {
  private static final int SOME_ENDPOINT = Identity.CLUSTER_MAX;
  private static final int SOME_CIDR = Identity.LOCAL_MAX;

  private final PolicyRepository repository;
  private final EnforcementMode mode;
  private final AllowLocalhost allowLocalhost;
  private final BiPredicate<PeerSelector, Identity> selection;

  /**
   * Creates a tracer.
   *
   * @param selection whether a selector selects an identity, with the addresses that names have now
   */
  public PolicyTracer(
      PolicyRepository repository,
      EnforcementMode mode,
      AllowLocalhost allowLocalhost,
      BiPredicate<PeerSelector, Identity> selection) {
    this.repository = repository;
    this.mode = mode;
    this.allowLocalhost = allowLocalhost;
    this.selection = selection;
  }

  /**
   * Answers a question.
   *
   * @param portsOf the named ports of all endpoints with the labels of an identity
   * @throws Refusal INVALID for labels of the agent that name no identity, and for a name of a port
   *     that no such endpoint has
   */
  public PolicyTrace trace(PolicyQuery query, Function<Identity, List<NamedPort>> portsOf) {
    final Identity from = identityOf("from.labels", query.from(), 0);
    final Identity to =
        query.to().equals(query.from()) ? from : identityOf("to.labels", query.to(), 1);
    final Target target = new Target(to, portsOf.apply(to), query);
    final Side egress = new Side(PolicyDirection.EGRESS, from, to, query, target);
    final Side ingress = new Side(PolicyDirection.INGRESS, to, from, query, target);
    final List<String> log = new ArrayList<>();
    for (int i = 0; i < repository.rules().size(); i++) {
      final Rule rule = repository.rules().get(i);
      final List<String> parts = new ArrayList<>();
      final List<String> details = new ArrayList<>();
      egress.explain(rule, parts, details);
      ingress.explain(rule, parts, details);
      final String says = parts.isEmpty() ? "selects neither of them" : String.join("; ", parts);
      log.add("rule [" + i + "] " + rule.labels() + ": " + says);
      if (query.verbose()) {
        log.addAll(details);
      }
    }
    egress.addRequests(log);
    ingress.addRequests(log);
    if (query.verbose()) {
      target.addPorts(log);
      log.add(egress.summary());
      log.add(ingress.summary());
    }
    return new PolicyTrace(egress.isAllowed() && ingress.isAllowed(), String.join("\n", log));
  }

  /** Returns an identity with these labels; its number is that of no other one in the question. */
  private static Identity identityOf(String field, LabelSet labels, int number) {
    if (labels.isEmpty()) {
      return ReservedIdentity.INIT.identity();
    }
    for (final Label label : labels) {
      if (label.source().equals(Label.CIDR)) {
        final Prefix prefix = Prefix.parse(field, label.key());
        return prefix.length() == 0
            ? ReservedIdentity.world(prefix.isIpv4()).identity()
            : new Identity(SOME_CIDR - number, LabelSet.ofCidr(prefix));
      }
    }
    for (final boolean ipv4 : new boolean[] {true, false}) {
      if (labels.contains(ReservedIdentity.world(ipv4).label())) {
        final List<Label> names = labels.stream().filter(PolicyTracer::isName).toList();
        if (!names.isEmpty()) {
          return new Identity(SOME_CIDR - number, LabelSet.ofNames(names, ipv4));
        }
      }
    }
    final Optional<Label> reserved =
        labels.stream().filter(label -> label.source().equals(Label.RESERVED)).findFirst();
    if (reserved.isEmpty()) {
      return new Identity(SOME_ENDPOINT - number, labels);
    }
    return ReservedIdentity.identities().stream()
        .filter(identity -> identity.labels().equals(LabelSet.of(reserved.get())))
        .findFirst()
        .orElseThrow(
            () -> Refusal.invalid(field, "'" + reserved.get() + "' is not a reserved identity"));
  }

  private static boolean isName(Label label) {
    return label.source().equals(Label.FQDN) || label.source().equals(Label.SERVICE);
  }

  /** The end that the flow is opened to: rules of both directions mean its named ports. */
  private static final class Target implements PolicyResolver.PeerPorts {
    private final int identity;
    private final List<NamedPort> ports;
    private final Map<Port, List<PortMatch>> asked = new LinkedHashMap<>();

    Target(Identity identity, List<NamedPort> ports, PolicyQuery query) {
      this.identity = identity.id();
      this.ports = ports;
      for (int i = 0; i < query.ports().size(); i++) {
        final Port port = query.ports().get(i);
        final List<PortMatch> matches = port.matches(ports);
        if (matches.isEmpty()) {
          throw Refusal.invalid(
              "to.dports[" + i + "].name",
              "'" + port.text() + "' is a named port of no endpoint with these labels");
        }
        asked.put(port, matches);
      }
    }

    @Override
    public List<Integer> identitiesWith(PortName name) {
      return List.of(identity);
    }

    @Override
    public List<PortMatch> portsOf(int asker, PortName name) {
      return asker == identity ? name.in(ports) : List.of();
    }

    /** Returns the protocols and ports that a term means at this end. */
    List<PortMatch> matches(PortTerm term) {
      return term.name() == null ? term.matches() : term.name().in(ports);
    }

    void addPorts(List<String> log) {
      if (!ports.isEmpty()) {
        log.add(
            ports.stream()
                .map(port -> port.name() + "=" + port.port() + "/" + port.protocol())
                .collect(Collectors.joining(", ", "named ports of to: ", "")));
      }
    }
  }

  /** The policy of one end of the flow in its direction. */
  private final class Side {
    private final PolicyDirection direction;
    private final Identity subject;
    private final Identity peer;
    private final PolicyQuery query;
    private final Target target;
    private final ResolvedPolicy policy;
    private final List<LabelSelector> requiredByAllow;
    private final List<LabelSelector> requiredByDeny;

    Side(
        PolicyDirection direction,
        Identity subject,
        Identity peer,
        PolicyQuery query,
        Target target) {
      this.direction = direction;
      this.subject = subject;
      this.peer = peer;
      this.query = query;
      this.target = target;
      policy =
          new PolicyResolver(this::selected, target, mode, allowLocalhost)
              .resolve(subject, target.ports, repository.rules(), repository.revision());
      final List<Rule> own =
          repository.rules().stream()
              .filter(rule -> rule.subject().selects(subject.labels()))
              .toList();
      requiredByAllow = PolicyResolver.required(direction, false, own);
      requiredByDeny = PolicyResolver.required(direction, true, own);
    }

    private Set<Integer> selected(PeerSelector selector) {
      final Set<Integer> identities = new HashSet<>();
      for (final Identity identity : List.of(subject, peer)) {
        if (selection.test(selector, identity)) {
          identities.add(identity.id());
        }
      }
      return identities;
    }

    /** Policy is that of endpoints: the node and addresses outside have none. */
    private boolean isEndpoint() {
      return subject.isCluster() || subject.id() == ReservedIdentity.INIT.id();
    }

    boolean isAllowed() {
      if (!isEndpoint()) {
        return true;
      }
      final MapLookup lookup = new MapLookup(policy.entries(), direction, peer.id());
      return query.ports().isEmpty()
          ? lookup.allowsEverything()
          : target.asked.values().stream().flatMap(List::stream).allMatch(lookup::allows);
    }

    /** Adds the rules by which a proxy judges requests; each request needs one of them. */
    void addRequests(List<String> log) {
      if (!isEndpoint()) {
        return;
      }
      final MapLookup lookup = new MapLookup(policy.entries(), direction, peer.id());
      for (final Port port : query.ports()) {
        final Set<String> lines = new LinkedHashSet<>(); // each protocol may have the same
        for (final PortMatch match : target.asked.get(port)) {
          final PolicyVerdict verdict = lookup.verdict(match);
          if (verdict != null && verdict.isRedirect()) {
            lines.add(
                "%s %s: the %s proxy allows requests that match one of these"
                    .formatted(start(), port.text(), RedirectKind.values()[verdict.redirect()]));
            addRequests(match, lines);
          }
        }
        log.addAll(lines);
      }
    }

    private void addRequests(PortMatch match, Set<String> lines) {
      for (int i = 0; i < repository.rules().size(); i++) {
        final Rule rule = repository.rules().get(i);
        if (!rule.subject().selects(subject.labels())) {
          continue;
        }
        for (final Section section : rule.sections(direction)) {
          for (final PortTerm term : section.requestTerms()) {
            if (match.isWithin(target.matches(term)) && meansPeer(section)) {
              for (final String request : term.rules().lines()) {
                lines.add("  rule [" + i + "] " + rule.labels() + ": " + request);
              }
            }
          }
        }
      }
    }

    private String start() {
      return direction == PolicyDirection.EGRESS ? "egress of from" : "ingress of to";
    }

    /** Adds what a rule says of the flow, where it is for this end and says something. */
    void explain(Rule rule, List<String> parts, List<String> details) {
      if (!isEndpoint() || !rule.subject().selects(subject.labels())) {
        return;
      }
      final String start = start();
      boolean isAllowing = false;
      boolean isDenying = false;
      for (final Section section : rule.sections(direction)) {
        final boolean isMatching = meansPeer(section) && meansPort(section);
        isAllowing |= isMatching && !section.deny();
        isDenying |= isMatching && section.deny();
        details.add(
            "  %s: %s %s: %s"
                .formatted(
                    start,
                    section.deny() ? "denies" : "allows",
                    section.ports().stream().map(PortTerm::text).collect(Collectors.joining(", ")),
                    isMatching ? "matches" : meansPeer(section) ? "another port" : "another peer"));
      }
      if (isDenying) {
        parts.add(start + ": denies");
      } else if (isAllowing) {
        parts.add(start + ": allows");
      } else if (rule.enforced().contains(direction)) {
        parts.add(start + ": enforced, does not match");
      } else {
        parts.add(start + ": says nothing");
      }
    }

    private boolean meansPeer(Section section) {
      final List<LabelSelector> required = section.deny() ? requiredByDeny : requiredByAllow;
      final boolean isNamed =
          section.everybody()
              || section.endpoints().stream().anyMatch(selector -> selector.selects(peer))
              || section.outsiders().stream().anyMatch(selector -> selection.test(selector, peer));
      return isNamed && required.stream().allMatch(selector -> selector.selects(peer));
    }

    private boolean meansPort(Section section) {
      final List<PortMatch> matches =
          section.ports().stream().flatMap(term -> target.matches(term).stream()).toList();
      if (query.ports().isEmpty()) {
        return section.deny() || matches.contains(PortMatch.ALL);
      }
      return target.asked.values().stream()
          .flatMap(List::stream)
          .anyMatch(asked -> asked.isWithin(matches));
    }

    String summary() {
      final DirectionSummary seen =
          direction == PolicyDirection.EGRESS ? policy.egress() : policy.ingress();
      final String start =
          direction == PolicyDirection.EGRESS
              ? "egress of from " + query.from()
              : "ingress of to " + query.to();
      if (!isEndpoint()) {
        return start + ": no endpoint, so without policy";
      }
      return start
          + (seen.enforced() ? ": enforced, " : ": not enforced, ")
          + (isAllowed() ? "allowed" : "denied");
    }
  }
}
