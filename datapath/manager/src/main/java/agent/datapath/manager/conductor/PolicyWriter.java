package agent.datapath.manager.conductor;

import agent.bindings.Errno;
import agent.datapath.manager.spec.PolicyDelta;
import agent.datapath.manager.spec.PolicyEntry;
import agent.datapath.manager.spec.PolicyVerdict;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.PolicyMap;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyFlag;
import agent.maps.layout.PolicyKeyFlyweight;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Writes one part of a change of a policy map in this order: insert denies, insert allows, delete
 * allows, delete denies. After a failed write it skips writes that allow more traffic and still
 * executes those that allow less. {@link #apply} allocates nothing unless a write fails.
 */
final class PolicyWriter {
  private static final Logger LOGGER = LogManager.getLogger(PolicyWriter.class);
  private static final PolicyDirection[] DIRECTIONS = PolicyDirection.values();

  private final MapCursor cursor = new MapCursor();
  private final PolicyKeyFlyweight key = new PolicyKeyFlyweight();
  private final PolicyEntryFlyweight value = new PolicyEntryFlyweight();
  private BpfMapException failure;

  /**
   * Writes all entries of a change, regardless of its parts.
   *
   * @throws BpfMapException the first failure, after the remaining restricting writes
   */
  void apply(PolicyMap map, PolicyDelta delta) {
    failure = null;
    upsert(map, delta.upserts(), PolicyEntry::isDeny);
    if (failure == null) {
      // What is allowed before and after goes through no proxy meanwhile.
      upsert(map, delta.upserts(), PolicyWriter::isPlainAllow);
      upsert(map, delta.upserts(), PolicyWriter::isRedirect);
    }
    delete(map, delta.deletes(), false);
    if (failure == null) {
      delete(map, delta.deletes(), true);
    }
    if (failure != null) {
      throw failure;
    }
  }

  /**
   * Returns the change after which the map holds exactly the desired entries; by way of a map that
   * allows nothing where it has no room for both. Drops the failed writes that are queued for a
   * retry, so that only desired entries are retried. Deletes entries at once whose keys no policy
   * has, which another program has written.
   *
   * @throws BpfMapException where the map cannot be read, or such an entry cannot be deleted
   */
  PolicyDelta difference(PolicyMap map, Collection<PolicyEntry> desired) {
    map.map().forgetRefused();
    final List<RawKey> foreign = new ArrayList<>();
    final Map<PolicyEntry.Key, Stored> existing = read(map, foreign);
    delete(map, foreign);
    final List<PolicyEntry> before = new ArrayList<>(existing.size());
    existing.forEach((entryKey, stored) -> before.add(stored.entry(entryKey)));
    final List<PolicyEntry> upserts = new ArrayList<>();
    int inserted = 0;
    for (final PolicyEntry entry : desired) {
      final Stored stored = existing.remove(entry.key());
      if (stored == null || !stored.matches(entry)) {
        upserts.add(entry);
        inserted += stored == null ? 1 : 0;
      }
    }
    final List<PolicyEntry> deletes = new ArrayList<>();
    existing.forEach((entryKey, stored) -> deletes.add(stored.entry(entryKey)));
    final PolicyDelta delta =
        PolicyDelta.between(before, desired, new PolicyDelta(upserts, deletes), inserted);
    final int room = map.map().maxEntries() - before.size();
    return delta.growth() <= room ? delta : delta.throughClosed(before, desired);
  }

  /** The value of an entry in the kernel, which may not be a valid verdict. */
  record Stored(int flags, int redirect) {
    boolean matches(PolicyEntry entry) {
      return flags == entry.flags() && redirect == entry.verdict().redirect();
    }

    /**
     * Returns the entry for deletion. Where the stored value is not a valid verdict, the deny flag
     * decides, as in the BPF programs.
     */
    PolicyEntry entry(PolicyEntry.Key key) {
      final int verdictFlags = flags & ~PolicyFlag.ALLOWS_ALL.number();
      final PolicyVerdict verdict;
      if (PolicyVerdict.isValid(verdictFlags, redirect)) {
        verdict = new PolicyVerdict(verdictFlags, redirect);
      } else {
        final boolean isDeny = (flags & PolicyFlag.DENY.number()) != 0;
        verdict = isDeny ? PolicyVerdict.DENY : PolicyVerdict.ALLOW;
      }
      return new PolicyEntry(
          key.identity(), key.direction(), key.protocol(), key.port(), key.prefixLength(), verdict);
    }
  }

  /** The key of an entry that is not one of a policy, such as one with another direction. */
  private record RawKey(int identity, int direction, int protocol, int port, int prefixLength) {}

  private static void delete(PolicyMap map, List<RawKey> foreign) {
    for (final RawKey raw : foreign) {
      final int result =
          map.delete(
              raw.identity(), raw.direction(), raw.protocol(), raw.port(), raw.prefixLength());
      if (result < 0 && result != -Errno.ENOENT) {
        throw map.failure("delete", result);
      }
      LOGGER.warn("map {}: {} is not a policy entry; deleted", map.map().name(), raw);
    }
  }

  private Map<PolicyEntry.Key, Stored> read(PolicyMap map, List<RawKey> foreign) {
    final Map<PolicyEntry.Key, Stored> entries = new HashMap<>();
    final int opened = cursor.open(map.map());
    if (opened < 0) {
      throw map.map().failure("walk", "all", opened);
    }
    while (cursor.next()) {
      key.wrap(cursor.key(), 0);
      value.wrap(cursor.value(), 0);
      if (key.direction() >= DIRECTIONS.length
          || !PolicyEntry.isWithinPrefix(key.protocol(), key.port(), key.prefixLength())) {
        foreign.add(
            new RawKey(
                key.identity(), key.direction(), key.protocol(), key.port(), key.prefixLength()));
        continue;
      }
      entries.put(
          new PolicyEntry.Key(
              key.identity(),
              DIRECTIONS[key.direction()],
              key.protocol(),
              key.port(),
              key.prefixLength()),
          new Stored(value.flags(), value.redirect()));
    }
    cursor.close();
    if (cursor.error() < 0) {
      throw map.map().failure("walk", "all", cursor.error());
    }
    return entries;
  }

  private static boolean isRedirect(PolicyEntry entry) {
    return entry.verdict().isRedirect();
  }

  private static boolean isPlainAllow(PolicyEntry entry) {
    return !entry.isDeny() && !isRedirect(entry);
  }

  private void upsert(PolicyMap map, List<PolicyEntry> entries, Predicate<PolicyEntry> chosen) {
    for (int i = 0; i < entries.size(); i++) {
      final PolicyEntry entry = entries.get(i);
      if (chosen.test(entry)) {
        final int result =
            map.upsert(
                entry.identity(),
                entry.direction().number(),
                entry.protocol(),
                entry.port(),
                entry.prefixLength(),
                entry.flags(),
                entry.verdict().redirect());
        if (result < 0 && failure == null) {
          failure = map.failure("update", result);
        }
      }
    }
  }

  private void delete(PolicyMap map, List<PolicyEntry> entries, boolean isDeny) {
    for (int i = 0; i < entries.size(); i++) {
      final PolicyEntry entry = entries.get(i);
      if (entry.isDeny() == isDeny) {
        final int result =
            map.delete(
                entry.identity(),
                entry.direction().number(),
                entry.protocol(),
                entry.port(),
                entry.prefixLength());
        if (result < 0 && result != -Errno.ENOENT && failure == null) {
          failure = map.failure("delete", result);
        }
      }
    }
  }
}
