package agent.policy;

import agent.conductor.StepList;
import agent.conductor.Work;
import agent.identity.Identity;
import agent.identity.IdentityDirectory.IdentityListener;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.read.RuleReader;
import agent.policy.reference.SelectorCache;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.CurrentRules;
import agent.policy.repository.PolicyRepository;
import agent.policy.repository.PolicySnapshot;
import agent.policy.repository.PolicyState;
import agent.policy.repository.StoredPolicy;
import agent.policy.resolve.DecisionTrace;
import agent.policy.resolve.EndpointPorts;
import agent.policy.resolve.EnforcementMode;
import agent.policy.resolve.ResolvedPolicy;
import agent.policy.rule.PeerSelector;
import agent.policy.spec.NamedPort;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.policy.trace.PolicyTracer;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * The rules of this node and the policy that they give to its endpoints. It listens to the
 * identities on any thread: an event marks the endpoints whose policy depends on the identity and
 * calls the {@link PolicyObserver}, and the next change or {@link #refresh} resolves them. Changes
 * come from one thread (that of the endpoints); any thread may read.
 *
 * <p>An endpoint's identity is acquired before {@link #endpointSet} and released after {@link
 * #endpointRemoved}; after a release {@link #refresh} has the endpoints that are affected.
 */
public final class PolicyEngine {
  private final PolicyContext context;
  private final SelectorCache selectors = new SelectorCache();
  private final RuleReferences references;
  private final PolicySubjects subjects = new PolicySubjects();
  private final EndpointPorts endpointPorts = new EndpointPorts();
  private final SubjectChanges changes;
  private final RulesHold hold;
  private final EnforcedResolution resolution;
  private final DecisionTrace trace = new DecisionTrace();
  private final AffectedSignal affectedByIdentities = new AffectedSignal();
  private final CurrentRules current;
  private final RuleChange.Parts parts;
  private final HeldEvents heldEvents = new HeldEvents();
  private EngineCommit committing;

  private PolicyEngine(PolicyContext context, StoredPolicy stored) {
    final PolicyState state = stored.state();
    this.context = context;
    hold = new RulesHold(stored.unreadable());
    references = new RuleReferences(context, state, selectors);
    resolution = new EnforcedResolution(selectors, endpointPorts, hold, context);
    changes = new SubjectChanges(subjects, resolution, references, trace, context.mapCapacity());
    current =
        new CurrentRules(new PolicyRepository(state.revision(), RuleReader.read(state.rules())));
    parts =
        new RuleChange.Parts(
            context, current, references, subjects, changes, affectedByIdentities, heldEvents);
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
   * reason, except that {@link #commit} of a deletion of all rules ends the hold; an endpoint that
   * the engine does not {@link #keep} is closed.
   */
  public boolean isHeld() {
    return hold.stands();
  }

  /**
   * Makes an endpoint keep the policy that the kernel enforces while the rules cannot be read:
   * {@link #endpointSet} fails for it until then. Without effect where they can be read, or where
   * policy is never enforced.
   */
  public synchronized void keep(int endpointId) {
    if (resolution.isClosing()) {
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
      hold.keepCidr(cidr, identity, context.cidrIdentities(), references.outside());
    }
  }

  /** Events that arrive meanwhile wait for the lock, so that none is lost. */
  private synchronized void restore() {
    final Listener listener = new Listener();
    context.identities().addListener(listener);
    context.cidrIdentities().addListener(listener);
    context.identities().list().forEach(selectors::add);
    context.cidrIdentities().list().forEach(selectors::add);
    final StepList steps = new StepList();
    references.taking(current.now().rules()).addTo(steps, context.formerNumbers());
    while (!steps.run()) {
      // the next step
    }
    subjects.publish(current.now().revision(), List.of());
  }

  private final class Listener implements IdentityListener {
    @Override
    public void onIdentityAdded(Identity identity) {
      follow(identity, () -> references.add(identity));
    }

    @Override
    public void onIdentityRemoved(Identity identity) {
      follow(identity, () -> references.remove(identity));
    }

    private void follow(Identity identity, Supplier<Set<PeerSelector>> event) {
      final boolean isOwn = Thread.holdsLock(PolicyEngine.this);
      final boolean isAffecting;
      synchronized (PolicyEngine.this) {
        isAffecting =
            !heldEvents.hold(() -> affectedByIdentities.raise(isAffecting(identity, event, false)))
                && isAffecting(identity, event, isOwn);
      }
      affectedByIdentities.raise(isAffecting);
    }

    /** An event of the engine's own change is settled by that change. */
    private boolean isAffecting(
        Identity identity, Supplier<Set<PeerSelector>> event, boolean isOwn) {
      final Set<PeerSelector> selecting = event.get();
      final Set<Integer> affected = subjects.dependingOn(selecting);
      changes.mark(affected, List.of(identity.id()));
      if (committing != null && !isOwn) {
        committing.changed(selecting);
      }
      return !isOwn && !(affected.isEmpty() && identity.cidr().isEmpty());
    }
  }

  /**
   * Sets who hears of identities that affect the policy. Where something is affected already, the
   * observer is called before this returns.
   *
   * @param value the observer, in place of the one before
   */
  public void observe(PolicyObserver value) {
    affectedByIdentities.observe(value);
  }

  /**
   * Begins to apply changes in their order and to store what they lead to once. One that is refused
   * changes nothing and does not refuse the others; where the rules of all cannot be enforced,
   * parts of them are committed one after the other. A deletion of all rules, or a document that
   * replaces rules, also gives up stored rules that cannot be read; it must be alone. No other
   * change of the engine begins before the last step.
   *
   * @param changes at least one
   * @return the commit; what it leads to is in the store after its last step
   * @throws OperationException where {@link #isHeld()}, unless all rules are given up; where that
   *     cannot be stored, a step throws it
   */
  public synchronized PolicyCommitting begin(List<PolicyChange> changes) {
    if (hold.stands() && changes.size() == 1 && changes.getFirst().isWhole()) {
      return new Committing(new HeldRulesCommit(parts, hold, changes.getFirst()));
    }
    hold.refuse();
    return new Committing(new RuleCommit(parts, changes));
  }

  /** Commits changes as {@link #begin} does, without a pause between the steps. */
  public List<PolicyCommit> commit(List<PolicyChange> changes) {
    return begin(changes).complete();
  }

  /**
   * Begins to undo the changes of a commit whose writes failed: the rules before it are stored and
   * in force, at the next revision.
   *
   * @param revision the revision that the commit led to
   * @return the commit that has one part; empty where other changes have followed, or none was made
   */
  public synchronized Optional<PolicyCommitting> beginUndo(long revision) {
    final PolicyRepository before = current.previous();
    if (before == null || current.now().revision() != revision) {
      return Optional.empty();
    }
    return Optional.of(new Committing(new RuleCommit(parts, List.of(PolicyChange.backTo(before)))));
  }

  /** Confirms that the last commit will not be undone, so that what it replaced may go. */
  public synchronized void confirm() {
    current.confirm();
  }

  private final class Committing implements PolicyCommitting {
    private final EngineCommit commit;

    Committing(EngineCommit commit) {
      this.commit = commit;
    }

    @Override
    public Work.Progress step() {
      synchronized (PolicyEngine.this) {
        committing = commit;
        boolean isEnded = true;
        try {
          final Work.Progress progress = commit.step();
          isEnded = progress == Work.Progress.DONE;
          return progress;
        } finally {
          committing = isEnded ? null : commit;
        }
      }
    }

    @Override
    public CompletableFuture<Void> awaited() {
      synchronized (PolicyEngine.this) {
        return commit.awaited();
      }
    }

    @Override
    public List<PolicyCommit> commits() {
      synchronized (PolicyEngine.this) {
        return commit.commits();
      }
    }
  }

  private PolicyUpdate settle() {
    return changes.settle(current.now());
  }

  /**
   * Adds an endpoint, or gives it another identity or other named ports. Under a former identity it
   * keeps its named ports until {@link #identityLeft}.
   *
   * @param endpointId the endpoint
   * @param identity its identity
   * @param ports its named ports, each name once for a protocol
   * @return the changes to carry out; the endpoint itself is in it, with a diff from what it had
   *     before
   * @throws Refusal EXHAUSTED where its policy map would overflow; nothing has changed
   * @throws OperationException where it is to {@link #keep} its policy
   */
  public synchronized PolicyUpdate endpointSet(
      int endpointId, Identity identity, List<NamedPort> ports) {
    if (hold.keeps(endpointId)) {
      hold.refuse();
    }
    final Map<Integer, List<NamedPort>> before = endpointPorts.of(endpointId);
    final Set<String> renamed = endpointPorts.set(endpointId, identity.id(), ports);
    final ResolvedPolicy policy;
    try {
      policy = resolution.fitting(endpointId, identity, ports, current.now());
    } catch (Refusal refusal) {
      endpointPorts.put(endpointId, before);
      throw refusal;
    }
    trace.log(endpointId, identity, policy, current.now().rules());
    final EndpointPolicyChange change =
        subjects.change(endpointId, new PolicySubjects.Subject(identity, ports, policy));
    changes.mark(subjects.dependingOnPorts(renamed));
    changes.unmark(endpointId);
    return settle().with(change).ofSameRules();
  }

  /**
   * Restores the named ports of an endpoint of the previous run, before the first {@link
   * #endpointSet}: so that no policy is resolved again for each endpoint that follows.
   *
   * @param identity the number that peers know it by
   */
  public synchronized void restorePorts(int endpointId, int identity, List<NamedPort> ports) {
    endpointPorts.set(endpointId, identity, ports);
  }

  /**
   * Signals that the datapath knows an endpoint by its present identity alone.
   *
   * @return the changes to carry out; empty for none
   */
  public synchronized Optional<PolicyUpdate> identityLeft(int endpointId) {
    final PolicySubjects.Subject subject = subjects.get(endpointId);
    if (subject == null || endpointPorts.of(endpointId).size() < 2) {
      return Optional.empty();
    }
    final Set<String> renamed = endpointPorts.leaveFormer(endpointId, subject.identity().id());
    changes.mark(subjects.dependingOnPorts(renamed));
    return Optional.of(settle().ofSameRules());
  }

  /** Returns whether {@link #identityLeft} may have changes. */
  public synchronized boolean hasFormerPorts(int endpointId) {
    return endpointPorts.of(endpointId).size() > 1;
  }

  /** Removes an endpoint. */
  public synchronized PolicyUpdate endpointRemoved(int endpointId) {
    subjects.remove(endpointId);
    hold.forget(endpointId);
    changes.unmark(endpointId);
    changes.mark(subjects.dependingOnPorts(endpointPorts.put(endpointId, Map.of())));
    return settle().ofSameRules();
  }

  /**
   * Replaces the addresses of names. Only the addresses of names that rules select have an
   * identity.
   *
   * @param changed names with all addresses that they have now; none for a name that is gone
   * @return the changes to carry out
   */
  public synchronized PolicyUpdate names(Map<String, ? extends Collection<IpAddress>> changed) {
    references.dns().change(changed);
    return renamed();
  }

  /**
   * Replaces the addresses of the backends of services.
   *
   * @param changed names of services with all addresses that their backends have now; none for a
   *     name that no service has
   * @return the changes to carry out
   * @throws Refusal EXHAUSTED where an address can have no identity; nothing has changed
   */
  public synchronized PolicyUpdate services(
      Map<ServiceName, ? extends Collection<IpAddress>> changed) {
    references.services().change(changed);
    return renamed();
  }

  /**
   * Does so where no rule selects one of them, and no other change of names is at work; elsewhere
   * does nothing and returns false. Does not wait, and any thread may call.
   */
  public boolean takeUnselected(Map<ServiceName, ? extends Collection<IpAddress>> changed) {
    return references.services().takeUnselected(changed);
  }

  private PolicyUpdate renamed() {
    final PolicyUpdate update = settle().ofSameRules();
    references.release();
    return update.then(settle());
  }

  /** Returns the names that rules select one by one; any thread may call. */
  public Set<String> wantedNames() {
    return references.dns().wanted();
  }

  /**
   * Returns whether a rule selects a name; any thread may ask.
   *
   * @param name in lower case, with a dot at the end
   */
  public boolean selectsName(String name) {
    return references.dns().selects(name);
  }

  /**
   * Publishes a part of an update to the judges of requests; called when the addresses have the
   * identities that this part is for.
   */
  public synchronized void publish(long revision, List<EndpointPolicyChange> changes) {
    subjects.publish(revision, changes);
  }

  /** Returns what the policies say of requests, as of {@link #publish}; any thread may ask. */
  public PolicyFeed requests() {
    return subjects.requests();
  }

  /** Returns when policy is enforced. */
  public EnforcementMode mode() {
    return resolution.mode();
  }

  /**
   * Begins to change when policy is enforced. No other change of the engine begins before the last
   * step. Where a policy map would overflow, a step throws Refusal EXHAUSTED and nothing has
   * changed.
   *
   * @return the commit that has one part, with the writes to carry out and no results
   * @throws OperationException where {@link #isHeld()}
   */
  public synchronized PolicyCommitting beginEnforcing(EnforcementMode next) {
    hold.refuse();
    return new Committing(new EnforcementChange(parts, resolution, next));
  }

  /** Logs the reasons of every policy that is set from now on, or stops; for any thread. */
  public void trace(boolean isEnabled) {
    trace.enable(isEnabled);
  }

  public void trace(int endpointId, boolean isEnabled) {
    trace.enable(endpointId, isEnabled);
  }

  /**
   * Returns the changes because of identities that appeared or went since the previous change or
   * refresh.
   */
  public synchronized PolicyUpdate refresh() {
    affectedByIdentities.clear();
    affectedByIdentities.raise(references.settle());
    return renamed();
  }

  /**
   * Returns the policy of an endpoint at the current revision; empty where the engine does not know
   * it.
   */
  public synchronized Optional<ResolvedPolicy> policyOf(int endpointId) {
    return Optional.ofNullable(subjects.get(endpointId))
        .map(subject -> subject.policy().at(current.now().revision()));
  }

  /**
   * Returns the policy that the present rules give to an endpoint, whether a policy map can hold it
   * or not.
   */
  public synchronized ResolvedPolicy wanted(Identity identity, List<NamedPort> ports) {
    return resolution.whole(identity, ports, current.now());
  }

  /**
   * Returns the prefixes outside that have an identity, each with its number: the ipcache holds
   * them besides endpoints and nodes.
   */
  public synchronized Map<Prefix, Integer> outsidePrefixes() {
    return references.outside().all();
  }

  /** Returns all rules; throws OperationException where {@link #isHeld()}. */
  public PolicySnapshot snapshot() {
    return snapshot(List.of());
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
    final PolicyRepository now = current.now();
    return now.snapshot(now.withLabels(labels));
  }

  /**
   * Returns whether a flow would pass, by the same resolution that fills the policy maps.
   *
   * @throws OperationException where {@link #isHeld()}
   */
  public PolicyTrace trace(PolicyQuery query) {
    hold.refuse();
    return new PolicyTracer(current.now(), mode(), context.allowLocalhost(), references::selects)
        .trace(query, this::portsOf);
  }

  private synchronized List<NamedPort> portsOf(Identity identity) {
    return subjects.portsOf(identity.labels());
  }

  /** Returns the selectors of the rules and what they select. */
  public synchronized List<SelectorListing> selectors() {
    return selectors.listing(current.now().rules());
  }
}
