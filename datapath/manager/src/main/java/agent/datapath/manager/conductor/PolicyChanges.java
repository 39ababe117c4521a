package agent.datapath.manager.conductor;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyMapProxy.PolicyChange;
import agent.reconcile.Batch;
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
 * <p>In each round, all maps end the first part of their changes before one begins the second. A
 * part is put into the desired entries in slices; the next one begins when the maps hold them. An
 * endpoint moves to another map when that is complete.
 *
 * <p>For the conductor's thread; allocates nothing unless a change is refused or needs another map.
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
  private final PolicyParts parts = new PolicyParts();

  /** The maps that this round changes, with their changes; those with an endpoint move to it. */
  private final List<SharedPolicy> targets = new ArrayList<>();

  private final List<PolicyDelta> deltas = new ArrayList<>();
  private final List<PolicyChange> causes = new ArrayList<>();

  /** The endpoints that move to another map when the first part of the round is complete. */
  private final Int2ObjectHashMap<SharedPolicy> moves = new Int2ObjectHashMap<>();

  private List<PolicyChange> changes = List.of();
  private Map<Integer, RuntimeException> failures = Map.of();
  private Round round = Round.ONLY;
  private Of which = Of.ALL;
  private boolean isSecondPart;
  private boolean isPut;
  private int next;

  PolicyChanges(PolicyMaps maps) {
    this.maps = maps;
  }

  /** Begins to apply changes. */
  void begin(List<PolicyChange> requested) {
    begin(Round.ONLY, Of.ALL);
    failures = Map.of();
    changes = fitting(requested);
    byId.clear();
    identified.clear();
    for (int i = 0; i < changes.size(); i++) {
      final PolicyChange change = changes.get(i);
      byId.put(change.endpointId(), change);
      if (maps.hasOtherIdentity(change.endpointId(), change.identity())) {
        identified.add(change.endpointId());
      }
    }
    final boolean isOne = identified.isEmpty() && !isCrossing(changes);
    begin(isOne ? Round.ONLY : Round.CLOSING, Of.ALL);
  }

  private void begin(Round nextRound, Of of) {
    round = nextRound;
    which = of;
    applied.clear();
    targets.clear();
    deltas.clear();
    causes.clear();
    moves.clear();
    isSecondPart = false;
    isPut = false;
    next = 0;
  }

  /** Abandons the present round: what its maps hold is not known. */
  void abandon() {
    for (int i = 0; i < targets.size(); i++) {
      if (targets.get(i).isPending()) {
        targets.get(i).end(true);
        targets.get(i).uncertain();
      }
    }
    parts.clear();
  }

  /** Returns the failures by endpoint. */
  Map<Integer, RuntimeException> failures() {
    return failures;
  }

  /** Puts further entries of the present part, at most so many; returns whether there are more. */
  boolean apply(Batch batch, int limit) {
    int left = limit;
    while (left > 0) {
      if (!parts.isDone()) {
        isPut = true;
        left -= parts.put(batch, left);
      } else if (isSecondPart) {
        left--;
        if (!nextSecondPart()) {
          return false;
        }
      } else if (next < changes.size()) {
        left--;
        apply(batch, changes.get(next++));
      } else if (isPut || !moves.isEmpty()) {
        return false;
      } else {
        isSecondPart = true;
        next = 0;
      }
    }
    return true;
  }

  private boolean nextSecondPart() {
    while (next < targets.size()) {
      final int target = next++;
      if (hasSecondPart(target) && targets.get(target).isPending()) {
        parts.begin(targets.get(target).table(), deltas.get(target).opening());
        return true;
      }
    }
    return false;
  }

  private boolean hasSecondPart(int target) {
    return !isSplit(target)
        && !deltas.get(target).closing().isEmpty()
        && !deltas.get(target).opening().isEmpty();
  }

  private boolean isSplit(int target) {
    return causes.get(target) != null;
  }

  /** Ends a part, whose entries are in force or refused; returns whether another one follows. */
  boolean endPart(Batch batch) {
    boolean isTorn = false;
    boolean isMore = false;
    for (int i = 0; i < targets.size(); i++) {
      final SharedPolicy policy = targets.get(i);
      if (policy.isPending()) {
        final RuntimeException refusal = batch.refusal(policy.table());
        final boolean isFollowed = refusal == null && !isSecondPart && hasSecondPart(i);
        isMore |= isFollowed;
        isTorn |= isFollowed && deltas.get(i).isTorn();
        if (!isFollowed) {
          end(i, refusal);
        }
      }
    }
    if (!moves.isEmpty()) {
      moves.forEach(this::move);
      moves.clear();
    }
    if (isMore) {
      isSecondPart = true;
      next = 0;
      if (isTorn) {
        awaitPrograms();
      }
      return true;
    }
    return endRound();
  }

  private void end(int target, RuntimeException refusal) {
    final SharedPolicy policy = targets.get(target);
    final PolicyChange cause = causes.get(target);
    if (cause != null) {
      policy.end(false);
      if (refusal == null) {
        moveTo(cause.endpointId(), policy);
      } else {
        maps.release(policy);
        fail(cause.endpointId(), DatapathFailures.refusal(refusal));
      }
      return;
    }
    policy.end(refusal != null || !isUnused(policy));
    if (isSecondPart) {
      policy.settled();
    }
    maps.releaseUnused(policy); // all its endpoints may have left it meanwhile
    if (refusal != null) {
      policy.uncertain();
      final RuntimeException failure = DatapathFailures.refusal(refusal);
      for (int i = 0; i < policy.size(); i++) {
        if (applied.contains(policy.members().getInt(i))) {
          fail(policy.members().getInt(i), failure);
        }
      }
    }
  }

  /** An address may still have an identity that no address is to have. */
  private boolean isUnused(SharedPolicy policy) {
    final PolicyChange change = byId.get(policy.endpointId());
    return change != null && change.isUnused() && maps.areAddressesInForce();
  }

  private void moveTo(int id, SharedPolicy policy) {
    try {
      maps.moveOrRelease(id, policy);
    } catch (RuntimeException refused) {
      fail(id, DatapathFailures.refusal(refused));
    }
  }

  private void move(int id, SharedPolicy policy) {
    if (policy.isKnown()) {
      moveTo(id, policy);
    } else {
      fail(id, failures.values().iterator().next());
    }
  }

  private boolean endRound() {
    if (round == Round.ONLY) {
      return false;
    }
    if (identified.isEmpty()) {
      if (round == Round.OPENING) {
        return false;
      }
      awaitPrograms();
      begin(Round.OPENING, Of.ALL);
    } else if (round == Round.CLOSING) {
      begin(Round.OPENING, Of.SAME_IDENTITY);
    } else if (which == Of.SAME_IDENTITY) {
      identify();
      if (opensIdentified()) {
        awaitPrograms();
      }
      begin(Round.OPENING, Of.OTHER_IDENTITY);
    } else {
      return false;
    }
    return true;
  }

  private boolean opensIdentified() {
    for (int i = 0; i < changes.size(); i++) {
      final PolicyChange change = changes.get(i);
      if (identified.contains(change.endpointId()) && !change.delta().opening().isEmpty()) {
        return true;
      }
    }
    return false;
  }

  private void identify() {
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
    List<PolicyChange> fitting = requested;
    for (int i = 0; i < requested.size(); i++) {
      final PolicyChange change = requested.get(i);
      final PolicyDelta delta = maps.fitting(change.endpointId(), change.delta());
      if (delta != change.delta()) {
        fitting = fitting == requested ? new ArrayList<>(requested) : fitting;
        fitting.set(i, new PolicyChange(change.endpointId(), change.identity(), delta));
      }
    }
    return fitting;
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

  private void awaitPrograms() {
    for (int i = 0; i < changes.size(); i++) {
      final SharedPolicy policy = maps.find(changes.get(i).endpointId());
      if (policy != null) {
        maps.awaitPrograms(policy);
        return;
      }
    }
  }

  private boolean isRefused(int id) {
    return !failures.isEmpty() && failures.containsKey(id);
  }

  private boolean isOf(int id) {
    return which == Of.ALL || which == Of.OTHER_IDENTITY == identified.contains(id);
  }

  private void fail(int id, RuntimeException failure) {
    failures = failures.isEmpty() ? new TreeMap<>() : failures;
    failures.put(id, failure);
  }

  private void apply(Batch batch, PolicyChange change) {
    final int id = change.endpointId();
    if (isOf(id) && !isRefused(id) && applied.add(id)) {
      try {
        applyOne(batch, change);
      } catch (RuntimeException refused) {
        fail(id, DatapathFailures.refusal(refused));
      }
    }
  }

  private void applyOne(Batch batch, PolicyChange change) {
    final boolean closes = !change.delta().closing().isEmpty();
    final boolean opens = !change.delta().opening().isEmpty();
    switch (round) {
      case ONLY -> whole(batch, change);
      case CLOSING -> {
        if (closes && opens) {
          close(batch, change);
        } else if (closes) {
          whole(batch, change);
        }
      }
      case OPENING -> {
        if (closes && opens) {
          open(change);
        } else if (!closes) {
          whole(batch, change);
        }
      }
    }
  }

  private void whole(Batch batch, PolicyChange change) {
    final SharedPolicy policy = maps.of(change.endpointId());
    if (moveToEqual(change, policy, change.delta())) {
      return;
    }
    if (isWhole(policy, change)) {
      changeTo(change, policy, change.delta());
    } else {
      split(batch, change, policy, change.delta()).known(change.identity());
    }
  }

  private void close(Batch batch, PolicyChange change) {
    final SharedPolicy policy = maps.of(change.endpointId());
    final PolicyDelta delta = change.delta().closing();
    if (isWhole(policy, change)) {
      change(policy, delta);
      policy.changing();
    } else {
      final SharedPolicy own = split(batch, change, policy, delta);
      own.known(SharedPolicy.NOT_SHARED);
      own.changing();
    }
  }

  private void open(PolicyChange change) {
    final SharedPolicy policy = maps.of(change.endpointId());
    final PolicyDelta delta = change.delta().opening();
    if (!moveToEqual(change, policy, delta)) {
      changeTo(change, policy, delta);
    }
  }

  /**
   * Moves an endpoint to a map that has what its own would have after a change, if there is one.
   */
  private boolean moveToEqual(PolicyChange change, SharedPolicy policy, PolicyDelta delta) {
    final SharedPolicy equal = maps.equalAfter(policy, change.identity(), delta);
    if (equal == null) {
      return false;
    }
    if (equal.isPending()) {
      moves.put(change.endpointId(), equal);
    } else {
      maps.move(change.endpointId(), equal);
    }
    return true;
  }

  /** Creates a map of an endpoint with what its present one would have after a change. */
  private SharedPolicy split(
      Batch batch, PolicyChange change, SharedPolicy policy, PolicyDelta delta) {
    final SharedPolicy own = maps.create(change.endpointId());
    batch.read(own.table());
    parts.begin(own.table(), policy.table(), delta);
    addTarget(own, delta, change);
    return own;
  }

  /** Changes a map in place to the new policy, or with the last part of a change to it. */
  private void changeTo(PolicyChange change, SharedPolicy policy, PolicyDelta delta) {
    change(policy, delta);
    if (policy.isKnown()) {
      policy.known(change.identity());
      if (!delta.closing().isEmpty() && !delta.opening().isEmpty()) {
        policy.changing(); // until the second part
      }
    }
  }

  private void change(SharedPolicy policy, PolicyDelta delta) {
    for (int i = 0; i < policy.size(); i++) {
      applied.add(policy.members().getInt(i));
    }
    parts.begin(policy.table(), delta.closing().isEmpty() ? delta.opening() : delta.closing());
    addTarget(policy, delta, null);
  }

  private void addTarget(SharedPolicy policy, PolicyDelta delta, PolicyChange causeOrNull) {
    policy.begin();
    targets.add(policy);
    deltas.add(delta);
    causes.add(causeOrNull);
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
