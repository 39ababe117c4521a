package agent.endpoint;

import agent.datapath.manager.spec.EndpointSpec;
import agent.identity.Identity;
import agent.node.WorkloadRoute;
import agent.policy.ResolvedPolicy;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * One endpoint: what was asked, where it stands, and what of it is realised. Owned by the
 * conductor's thread.
 */
final class Endpoint {
  private final EndpointLog log = new EndpointLog();
  private final RegenerationController controller;
  private EndpointRecord record;
  private LabelDerivation labels;
  private EndpointState state;
  private Identity identity;
  private final List<Integer> formerIdentities = new ArrayList<>();
  private ResolvedPolicy policy;
  private String error;
  private boolean retryPending;
  private boolean devicePresent = true;

  private EndpointSpec attached;
  private EndpointOptions realizedOptions;
  private boolean policyMapTrusted;
  private ResolvedPolicy realizedPolicy;
  private long realizedRevision;
  private long build;
  private WorkloadRoute route;

  Endpoint(EndpointRecord record, LabelDerivation labels, RegenerationController controller) {
    this.record = record;
    this.labels = labels;
    this.controller = controller;
  }

  int id() {
    return record.id();
  }

  EndpointRecord record() {
    return record;
  }

  LabelDerivation labels() {
    return labels;
  }

  void change(EndpointRecord changed, LabelDerivation changedLabels) {
    record = changed;
    labels = changedLabels;
  }

  EndpointState state() {
    return state;
  }

  boolean is(EndpointState other) {
    return state == other;
  }

  /** Moves on, and writes it down. */
  void transition(EndpointState next, String message, Instant now) {
    transition(next, HealthLevel.OK, message, now);
  }

  /** Moves on, and writes it down with a code that is not OK. */
  void transition(EndpointState next, HealthLevel code, String message, Instant now) {
    final boolean allowed =
        state == null
            ? EndpointTransitions.allowsStart(next)
            : EndpointTransitions.allows(state, next);
    if (!allowed) {
      throw new IllegalStateException(
          "endpoint " + id() + ": " + state + " is not followed by " + next);
    }
    state = next;
    log.add(new LogEntry(code.text(), message, next, now));
  }

  Identity identity() {
    return identity;
  }

  /** Takes another identity; the one before is kept until nothing of it is enforced any more. */
  void identify(Identity next) {
    if (identity != null) {
      formerIdentities.add(identity.id());
    }
    identity = next;
  }

  /** The identities that it had, forgotten by this call. */
  List<Integer> takeFormerIdentities() {
    final List<Integer> former = List.copyOf(formerIdentities);
    formerIdentities.clear();
    return former;
  }

  EndpointOptions options() {
    return EndpointOptions.defaults().with(record.options());
  }

  EndpointOptions realizedOptions() {
    return realizedOptions;
  }

  /** What the datapath is to know. */
  EndpointSpec spec() {
    final EndpointOptions options = options();
    final int passthrough =
        record.datapathConfiguration().arpPassthrough()
            ? agent.maps.layout.EndpointOption.ARP_PASSTHROUGH.number()
            : 0;
    return new EndpointSpec(
        id(),
        record.interfaceIndex(),
        record.interfaceName(),
        record.addressing().ipv4(),
        record.addressing().ipv6(),
        record.mac(),
        record.hostMac(),
        identity.id(),
        options.bits() | passthrough,
        options.aggregation().ordinal());
  }

  /** What is attached, null where nothing is. */
  EndpointSpec attached() {
    return attached;
  }

  void attached(EndpointSpec spec) {
    attached = spec;
    realizedOptions = options();
  }

  /** The datapath holds nothing of it any more. */
  void detached() {
    attached = null;
    policyMapTrusted = false;
    realizedPolicy = null;
    route = null;
  }

  /** The policy that was resolved last, null before the first. */
  ResolvedPolicy policy() {
    return policy;
  }

  void resolved(ResolvedPolicy next) {
    policy = next;
  }

  /** Whether the map in the kernel is known to hold the realised policy. */
  boolean isPolicyMapTrusted() {
    return policyMapTrusted;
  }

  void distrustPolicyMap() {
    policyMapTrusted = false;
  }

  /** The policy that is enforced, null where none is. */
  ResolvedPolicy realizedPolicy() {
    return realizedPolicy;
  }

  void realized(ResolvedPolicy next, boolean entriesChanged) {
    policyMapTrusted = true;
    build += entriesChanged || realizedPolicy == null ? 1 : 0;
    realizedPolicy = next;
    realizedRevision = Math.max(realizedRevision, next.revision());
  }

  /** Nothing that it enforces changed up to this revision. */
  void realizedRevision(long revision) {
    realizedRevision = revision;
  }

  long realizedRevision() {
    return realizedRevision;
  }

  long build() {
    return build;
  }

  /** The route that is in place, null where none is. */
  WorkloadRoute route() {
    return route;
  }

  void route(WorkloadRoute added) {
    route = added;
  }

  WorkloadRoute wantedRoute() {
    return new WorkloadRoute(
        record.interfaceName(),
        record.mac(),
        record.addressing().ipv4(),
        record.addressing().ipv6());
  }

  RegenerationController controller() {
    return controller;
  }

  String error() {
    return error;
  }

  void error(String message) {
    error = message;
  }

  boolean isRetryPending() {
    return retryPending;
  }

  void retryPending(boolean pending) {
    retryPending = pending;
  }

  boolean isDevicePresent() {
    return devicePresent;
  }

  void devicePresent(boolean present) {
    devicePresent = present;
  }

  EndpointHealth health() {
    final boolean building =
        state == EndpointState.WAITING_FOR_IDENTITY
            || state == EndpointState.WAITING_TO_REGENERATE
            || state == EndpointState.REGENERATING
            || state == EndpointState.RESTORING;
    final HealthLevel bpf = level(building, attached != null);
    final HealthLevel rules = level(building, realizedPolicy != null);
    return new EndpointHealth(
        bpf,
        rules,
        bpf.ordinal() > rules.ordinal() ? bpf : rules,
        attached != null && devicePresent);
  }

  private HealthLevel level(boolean building, boolean realised) {
    return switch (state) {
      case READY -> HealthLevel.OK;
      case NOT_READY -> realised ? HealthLevel.WARNING : HealthLevel.FAILURE;
      case INVALID -> HealthLevel.FAILURE;
      case DISCONNECTING, DISCONNECTED -> HealthLevel.DISABLED;
      default -> building && realised ? HealthLevel.PENDING : HealthLevel.BOOTSTRAP;
    };
  }

  List<LogEntry> logEntries() {
    return log.entries();
  }
}
