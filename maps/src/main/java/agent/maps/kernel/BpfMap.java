package agent.maps.kernel;

import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.bpf.LibBpf;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapType;
import agent.maps.format.MapFormat;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A kernel map and the descriptor through which this process accesses it. One thread writes. Other
 * threads read between {@link #retain()} and {@link #release()}, which prevent that the descriptor
 * is closed and its number reused during the read.
 */
public final class BpfMap implements AutoCloseable {
  private static final int PER_CPU_ALIGNMENT = 8;
  private static final AtomicInteger NEXT_SERIAL = new AtomicInteger(1);

  private final int serial = NEXT_SERIAL.getAndIncrement();
  private final AtomicInteger references = new AtomicInteger(1);
  private final int fd;
  private final MapDefinition definition;
  private final MapDescription description;
  private final String pinPath;
  private final int copiedValueSize;
  private volatile MapWriteListener writeListener = MapWriteListener.NONE;
  private final SlotsInUse slots;
  private boolean ownerClosed;

  private BpfMap(int fd, MapDefinition definition, MapDescription description, String pinPath) {
    this.fd = fd;
    this.definition = definition;
    this.description = description;
    this.pinPath = pinPath;
    copiedValueSize = copiedValueSize(description);
    slots = description.type() == MapType.ARRAY_OF_MAPS ? new SlotsInUse() : null;
  }

  /**
   * Returns the occupied slots of an array of maps that this object has seen, or null for other
   * types.
   */
  SlotsInUse slots() {
    return slots;
  }

  private static int copiedValueSize(MapDescription description) {
    final int size = description.valueSize();
    if (!MapType.isPerCpu(description.type())) {
      return size;
    }
    final int stride = (size + PER_CPU_ALIGNMENT - 1) & -PER_CPU_ALIGNMENT;
    return stride * LibBpf.possibleCpus();
  }

  /**
   * Creates a handle that owns the descriptor; {@link #close()} closes it.
   *
   * @param pinPath path of the map's pin, or empty
   * @throws agent.bindings.BindingsException if the descriptor does not refer to a map
   */
  public static BpfMap adopt(int fd, MapDefinition definition, String pinPath) {
    return new BpfMap(fd, definition, MapDescription.of(fd), pinPath);
  }

  /**
   * Creates a kernel map with the definition's shape.
   *
   * @throws BpfMapException if the kernel rejects the map
   */
  public static BpfMap create(MapDefinition definition, String pinPath) {
    final int fd = MapCalls.create(definition.spec());
    if (fd < 0) {
      throw new BpfMapException(
          "map %s: create: %s, %s"
              .formatted(definition.name(), Errno.name(fd), definition.spec().shape()),
          -fd);
    }
    return adopt(fd, definition, pinPath);
  }

  /**
   * Opens a map that has no pin.
   *
   * @param id the kernel's id of the map
   * @throws BpfMapException if no map has the id
   */
  public static BpfMap openById(int id, MapDefinition definition) {
    return openById(id, definition, "");
  }

  /**
   * Opens a map that is or shall be pinned.
   *
   * @param id the kernel's id of the map
   * @param pinPath path of the map's pin
   * @throws BpfMapException if no map has the id
   */
  public static BpfMap openById(int id, MapDefinition definition, String pinPath) {
    final int fd = MapCalls.openById(id);
    if (fd < 0) {
      throw new BpfMapException(
          "map %s: open id %d: %s".formatted(definition.name(), id, Errno.name(fd)), -fd);
    }
    return adopt(fd, definition, pinPath);
  }

  /** Returns the full name; the kernel stores only its first 15 characters. */
  public String name() {
    return definition.name();
  }

  /** Returns a number that is unique among all maps that this process has opened. */
  public int serial() {
    return serial;
  }

  public int fd() {
    return fd;
  }

  public MapDefinition definition() {
    return definition;
  }

  /** Returns the kernel's description of the map, read when the map was opened. */
  public MapDescription description() {
    return description;
  }

  public String pinPath() {
    return pinPath;
  }

  public MapFormat format() {
    return definition.format();
  }

  public int keySize() {
    return description.keySize();
  }

  public int valueSize() {
    return description.valueSize();
  }

  public int maxEntries() {
    return description.maxEntries();
  }

  public boolean perCpu() {
    return MapType.isPerCpu(description.type());
  }

  /** Returns the number of bytes that a lookup copies: one value, or one value per possible CPU. */
  public int copiedValueSize() {
    return copiedValueSize;
  }

  /** Sets the listener that is called for each later write. */
  public void writeListener(MapWriteListener listener) {
    writeListener = listener;
  }

  MapWriteListener writeListener() {
    return writeListener;
  }

  /** Reads the value of the entry's key into the entry; returns 0 or a negative errno. */
  public int lookup(EntryBuffer entry) {
    final int result = MapCalls.lookup(fd, entry.keySegment(), entry.valueSegment());
    if (slots != null) {
      slots.onLookup(entry.key().getInt(0), result);
    }
    return result;
  }

  /**
   * Writes the entry and notifies the listener.
   *
   * @param flags a constant of {@link agent.bindings.bpf.MapFlag}
   * @return 0 or a negative errno
   */
  public int update(EntryBuffer entry, long flags) {
    final int result = MapCalls.update(fd, entry.keySegment(), entry.valueSegment(), flags);
    if (slots != null) {
      slots.onUpdate(entry.key().getInt(0), result);
    }
    writeListener.onUpdate(this, entry.key(), entry.value(), result);
    return result;
  }

  /**
   * Inserts an entry into a map that programs write, too, if it has no such key; no listener learns
   * of it, and a refused write is not retried.
   *
   * @return 0 or the negative errno: -EEXIST where the map has the key
   */
  public int insert(EntryBuffer entry) {
    return MapCalls.update(fd, entry.keySegment(), entry.valueSegment(), MapFlag.NO_EXIST);
  }

  /** Deletes the entry's key and notifies the listener; returns 0 or a negative errno. */
  public int delete(EntryBuffer entry) {
    final int result = MapCalls.delete(fd, entry.keySegment());
    if (slots != null) {
      slots.onDelete(entry.key().getInt(0), result);
    }
    writeListener.onDelete(this, entry.key(), result);
    return result;
  }

  /**
   * Creates the exception of a failed operation, with a message such as {@code map policy_00012:
   * update (ingress identity 2031 TCP/443): ENOSPC, 16384 of 16384 entries}. Allocates, and counts
   * the entries of a full map; for the failure path only.
   *
   * @param result the negative errno
   */
  public BpfMapException failure(String operation, EntryBuffer entry, int result) {
    final StringBuilder subject = new StringBuilder();
    format().appendKey(subject, entry.key(), 0, null, 0);
    return failure(operation, subject, result);
  }

  /**
   * Creates the exception as {@link #failure(String, EntryBuffer, int)} does, with a subject that
   * the caller provides.
   */
  public BpfMapException failure(String operation, CharSequence subject, int result) {
    final int errno = Math.abs(result);
    final StringBuilder message = new StringBuilder("map ").append(name()).append(": ");
    message.append(operation).append(" (").append(subject).append("): ").append(Errno.name(errno));
    if (errno == Errno.ENOSPC || errno == Errno.E2BIG) {
      message.append(", ").append(count()).append(" of ").append(maxEntries());
      message.append(" entries");
    }
    return new BpfMapException(message.toString(), errno);
  }

  /**
   * Walks the whole map and counts its entries, without unused array slots; allocates.
   *
   * @return the number of entries; 0 if the map is closed or its type has no entries
   * @throws BpfMapException if the walk ended before the last entry
   */
  public long countEntries() {
    final long count = count();
    if (count < 0) {
      throw failure("walk", "all entries", (int) count);
    }
    return count;
  }

  /**
   * Passes each entry of the whole map to a visitor, without unused array slots; allocates.
   *
   * @param visitor reads the key and the value of the cursor
   * @throws BpfMapException if the map cannot be walked, or the walk ended before the last entry
   */
  public void forEachEntry(Consumer<MapCursor> visitor) {
    try (MapCursor cursor = new MapCursor()) {
      final int opened = cursor.open(this);
      if (opened < 0) {
        throw failure("walk", "all", opened);
      }
      while (cursor.next()) {
        visitor.accept(cursor);
      }
      if (cursor.error() < 0) {
        throw failure("walk", "all", cursor.error());
      }
    }
  }

  private long count() {
    if (slots != null) {
      return slots.count();
    }
    long count = 0;
    try (MapCursor cursor = new MapCursor()) {
      if (cursor.open(this) != 0) {
        return 0;
      }
      while (cursor.next()) {
        count++;
      }
      return cursor.error() < 0 ? cursor.error() : count;
    }
  }

  /**
   * Keeps the descriptor open until {@link #release()}. Returns false if it is already closed; then
   * the caller must not use the map.
   */
  public boolean retain() {
    int current;
    do {
      current = references.get();
      if (current == 0) {
        return false;
      }
    } while (!references.compareAndSet(current, current + 1));
    return true;
  }

  /** Ends the use that {@link #retain()} began. */
  public void release() {
    if (references.decrementAndGet() == 0) {
      Descriptors.close(fd);
    }
  }

  /** Closes the descriptor now, or when the last reader releases it. Pins remain. */
  @Override
  public synchronized void close() {
    if (!ownerClosed) {
      ownerClosed = true;
      release();
    }
  }

  @Override
  public String toString() {
    return "map " + name() + " (fd " + fd + ")";
  }
}
