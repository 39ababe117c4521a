package agent.policy;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.resolve.MergedPolicy;
import agent.policy.resolve.PreparedPolicy;
import agent.policy.resolve.ReducedPolicy;
import agent.policy.resolve.ResolvedPolicy;
import agent.policy.rule.PeerSelector;
import agent.policy.rule.Rule;
import agent.policy.spec.NamedPort;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.agrona.collections.IntHashSet;

/** The endpoints, each with the policy that was last given to the caller. */
final class PolicySubjects {
  /**
   * One endpoint.
   *
   * @param identity its identity
   * @param ports its named ports
   * @param policy the policy that was last given to the caller
   */
  record Subject(Identity identity, List<NamedPort> ports, ResolvedPolicy policy) {}

  private final TreeMap<Integer, Subject> subjects = new TreeMap<>();
  private final PublishedPolicies published = new PublishedPolicies();

  /** Returns what the policies say of requests, as of {@link #publish}; for any thread. */
  PolicyFeed requests() {
    return published;
  }

  /** Publishes the policies of these changes to the threads that judge requests. */
  void publish(long revision, List<EndpointPolicyChange> changes) {
    final Map<Integer, ResolvedPolicy> policies = new TreeMap<>();
    for (final EndpointPolicyChange change : changes) {
      if (subjects.containsKey(change.endpointId())) { // it may have been removed since
        policies.put(change.endpointId(), change.policy());
      }
    }
    if (!policies.isEmpty() || published.revision() != revision) {
      published.publish(revision, policies);
    }
  }

  Subject get(int endpointId) {
    return subjects.get(endpointId);
  }

  /** Sets the policy of an endpoint; returns the change from the one before. */
  EndpointPolicyChange change(int endpointId, ResolvedPolicy policy) {
    final Subject subject = subjects.get(endpointId);
    return change(endpointId, new Subject(subject.identity(), subject.ports(), policy));
  }

  /** The same, for a policy in which only what it says of some peers is different. */
  EndpointPolicyChange change(int endpointId, ResolvedPolicy policy, IntHashSet peers) {
    final Subject subject = subjects.get(endpointId);
    return change(
        endpointId,
        new Subject(subject.identity(), subject.ports(), policy),
        PolicyDelta.between(
            MergedPolicy.entriesOf(subject.policy(), peers),
            MergedPolicy.entriesOf(policy, peers)));
  }

  /** Adds an endpoint or replaces it; returns the change from the policy before. */
  EndpointPolicyChange change(int endpointId, Subject subject) {
    return change(
        endpointId,
        subject,
        PolicyDelta.between(entriesOf(endpointId), subject.policy().entries()));
  }

  private EndpointPolicyChange change(int endpointId, Subject subject, PolicyDelta delta) {
    subjects.put(endpointId, subject);
    return new EndpointPolicyChange(endpointId, subject.policy(), delta);
  }

  /** The same for a policy whose change may be known already. */
  EndpointPolicyChange change(int endpointId, PreparedPolicy prepared) {
    final Subject subject = subjects.get(endpointId);
    final Subject next = new Subject(subject.identity(), subject.ports(), prepared.policy());
    return prepared.before() == subject.policy()
        ? change(endpointId, next, prepared.delta())
        : change(endpointId, next);
  }

  /**
   * Sets for an endpoint what fits of a policy: first the deletes that make room, then the new
   * denies; the lists are written in this order.
   */
  void reduce(
      int endpointId,
      ResolvedPolicy wanted,
      int mapCapacity,
      List<EndpointPolicyChange> changes,
      List<EndpointPolicyChange> denials) {
    final Subject subject = subjects.get(endpointId);
    final ReducedPolicy reduced = ReducedPolicy.of(subject.policy(), wanted, mapCapacity);
    if (!reduced.kept().entries().equals(subject.policy().entries())) {
      changes.add(change(endpointId, reduced.kept()));
    }
    if (!reduced.whole().entries().equals(reduced.kept().entries())) {
      denials.add(change(endpointId, reduced.whole()));
    }
  }

  void remove(int endpointId) {
    subjects.remove(endpointId);
    published.remove(endpointId);
  }

  Set<Integer> ids() {
    return Set.copyOf(subjects.keySet());
  }

  /** Returns the endpoints that one of the rules is for. */
  Set<Integer> selectedBy(Collection<Rule> rules) {
    return where(
        subject ->
            rules.stream().anyMatch(rule -> rule.subject().selects(subject.identity().labels())));
  }

  /** Returns the endpoints whose policy depends on one of the selectors. */
  Set<Integer> dependingOn(Set<PeerSelector> selectors) {
    if (selectors.isEmpty()) {
      return Set.of();
    }
    return where(subject -> selectors.stream().anyMatch(subject.policy().selectors()::contains));
  }

  /** Returns the endpoints whose policy depends on the named ports of peers by one of the names. */
  Set<Integer> dependingOnPorts(Set<String> names) {
    return names.isEmpty()
        ? Set.of()
        : where(subject -> names.stream().anyMatch(subject.policy().portNames()::contains));
  }

  /** Returns the named ports of all endpoints with the labels of an identity. */
  List<NamedPort> portsOf(LabelSet labels) {
    return subjects.values().stream()
        .filter(subject -> subject.identity().labels().equals(labels))
        .flatMap(subject -> subject.ports().stream())
        .distinct()
        .toList();
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

  /** Returns the entries of the policy that was last given; none for an unknown endpoint. */
  private List<PolicyEntry> entriesOf(int endpointId) {
    final Subject subject = subjects.get(endpointId);
    return subject == null ? List.of() : subject.policy().entries();
  }
}
