package agent.datapath.manager.conductor;

import agent.datapath.manager.spec.PolicyDelta;
import agent.datapath.manager.spec.PolicyMapProxy.PolicyChange;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.collections.IntHashSet;

/**
 * Applies the changes of one call to the policy maps. A packet between two endpoints is judged by
 * the egress policy of one and the ingress policy of the other. So where one direction closes and
 * the other opens, there are two rounds: in the first one all maps go from the old policy to what
 * both policies allow, in the second one from there to the new policy; the second one begins when
 * no program runs that has seen an old policy. Hence each packet is judged by two old or by two new
 * policies, or less is allowed than by these, and none is dropped that both allow. Other changes
 * need one round.
 *
 * <p>An endpoint with another identity is another peer to the policies of the others, too. It gets
 * the identity between its two rounds, after the others, whose policies gain the identity with the
 * same call and lose the former one when it is released.
 *
 * <p>For the conductor's thread; allocates nothing unless a change is refused or has two parts.
 */
final class PolicyChanges {
  private static final int INGRESS = 1;
  private static final int EGRESS = 2;

  private enum Round {
    ONLY,
    CLOSING,
    OPENING
  }

  /** Which changes a round is for. */
  private enum Of {
    ALL,
    SAME_IDENTITY,
    OTHER_IDENTITY
  }

  private final PolicyMaps maps;
  private final Int2ObjectHashMap<PolicyChange> byId = new Int2ObjectHashMap<>();
  private final IntHashSet applied = new IntHashSet();
  private final IntHashSet identified = new IntHashSet();
  private Map<Integer, RuntimeException> failures = Map.of();

  PolicyChanges(PolicyMaps maps) {
    this.maps = maps;
  }

  /** Applies the changes and returns the failures by endpoint. */
  Map<Integer, RuntimeException> apply(List<PolicyChange> requested) {
    failures = Map.of();
    final List<PolicyChange> changes = fitting(requested);
    byId.clear();
    identified.clear();
    for (int i = 0; i < changes.size(); i++) {
      final PolicyChange change = changes.get(i);
      byId.put(change.endpointId(), change);
      if (maps.hasOtherIdentity(change.endpointId(), change.identity())) {
        identified.add(change.endpointId());
      }
    }
    if (!identified.isEmpty()) {
      run(Round.CLOSING, changes, Of.ALL);
      run(Round.OPENING, changes, Of.SAME_IDENTITY);
      identify(changes);
      if (opensIdentified(changes)) {
        awaitPrograms(changes);
      }
      run(Round.OPENING, changes, Of.OTHER_IDENTITY);
    } else if (isCrossing(changes)) {
      run(Round.CLOSING, changes, Of.ALL);
      awaitPrograms(changes);
      run(Round.OPENING, changes, Of.ALL);
    } else {
      run(Round.ONLY, changes, Of.ALL);
    }
    return failures;
  }

  private boolean opensIdentified(List<PolicyChange> changes) {
    for (int i = 0; i < changes.size(); i++) {
      final PolicyChange change = changes.get(i);
      if (identified.contains(change.endpointId()) && !change.delta().opening().isEmpty()) {
        return true;
      }
    }
    return false;
  }

  private void identify(List<PolicyChange> changes) {
    for (int i = 0; i < changes.size(); i++) {
      final PolicyChange change = changes.get(i);
      if (identified.contains(change.endpointId()) && !isRefused(change.endpointId())) {
        try {
          maps.identity(change.endpointId(), change.identity());
        } catch (RuntimeException refused) {
          fail(change.endpointId(), DatapathFailures.refusal(refused));
        }
      }
    }
  }

  /** Returns the changes as the maps have room for them. */
  private List<PolicyChange> fitting(List<PolicyChange> requested) {
    List<PolicyChange> changes = requested;
    for (int i = 0; i < requested.size(); i++) {
      final PolicyChange change = requested.get(i);
      final PolicyDelta delta = maps.fitting(change.endpointId(), change.delta());
      if (delta != change.delta()) {
        changes = changes == requested ? new ArrayList<>(requested) : changes;
        changes.set(i, new PolicyChange(change.endpointId(), change.identity(), delta));
      }
    }
    return changes;
  }

  /** Returns whether one direction may allow less, and the other more, at different endpoints. */
  private static boolean isCrossing(List<PolicyChange> changes) {
    if (changes.size() < 2) {
      return false;
    }
    int closes = 0;
    int opens = 0;
    for (int i = 0; i < changes.size(); i++) {
      closes |= changes.get(i).delta().closes();
      opens |= changes.get(i).delta().opens();
    }
    return (closes & INGRESS) != 0 && (opens & EGRESS) != 0
        || (closes & EGRESS) != 0 && (opens & INGRESS) != 0;
  }

  private void awaitPrograms(List<PolicyChange> changes) {
    for (int i = 0; i < changes.size(); i++) {
      if (!maps.membersOf(changes.get(i).endpointId()).isEmpty()) {
        maps.awaitPrograms(maps.of(changes.get(i).endpointId()));
        return;
      }
    }
  }

  private boolean isRefused(int id) {
    return !failures.isEmpty() && failures.containsKey(id);
  }

  private boolean isOf(Of which, int id) {
    return which == Of.ALL || which == Of.OTHER_IDENTITY == identified.contains(id);
  }

  private void run(Round round, List<PolicyChange> changes, Of which) {
    applied.clear();
    for (int i = 0; i < changes.size(); i++) {
      final PolicyChange change = changes.get(i);
      final int id = change.endpointId();
      if (isOf(which, id) && !isRefused(id) && applied.add(id)) {
        try {
          run(round, change);
        } catch (RuntimeException refused) {
          fail(id, DatapathFailures.refusal(refused));
        }
      }
    }
  }

  private void fail(int id, RuntimeException failure) {
    failures = failures.isEmpty() ? new TreeMap<>() : failures;
    failures.put(id, failure);
    for (int i = 0; i < maps.membersOf(id).size(); i++) {
      final int member = maps.membersOf(id).getInt(i);
      if (applied.contains(member)) {
        failures.put(member, failure);
      }
    }
  }

  private void run(Round round, PolicyChange change) {
    final boolean closes = !change.delta().closing().isEmpty();
    final boolean opens = !change.delta().opening().isEmpty();
    switch (round) {
      case ONLY -> whole(change);
      case CLOSING -> {
        if (closes && opens) {
          close(change);
        } else if (closes) {
          whole(change);
        }
      }
      case OPENING -> {
        if (closes && opens) {
          open(change);
        } else if (!closes) {
          whole(change);
        }
      }
    }
  }

  private void whole(PolicyChange change) {
    final int id = change.endpointId();
    final SharedPolicy policy = maps.of(id);
    if (maps.moveToEqual(id, change.identity(), change.delta())) {
      return;
    }
    if (!isWhole(policy, change)) {
      maps.split(id, change.identity(), change.delta());
      return;
    }
    changeTo(change, policy, change.delta());
  }

  private void close(PolicyChange change) {
    final SharedPolicy policy = maps.of(change.endpointId());
    final PolicyDelta delta = change.delta().closing();
    if (!isWhole(policy, change)) {
      maps.split(change.endpointId(), SharedPolicy.NOT_SHARED, delta).changing();
      return;
    }
    applyToMembers(policy);
    maps.change(policy, delta);
    policy.changing();
  }

  private void open(PolicyChange change) {
    final PolicyDelta delta = change.delta().opening();
    if (maps.moveToEqual(change.endpointId(), change.identity(), delta)) {
      return;
    }
    changeTo(change, maps.of(change.endpointId()), delta);
  }

  /** Changes a map in place to the new policy, or with the last part of a change to it. */
  private void changeTo(PolicyChange change, SharedPolicy policy, PolicyDelta delta) {
    applyToMembers(policy);
    if (change.isUnused()) {
      maps.addUnused(policy, delta);
    } else {
      maps.change(policy, delta);
    }
    if (policy.isKnown()) {
      policy.known(change.identity());
    }
  }

  private void applyToMembers(SharedPolicy policy) {
    for (int i = 0; i < policy.size(); i++) {
      applied.add(policy.members().getInt(i));
    }
  }

  /** Returns whether all endpoints of a map change alike. */
  private boolean isWhole(SharedPolicy policy, PolicyChange change) {
    for (int i = 0; i < policy.size(); i++) {
      final PolicyChange other = byId.get(policy.members().getInt(i));
      if (other != change && (other == null || !other.isAlike(change))) {
        return false;
      }
    }
    return true;
  }
}
