package agent.policy;

import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.repository.PolicyRepository;
import agent.policy.resolve.DecisionTrace;
import agent.policy.resolve.PreparedPolicy;
import agent.policy.resolve.ResolvedPolicy;
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
  private final TreeMap<Integer, IntHashSet> dirty = new TreeMap<>();

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
        ? resolution.fitting(endpointId, subject.identity(), subject.ports(), rules)
        : resolution.fitting(endpointId, subject, peers, rules);
  }

  /**
   * Resolves the present rules with the identities of new CIDRs, so that the old rules say of their
   * addresses what they said before. An endpoint whose map has no room does without.
   */
  void bridge(int endpoint, PolicyRepository rules, Map<Integer, PreparedPolicy> bridged) {
    final PolicySubjects.Subject subject = subjects.get(endpoint);
    final ResolvedPolicy policy =
        subject == null ? null : resolution.whole(subject.identity(), subject.ports(), rules);
    if (policy != null && policy.entries().size() <= mapCapacity) {
      bridged.put(endpoint, PreparedPolicy.of(subject.policy(), policy));
    }
  }

  /**
   * Resolves an endpoint with other rules; refused where its map cannot hold that.
   *
   * @param bridgeOrNull the policy that it has before
   */
  PreparedPolicy prepare(int endpoint, PolicyRepository rules, PreparedPolicy bridgeOrNull) {
    final PolicySubjects.Subject subject = subjects.get(endpoint);
    return PreparedPolicy.of(
        bridgeOrNull == null ? subject.policy() : bridgeOrNull.policy(),
        resolution.fitting(endpoint, subject.identity(), subject.ports(), rules));
  }

  /** Resolves an endpoint in another way; refused where its map cannot hold that. */
  PreparedPolicy prepare(int endpoint, PolicyRepository rules, EnforcedResolution otherwise) {
    final PolicySubjects.Subject subject = subjects.get(endpoint);
    return PreparedPolicy.of(
        subject.policy(), otherwise.fitting(endpoint, subject.identity(), subject.ports(), rules));
  }

  /** Returns what resolves the marked endpoints, one a step. */
  Settlement settlement() {
    markAffected();
    return new Settlement();
  }

  /** Resolves the marked endpoints and returns the changes that this leads to. */
  PolicyUpdate settle(PolicyRepository rules) {
    final Settlement settlement = settlement();
    while (!settlement.isComplete(rules, Map.of())) {
      // the next endpoint
    }
    return settlement.end(rules);
  }

  /** The changes of the endpoints that are marked, also meanwhile. */
  final class Settlement {
    private final List<EndpointPolicyChange> changes = new ArrayList<>();
    private final List<EndpointPolicyChange> denials = new ArrayList<>();
    private final Map<Integer, Refusal> failures = new TreeMap<>();

    /**
     * Resolves the next endpoint, unless it is resolved already; returns whether none is left.
     *
     * @param prepared policies with these rules, by endpoint
     */
    boolean isComplete(PolicyRepository rules, Map<Integer, PreparedPolicy> prepared) {
      final Map.Entry<Integer, IntHashSet> mark = dirty.pollFirstEntry();
      if (mark != null && subjects.get(mark.getKey()) != null) {
        settle(mark.getKey(), mark.getValue(), rules, prepared.get(mark.getKey()));
      }
      return dirty.isEmpty();
    }

    private void settle(
        int endpoint, IntHashSet marked, PolicyRepository rules, PreparedPolicy knownOrNull) {
      final PolicySubjects.Subject subject = subjects.get(endpoint);
      try {
        final IntHashSet peers = knownOrNull != null ? EVERY : marked;
        final ResolvedPolicy policy =
            knownOrNull != null ? knownOrNull.policy() : resolve(endpoint, subject, peers, rules);
        if (!policy.isAs(subject.policy())) {
          trace.log(endpoint, subject.identity(), policy, rules.rules());
          changes.add(
              knownOrNull != null
                  ? subjects.change(endpoint, knownOrNull)
                  : peers == EVERY
                      ? subjects.change(endpoint, policy)
                      : subjects.change(endpoint, policy, peers));
        }
      } catch (Refusal refusal) {
        failures.put(endpoint, refusal);
        final ResolvedPolicy whole = resolution.whole(subject.identity(), subject.ports(), rules);
        subjects.reduce(endpoint, whole, mapCapacity, changes, denials);
      }
    }

    /** Returns the changes; endpoints that could not be resolved are marked again. */
    PolicyUpdate end(PolicyRepository rules) {
      mark(failures.keySet());
      return new PolicyUpdate(
          rules.revision(), List.of(), changes, failures, references.outside().take(), denials);
    }
  }
}
