package agent.policy;

import agent.identity.Identity;
import agent.policy.reference.SelectorCache;
import agent.policy.repository.PolicyRepository;
import agent.policy.resolve.AllowLocalhost;
import agent.policy.resolve.EnforcementMode;
import agent.policy.resolve.MergedPolicy;
import agent.policy.resolve.PolicyResolver;
import agent.policy.resolve.ResolvedPolicy;
import agent.policy.spec.NamedPort;
import agent.types.Refusal;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.agrona.collections.IntHashSet;

/**
 * Resolves policies as they are to be enforced now. Only the engine's thread changes how; any
 * thread may read the mode.
 */
final class EnforcedResolution {
  private final SelectorCache selectors;
  private final PolicyResolver.PeerPorts ports;
  private final RulesHold hold;
  private final AllowLocalhost allowLocalhost;
  private final int mapCapacity;
  private volatile EnforcementMode mode;

  EnforcedResolution(
      SelectorCache selectors,
      PolicyResolver.PeerPorts ports,
      RulesHold hold,
      PolicyContext context) {
    this(selectors, ports, hold, context.allowLocalhost(), context.mapCapacity(), context.mode());
  }

  private EnforcedResolution(
      SelectorCache selectors,
      PolicyResolver.PeerPorts ports,
      RulesHold hold,
      AllowLocalhost allowLocalhost,
      int mapCapacity,
      EnforcementMode mode) {
    this.selectors = selectors;
    this.ports = ports;
    this.hold = hold;
    this.allowLocalhost = allowLocalhost;
    this.mapCapacity = mapCapacity;
    this.mode = mode;
  }

  /** Returns what resolves the same as another mode enforces it. */
  EnforcedResolution in(EnforcementMode other) {
    return new EnforcedResolution(selectors, ports, hold, allowLocalhost, mapCapacity, other);
  }

  EnforcementMode mode() {
    return mode;
  }

  /** Changes the mode. */
  void enforce(EnforcementMode next) {
    mode = next;
  }

  /** Whether endpoints are closed because the rules cannot be read. */
  boolean isClosing() {
    return hold.closes() && mode != EnforcementMode.NEVER;
  }

  /** Returns the policy of an endpoint; refused where its map cannot hold it. */
  ResolvedPolicy fitting(
      int endpointId, Identity identity, List<NamedPort> named, PolicyRepository rules) {
    return fitting(endpointId, whole(identity, named, rules));
  }

  /**
   * Returns the policy of an endpoint after a change of peers; refused where its map cannot hold
   * it.
   *
   * @param subject the endpoint with its policy before, by the same rules
   * @param changed the identities that selectors select now or did not leave out before
   */
  ResolvedPolicy fitting(
      int endpointId, PolicySubjects.Subject subject, IntHashSet changed, PolicyRepository rules) {
    // Who has the name of a port is not a matter of selectors alone.
    return isClosing() || !subject.policy().portNames().isEmpty()
        ? fitting(endpointId, subject.identity(), subject.ports(), rules)
        : fitting(endpointId, changed(subject, changed, rules));
  }

  private ResolvedPolicy changed(
      PolicySubjects.Subject subject, IntHashSet changed, PolicyRepository rules) {
    final PolicyResolver.Selections part =
        selector -> {
          final Set<Integer> selected = new HashSet<>(changed);
          selected.retainAll(selectors.identitiesOf(selector));
          return selected;
        };
    return MergedPolicy.of(
        subject.policy(),
        new PolicyResolver(part, ports, mode, allowLocalhost)
            .resolvePart(subject.identity(), subject.ports(), rules.rules(), rules.revision()),
        changed);
  }

  private ResolvedPolicy fitting(int endpointId, ResolvedPolicy policy) {
    final int count = policy.entries().size();
    if (count > mapCapacity) {
      throw Refusal.exhausted(
          "policy",
          "endpoint %d requires %d policy map entries, the limit is %d (--bpf-policy-map-max)"
              .formatted(endpointId, count, mapCapacity));
    }
    return policy;
  }

  /** Returns the policy of an endpoint, whether a map can hold it or not. */
  ResolvedPolicy whole(Identity identity, List<NamedPort> named, PolicyRepository rules) {
    if (isClosing()) {
      return RulesHold.closed(identity.id(), rules.revision());
    }
    return new PolicyResolver(selectors, ports, mode, allowLocalhost)
        .resolve(identity, named, rules.rules(), rules.revision());
  }
}
