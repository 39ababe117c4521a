package agent.ipam;

import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.UnreadableStateException;
import java.time.Instant;
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
 * The leases by address, and what of them is stored. The caller holds the lock, except for {@link
 * #store(Unsaved)}, which waits for the disk.
 */
final class LeaseTable {
  private static final Logger LOGGER = LogManager.getLogger(LeaseTable.class);

  private final LeaseStore store;
  private final Consumer<IpAddress> onFree;
  private final TreeMap<IpAddress, Lease> leases = new TreeMap<>();
  private final Set<IpAddress> expiring = new HashSet<>();
  private String unreadable;
  private boolean isUnsaved;
  private long version;

  /** Guards the store and {@link #storedVersion}. */
  private final Object storeLock = new Object();

  private long storedVersion;

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

  /** Applies changes of leases; null removes one. Where the store fails nothing changes. */
  void commit(Map<IpAddress, Lease> change) {
    final Map<IpAddress, Lease> before = new HashMap<>();
    change.keySet().forEach(address -> before.put(address, leases.get(address)));
    change.forEach(this::set);
    version++;
    try {
      store(new Unsaved(version, all()));
      isUnsaved = false;
    } catch (RuntimeException e) {
      before.forEach(this::set);
      version++;
      throw e;
    } finally {
      reportFree(change.keySet());
    }
  }

  /**
   * Applies changes that follow from one that is stored elsewhere, or from the time; {@link
   * #unsaved} has them.
   */
  void follow(Map<IpAddress, Lease> change) {
    change.forEach(this::set);
    version++;
    isUnsaved = true;
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

  /** Returns what {@link #store(Unsaved)} is to store, or null for nothing. */
  Unsaved unsaved() {
    return isUnsaved && unreadable == null ? new Unsaved(version, all()) : null;
  }

  /**
   * Stores leases, unless the store has those of a later change. Any thread may call, without the
   * lock.
   *
   * @throws OperationException where the store fails
   */
  void store(Unsaved unsaved) {
    synchronized (storeLock) {
      if (unsaved.version() > storedVersion) {
        store.save(unsaved.leases());
        storedVersion = unsaved.version();
      }
    }
  }

  /** Records that leases are stored. */
  void stored(Unsaved unsaved) {
    isUnsaved &= unsaved.version() != version;
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
