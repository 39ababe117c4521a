package agent.policy.model;

import agent.identity.LabelSet;
import agent.policy.request.HttpVerdict.Action;
import agent.policy.request.HttpVerdict.HeaderChange;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** What rules say of requests of one endpoint, as {@link NaivePolicy} what they say of packets. */
public final class NaiveRequests {
  private final Verdict verdict;
  private final List<RequestRuleSpec> rules;

  /** Finds the rules of a flow; the parameters are those of {@link NaivePolicy#verdict}. */
  public NaiveRequests(
      NaivePolicy policy,
      LabelSet subject,
      boolean ingress,
      NaivePeer peer,
      int protocol,
      int port) {
    verdict = policy.verdict(subject, ingress, peer, protocol, port);
    rules = policy.requestRules(subject, ingress, peer, protocol, port);
  }

  private boolean allowsAll() {
    return rules.contains(NaivePolicy.ALL_REQUESTS);
  }

  /** Returns the number of the proxy of a flow; 0: it goes through none. */
  public int proxy() {
    if (verdict != Verdict.ALLOWED || allowsAll()) {
      return 0;
    }
    return rules.stream().anyMatch(rule -> rule.http() != null) ? 1 : 2;
  }

  /** Returns the changes of a request; empty where it may not pass. */
  public Optional<Set<HeaderChange>> http(NaiveRequest request) {
    if (verdict != Verdict.ALLOWED) {
      return Optional.empty();
    }
    if (allowsAll()) {
      return Optional.of(Set.of());
    }
    boolean isAllowed = false;
    final Set<HeaderChange> changes = new HashSet<>();
    for (final RequestRuleSpec element : rules) {
      for (final HttpSpec rule : element.http() == null ? List.<HttpSpec>of() : element.http()) {
        if (matches(rule, request)) {
          isAllowed = true;
          addChanges(rule, request, changes);
        }
      }
    }
    return isAllowed ? Optional.of(changes) : Optional.empty();
  }

  private static boolean matches(HttpSpec rule, NaiveRequest request) {
    if (!matches(rule.method(), request.method(), 0)
        || !matches(rule.path(), request.path(), 0)
        || !matches(rule.host(), request.host(), Pattern.CASE_INSENSITIVE)
            && !(rule.host().contains(":")
                && matches(rule.host(), request.authority(), Pattern.CASE_INSENSITIVE))) {
      return false;
    }
    for (final String header : rule.headers() == null ? List.<String>of() : rule.headers()) {
      final String[] parts = header.split(":", 2);
      if (!request.hasHeader(parts[0], parts.length == 1 ? null : parts[1].trim())) {
        return false;
      }
    }
    return matchesOf(rule).stream()
        .allMatch(match -> match.mismatch() != null || holds(match, request));
  }

  private static void addChanges(HttpSpec rule, NaiveRequest request, Set<HeaderChange> changes) {
    for (final HeaderMatchSpec match : matchesOf(rule)) {
      final boolean isMet =
          "ADD".equals(match.mismatch())
              ? request.hasHeaderLine(match.name(), match.value())
              : holds(match, request);
      if (match.mismatch() != null && !isMet) {
        changes.add(
            new HeaderChange(Action.valueOf(match.mismatch()), match.name(), match.value()));
      }
    }
  }

  private static boolean holds(HeaderMatchSpec match, NaiveRequest request) {
    return request.hasHeader(match.name(), match.value());
  }

  private static List<HeaderMatchSpec> matchesOf(HttpSpec rule) {
    return rule.headerMatches() == null ? List.of() : rule.headerMatches();
  }

  private static boolean matches(String expression, String text, int flags) {
    return expression == null || Pattern.compile(expression, flags).matcher(text).matches();
  }

  /** Returns whether a name may be asked for. */
  public boolean dns(String name) {
    return verdict == Verdict.ALLOWED
        && (allowsAll()
            || rules.stream()
                .filter(rule -> rule.dns() != null)
                .flatMap(rule -> rule.dns().stream())
                .anyMatch(pattern -> matches(pattern, name)));
  }

  private static boolean matches(FqdnSpec pattern, String name) {
    if (pattern.matchName() != null) {
      return pattern.matchName().equals(name);
    }
    return pattern.matchPattern().equals("*")
        || name.matches(
            pattern
                .matchPattern()
                .replace(".", "\\.")
                .replaceFirst("^\\*\\*", "[-a-z0-9_]+(\\\\.[-a-z0-9_]+)#")
                .replace("*", "[-a-z0-9_]*")
                .replace("#", "*"));
  }
}
