package agent.policy;

import agent.identity.CidrIdentityAllocator;
import agent.policy.reference.OutsidePrefixes;
import agent.policy.resolve.DirectionSummary;
import agent.policy.resolve.ResolvedPolicy;
import agent.types.OperationException;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;

/**
 * What the engine does while the stored rules cannot be read: endpoints whose policy map the kernel
 * holds keep it, other endpoints are closed in both directions, and rules are neither shown nor
 * changed, until a person deletes or replaces all of them deliberately.
 */
final class RulesHold {
  private static final DirectionSummary CLOSED = DirectionSummary.of(true, false);

  private final Set<Integer> endpoints = new TreeSet<>();
  private final List<Integer> cidrIdentities = new ArrayList<>();
  private volatile String message;
  private boolean isLifted;

  /**
   * Creates a hold.
   *
   * @param message why the rules cannot be read and what to do; null for no hold
   */
  RulesHold(String message) {
    this.message = message;
  }

  boolean stands() {
    return message != null;
  }

  /** Returns whether endpoints that it does not keep are closed. */
  boolean closes() {
    return stands() && !isLifted;
  }

  /** Carries out a step of a change whose rules are about to be stored: they resolve endpoints. */
  boolean lifted(BooleanSupplier step) {
    isLifted = true;
    try {
      return step.getAsBoolean();
    } finally {
      isLifted = false;
    }
  }

  /** Refuses a call that needs the rules. */
  void refuse() {
    final String now = message;
    if (now != null) {
      throw new OperationException(now);
    }
  }

  /** Keeps the policy map of an endpoint as it is. */
  void keep(int endpointId) {
    endpoints.add(endpointId);
  }

  boolean keeps(int endpointId) {
    return endpoints.contains(endpointId);
  }

  void forget(int endpointId) {
    endpoints.remove(endpointId);
  }

  /** Keeps the identity of a CIDR; addresses of names may have had it in common. */
  void keepCidr(
      Prefix cidr, int identity, CidrIdentityAllocator allocator, OutsidePrefixes outside) {
    if (allocator.find(identity).isPresent()) {
      outside.keep(cidr, identity);
    } else {
      cidrIdentities.add(allocator.restore(identity, cidr).id());
    }
  }

  /** Returns the policy of an endpoint that is closed. */
  static ResolvedPolicy closed(int identity, long revision) {
    return new ResolvedPolicy(
        revision, identity, List.of(), CLOSED, CLOSED, Set.of(), Set.of(), List.of());
  }

  /** Ends the hold; returns the identities to release. */
  List<Integer> end() {
    message = null;
    endpoints.clear();
    final List<Integer> kept = List.copyOf(cidrIdentities);
    cidrIdentities.clear();
    return kept;
  }
}
