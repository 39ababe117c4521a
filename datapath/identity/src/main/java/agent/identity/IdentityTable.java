package agent.identity;

import agent.identity.IdentityDirectory.IdentityInUse;
import agent.identity.IdentityDirectory.IdentityListener;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * Identities of one range of numbers in this process, with their references. Numbers are given in
 * ascending order and again from the start when the range is used up, so that a number that was
 * freed is the last to return. Any thread may call; changes and their events are one after another.
 */
final class IdentityTable {
  private static final class Reference {
    final Identity identity;
    int count;

    Reference(Identity identity) {
      this.identity = identity;
    }
  }

  private final NumberRange range;
  private final FixedIdentities fixed;
  private final Object change = new Object();
  private final Int2ObjectHashMap<Reference> byId = new Int2ObjectHashMap<>();
  private final Map<LabelSet, Identity> byLabels = new HashMap<>();
  private final List<IdentityListener> listeners = new CopyOnWriteArrayList<>();

  /** Creates a table with only the reserved identities. */
  IdentityTable(NumberRange range) {
    this(range, FixedIdentities.NONE);
  }

  /** Creates a table with the reserved identities and those with chosen numbers. */
  IdentityTable(NumberRange range, FixedIdentities fixed) {
    this.range = range;
    this.fixed = fixed;
    for (final Identity chosen : fixed.identities()) {
      byLabels.put(chosen.labels(), chosen);
    }
    for (final Identity reserved : ReservedIdentity.identities()) {
      byLabels.put(reserved.labels(), reserved);
    }
  }

  /**
   * Acquires one reference.
   *
   * @throws Refusal EXHAUSTED where no number is free
   */
  Identity acquire(LabelSet labels) {
    synchronized (change) {
      final Identity identity;
      final boolean appeared;
      synchronized (byId) {
        final Identity known = byLabels.get(labels);
        identity = known != null ? known : new Identity(range.next(), labels);
        appeared = reference(identity);
      }
      if (appeared) {
        listeners.forEach(listener -> listener.onIdentityAdded(identity));
      }
      return identity;
    }
  }

  /**
   * Acquires one reference to a number that was allocated before a restart.
   *
   * @throws Refusal CONFLICT where the number has other labels or the labels another number,
   *     INVALID where the number is out of range
   */
  Identity restore(int id, LabelSet labels) {
    synchronized (change) {
      final Identity identity = new Identity(id, labels);
      final boolean appeared;
      synchronized (byId) {
        checkRestored(identity);
        appeared = reference(identity);
      }
      if (appeared) {
        listeners.forEach(listener -> listener.onIdentityAdded(identity));
      }
      return identity;
    }
  }

  private void checkRestored(Identity identity) {
    final Identity known = byLabels.get(identity.labels());
    if (known != null && known.id() != identity.id()) {
      throw Refusal.conflict(
          "identity",
          "%d requested, but labels %s already have identity %d"
              .formatted(identity.id(), identity.labels(), known.id()));
    }
    if (known == null) {
      final Reference holder = byId.get(identity.id());
      if (holder != null) {
        throw Refusal.conflict(
            "identity",
            "%d requested for labels %s, but it already has labels %s"
                .formatted(identity.id(), identity.labels(), holder.identity.labels()));
      }
      range.take(identity.id());
    }
  }

  /** Adds a reference; returns whether it is the first one of an identity that is not reserved. */
  private boolean reference(Identity identity) {
    final Reference reference = byId.computeIfAbsent(identity.id(), id -> new Reference(identity));
    reference.count++;
    byLabels.put(identity.labels(), identity);
    return reference.count == 1 && !identity.isReserved();
  }

  /**
   * Releases one reference.
   *
   * @return whether it was the last one
   * @throws Refusal NOT_FOUND where there is none
   */
  boolean release(int id) {
    synchronized (change) {
      final Identity gone;
      synchronized (byId) {
        final Reference reference = byId.get(id);
        if (reference == null) {
          throw Refusal.notFound("identity", id + " is not in use");
        }
        if (--reference.count > 0) {
          return false;
        }
        byId.remove(id);
        gone = reference.identity;
        if (!gone.isReserved()) {
          byLabels.remove(gone.labels());
          range.free(id);
        }
      }
      if (!gone.isReserved()) {
        listeners.forEach(listener -> listener.onIdentityRemoved(gone));
      }
      return true;
    }
  }

  Optional<Identity> find(int id) {
    final Optional<Identity> known =
        ReservedIdentity.of(id).map(ReservedIdentity::identity).or(() -> fixed.find(id));
    if (known.isPresent()) {
      return known;
    }
    synchronized (byId) {
      return Optional.ofNullable(byId.get(id)).map(reference -> reference.identity);
    }
  }

  Optional<Identity> find(LabelSet labels) {
    synchronized (byId) {
      return Optional.ofNullable(byLabels.get(labels));
    }
  }

  List<Identity> list() {
    final List<Identity> all;
    synchronized (byId) {
      all = new ArrayList<>(byLabels.values());
    }
    Collections.sort(all);
    return Collections.unmodifiableList(all);
  }

  List<IdentityInUse> inUse() {
    final List<IdentityInUse> used = new ArrayList<>();
    synchronized (byId) {
      for (final Reference reference : byId.values()) {
        used.add(new IdentityInUse(reference.identity, reference.count));
      }
    }
    used.sort((a, b) -> a.identity().compareTo(b.identity()));
    return Collections.unmodifiableList(used);
  }

  void addListener(IdentityListener listener) {
    listeners.add(listener);
  }
}
