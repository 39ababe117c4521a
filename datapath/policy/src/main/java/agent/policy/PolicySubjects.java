package agent.policy;

import agent.identity.Identity;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;

/** The endpoints that policy is for, each with the policy that was told last. */
final class PolicySubjects {
  /**
   * One endpoint.
   *
   * @param identity its identity
   * @param policy the policy that was told last
   */
  record Subject(Identity identity, ResolvedPolicy policy) {}

  private final TreeMap<Integer, Subject> subjects = new TreeMap<>();

  Subject get(int endpointId) {
    return subjects.get(endpointId);
  }

  void put(int endpointId, Identity identity, ResolvedPolicy policy) {
    subjects.put(endpointId, new Subject(identity, policy));
  }

  void remove(int endpointId) {
    subjects.remove(endpointId);
  }

  /** Every endpoint. */
  Set<Integer> all() {
    return new TreeSet<>(subjects.keySet());
  }

  /** The endpoints that one of the rules is for. */
  Set<Integer> selectedBy(Collection<Rule> rules) {
    return where(
        subject ->
            rules.stream().anyMatch(rule -> rule.subject().selects(subject.identity().labels())));
  }

  /** The endpoints whose policy depends on one of the selectors. */
  Set<Integer> dependingOn(Set<PeerSelector> selectors) {
    if (selectors.isEmpty()) {
      return Set.of();
    }
    return where(subject -> selectors.stream().anyMatch(subject.policy().selectors()::contains));
  }

  private Set<Integer> where(Predicate<Subject> test) {
    final Set<Integer> found = new TreeSet<>();
    for (final Map.Entry<Integer, Subject> entry : subjects.entrySet()) {
      if (test.test(entry.getValue())) {
        found.add(entry.getKey());
      }
    }
    return found;
  }

  /** What the endpoint's map held so far. */
  List<PolicyEntry> entriesOf(int endpointId) {
    final Subject subject = subjects.get(endpointId);
    return subject == null ? List.of() : subject.policy().entries();
  }
}
