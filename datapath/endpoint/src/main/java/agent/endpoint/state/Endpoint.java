package agent.endpoint.state;

import agent.datapath.manager.spec.EndpointSpec;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointLog.LogEntry;
import agent.identity.Identity;
import agent.maps.layout.EndpointOption;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.policy.ResolvedPolicy;
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
  private final EndpointLog log = new EndpointLog();
  private final RegenerationController controller;
  private EndpointRecord record;
  private LabelDerivation labels;
  private EndpointState state;
  private Identity identity;
  private CompletableFuture<Identity> acquiring;
  private CompletableFuture<Void> identified = new CompletableFuture<>();
  private final List<Integer> formerIdentities = new ArrayList<>();
  private ResolvedPolicy policy;
  private String error;
  private boolean isRetryPending;
  private boolean isBusy;
  private boolean isDevicePresent = true;
  private EndpointSpec attached;
  private EndpointOptions realizedOptions;
  private boolean isPolicyMapTrusted;
  private ResolvedPolicy realizedPolicy;
  private long realizedRevision;
  private long build;
  private WorkloadRoute route;

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

  /** Replaces the record and its labels. */
  public void change(EndpointRecord changed, LabelDerivation changedLabels) {
    record = changed;
    labels = changedLabels;
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
    log.add(new LogEntry(code.text(), message, next, now));
  }

  /** Returns the identity, null before the first one arrives. */
  public Identity identity() {
    return identity;
  }

  /** Assigns an identity; the former one is kept until the datapath no longer uses it. */
  public void identify(Identity next) {
    if (identity != null) {
      formerIdentities.add(identity.id());
    }
    identity = next;
  }

  /**
   * Waits for the identity of the present labels.
   *
   * @param asked completes with the identity
   */
  public void await(CompletableFuture<Identity> asked) {
    acquiring = asked;
    identified = new CompletableFuture<>();
  }

  /**
   * Returns whether the endpoint waits for this future; its labels may have changed since the
   * request.
   */
  public boolean awaits(CompletableFuture<Identity> asked) {
    return acquiring == asked;
  }

  /** Returns a future that completes when the identity of the present labels has arrived. */
  public CompletableFuture<Void> identified() {
    return identified;
  }

  /** Returns the former identities and clears the list. */
  public List<Integer> takeFormerIdentities() {
    final List<Integer> former = List.copyOf(formerIdentities);
    formerIdentities.clear();
    return former;
  }

  /** Returns the requested options. */
  public EndpointOptions options() {
    return EndpointOptions.defaults().with(record.configuration().options());
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
    attached = spec;
    realizedOptions = options();
  }

  /** Records that the datapath holds no program, map or route of the endpoint. */
  public void detached() {
    attached = null;
    isPolicyMapTrusted = false;
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

  /** Returns whether the kernel map is known to hold the realized policy. */
  public boolean isPolicyMapTrusted() {
    return isPolicyMapTrusted;
  }

  /** Records that a write to the policy map failed; the next build compares the whole map. */
  public void distrustPolicyMap() {
    isPolicyMapTrusted = false;
  }

  /** Returns the enforced policy, null where none is. */
  public ResolvedPolicy realizedPolicy() {
    return realizedPolicy;
  }

  /** Records that the policy map holds this policy. */
  public void realized(ResolvedPolicy next, boolean entriesChanged) {
    isPolicyMapTrusted = true;
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

  /** Returns whether its interface exists. */
  public boolean isDevicePresent() {
    return isDevicePresent;
  }

  /** Sets whether its interface exists. */
  public void devicePresent(boolean isPresent) {
    isDevicePresent = isPresent;
  }

  /** Returns whether it is neither removed nor being removed. */
  public boolean isLive() {
    return state != EndpointState.DISCONNECTING && state != EndpointState.DISCONNECTED;
  }

  /** Returns the health. */
  public EndpointHealth health() {
    final HealthLevel bpf = level(attached != null);
    final HealthLevel rules = level(realizedPolicy != null);
    return new EndpointHealth(
        bpf,
        rules,
        bpf.ordinal() > rules.ordinal() ? bpf : rules,
        attached != null && isDevicePresent);
  }

  private HealthLevel level(boolean isRealized) {
    return switch (state) {
      case READY -> HealthLevel.OK;
      case NOT_READY -> isRealized ? HealthLevel.WARNING : HealthLevel.FAILURE;
      case INVALID -> HealthLevel.FAILURE;
      case DISCONNECTING, DISCONNECTED -> HealthLevel.DISABLED;
      case WAITING_FOR_IDENTITY, WAITING_TO_REGENERATE, REGENERATING, RESTORING ->
          isRealized ? HealthLevel.PENDING : HealthLevel.BOOTSTRAP;
    };
  }

  /** Returns the status changes, newest first. */
  public List<LogEntry> logEntries() {
    return log.entries();
  }
}
