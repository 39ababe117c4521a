package agent.datapath.manager.service;

import agent.bindings.Errno;
import agent.maps.kernel.BpfMapException;
import agent.reconcile.TargetMap;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** A map without a kernel. */
final class MemoryMap implements TargetMap {
  private final String name;
  private final int room;
  private final List<String> writes;
  private final UnsafeBuffer key;
  private final UnsafeBuffer value;
  final Map<ByteBuffer, byte[]> held = new LinkedHashMap<>();

  /** The error of the next update; 0 for none. */
  int refusal;

  private Iterator<Map.Entry<ByteBuffer, byte[]>> walk =
      Map.<ByteBuffer, byte[]>of().entrySet().iterator();

  /**
   * Creates a map.
   *
   * @param room the most entries
   * @param writes takes {@code +name} for each update and {@code -name} for each deletion
   */
  MemoryMap(String name, int keyBytes, int valueBytes, int room, List<String> writes) {
    this.name = name;
    this.room = room;
    this.writes = writes;
    key = new UnsafeBuffer(new byte[keyBytes]);
    value = new UnsafeBuffer(new byte[valueBytes]);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public int keyBytes() {
    return key.capacity();
  }

  @Override
  public int valueBytes() {
    return value.capacity();
  }

  @Override
  public int maxEntries() {
    return room;
  }

  private static byte[] bytes(DirectBuffer buffer, int length) {
    final byte[] bytes = new byte[length];
    buffer.getBytes(0, bytes);
    return bytes;
  }

  private ByteBuffer keyOf(DirectBuffer buffer) {
    return ByteBuffer.wrap(bytes(buffer, keyBytes()));
  }

  @Override
  public int update(DirectBuffer updated, DirectBuffer to) {
    final ByteBuffer subject = keyOf(updated);
    final int errno = held.size() >= room && !held.containsKey(subject) ? Errno.E2BIG : refusal;
    refusal = 0;
    if (errno != 0) {
      return -errno;
    }
    writes.add("+" + name);
    held.put(subject, bytes(to, valueBytes()));
    return 0;
  }

  @Override
  public int insert(DirectBuffer inserted, DirectBuffer to) {
    return held.containsKey(keyOf(inserted)) ? -Errno.EEXIST : update(inserted, to);
  }

  @Override
  public int delete(DirectBuffer deleted) {
    if (held.remove(keyOf(deleted)) == null) {
      return -Errno.ENOENT;
    }
    writes.add("-" + name);
    return 0;
  }

  @Override
  public int beginWalk() {
    walk = new ArrayList<>(held.entrySet()).iterator();
    return 0;
  }

  @Override
  public boolean nextBatch() {
    return walk.hasNext();
  }

  @Override
  public boolean nextOfBatch() {
    if (!walk.hasNext()) {
      return false;
    }
    final Map.Entry<ByteBuffer, byte[]> entry = walk.next();
    key.putBytes(0, entry.getKey().array());
    value.putBytes(0, entry.getValue());
    return true;
  }

  @Override
  public MutableDirectBuffer key() {
    return key;
  }

  @Override
  public MutableDirectBuffer value() {
    return value;
  }

  @Override
  public int walkError() {
    return 0;
  }

  @Override
  public void endWalk() {}

  @Override
  public void forEach(BiConsumer<MutableDirectBuffer, MutableDirectBuffer> visitor) {
    throw new UnsupportedOperationException();
  }

  @Override
  public String text(MutableDirectBuffer named) {
    return HexFormat.of().formatHex(bytes(named, keyBytes()));
  }

  @Override
  public RuntimeException failure(String operation, String subject, int result) {
    return new BpfMapException("map %s: %s (%s)".formatted(name, operation, subject), -result);
  }
}
