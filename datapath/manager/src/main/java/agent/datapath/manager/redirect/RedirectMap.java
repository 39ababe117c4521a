package agent.datapath.manager.redirect;

import agent.bindings.Errno;
import agent.bindings.MapFlag;
import agent.datapath.manager.guard.GuardedMap;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import java.util.ArrayList;
import java.util.List;

/** One map of redirects, and its desired entries for the comparison. */
final class RedirectMap {
  private final BpfMap map;
  private final GuardedMap guarded;
  private final EntryBuffer entry;

  RedirectMap(BpfMap map) {
    this.map = map;
    guarded = new GuardedMap(0, null, "map " + map.name(), map);
    entry = new EntryBuffer(map);
  }

  GuardedMap guarded() {
    return guarded;
  }

  /** Returns the memory of the next key and value to write. */
  EntryBuffer entry() {
    return entry;
  }

  /** Writes what {@link #entry} has. */
  void put() {
    final int result = map.update(entry, MapFlag.ANY);
    if (result < 0) {
      throw map.failure("update", entry, result);
    }
    guarded.desired().put(entry.key(), entry.value());
  }

  /** Writes what {@link #entry} has, the zeros of a slot without an entry: walks pass over it. */
  void putAbsent() {
    guarded.desired().remove(entry.key());
    final int result = map.update(entry, MapFlag.ANY);
    if (result < 0) {
      throw map.failure("update", entry, result);
    }
  }

  /** Deletes what {@link #entry} has the key of. */
  void remove() {
    guarded.desired().remove(entry.key());
    final int result = map.delete(entry);
    if (result < 0 && result != -Errno.ENOENT) {
      throw map.failure("delete", entry, result);
    }
  }

  /** Deletes all entries, which a former run has left. */
  void clear() {
    final List<byte[]> keys = new ArrayList<>();
    map.forEachEntry(
        cursor -> {
          final byte[] key = new byte[map.keySize()];
          cursor.key().getBytes(0, key);
          keys.add(key);
        });
    for (final byte[] key : keys) {
      entry.key().putBytes(0, key);
      remove();
    }
  }
}
