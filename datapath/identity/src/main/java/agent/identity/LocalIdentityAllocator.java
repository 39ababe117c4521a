package agent.identity;

import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * The identities of one node without a remote store. Numbers are given in ascending order and again
 * from the start when the range is used up, so that a number that was freed is the last to return.
 */
public final class LocalIdentityAllocator implements IdentityAllocator {
  private static final class Reference {
    final Identity identity;
    int count;

    Reference(Identity identity) {
      this.identity = identity;
    }
  }

  private final NumberRange cluster =
      new NumberRange("identities", Identity.CLUSTER_MIN, Identity.CLUSTER_MAX);
  private final NumberRange local =
      new NumberRange("CIDR identities", Identity.LOCAL_MIN, Identity.LOCAL_MAX);
  private final Map<Integer, Reference> byId = new HashMap<>();
  private final Map<LabelSet, Identity> byLabels = new HashMap<>();
  private final List<IdentityListener> listeners = new CopyOnWriteArrayList<>();

  /** Nothing but the reserved identities. */
  public LocalIdentityAllocator() {
    for (final Identity reserved : ReservedIdentity.identities()) {
      byLabels.put(reserved.labels(), reserved);
    }
  }

  /** The labels of the identity of a CIDR. */
  public static LabelSet labelsOf(Prefix prefix) {
    if (prefix.length() == 0) {
      return ReservedIdentity.world(prefix.isIpv4()).identity().labels();
    }
    return LabelSet.of(
        new Label(Label.CIDR, prefix.toString(), ""), ReservedIdentity.WORLD.label());
  }

  @Override
  public Identity acquire(LabelSet labels) {
    return acquire(endpointLabels(labels), cluster);
  }

  @Override
  public Identity acquireCidr(Prefix prefix) {
    return acquire(labelsOf(prefix), local);
  }

  @Override
  public Identity restore(int id, LabelSet labels) {
    return restore(id, endpointLabels(labels), cluster);
  }

  @Override
  public Identity restoreCidr(int id, Prefix prefix) {
    return restore(id, labelsOf(prefix), local);
  }

  private static LabelSet endpointLabels(LabelSet labels) {
    return labels.isEmpty() ? ReservedIdentity.INIT.identity().labels() : labels;
  }

  private Identity acquire(LabelSet labels, NumberRange range) {
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

  private Identity restore(int id, LabelSet labels, NumberRange range) {
    final Identity identity = new Identity(id, labels);
    final boolean appeared;
    synchronized (byId) {
      final Identity known = byLabels.get(labels);
      if (known != null && known.id() != id) {
        throw Refusal.conflict(
            "identity", id + " " + labels + ": these labels have identity " + known.id());
      }
      if (known == null) {
        final Reference holder = byId.get(id);
        if (holder != null) {
          throw Refusal.conflict(
              "identity", id + " " + labels + ": taken by " + holder.identity.labels());
        }
        range.take(id);
      }
      appeared = reference(identity);
    }
    if (appeared) {
      listeners.forEach(listener -> listener.onIdentityAdded(identity));
    }
    return identity;
  }

  /** Whether the identity appeared; reserved ones are always there. */
  private boolean reference(Identity identity) {
    final Reference reference = byId.computeIfAbsent(identity.id(), id -> new Reference(identity));
    reference.count++;
    byLabels.put(identity.labels(), identity);
    return reference.count == 1 && !identity.isReserved();
  }

  @Override
  public boolean release(int id) {
    final Identity gone;
    synchronized (byId) {
      final Reference reference = byId.get(id);
      if (reference == null) {
        throw Refusal.notFound("identity", id + " has no reference");
      }
      if (--reference.count > 0) {
        return false;
      }
      byId.remove(id);
      gone = reference.identity;
      if (!gone.isReserved()) {
        byLabels.remove(gone.labels());
        (gone.isLocal() ? local : cluster).free(id);
      }
    }
    if (!gone.isReserved()) {
      listeners.forEach(listener -> listener.onIdentityRemoved(gone));
    }
    return true;
  }

  @Override
  public Optional<Identity> find(int id) {
    final Optional<ReservedIdentity> reserved = ReservedIdentity.of(id);
    if (reserved.isPresent()) {
      return reserved.map(ReservedIdentity::identity);
    }
    synchronized (byId) {
      return Optional.ofNullable(byId.get(id)).map(reference -> reference.identity);
    }
  }

  @Override
  public Optional<Identity> find(LabelSet labels) {
    synchronized (byId) {
      return Optional.ofNullable(byLabels.get(labels));
    }
  }

  @Override
  public List<Identity> list() {
    final List<Identity> all;
    synchronized (byId) {
      all = new ArrayList<>(byLabels.values());
    }
    Collections.sort(all);
    return Collections.unmodifiableList(all);
  }

  @Override
  public List<IdentityInUse> inUse() {
    final List<IdentityInUse> used = new ArrayList<>();
    synchronized (byId) {
      for (final Reference reference : byId.values()) {
        if (isEndpoints(reference.identity)) {
          used.add(new IdentityInUse(reference.identity, reference.count));
        }
      }
    }
    used.sort((a, b) -> a.identity().compareTo(b.identity()));
    return Collections.unmodifiableList(used);
  }

  /** References to the world come from rules with a CIDR of length 0. */
  private static boolean isEndpoints(Identity identity) {
    return !identity.isLocal()
        && identity.id() != ReservedIdentity.WORLD_IPV4.id()
        && identity.id() != ReservedIdentity.WORLD_IPV6.id();
  }

  @Override
  public void addListener(IdentityListener listener) {
    listeners.add(listener);
  }
}
