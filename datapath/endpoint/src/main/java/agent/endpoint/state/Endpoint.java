package agent.endpoint.state;

import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointSpec;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointLog.LogEntry;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.maps.layout.EndpointOption;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.policy.resolve.ResolvedPolicy;
import agent.types.IpAddress;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * One endpoint: its record, its state, and what of it is realized in the kernel. Owned by the
 * conductor's thread.
 */
public final class Endpoint {
  /** The namespace of the workload's side is not known yet. */
  public static final int UNKNOWN_NAMESPACE = Integer.MIN_VALUE;

  private final EndpointLog log = new EndpointLog();
  private final Reachability reachability = new Reachability();
  private final RegenerationController controller;
  private EndpointRecord record;
  private EndpointRecord stored;
  private LabelDerivation labels;
  private EndpointLabels labelTexts; // null: not asked for yet
  private EndpointOptions options; // the same
  private EndpointState state;
  private Identity identity;
  private CompletableFuture<Identity> acquiring;
  private CompletableFuture<Void> identified = new CompletableFuture<>();
  private final List<Identity> formerIdentities = new ArrayList<>();
  private ResolvedPolicy policy;
  private String error;
  private boolean isRetryPending;
  private boolean isBusy;
  private boolean isInterfaceLost;
  private Fault interfaceFault;
  private Fault routeFault;
  private int peerNamespaceId = UNKNOWN_NAMESPACE;
  private EndpointSpec attached;
  private EndpointDevice hooked;
  private boolean isHostInterfaceUp;
  private boolean isRemovalRemembered;
  private EndpointOptions realizedOptions;
  private ResolvedPolicy realizedPolicy;
  private long realizedRevision;
  private long build;
  private WorkloadRoute route;
  private boolean isRecordUnreadable;

  /** Creates an endpoint without a state; {@link #transition} sets the first one. */
  public Endpoint(
      EndpointRecord record, LabelDerivation labels, RegenerationController controller) {
    this.record = record;
    this.labels = labels;
    this.controller = controller;
  }

  /** Returns the local id. */
  public int id() {
    return record.id();
  }

  /** Returns the record: the requested configuration. */
  public EndpointRecord record() {
    return record;
  }

  /** Returns the labels in effect and those that make the identity. */
  public LabelDerivation labels() {
    return labels;
  }

  /** Returns the labels in display form. */
  EndpointLabels labelTexts() {
    if (labelTexts == null) {
      labelTexts = labels.toLabels();
    }
    return labelTexts;
  }

  /** Replaces the record and its labels. */
  public void change(EndpointRecord changed, LabelDerivation changedLabels) {
    record = changed;
    labels = changedLabels;
    options = null;
    labelTexts = null;
  }

  /** Returns whether the store holds the present record. */
  public boolean isStored() {
    return record.equals(stored);
  }

  /** Returns the record that the store holds, null before the first. */
  public EndpointRecord storedRecord() {
    return stored;
  }

  /** Records that the store holds this record. */
  public void stored(EndpointRecord held) {
    stored = held;
  }

  /** Returns the state. */
  public EndpointState state() {
    return state;
  }

  /** Returns whether it is in this state. */
  public boolean is(EndpointState other) {
    return state == other;
  }

  /** Changes the state and adds a log entry with code OK. */
  public void transition(EndpointState next, String message, Instant now) {
    transition(next, HealthLevel.OK, message, now);
  }

  /**
   * Changes the state and adds a log entry with a code.
   *
   * @throws IllegalStateException where {@link EndpointTransitions} does not allow the transition
   */
  public void transition(EndpointState next, HealthLevel code, String message, Instant now) {
    final boolean allowed =
        state == null
            ? EndpointTransitions.allowsStart(next)
            : EndpointTransitions.allows(state, next);
    if (!allowed) {
      throw new IllegalStateException(
          "endpoint " + id() + ": " + state + " must not be followed by " + next);
    }
    state = next;
    note(code, message, now);
  }

  /** Adds a log entry without changing the state. */
  public void note(HealthLevel code, String message, Instant now) {
    log.add(new LogEntry(code.text(), message, state, now));
  }

  /** Returns the identity, null before the first one arrives. */
  public Identity identity() {
    return identity;
  }

  /** Assigns an identity; the former one is kept until the datapath no longer uses it. */
  public void identify(Identity next) {
    if (identity != null) {
      formerIdentities.add(identity);
    }
    identity = next;
  }

  /** Assigns a former identity again, with the reference that it still has. */
  public void identifyAgain(Identity former) {
    formerIdentities.remove(former);
    identify(former);
  }

  /** Returns the former identity with these labels that the datapath may still use, or null. */
  public Identity formerIdentity(LabelSet wanted) {
    return formerIdentities.stream()
        .filter(former -> former.labels().equals(wanted))
        .findFirst()
        .orElse(null);
  }

  /**
   * Waits for the identity of the present labels. Who waited for that of former labels waits for
   * this one.
   *
   * @param asked completes with the identity; null where the endpoint has it
   */
  public void await(CompletableFuture<Identity> asked) {
    final CompletableFuture<Void> former = identified;
    acquiring = asked;
    identified = new CompletableFuture<>();
    if (asked == null) {
      identified.complete(null);
    }
    identified.whenComplete(
        (done, failure) -> {
          if (failure == null) {
            former.complete(null);
          } else {
            former.completeExceptionally(failure);
          }
        });
  }

  /** Returns whether the endpoint waits for this future, and not for that of later labels. */
  public boolean awaits(CompletableFuture<Identity> asked) {
    return acquiring == asked;
  }

  /** Returns a future that completes when the identity of the present labels has arrived. */
  public CompletableFuture<Void> identified() {
    return identified;
  }

  /**
   * Returns whether the ipcache may have another identity of the endpoint than the present one: a
   * former one, or that of the previous run.
   */
  public boolean hasFormerIdentity() {
    return !formerIdentities.isEmpty()
        || stored != null && stored.identity() != 0 && stored.identity() != identity.id();
  }

  /** Returns the former identities and clears the list. */
  public List<Identity> takeFormerIdentities() {
    final List<Identity> former = List.copyOf(formerIdentities);
    formerIdentities.clear();
    return former;
  }

  /** Returns the requested options. */
  public EndpointOptions options() {
    if (options == null) {
      options = EndpointOptions.defaults().with(record.configuration().options());
    }
    return options;
  }

  /** Returns the options in effect, null before the first attachment. */
  public EndpointOptions realizedOptions() {
    return realizedOptions;
  }

  /** Returns the desired configuration of the datapath. */
  public EndpointSpec spec() {
    final EndpointOptions options = options();
    final int passthrough =
        record.configuration().datapath().arpPassthrough()
            ? EndpointOption.ARP_PASSTHROUGH.number()
            : 0;
    return new EndpointSpec(
        id(),
        record.device().index(),
        record.device().name(),
        record.addressing().ipv4(),
        record.addressing().ipv6(),
        record.device().mac(),
        record.device().hostMac(),
        identity.id(),
        options.bits() | passthrough,
        options.aggregation().ordinal());
  }

  /** Returns the attached configuration, null where no program is attached. */
  public EndpointSpec attached() {
    return attached;
  }

  /** Records that the programs are attached with this configuration. */
  public void attached(EndpointSpec spec) {
    if (attached == null || attached.ifindex() != spec.ifindex()) {
      interfaceFault = null; // it was the fault of another interface
      peerNamespaceId = UNKNOWN_NAMESPACE;
      reachability.restart(true);
    }
    reachability.askNow(); // the request tells the workload the gateway's hardware address
    attached = spec;
    hooked = record.device();
    realizedOptions = options();
    isInterfaceLost = false;
  }

  /**
   * Records that no packet is delivered to the endpoint because its interface is gone: programs and
   * routes are gone with it, and the policy map stays.
   */
  public void interfaceLost() {
    attached = null;
    hooked = null;
    isHostInterfaceUp = false;
    route = null;
    routeFault = null;
    peerNamespaceId = UNKNOWN_NAMESPACE;
    reachability.restart(true);
    isInterfaceLost = true;
  }

  /** Returns whether its interface is gone and its programs are not attached to another one yet. */
  public boolean isInterfaceLost() {
    return isInterfaceLost;
  }

  /** Returns the device whose hooks have programs of the endpoint, maybe only dropping ones. */
  public EndpointDevice hooked() {
    return hooked;
  }

  /** Records that programs that drop all packets are attached to the hooks of the device. */
  public void closed() {
    hooked = record.device();
  }

  /** Returns whether the agent has set the host side of an endpoint without a route up. */
  public boolean isHostInterfaceUp() {
    return isHostInterfaceUp;
  }

  /** Sets whether the agent has set the host side up. */
  public void hostInterfaceUp(boolean isUp) {
    isHostInterfaceUp = isUp;
  }

  /** Returns whether the datapath remembers the removal, because the store keeps the record. */
  public boolean isRemovalRemembered() {
    return isRemovalRemembered;
  }

  /** Sets whether the datapath remembers the removal. */
  public void removalRemembered(boolean isRemembered) {
    isRemovalRemembered = isRemembered;
  }

  /** Records that the datapath holds no program, map or route of the endpoint. */
  public void detached() {
    attached = null;
    hooked = null;
    isHostInterfaceUp = false;
    realizedPolicy = null;
    route = null;
  }

  /** Returns the latest resolved policy, null before the first. */
  public ResolvedPolicy policy() {
    return policy;
  }

  /** Sets the latest resolved policy. */
  public void resolved(ResolvedPolicy next) {
    policy = next;
  }

  /** Returns the enforced policy, null where none is. */
  public ResolvedPolicy realizedPolicy() {
    return realizedPolicy;
  }

  /** Records that the policy map holds this policy. */
  public void realized(ResolvedPolicy next, boolean entriesChanged) {
    build += entriesChanged || realizedPolicy == null ? 1 : 0;
    realizedPolicy = next;
    realizedRevision = Math.max(realizedRevision, next.revision());
  }

  /** Sets the enforced revision, where it does not change the policy of this endpoint. */
  public void realizedRevision(long revision) {
    realizedRevision = revision;
  }

  /** Returns the enforced policy revision. */
  public long realizedRevision() {
    return realizedRevision;
  }

  /** Returns the number of distinct policies enforced so far. */
  public long build() {
    return build;
  }

  /** Returns the addresses, IPv4 first. */
  public List<IpAddress> addresses() {
    return wantedRoute().addresses();
  }

  /** Returns the installed route, null where none is. */
  public WorkloadRoute route() {
    return route;
  }

  /** Sets the installed route; null for none. */
  public void route(WorkloadRoute added) {
    route = added;
  }

  /** Returns the desired route to the endpoint. */
  public WorkloadRoute wantedRoute() {
    return new WorkloadRoute(
        record.device().name(),
        record.device().mac(),
        record.addressing().ipv4(),
        record.addressing().ipv6());
  }

  /** Returns the counters of its builds. */
  public RegenerationController controller() {
    return controller;
  }

  /** Returns why the last build failed, or null. */
  public String error() {
    return error;
  }

  /** Sets why the last build failed; null clears it. */
  public void error(String message) {
    error = message;
  }

  /** Returns whether a retry is scheduled. */
  public boolean isRetryPending() {
    return isRetryPending;
  }

  /** Sets whether a retry is scheduled. */
  public void retryPending(boolean isPending) {
    isRetryPending = isPending;
  }

  /** Returns whether an operation runs on it; then only the operation changes its state. */
  public boolean isBusy() {
    return isBusy;
  }

  /** Sets whether an operation runs on it. */
  public void busy(boolean isRunning) {
    isBusy = isRunning;
  }

  /** Returns what is wrong with its interface, or null. */
  public Fault interfaceFault() {
    return interfaceFault;
  }

  /** Sets what is wrong with its interface; null for nothing. */
  public void interfaceFault(Fault fault) {
    if (fault == null && interfaceFault != null) {
      reachability.restart(false);
    }
    interfaceFault = fault;
  }

  /** Returns what is wrong with the route to it, or null. */
  public Fault routeFault() {
    return routeFault;
  }

  /** Sets what is wrong with the route to it; null for nothing. */
  public void routeFault(Fault fault) {
    routeFault = fault;
  }

  /** Returns the id of the namespace of the workload's side, or {@link #UNKNOWN_NAMESPACE}. */
  public int peerNamespaceId() {
    return peerNamespaceId;
  }

  /** Sets the id of the namespace of the workload's side. */
  public void peerNamespaceId(int id) {
    peerNamespaceId = id;
  }

  /** Returns whether its record cannot be read, so that it is closed. */
  public boolean isRecordUnreadable() {
    return isRecordUnreadable;
  }

  /** Records that its record cannot be read; it becomes invalid. */
  public void recordUnreadable() {
    isRecordUnreadable = true;
  }

  /** Returns whether it is neither removed nor being removed. */
  public boolean isLive() {
    return state != EndpointState.DISCONNECTING && state != EndpointState.DISCONNECTED;
  }

  /** Returns when its workload answered for its addresses. */
  public Reachability reachability() {
    return reachability;
  }

  /** Returns the health, without the faults of its kernel objects. */
  public EndpointHealth health() {
    return HealthRating.of(this);
  }

  /** Returns the status changes, newest first. */
  public List<LogEntry> logEntries() {
    return log.entries();
  }
}
