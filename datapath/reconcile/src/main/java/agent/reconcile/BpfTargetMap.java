package agent.reconcile;

import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapType;
import agent.maps.kernel.BatchWriter;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCursor;
import java.util.function.BiConsumer;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;

/**
 * A map of the kernel with keys, such as a hash or a trie, or an array, in which an entry of zeros
 * stands for none.
 */
public final class BpfTargetMap implements TargetMap {
  /** A batch of a trie of 16,000 prefixes takes about 50 microseconds. */
  private static final int BATCH = 64;

  private static final int WRITTEN_TOGETHER = 32;
  private static final int SLOTS_PER_ENTRY = 16;

  private final BpfMap map;
  private final boolean isArray;
  private final EntryBuffer entry;
  private final int batch;
  private final MapCursor cursor;
  private BatchWriter staged;

  /** Creates access to an open map. */
  public BpfTargetMap(BpfMap map) {
    this(map, BATCH);
  }

  /**
   * Creates access to an open map.
   *
   * @param batch the number of entries, or slots of an array, that a walk reads with one call
   */
  public BpfTargetMap(BpfMap map, int batch) {
    this.map = map;
    this.batch = batch;
    cursor = new MapCursor(batch);
    isArray = map.definition().spec().type() == MapType.ARRAY;
    entry = new EntryBuffer(map);
  }

  @Override
  public String name() {
    return map.name();
  }

  @Override
  public int keyBytes() {
    return map.keySize();
  }

  @Override
  public int valueBytes() {
    return map.valueSize();
  }

  @Override
  public int maxEntries() {
    return map.maxEntries();
  }

  @Override
  public int update(DirectBuffer key, DirectBuffer value) {
    return write(key, value, MapFlag.ANY);
  }

  @Override
  public int insert(DirectBuffer key, DirectBuffer value) {
    return write(key, value, isArray ? MapFlag.ANY : MapFlag.NO_EXIST);
  }

  @Override
  public int batch() {
    return BatchWriter.takes(map) ? WRITTEN_TOGETHER : 1;
  }

  @Override
  public void stage(DirectBuffer key, DirectBuffer value) {
    if (staged == null) {
      staged = new BatchWriter(map, WRITTEN_TOGETHER);
    }
    staged.keys().putBytes(staged.keyOffset(), key, 0, map.keySize());
    staged.values().putBytes(staged.valueOffset(), value, 0, map.valueSize());
    staged.add();
  }

  @Override
  public int updateStaged() {
    return staged.writeEach();
  }

  private int write(DirectBuffer key, DirectBuffer value, long flags) {
    entry.key().putBytes(0, key, 0, map.keySize());
    entry.value().putBytes(0, value, 0, map.valueSize());
    return map.update(entry, flags);
  }

  @Override
  public int delete(DirectBuffer key) {
    entry.key().putBytes(0, key, 0, map.keySize());
    if (isArray) {
      entry.value().setMemory(0, map.valueSize(), (byte) 0);
      return map.update(entry, MapFlag.ANY);
    }
    return map.delete(entry);
  }

  @Override
  public int beginWalk() {
    return cursor.open(map);
  }

  @Override
  public boolean nextBatch() {
    return cursor.nextBatch();
  }

  @Override
  public int batchCost() {
    return isArray ? Math.max(1, Math.min(batch, map.maxEntries()) / SLOTS_PER_ENTRY) : 1;
  }

  @Override
  public boolean nextOfBatch() {
    return cursor.nextOfBatch();
  }

  @Override
  public MutableDirectBuffer key() {
    return cursor.key();
  }

  @Override
  public MutableDirectBuffer value() {
    return cursor.value();
  }

  @Override
  public int walkError() {
    return cursor.error();
  }

  @Override
  public void endWalk() {
    cursor.close();
  }

  @Override
  public void forEach(BiConsumer<MutableDirectBuffer, MutableDirectBuffer> visitor) {
    map.forEachEntry(read -> visitor.accept(read.key(), read.value()));
  }

  @Override
  public String text(MutableDirectBuffer key) {
    final StringBuilder text = new StringBuilder();
    map.format().appendKey(text, key, 0, null, 0);
    return text.toString();
  }

  @Override
  public RuntimeException failure(String operation, String subject, int result) {
    return map.failure(operation, subject, result);
  }
}
