package agent.policy;

import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.agrona.collections.IntHashSet;

/**
 * The endpoints whose policy is to be resolved again, and the changes that this leads to. For the
 * engine's thread.
 */
final class SubjectChanges {
  /** The policy is to be resolved for all peers. */
  private static final IntHashSet EVERY = new IntHashSet();

  private final PolicySubjects subjects;
  private final EnforcedResolution resolution;
  private final RuleReferences references;
  private final DecisionTrace trace;
  private final int mapCapacity;

  /** Endpoints, each with the peers that have changed, or {@link #EVERY}. */
  private final Map<Integer, IntHashSet> dirty = new TreeMap<>();

  SubjectChanges(
      PolicySubjects subjects,
      EnforcedResolution resolution,
      RuleReferences references,
      DecisionTrace trace,
      int mapCapacity) {
    this.subjects = subjects;
    this.resolution = resolution;
    this.references = references;
    this.trace = trace;
    this.mapCapacity = mapCapacity;
  }

  /** Marks endpoints for resolution by the next {@link #settle}. */
  void mark(Collection<Integer> endpoints) {
    endpoints.forEach(endpoint -> dirty.put(endpoint, EVERY));
  }

  /** Marks endpoints for resolution for some peers by the next {@link #settle}. */
  void mark(Collection<Integer> endpoints, Collection<Integer> peers) {
    for (final int endpoint : endpoints) {
      final IntHashSet marked = dirty.computeIfAbsent(endpoint, first -> new IntHashSet());
      if (marked != EVERY) {
        marked.addAll(peers);
      }
    }
  }

  void unmark(int endpoint) {
    dirty.remove(endpoint);
  }

  private void markAffected() {
    references
        .takeAffected()
        .forEach((selector, peers) -> mark(subjects.dependingOn(Set.of(selector)), peers));
  }

  /** Returns the endpoints that the next {@link #settle} resolves. */
  Set<Integer> marked() {
    markAffected();
    return new TreeSet<>(dirty.keySet());
  }

  private ResolvedPolicy resolve(
      int endpointId, PolicySubjects.Subject subject, IntHashSet peers, PolicyRepository rules) {
    return peers == EVERY
        ? resolve(endpointId, rules)
        : resolution.fitting(endpointId, subject, peers, rules);
  }

  /** Returns the policy of an endpoint with these rules; refused where its map cannot hold it. */
  ResolvedPolicy resolve(int endpointId, PolicyRepository rules) {
    final PolicySubjects.Subject subject = subjects.get(endpointId);
    return resolution.fitting(endpointId, subject.identity(), subject.ports(), rules);
  }

  /**
   * Resolves the present rules with the identities of new CIDRs, so that the old rules say of their
   * addresses what they said before. An endpoint whose map has no room does without.
   */
  void bridge(int endpoint, PolicyRepository rules, Map<Integer, ResolvedPolicy> bridged) {
    final PolicySubjects.Subject subject = subjects.get(endpoint);
    final ResolvedPolicy policy =
        subject == null ? null : resolution.whole(subject.identity(), subject.ports(), rules);
    if (policy != null && policy.entries().size() <= mapCapacity) {
      bridged.put(endpoint, policy);
    }
  }

  /**
   * Resolves the marked endpoints, unless they are resolved already, and collects the changes.
   *
   * @param resolved policies with these rules, by endpoint
   */
  PolicyUpdate settle(PolicyRepository rules, Map<Integer, ResolvedPolicy> resolved) {
    markAffected();
    final List<EndpointPolicyChange> changes = new ArrayList<>();
    final List<EndpointPolicyChange> denials = new ArrayList<>();
    final Map<Integer, Refusal> failures = new TreeMap<>();
    for (final Map.Entry<Integer, IntHashSet> mark : dirty.entrySet()) {
      final int endpoint = mark.getKey();
      final PolicySubjects.Subject subject = subjects.get(endpoint);
      if (subject == null) {
        continue;
      }
      try {
        final ResolvedPolicy known = resolved.get(endpoint);
        final IntHashSet peers = known != null ? EVERY : mark.getValue();
        final ResolvedPolicy policy =
            known != null ? known : resolve(endpoint, subject, peers, rules);
        if (!policy.isAs(subject.policy())) {
          trace.log(endpoint, subject.identity(), policy, rules.rules());
          changes.add(
              peers == EVERY
                  ? subjects.change(endpoint, policy)
                  : subjects.change(endpoint, policy, peers));
        }
      } catch (Refusal refusal) {
        failures.put(endpoint, refusal);
        final ResolvedPolicy whole = resolution.whole(subject.identity(), subject.ports(), rules);
        subjects.reduce(endpoint, whole, mapCapacity, changes, denials);
      }
    }
    dirty.clear();
    mark(failures.keySet());
    return new PolicyUpdate(
        rules.revision(), List.of(), changes, failures, references.outside().take(), denials);
  }
}
