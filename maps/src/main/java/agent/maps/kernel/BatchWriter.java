package agent.maps.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.Errno;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Collects entries and writes or deletes them with one system call, or one by one if the kernel
 * does not support batches for the map's type. The caller encodes an entry at {@link #keyOffset()}
 * and {@link #valueOffset()} and adds it with {@link #add()}. Not thread-safe.
 */
public final class BatchWriter {
  private static final int ALIGNMENT = 8;

  private final BpfMap map;
  private final int capacity;
  private final MemorySegment keySegment;
  private final MemorySegment valueSegment;
  private final MemorySegment oneKey;
  private final MemorySegment oneValue;
  private final MemorySegment count;
  private final UnsafeBuffer keys;
  private final UnsafeBuffer values;
  private final UnsafeBuffer key = new UnsafeBuffer(0, 0);
  private final UnsafeBuffer value = new UnsafeBuffer(0, 0);
  private int size;
  private int done;
  private boolean batches = true;

  public BatchWriter(BpfMap map, int capacity) {
    this.map = map;
    this.capacity = capacity;
    final Arena arena = Arena.ofAuto();
    keySegment = arena.allocate((long) map.keySize() * capacity, ALIGNMENT);
    valueSegment = arena.allocate((long) map.copiedValueSize() * capacity, ALIGNMENT);
    oneKey = arena.allocate(map.keySize(), ALIGNMENT);
    oneValue = arena.allocate(map.copiedValueSize(), ALIGNMENT);
    count = arena.allocate(JAVA_INT);
    keys = new UnsafeBuffer(keySegment.address(), (int) keySegment.byteSize());
    values = new UnsafeBuffer(valueSegment.address(), (int) valueSegment.byteSize());
  }

  /** Returns whether a map can be written in batches: nothing counts its slots in use. */
  public static boolean takes(BpfMap map) {
    return map.slots() == null;
  }

  public UnsafeBuffer keys() {
    return keys;
  }

  public UnsafeBuffer values() {
    return values;
  }

  /** Returns the offset of the next key in {@link #keys()}. */
  public int keyOffset() {
    return size * map.keySize();
  }

  /** Returns the offset of the next value in {@link #values()}. */
  public int valueOffset() {
    return size * map.copiedValueSize();
  }

  /** Adds the entry that the caller has encoded; returns true if the buffer is now full. */
  public boolean add() {
    return ++size == capacity;
  }

  /**
   * Creates the exception of the last write or delete, which names the failed entry. To be called
   * before the next entry is encoded.
   */
  public BpfMapException failure(String operation, int result) {
    final StringBuilder subject = new StringBuilder();
    map.format().appendKey(subject, keys, done * map.keySize(), null, 0);
    return map.failure(operation, subject, result);
  }

  /**
   * Writes all added entries in order until one fails, and discards them.
   *
   * @return 0 or the negative errno of the entry that {@link #failure} names
   */
  public int writeAll() {
    return runInBulk(true);
  }

  /**
   * Writes all added entries in order until one fails, discards them, and notifies the listener of
   * each one that was written.
   *
   * @return how many were written
   */
  public int writeEach() {
    run(true);
    for (int i = 0; i < done; i++) {
      key.wrap(keys, i * map.keySize(), map.keySize());
      value.wrap(values, i * map.copiedValueSize(), map.copiedValueSize());
      map.writeListener().onUpdate(map, key, value, 0);
    }
    return done;
  }

  /**
   * Deletes all added keys in order until one fails, and discards them. Missing keys are skipped.
   *
   * @return 0 or the negative errno of the entry that {@link #failure} names
   */
  public int deleteAll() {
    return runInBulk(false);
  }

  private int runInBulk(boolean write) {
    final int added = size;
    final int result = run(write);
    if (added > 0) {
      map.writeListener().onBulkWrite(map);
    }
    return result;
  }

  private int run(boolean write) {
    done = 0;
    int result = batches && size > 0 ? batch(write) : 0;
    final boolean fallingBack = batches && done == 0 && unsupported(result);
    if (fallingBack) {
      result = 0;
    }
    while (done < size && (result == 0 || result == -Errno.ENOENT && !write)) {
      result = one(write);
      if (result == 0 || result == -Errno.ENOENT && !write) {
        done++;
      }
    }
    if (fallingBack && done > 0) {
      batches = false; // the kernel rejected the batch call, not its first entry
    }
    size = 0;
    return result == -Errno.ENOENT && !write ? 0 : result;
  }

  private int batch(boolean write) {
    count.set(JAVA_INT, 0, size);
    final int result =
        write
            ? MapCalls.updateBatch(map.fd(), keySegment, valueSegment, count)
            : MapCalls.deleteBatch(map.fd(), keySegment, count);
    final int processed = count.get(JAVA_INT, 0);
    if (result == 0 || processed < size) { // a call that fails early leaves count unchanged
      done = processed;
    }
    return result;
  }

  private int one(boolean write) {
    MemorySegment.copy(keySegment, (long) done * map.keySize(), oneKey, 0, map.keySize());
    final int result;
    if (write) {
      final int length = map.copiedValueSize();
      MemorySegment.copy(valueSegment, (long) done * length, oneValue, 0, length);
      result = MapCalls.update(map.fd(), oneKey, oneValue, MapFlag.ANY);
    } else {
      result = MapCalls.delete(map.fd(), oneKey);
    }
    return result;
  }

  private static boolean unsupported(int result) {
    return result == -Errno.ENOTSUPP || result == -Errno.EOPNOTSUPP || result == -Errno.EINVAL;
  }
}
