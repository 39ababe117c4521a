package agent.datapath.manager.service;

import agent.bindings.Errno;
import agent.maps.kernel.BpfMapException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** A table without a kernel. */
final class FakeServiceTable implements ServiceTable {
  private final String name;
  private final int room;
  private final List<String> writes;
  private final Map<ByteBuffer, byte[]> desired = new HashMap<>();
  final Map<ByteBuffer, byte[]> held = new LinkedHashMap<>();

  /** The error of the next update; 0 for none. */
  int refusal;

  /**
   * Creates a table.
   *
   * @param room the most entries
   * @param writes takes {@code +name} for each update and {@code -name} for each deletion
   */
  FakeServiceTable(String name, int room, List<String> writes) {
    this.name = name;
    this.room = room;
    this.writes = writes;
  }

  @Override
  public boolean hasRoomFor(Map<ByteBuffer, byte[]> rows) {
    final long added = rows.keySet().stream().filter(key -> !desired.containsKey(key)).count();
    return desired.size() + added <= room;
  }

  @Override
  public void clear() {
    desired.clear();
  }

  @Override
  public void put(Map<ByteBuffer, byte[]> rows) {
    rows.forEach(
        (key, value) -> {
          if (isDesired(key, value)) {
            return;
          }
          final int errno = held.size() >= room && !held.containsKey(key) ? Errno.E2BIG : refusal;
          refusal = 0;
          if (errno != 0) {
            throw new BpfMapException("map " + name + ": refused", errno);
          }
          writes.add("+" + name);
          desired.put(key, value);
          held.put(key, value);
        });
  }

  @Override
  public boolean isDesired(ByteBuffer key, byte[] value) {
    return desired.containsKey(key)
        && ByteBuffer.wrap(desired.get(key)).equals(ByteBuffer.wrap(value));
  }

  @Override
  public void remove(Map<ByteBuffer, byte[]> rows, Map<ByteBuffer, byte[]> except) {
    for (final ByteBuffer key : rows.keySet()) {
      if (!except.containsKey(key)) {
        desired.remove(key);
        if (held.remove(key) != null) {
          writes.add("-" + name);
        }
      }
    }
  }

  @Override
  public int removeOthers() {
    final Map<ByteBuffer, byte[]> others = new HashMap<>(held);
    others.keySet().removeAll(desired.keySet());
    remove(others, Map.of());
    return others.size();
  }

  @Override
  public void read(
      BiPredicate<MutableDirectBuffer, MutableDirectBuffer> wanted, Map<ByteBuffer, byte[]> rows) {
    new ArrayList<>(held.entrySet())
        .forEach(
            row -> {
              if (wanted.test(
                  new UnsafeBuffer(row.getKey().array()), new UnsafeBuffer(row.getValue()))) {
                rows.put(row.getKey(), row.getValue());
              }
            });
  }
}
