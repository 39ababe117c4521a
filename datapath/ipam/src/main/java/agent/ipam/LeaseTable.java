package agent.ipam;

import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.UnreadableStateException;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The leases by address, what of them is stored, and how the table was before the changes that are
 * not stored and would be taken back. The caller holds the lock.
 */
final class LeaseTable {
  private static final Logger LOGGER = LogManager.getLogger(LeaseTable.class);

  private final LeaseStore store;
  private final Consumer<IpAddress> onFree;
  private final TreeMap<IpAddress, Lease> leases = new TreeMap<>();
  private final Set<IpAddress> expiring = new HashSet<>();
  private final ArrayDeque<Before> undone = new ArrayDeque<>();
  private String unreadable;
  private boolean isUnsaved;
  private boolean hasFollowed;
  private long version;

  /** What an address had before a change; null where it had no lease. */
  private record Before(long version, IpAddress address, Lease lease) {}

  /**
   * Leases that are to be stored.
   *
   * @param version the number of changes that led to them
   * @param leases all leases
   */
  record Unsaved(long version, List<Lease> leases) {}

  /**
   * Creates an empty table.
   *
   * @param onFree called with each address whose lease is removed
   */
  LeaseTable(LeaseStore store, Consumer<IpAddress> onFree) {
    this.store = store;
    this.onFree = onFree;
  }

  /** Reads the stored leases. */
  void restore() {
    try {
      for (final Lease lease : store.load()) {
        set(lease.address(), lease);
      }
    } catch (UnreadableStateException e) {
      LOGGER.error("{}", e.getMessage());
      unreadable = e.getMessage();
    }
  }

  /**
   * Fails where the stored leases could not be read.
   *
   * @throws OperationException with the file and what to do
   */
  void checkReadable() {
    if (unreadable != null) {
      throw new OperationException(unreadable);
    }
  }

  Lease get(IpAddress address) {
    return leases.get(address);
  }

  List<Lease> all() {
    return List.copyOf(leases.values());
  }

  List<IpAddress> of(int endpointId) {
    final List<IpAddress> found = new ArrayList<>();
    for (final Lease lease : leases.values()) {
      if (lease.endpointId() == endpointId) {
        found.add(lease.address());
      }
    }
    return found;
  }

  /**
   * Applies changes of leases; null removes one. They stand once they are stored, and are taken
   * back by {@link #failed}.
   */
  void change(Map<IpAddress, Lease> change) {
    version++;
    change.keySet().forEach(each -> undone.add(new Before(version, each, leases.get(each))));
    change.forEach(this::set);
    isUnsaved = true;
    reportFree(change.keySet());
  }

  /**
   * Applies changes that follow from one that is stored elsewhere, or from the time; {@link
   * #unsaved} has them.
   */
  void follow(Map<IpAddress, Lease> change) {
    version++;
    undone.removeIf(before -> change.containsKey(before.address()));
    change.forEach(this::set);
    isUnsaved = true;
    hasFollowed = true;
    reportFree(change.keySet());
  }

  /** Removes the leases whose timers have ended; returns how many. */
  int removeExpired(Instant now) {
    final Map<IpAddress, Lease> gone = new HashMap<>();
    for (final IpAddress address : expiring) {
      if (!leases.get(address).expiresAt().isAfter(now)) {
        gone.put(address, null);
      }
    }
    if (!gone.isEmpty()) {
      follow(gone);
    }
    return gone.size();
  }

  /** Returns the number of changes until now. */
  long version() {
    return version;
  }

  /** Returns what is to be stored, or null for nothing. */
  Unsaved unsaved() {
    return isUnsaved && unreadable == null ? new Unsaved(version, all()) : null;
  }

  /** Records that leases are stored. */
  void stored(Unsaved unsaved) {
    undone.removeIf(before -> before.version() <= unsaved.version());
    if (unsaved.version() == version) {
      isUnsaved = false;
      hasFollowed = false;
    }
  }

  /** Undoes, the last one first, what was changed and is not stored. */
  void failed() {
    final Set<IpAddress> changed = new HashSet<>();
    while (!undone.isEmpty()) {
      final Before before = undone.removeLast();
      set(before.address(), before.lease());
      changed.add(before.address());
    }
    version++;
    isUnsaved = hasFollowed;
    reportFree(changed);
  }

  private void reportFree(Set<IpAddress> addresses) {
    for (final IpAddress address : addresses) {
      if (!leases.containsKey(address)) {
        onFree.accept(address);
      }
    }
  }

  private void set(IpAddress address, Lease lease) {
    expiring.remove(address);
    if (lease == null) {
      leases.remove(address);
    } else {
      leases.put(address, lease);
      if (lease.isExpiring()) {
        expiring.add(address);
      }
    }
  }
}
