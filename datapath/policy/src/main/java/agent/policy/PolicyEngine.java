package agent.policy;

import agent.identity.Identity;
import agent.identity.IdentityListener;
import agent.policy.spec.RuleSpec;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The rules of this node and what they mean for its endpoints. It listens to the identities, so
 * that every call also tells of the endpoints whose policy changed because an identity appeared or
 * went since the call before. Changes come from one thread (that of the endpoints); any thread may
 * read.
 *
 * <p>An endpoint's identity is acquired before {@link #endpointSet} and released after {@link
 * #endpointRemoved}; after a release {@link #refresh} tells who is affected.
 */
public final class PolicyEngine {
  private final PolicyContext context;
  private final SelectorCache selectors;
  private final CidrIdentities cidrs;
  private final PolicySubjects subjects = new PolicySubjects();
  private final Set<Integer> dirty = new TreeSet<>();
  private volatile PolicyRepository repository;
  private EnforcementMode mode;

  private PolicyEngine(PolicyContext context, PolicyState state) {
    this.context = context;
    mode = context.mode();
    selectors = new SelectorCache(context.identities().list());
    cidrs = new CidrIdentities(context.identities(), state);
    repository = new PolicyRepository(state.revision(), RuleReader.read(state.rules()));
  }

  /**
   * Takes up the rules of the store. Their CIDRs have the identities that they had before; the
   * ipcache entries of all of them are in the update of the first call. A rule that cannot be used
   * any more is left out, and the store told to set aside what it held.
   *
   * @param context concluded
   * @return the engine
   */
  public static PolicyEngine open(PolicyContext context) {
    final PolicyEngine engine = new PolicyEngine(context, StoredPolicy.of(context.store()));
    context.identities().addListener(engine.new Listener());
    engine.takeUp();
    return engine;
  }

  private synchronized void takeUp() {
    cidrs.acquire(repository.rules());
    repository.rules().forEach(selectors::use);
  }

  private final class Listener implements IdentityListener {
    @Override
    public void onIdentityAdded(Identity identity) {
      synchronized (PolicyEngine.this) {
        cidrs.onAdded(identity);
        dirty.addAll(subjects.dependingOn(selectors.add(identity)));
      }
    }

    @Override
    public void onIdentityRemoved(Identity identity) {
      synchronized (PolicyEngine.this) {
        cidrs.onRemoved(identity);
        dirty.addAll(subjects.dependingOn(selectors.remove(identity)));
      }
    }
  }

  /**
   * Adds rules, all or none, and counts the revision up. The rules are in the store before the call
   * returns.
   *
   * @param specs the rules; refusals name {@code [index]} and the path in it
   * @param replaceSameLabels whether rules that have the very same labels as one of the new ones go
   * @return what follows
   * @throws Refusal INVALID for a bad rule, EXHAUSTED where a policy map would overflow or
   *     identities run out; then nothing has changed
   */
  public synchronized PolicyUpdate add(List<RuleSpec> specs, boolean replaceSameLabels) {
    final List<Rule> added = RuleReader.read(specs);
    final List<Rule> replaced = replaceSameLabels ? repository.sameLabels(added) : List.<Rule>of();
    return change(replaced, added);
  }

  /**
   * Removes the rules that have all of these labels, and counts the revision up.
   *
   * @param labels {@code [source:]key[=value]}, without a source any; none removes all rules
   * @return what follows
   * @throws Refusal NOT_FOUND where labels were given and no rule has them
   */
  public synchronized PolicyUpdate delete(List<String> labels) {
    return change(repository.withLabels(labels), List.of());
  }

  private PolicyUpdate change(List<Rule> removed, List<Rule> added) {
    if (removed.isEmpty() && added.isEmpty()) {
      return settle();
    }
    final PolicyRepository after = repository.changed(removed, added);
    final Set<Integer> dirtyBefore = new TreeSet<>(dirty);
    cidrs.acquire(added);
    added.forEach(selectors::use);
    final Map<Integer, ResolvedPolicy> resolved = new TreeMap<>();
    try {
      final Set<Integer> affected = new TreeSet<>(dirty);
      affected.removeAll(dirtyBefore);
      affected.addAll(subjects.selectedBy(added));
      affected.forEach(endpoint -> resolved.put(endpoint, resolve(endpoint, after, mode)));
      context.store().save(stateOf(after));
    } catch (RuntimeException e) {
      added.forEach(selectors::drop);
      cidrs.release(added);
      throw e;
    }
    dirty.addAll(subjects.selectedBy(added));
    dirty.addAll(subjects.selectedBy(removed));
    repository = after;
    removed.forEach(selectors::drop);
    final PolicyUpdate update = settle(resolved);
    cidrs.release(removed);
    return update.then(settle());
  }

  private PolicyState stateOf(PolicyRepository rules) {
    return new PolicyState(
        rules.revision(), rules.specs(rules.rules()), cidrs.numbersOf(rules.rules()));
  }

  /** The policy of an endpoint with these rules, if its map can hold it. */
  private ResolvedPolicy resolve(int endpointId, PolicyRepository rules, EnforcementMode how) {
    return resolve(endpointId, subjects.get(endpointId).identity(), rules, how);
  }

  private ResolvedPolicy resolve(
      int endpointId, Identity identity, PolicyRepository rules, EnforcementMode how) {
    final ResolvedPolicy policy = unchecked(identity, rules, how);
    final int count = policy.entries().size();
    if (count > context.mapCapacity()) {
      throw Refusal.exhausted(
          "policy",
          "endpoint %d needs %d policy map entries, a policy map holds %d"
              .formatted(endpointId, count, context.mapCapacity()));
    }
    return policy;
  }

  private ResolvedPolicy unchecked(Identity identity, PolicyRepository rules, EnforcementMode how) {
    return new PolicyResolver(selectors, how, context.allowLocalhost())
        .resolve(identity, rules.rules(), rules.revision());
  }

  private PolicyUpdate settle() {
    return settle(Map.of());
  }

  /** Resolves what is dirty, unless it is resolved already, and tells what has changed. */
  private PolicyUpdate settle(Map<Integer, ResolvedPolicy> resolved) {
    final List<EndpointPolicyChange> changes = new ArrayList<>();
    final List<EndpointPolicyChange> denials = new ArrayList<>();
    final Map<Integer, Refusal> failures = new TreeMap<>();
    for (final int endpoint : List.copyOf(dirty)) {
      final PolicySubjects.Subject subject = subjects.get(endpoint);
      if (subject == null) {
        continue;
      }
      try {
        final ResolvedPolicy known = resolved.get(endpoint);
        final ResolvedPolicy policy = known != null ? known : resolve(endpoint, repository, mode);
        if (!policy.at(0).equals(subject.policy().at(0))) {
          changes.add(told(endpoint, subject.identity(), policy));
        }
      } catch (Refusal refusal) {
        failures.put(endpoint, refusal);
        close(endpoint, subject, changes, denials);
      }
    }
    dirty.clear();
    dirty.addAll(failures.keySet());
    return new PolicyUpdate(
        repository.revision(), changes, failures, cidrs.takeAdded(), cidrs.takeRemoved(), denials);
  }

  /** First what makes room, then what is forbidden: both lists are written in their order. */
  private void close(
      int endpoint,
      PolicySubjects.Subject subject,
      List<EndpointPolicyChange> changes,
      List<EndpointPolicyChange> denials) {
    final ClosedPolicy closed =
        ClosedPolicy.of(
            subject.policy(),
            unchecked(subject.identity(), repository, mode),
            context.mapCapacity());
    if (!closed.kept().entries().equals(subject.policy().entries())) {
      changes.add(told(endpoint, subject.identity(), closed.kept()));
    }
    if (!closed.whole().entries().equals(closed.kept().entries())) {
      denials.add(told(endpoint, subject.identity(), closed.whole()));
    }
  }

  private EndpointPolicyChange told(int endpoint, Identity identity, ResolvedPolicy policy) {
    final PolicyMapDiff diff =
        PolicyMapDiff.between(subjects.entriesOf(endpoint), policy.entries());
    subjects.put(endpoint, identity, policy);
    return new EndpointPolicyChange(endpoint, policy, diff);
  }

  /**
   * An endpoint is there, or has another identity.
   *
   * @param endpointId the endpoint
   * @param identity its identity
   * @return what follows; the endpoint itself is in it, with a diff from what it had before
   * @throws Refusal EXHAUSTED where its policy map would overflow; nothing has changed
   */
  public synchronized PolicyUpdate endpointSet(int endpointId, Identity identity) {
    final ResolvedPolicy policy = resolve(endpointId, identity, repository, mode);
    final EndpointPolicyChange change = told(endpointId, identity, policy);
    dirty.remove(endpointId);
    final PolicyUpdate others = settle();
    final List<EndpointPolicyChange> changes = new ArrayList<>(others.endpoints());
    changes.add(change);
    return others.with(changes);
  }

  /** An endpoint is gone. */
  public synchronized PolicyUpdate endpointRemoved(int endpointId) {
    subjects.remove(endpointId);
    dirty.remove(endpointId);
    return settle();
  }

  /**
   * Changes when policy is enforced.
   *
   * @param newMode from now on
   * @return what follows
   * @throws Refusal EXHAUSTED where a policy map would overflow; nothing has changed
   */
  public synchronized PolicyUpdate setMode(EnforcementMode newMode) {
    final Collection<Integer> all = subjects.all();
    all.forEach(endpoint -> resolve(endpoint, repository, newMode));
    mode = newMode;
    dirty.addAll(all);
    return settle();
  }

  /** When policy is enforced. */
  public synchronized EnforcementMode mode() {
    return mode;
  }

  /** What follows from identities that appeared or went since the call before. */
  public synchronized PolicyUpdate refresh() {
    return settle();
  }

  /** The policy of an endpoint that is there, at the revision of now. */
  public synchronized Optional<ResolvedPolicy> policyOf(int endpointId) {
    return Optional.ofNullable(subjects.get(endpointId))
        .map(subject -> subject.policy().at(repository.revision()));
  }

  /** The identities of all CIDRs: what the ipcache holds besides endpoints and nodes. */
  public synchronized List<Identity> cidrIdentities() {
    return cidrs.present();
  }

  /** All rules. */
  public PolicySnapshot snapshot() {
    return repository.snapshot();
  }

  /**
   * The rules that have all of these labels.
   *
   * @param labels {@code [source:]key[=value]}, without a source any; none returns all rules
   * @return the rules
   * @throws Refusal NOT_FOUND where labels were given and no rule has them
   */
  public PolicySnapshot snapshot(List<String> labels) {
    final PolicyRepository now = repository;
    return now.snapshot(now.withLabels(labels));
  }

  /** The selectors of the rules and what they select. */
  public synchronized List<SelectorListing> selectors() {
    return selectors.listing();
  }
}
