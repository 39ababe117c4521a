package agent.maps.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.Errno;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Iterates over the entries of any map that has keys: in batches if the kernel supports them for
 * the map's type, otherwise key by key. A cursor can be reused for other maps; a second walk over a
 * map of the same shape allocates nothing. The walk skips unused array slots; in an array of maps
 * it reads the slots that {@link BpfMap} has seen in use. It sums per-CPU values as 64-bit words.
 * If the map changes during the walk, an entry may appear twice or not at all; if changes restart
 * the walk repeatedly, it ends with EAGAIN. Not thread-safe.
 */
public final class MapCursor implements AutoCloseable {
  /** The calls by which a cursor reads a map; their results are those of {@link MapCalls}. */
  interface Reads {
    /** The kernel's. */
    Reads KERNEL =
        new Reads() {
          @Override
          public int batch(
              int fd,
              MemorySegment in,
              MemorySegment out,
              MemorySegment keys,
              MemorySegment values,
              MemorySegment count) {
            return MapCalls.lookupBatch(fd, in, out, keys, values, count);
          }

          @Override
          public int nextKey(int fd, MemorySegment key, MemorySegment next) {
            return MapCalls.nextKey(fd, key, next);
          }

          @Override
          public int lookup(int fd, MemorySegment key, MemorySegment value) {
            return MapCalls.lookup(fd, key, value);
          }
        };

    /** Reads many entries. */
    int batch(
        int fd,
        MemorySegment in,
        MemorySegment out,
        MemorySegment keys,
        MemorySegment values,
        MemorySegment count);

    /** Finds the key after a key, or the first one. */
    int nextKey(int fd, MemorySegment key, MemorySegment next);

    /** Reads one value. */
    int lookup(int fd, MemorySegment key, MemorySegment value);
  }

  private static final int DEFAULT_BATCH = 1024;
  private static final int MAX_BATCH = 1 << 20;
  private static final int MIN_TOKEN = 8;
  private static final int ALIGNMENT = 8;

  /** Batches in a row that a deleted key may interrupt before one entry is read. */
  private static final int MOST_INTERRUPTIONS = 64;

  private final int initialBatch;
  private final Reads reads;
  private final UnsafeBuffer key = new UnsafeBuffer(0, 0);
  private final UnsafeBuffer value = new UnsafeBuffer(0, 0);
  private final UnsafeBuffer sum = new UnsafeBuffer(new byte[0]);
  private MemorySegment keys = MemorySegment.NULL;
  private MemorySegment values = MemorySegment.NULL;
  private MemorySegment token = MemorySegment.NULL;
  private MemorySegment count = MemorySegment.NULL;
  private BpfMap map;
  private int capacity;
  private int loaded;
  private int index;
  private long visited;
  private long visitLimit;
  private int[] slots;
  private int nextSlot;
  private boolean batches;
  private boolean started;
  private boolean exhausted;
  private int error;

  public MapCursor() {
    this(DEFAULT_BATCH);
  }

  /**
   * Creates a cursor that reads this many entries per system call, or more if a hash bucket
   * contains more.
   */
  public MapCursor(int batch) {
    this(batch, Reads.KERNEL);
  }

  MapCursor(int batch, Reads reads) {
    initialBatch = batch;
    this.reads = reads;
  }

  /**
   * Starts a walk and keeps the map's descriptor open until {@link #close()}.
   *
   * @return 0; -ENODEV if the map is closed; -EOPNOTSUPP if its type has no entries to walk
   */
  public int open(BpfMap opened) {
    close();
    if (!iterable(opened.description().type())) {
      return -Errno.EOPNOTSUPP;
    }
    if (!opened.retain()) {
      return -Errno.ENODEV;
    }
    map = opened;
    capacity = Math.max(1, Math.min(initialBatch, opened.maxEntries()));
    ensureRoom();
    loaded = 0;
    index = -1;
    visited = 0;
    visitLimit = (long) opened.maxEntries() + capacity;
    slots = opened.slots() == null ? null : opened.slots().toArray();
    nextSlot = 0;
    batches = slots == null;
    started = false;
    exhausted = false;
    error = 0;
    return 0;
  }

  private static boolean iterable(int type) {
    return switch (type) {
      case MapType.HASH,
          MapType.ARRAY,
          MapType.PERCPU_HASH,
          MapType.PERCPU_ARRAY,
          MapType.LRU_HASH,
          MapType.LRU_PERCPU_HASH,
          MapType.LPM_TRIE,
          MapType.ARRAY_OF_MAPS,
          MapType.HASH_OF_MAPS ->
          true;
      default -> false;
    };
  }

  private void ensureRoom() {
    final long keyBytes = (long) map.keySize() * capacity;
    final long valueBytes = (long) map.copiedValueSize() * capacity;
    if (keys.byteSize() < keyBytes) {
      keys = Arena.ofAuto().allocate(keyBytes, ALIGNMENT);
    }
    if (values.byteSize() < valueBytes) {
      values = Arena.ofAuto().allocate(valueBytes, ALIGNMENT);
    }
    if (token.byteSize() < Math.max(map.keySize(), MIN_TOKEN)) {
      token = Arena.ofAuto().allocate(Math.max(map.keySize(), MIN_TOKEN), ALIGNMENT);
    }
    if (count.byteSize() == 0) {
      count = Arena.ofAuto().allocate(JAVA_INT);
    }
    if (map.perCpu() && sum.capacity() < map.valueSize()) {
      sum.wrap(new byte[map.valueSize()]);
    }
  }

  /**
   * Advances to the next entry; returns false after the last one and after an error, see {@link
   * #error()}.
   */
  public boolean next() {
    while (visited < visitLimit) {
      if (++index >= loaded && !load()) {
        return false;
      }
      visited++;
      point();
      if (map.format().present(value, 0)) {
        return true;
      }
    }
    if (!exhausted || index + 1 < loaded) {
      fail(-Errno.EAGAIN); // changes of the map restarted the walk repeatedly
    }
    return false;
  }

  /**
   * Reads the next batch of entries with one system call, or one entry where the kernel does not
   * support batches for the map's type; for walks that are spread over many calls. To be used with
   * {@link #nextOfBatch()} instead of {@link #next()}.
   *
   * @return false after the last batch and after an error, see {@link #error()}
   */
  public boolean nextBatch() {
    if (visited >= visitLimit) {
      if (!exhausted) {
        fail(-Errno.EAGAIN);
      }
      return false;
    }
    if (!load()) {
      return false;
    }
    index = -1;
    return true;
  }

  /** Advances within the batch that was read; returns false after its last entry. */
  public boolean nextOfBatch() {
    while (index + 1 < loaded) {
      index++;
      visited++;
      point();
      if (map.format().present(value, 0)) {
        return true;
      }
    }
    return false;
  }

  private void point() {
    key.wrap(keys.address() + (long) index * map.keySize(), map.keySize());
    final long address = values.address() + (long) index * map.copiedValueSize();
    if (!map.perCpu()) {
      value.wrap(address, map.valueSize());
      return;
    }
    value.wrap(address, map.copiedValueSize());
    final int stride = (map.valueSize() + ALIGNMENT - 1) & -ALIGNMENT;
    for (int word = 0; word + Long.BYTES <= map.valueSize(); word += Long.BYTES) {
      long total = 0;
      for (int part = word; part < map.copiedValueSize(); part += stride) {
        total += value.getLong(part);
      }
      sum.putLong(word, total);
    }
    value.wrap(sum, 0, map.valueSize());
  }

  private boolean load() {
    if (exhausted) {
      return false;
    }
    index = 0;
    loaded = 0;
    if (batches) {
      loadBatch();
    }
    if (slots != null) {
      loadSlot();
    } else if (!batches) {
      loadOne();
    }
    return loaded > 0;
  }

  /** Only ENOENT is the end of the map; every other error ends the walk before it. */
  private void loadBatch() {
    int interruptions = 0;
    while (true) {
      count.set(JAVA_INT, 0, capacity);
      final MemorySegment in = started ? token : MemorySegment.NULL;
      final int result = reads.batch(map.fd(), in, token, keys, values, count);
      if (result == -Errno.EINTR && ++interruptions < MOST_INTERRUPTIONS) {
        loaded = count.get(JAVA_INT, 0); // a key was deleted under the walk
        started |= loaded > 0;
        if (loaded > 0) {
          return;
        }
        continue;
      }
      if (result == 0 || result == -Errno.ENOENT) {
        loaded = count.get(JAVA_INT, 0);
        started = true;
        exhausted = result != 0;
        if (result == 0 && loaded == 0) {
          fail(-Errno.EAGAIN);
        }
        return;
      }
      if (result == -Errno.ENOSPC && capacity < MAX_BATCH) {
        capacity *= 2;
        ensureRoom();
      } else if (!started && unsupported(result)) {
        batches = false;
        return;
      } else {
        fail(result);
        return;
      }
    }
  }

  private static boolean unsupported(int result) {
    return result == -Errno.ENOTSUPP || result == -Errno.EOPNOTSUPP || result == -Errno.EINVAL;
  }

  private void loadSlot() {
    while (nextSlot < slots.length) {
      keys.set(JAVA_INT, 0, slots[nextSlot++]);
      final int result = reads.lookup(map.fd(), keys, values);
      if (result == 0) {
        loaded = 1;
        return;
      }
      if (result != -Errno.ENOENT) {
        exhausted = true;
        fail(result);
        return;
      }
    }
    exhausted = true;
  }

  private void loadOne() {
    long attempts = visitLimit;
    while (attempts-- > 0) {
      final MemorySegment before = started ? token : MemorySegment.NULL;
      int result = reads.nextKey(map.fd(), before, keys);
      if (result == 0) {
        started = true;
        MemorySegment.copy(keys, 0, token, 0, map.keySize());
        result = reads.lookup(map.fd(), keys, values);
        if (result == 0) {
          loaded = 1;
          return;
        }
        if (result == -Errno.ENOENT) {
          continue;
        }
      }
      exhausted = true;
      if (result != -Errno.ENOENT) {
        fail(result);
      }
      return;
    }
    fail(-Errno.EAGAIN); // each key was deleted before its value was read
  }

  private void fail(int result) {
    error = result;
    exhausted = true;
    loaded = 0;
  }

  /** Returns the current key; valid until the next step. */
  public UnsafeBuffer key() {
    return key;
  }

  /** Returns the current value; valid until the next step. */
  public UnsafeBuffer value() {
    return value;
  }

  /** Returns the negative errno that ended the walk early, or 0. */
  public int error() {
    return error;
  }

  /** Ends the walk and releases the map; the memory is kept for the next walk. */
  @Override
  public void close() {
    if (map != null) {
      final BpfMap walked = map;
      map = null;
      exhausted = true;
      loaded = 0;
      walked.release();
    }
  }
}
