package agent.datapath.manager.service;

import agent.bindings.Errno;
import agent.datapath.manager.guard.GuardedMap;
import agent.maps.kernel.BatchWriter;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiPredicate;
import org.agrona.MutableDirectBuffer;

/** One map of services, and its desired entries for the comparison. */
final class ServiceMap implements ServiceTable {
  /** Entries that one system call writes; a service has about as many in a map. */
  private static final int TOGETHER = 32;

  private final BpfMap map;
  private final GuardedMap guarded;
  private final EntryBuffer entry;
  private final BatchWriter batch;

  ServiceMap(BpfMap map) {
    this.map = map;
    guarded = new GuardedMap(0, null, "map " + map.name(), map);
    entry = new EntryBuffer(map);
    batch = new BatchWriter(map, TOGETHER);
  }

  GuardedMap guarded() {
    return guarded;
  }

  @Override
  public boolean hasRoomFor(Map<ByteBuffer, byte[]> rows) {
    if (guarded.desired().size() + rows.size() <= map.maxEntries()) {
      return true;
    }
    int added = 0;
    for (final ByteBuffer key : rows.keySet()) {
      entry.key().putBytes(0, key.array());
      added += guarded.desired().hasKey(entry.key()) ? 0 : 1;
    }
    return guarded.desired().size() + added <= map.maxEntries();
  }

  @Override
  public void clear() {
    guarded.desired().clear();
  }

  @Override
  public void put(Map<ByteBuffer, byte[]> rows) {
    rows.forEach(
        (key, value) -> {
          entry.key().putBytes(0, key.array());
          entry.value().putBytes(0, value);
          if (guarded.desired().put(entry.key(), entry.value())) {
            batch.keys().putBytes(batch.keyOffset(), key.array());
            batch.values().putBytes(batch.valueOffset(), value);
            if (batch.add()) {
              write();
            }
          }
        });
    write();
  }

  /** Writes what is collected with one system call. */
  private void write() {
    final int added = batch.size();
    final int result = batch.writeEach();
    if (result < 0) {
      for (int i = batch.done(); i < added; i++) {
        guarded.desired().remove(batch.key(i));
      }
      throw batch.failure("update", result);
    }
  }

  @Override
  public boolean isDesired(ByteBuffer key, byte[] value) {
    entry.key().putBytes(0, key.array());
    entry.value().putBytes(0, value);
    return guarded.desired().holds(entry.key(), entry.value());
  }

  @Override
  public void remove(Map<ByteBuffer, byte[]> rows, Map<ByteBuffer, byte[]> except) {
    RuntimeException first = null;
    for (final ByteBuffer key : rows.keySet()) {
      if (!except.containsKey(key)) {
        final int result = remove(key.array());
        if (result < 0 && result != -Errno.ENOENT && first == null) {
          first = map.failure("delete", entry, result);
        }
      }
    }
    if (first != null) {
      throw first;
    }
  }

  private int remove(byte[] key) {
    entry.key().putBytes(0, key);
    guarded.desired().remove(entry.key());
    return map.delete(entry);
  }

  @Override
  public int removeOthers() {
    final Map<ByteBuffer, byte[]> others = new LinkedHashMap<>();
    read((key, value) -> !guarded.desired().hasKey(key), others);
    remove(others, Map.of());
    return others.size();
  }

  @Override
  public void read(
      BiPredicate<MutableDirectBuffer, MutableDirectBuffer> wanted, Map<ByteBuffer, byte[]> rows) {
    map.forEachEntry(
        cursor -> {
          if (wanted.test(cursor.key(), cursor.value())) {
            rows.put(
                ByteBuffer.wrap(bytes(cursor.key(), map.keySize())),
                bytes(cursor.value(), map.valueSize()));
          }
        });
  }

  private static byte[] bytes(MutableDirectBuffer buffer, int length) {
    final byte[] bytes = new byte[length];
    buffer.getBytes(0, bytes);
    return bytes;
  }
}
