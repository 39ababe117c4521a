package agent.policy;

import agent.datapath.manager.spec.PolicyDelta;
import agent.identity.Identity;
import agent.identity.IdentityDirectory.IdentityListener;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.spec.RuleSpec;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * The rules of this node and the policy that they give to its endpoints. It listens to the
 * identities on any thread: an event marks the endpoints whose policy depends on the identity and
 * calls the {@link Observer}, and the next change or {@link #refresh} resolves them. Changes come
 * from one thread (that of the endpoints); any thread may read.
 *
 * <p>An endpoint's identity is acquired before {@link #endpointSet} and released after {@link
 * #endpointRemoved}; after a release {@link #refresh} has the endpoints that are affected.
 */
public final class PolicyEngine {
  private final PolicyContext context;
  private final SelectorCache selectors = new SelectorCache();
  private final CidrReferences cidrs;
  private final PolicySubjects subjects = new PolicySubjects();
  private final Set<Integer> dirty = new TreeSet<>();
  private final RulesHold hold;
  private final DecisionTrace trace = new DecisionTrace();
  private Change last;
  private volatile PolicyRepository repository;
  private Observer observer = () -> {};
  private boolean isAffected;

  /** Hears that {@link #refresh} has something to do. */
  public interface Observer {
    /**
     * The policy of an endpoint, or an identity of a CIDR, has changed because of an identity that
     * appeared or went. Called on the thread of that event, at most once until the next {@link
     * #refresh}; it must be short and must not wait for the engine's thread.
     */
    void onPolicyAffected();
  }

  private PolicyEngine(PolicyContext context, StoredPolicy stored) {
    final PolicyState state = stored.state();
    this.context = context;
    trace.enable(context.isTraced());
    hold = new RulesHold(stored.unreadable());
    cidrs = new CidrReferences(context.cidrIdentities(), state);
    repository = new PolicyRepository(state.revision(), RuleReader.read(state.rules()));
  }

  /**
   * Restores the rules of the store. Their CIDRs keep their identities; the ipcache entries of all
   * of them are in the update of the first change. Where the rules cannot be read, {@link
   * #isHeld()} is true.
   *
   * @param context concluded
   * @return the engine
   */
  public static PolicyEngine open(PolicyContext context) {
    final PolicyEngine engine = new PolicyEngine(context, StoredPolicy.of(context.store()));
    engine.restore();
    return engine;
  }

  /**
   * Returns whether the stored rules cannot be read. Then every call for rules fails with the
   * reason, except that {@link #delete} of all rules ends the hold; an endpoint that the engine
   * does not {@link #keep} is closed.
   */
  public boolean isHeld() {
    return hold.stands();
  }

  /**
   * Has an endpoint keep the policy that the kernel enforces while the rules cannot be read: {@link
   * #endpointSet} fails for it until then. Without effect where they can be read, or where policy
   * is never enforced.
   */
  public synchronized void keep(int endpointId) {
    if (isClosing()) {
      hold.keep(endpointId);
    }
  }

  /** Returns whether the endpoint keeps the policy that the kernel enforces. */
  public synchronized boolean keeps(int endpointId) {
    return hold.keeps(endpointId);
  }

  /**
   * Keeps the identity of a CIDR for the policy maps that name it while the rules cannot be read.
   *
   * @param cidr the CIDR
   * @param identity the number that the ipcache of the kernel has for it
   */
  public synchronized void keepCidr(Prefix cidr, int identity) {
    if (hold.stands()) {
      hold.keepCidr(context.cidrIdentities().restore(identity, cidr).id());
    }
  }

  private boolean isClosing() {
    return hold.stands() && context.mode() != EnforcementMode.NEVER;
  }

  /** Events that arrive meanwhile wait for the lock, so that none is lost. */
  private synchronized void restore() {
    final Listener listener = new Listener();
    context.identities().addListener(listener);
    context.cidrIdentities().addListener(listener);
    context.identities().list().forEach(selectors::add);
    context.cidrIdentities().list().forEach(selectors::add);
    cidrs.acquire(repository.rules());
    repository.rules().forEach(selectors::use);
  }

  private final class Listener implements IdentityListener {
    @Override
    public void onIdentityAdded(Identity identity) {
      follow(
          identity,
          () -> {
            cidrs.onAdded(identity);
            return selectors.add(identity);
          });
    }

    @Override
    public void onIdentityRemoved(Identity identity) {
      follow(
          identity,
          () -> {
            cidrs.onRemoved(identity);
            return selectors.remove(identity);
          });
    }

    private void follow(Identity identity, Supplier<Set<PeerSelector>> event) {
      // An event of the engine's own change is settled by that change.
      final boolean isOwn = Thread.holdsLock(PolicyEngine.this);
      final Observer current;
      synchronized (PolicyEngine.this) {
        final Set<Integer> affected = subjects.dependingOn(event.get());
        dirty.addAll(affected);
        if (isOwn || isAffected || affected.isEmpty() && identity.cidr().isEmpty()) {
          return;
        }
        isAffected = true;
        current = observer;
      }
      current.onPolicyAffected();
    }
  }

  /**
   * Sets who hears of identities that affect the policy. Where something is affected already, the
   * observer is called before this returns.
   *
   * @param value the observer, in place of the one before
   */
  public void observe(Observer value) {
    synchronized (this) {
      observer = value;
      if (!isAffected) {
        return;
      }
    }
    value.onPolicyAffected();
  }

  /**
   * Adds rules, all or none, and increments the revision. The rules are in the store before the
   * call returns.
   *
   * @param specs the rules; refusals name {@code [index]} and the path in it
   * @param replaceSameLabels whether rules whose labels equal those of a new one are removed
   * @return the changes to carry out
   * @throws Refusal INVALID for a bad rule, EXHAUSTED where a policy map would overflow or
   *     identities run out; then nothing has changed
   */
  public synchronized PolicyUpdate add(List<RuleSpec> specs, boolean replaceSameLabels) {
    hold.refuse();
    final List<Rule> added = RuleReader.read(specs);
    final List<Rule> replaced = replaceSameLabels ? repository.sameLabels(added) : List.<Rule>of();
    return change(replaced, added);
  }

  /**
   * Removes the rules that have all of these labels, and increments the revision. Without labels it
   * also gives up stored rules that cannot be read.
   *
   * @param labels {@code [source:]key[=value]}, without a source any; none removes all rules
   * @return the changes to carry out
   * @throws Refusal NOT_FOUND where labels were given and no rule has them
   */
  public synchronized PolicyUpdate delete(List<String> labels) {
    if (hold.stands() && labels.isEmpty()) {
      return giveUp();
    }
    hold.refuse();
    return change(repository.withLabels(labels), List.of());
  }

  /** The rules that led to a revision. */
  private record Change(long revision, List<Rule> removed, List<Rule> added) {}

  /**
   * Takes a change back whose writes failed: the rules before it are stored and in force, at the
   * next revision.
   *
   * @param revision the revision that the change led to
   * @return the changes to carry out; empty where other changes have followed, or none was made
   */
  public synchronized Optional<PolicyUpdate> undo(long revision) {
    final Change change = last;
    if (change == null || change.revision != revision || repository.revision() != revision) {
      return Optional.empty();
    }
    return Optional.of(change(change.added, change.removed));
  }

  /** Stores an empty set of rules in place of those that cannot be read. */
  private PolicyUpdate giveUp() {
    final PolicyRepository after = repository.changed(List.of(), List.of());
    context.store().save(stateOf(after));
    repository = after;
    final List<Integer> kept = hold.end();
    dirty.addAll(subjects.ids());
    final PolicyUpdate update = settle();
    kept.forEach(context.cidrIdentities()::release);
    return update.then(settle());
  }

  private PolicyUpdate change(List<Rule> removed, List<Rule> added) {
    last = null;
    if (removed.isEmpty() && added.isEmpty()) {
      return settle().ofSameRules();
    }
    final PolicyRepository after = repository.changed(removed, added);
    final Set<Integer> dirtyBefore = new TreeSet<>(dirty);
    cidrs.acquire(added);
    added.forEach(selectors::use);
    final Map<Integer, ResolvedPolicy> resolved = new TreeMap<>();
    final Map<Integer, ResolvedPolicy> bridged = new TreeMap<>();
    try {
      final Set<Integer> affected = new TreeSet<>(dirty);
      affected.removeAll(dirtyBefore);
      affected.forEach(endpoint -> bridge(endpoint, bridged));
      affected.addAll(subjects.selectedBy(added));
      affected.forEach(endpoint -> resolved.put(endpoint, resolve(endpoint, after)));
      context.store().save(stateOf(after));
    } catch (RuntimeException e) {
      added.forEach(selectors::drop);
      cidrs.release(added);
      throw e;
    }
    dirty.addAll(subjects.selectedBy(added));
    dirty.addAll(subjects.selectedBy(removed));
    repository = after;
    last = new Change(after.revision(), removed, added);
    removed.forEach(selectors::drop);
    final List<EndpointPolicyChange> bridges = new ArrayList<>();
    bridged.forEach(
        (endpoint, policy) ->
            bridges.add(changeTo(endpoint, subjects.get(endpoint).identity(), policy)));
    final PolicyUpdate update = settle(resolved).after(bridges);
    cidrs.release(removed);
    return update.then(settle());
  }

  /**
   * Resolves the present rules with the identities of new CIDRs: until the new rules are written,
   * the old ones are to say of an address with such an identity what they said before. An endpoint
   * whose map has no room for it does without.
   */
  private void bridge(int endpoint, Map<Integer, ResolvedPolicy> bridged) {
    final PolicySubjects.Subject subject = subjects.get(endpoint);
    final ResolvedPolicy policy =
        subject == null ? null : unchecked(subject.identity(), repository);
    if (policy != null && policy.entries().size() <= context.mapCapacity()) {
      bridged.put(endpoint, policy);
    }
  }

  private PolicyState stateOf(PolicyRepository rules) {
    return new PolicyState(
        rules.revision(), rules.specs(rules.rules()), cidrs.numbersOf(rules.rules()));
  }

  /** Returns the policy of an endpoint with these rules; refused where its map cannot hold it. */
  private ResolvedPolicy resolve(int endpointId, PolicyRepository rules) {
    return resolve(endpointId, subjects.get(endpointId).identity(), rules);
  }

  private ResolvedPolicy resolve(int endpointId, Identity identity, PolicyRepository rules) {
    final ResolvedPolicy policy = unchecked(identity, rules);
    final int count = policy.entries().size();
    if (count > context.mapCapacity()) {
      throw Refusal.exhausted(
          "policy",
          "endpoint %d needs %d policy map entries, a policy map holds %d"
              .formatted(endpointId, count, context.mapCapacity()));
    }
    return policy;
  }

  private ResolvedPolicy unchecked(Identity identity, PolicyRepository rules) {
    if (isClosing()) {
      return RulesHold.closed(identity.id(), rules.revision());
    }
    return new PolicyResolver(selectors, context.mode(), context.allowLocalhost())
        .resolve(identity, rules.rules(), rules.revision());
  }

  private PolicyUpdate settle() {
    return settle(Map.of());
  }

  /** Resolves the dirty endpoints, unless they are resolved already, and collects the changes. */
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
        final ResolvedPolicy policy = known != null ? known : resolve(endpoint, repository);
        if (!policy.at(0).equals(subject.policy().at(0))) {
          changes.add(changeTo(endpoint, subject.identity(), policy));
        }
      } catch (Refusal refusal) {
        failures.put(endpoint, refusal);
        reduce(endpoint, subject, changes, denials);
      }
    }
    dirty.clear();
    dirty.addAll(failures.keySet());
    return new PolicyUpdate(
        repository.revision(),
        List.of(),
        changes,
        failures,
        cidrs.takeAdded(),
        cidrs.takeRemoved(),
        denials);
  }

  /** First the deletes that make room, then the new denies; the lists are written in this order. */
  private void reduce(
      int endpoint,
      PolicySubjects.Subject subject,
      List<EndpointPolicyChange> changes,
      List<EndpointPolicyChange> denials) {
    final ReducedPolicy reduced =
        ReducedPolicy.of(
            subject.policy(), unchecked(subject.identity(), repository), context.mapCapacity());
    if (!reduced.kept().entries().equals(subject.policy().entries())) {
      changes.add(changeTo(endpoint, subject.identity(), reduced.kept()));
    }
    if (!reduced.whole().entries().equals(reduced.kept().entries())) {
      denials.add(changeTo(endpoint, subject.identity(), reduced.whole()));
    }
  }

  private EndpointPolicyChange changeTo(int endpoint, Identity identity, ResolvedPolicy policy) {
    final PolicyDelta diff = PolicyDelta.between(subjects.entriesOf(endpoint), policy.entries());
    subjects.put(endpoint, identity, policy);
    trace.log(endpoint, identity, policy, repository.rules());
    return new EndpointPolicyChange(endpoint, policy, diff);
  }

  /**
   * Adds an endpoint, or gives it another identity.
   *
   * @param endpointId the endpoint
   * @param identity its identity
   * @return the changes to carry out; the endpoint itself is in it, with a diff from what it had
   *     before
   * @throws Refusal EXHAUSTED where its policy map would overflow; nothing has changed
   * @throws agent.types.OperationException where it is to {@link #keep} its policy
   */
  public synchronized PolicyUpdate endpointSet(int endpointId, Identity identity) {
    if (hold.keeps(endpointId)) {
      hold.refuse();
    }
    final ResolvedPolicy policy = resolve(endpointId, identity, repository);
    final EndpointPolicyChange change = changeTo(endpointId, identity, policy);
    dirty.remove(endpointId);
    final PolicyUpdate others = settle();
    final List<EndpointPolicyChange> changes = new ArrayList<>(others.endpoints());
    changes.add(change);
    return others.with(changes).ofSameRules();
  }

  /** Removes an endpoint. */
  public synchronized PolicyUpdate endpointRemoved(int endpointId) {
    subjects.remove(endpointId);
    hold.forget(endpointId);
    dirty.remove(endpointId);
    return settle().ofSameRules();
  }

  /** Returns when policy is enforced. */
  public EnforcementMode mode() {
    return context.mode();
  }

  /**
   * Returns the changes because of identities that appeared or went since the previous change or
   * refresh.
   */
  public synchronized PolicyUpdate refresh() {
    isAffected = false;
    return settle().ofSameRules();
  }

  /**
   * Returns the policy of an endpoint at the current revision; empty where the engine does not know
   * it.
   */
  public synchronized Optional<ResolvedPolicy> policyOf(int endpointId) {
    return Optional.ofNullable(subjects.get(endpointId))
        .map(subject -> subject.policy().at(repository.revision()));
  }

  /** Returns the identities of all CIDRs: the ipcache holds them besides endpoints and nodes. */
  public synchronized List<Identity> cidrIdentities() {
    return cidrs.present();
  }

  /**
   * Returns all rules.
   *
   * @throws agent.types.OperationException where {@link #isHeld()}
   */
  public PolicySnapshot snapshot() {
    hold.refuse();
    return repository.snapshot();
  }

  /**
   * Returns the rules that have all of these labels.
   *
   * @param labels {@code [source:]key[=value]}, without a source any; none returns all rules
   * @return the rules
   * @throws Refusal NOT_FOUND where labels were given and no rule has them
   */
  public PolicySnapshot snapshot(List<String> labels) {
    hold.refuse();
    final PolicyRepository now = repository;
    return now.snapshot(now.withLabels(labels));
  }

  /** Logs the reasons of every policy that is resolved from now on, or stops; for any thread. */
  public void trace(boolean isEnabled) {
    trace.enable(isEnabled);
  }

  /** Returns the selectors of the rules and what they select. */
  public synchronized List<SelectorListing> selectors() {
    return selectors.listing();
  }
}
