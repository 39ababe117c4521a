package agent.maps.kernel;

import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.LibBpf;
import agent.bindings.MapCalls;
import agent.bindings.MapDescription;
import agent.bindings.MapSpec;
import agent.bindings.MapType;
import agent.bindings.ObjectDescriptions;
import agent.maps.format.MapFormat;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A map of the kernel and the descriptor through which this process holds it. One thread writes;
 * others read between {@link #retain()} and {@link #release()}, which keep the descriptor from
 * being closed, and so from being another file's, under them.
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
  private volatile boolean retriesRefused;
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

  /** The slots that hold a map, as far as this object met them; null for maps of other types. */
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
   * Takes over a descriptor, which {@link #close()} will close.
   *
   * @param pinPath where the map is pinned, or empty
   * @throws agent.bindings.BindingsException where the descriptor is not a map's
   */
  public static BpfMap adopt(int fd, MapDefinition definition, String pinPath) {
    return new BpfMap(fd, definition, ObjectDescriptions.map(fd), pinPath);
  }

  /**
   * Creates a map of the definition's shape. For a map of maps, {@code innerMapFd} gives the shape
   * of the inner ones; else it is 0.
   *
   * @throws BpfMapException where the kernel refuses
   */
  public static BpfMap create(MapDefinition definition, String pinPath, int innerMapFd) {
    final int fd =
        MapCalls.create(
            new MapSpec(
                definition.type(),
                definition.name(),
                definition.keySize(),
                definition.valueSize(),
                definition.maxEntries(),
                definition.flags(),
                innerMapFd));
    if (fd < 0) {
      throw new BpfMapException(
          "map " + definition.name() + ": create: " + Errno.name(fd) + ", " + definition.shape(),
          -fd);
    }
    return adopt(fd, definition, pinPath);
  }

  /** The full name; the kernel keeps only its first 15 characters. */
  public String name() {
    return definition.name();
  }

  /** Different for each map that this process ever opened. */
  public int serial() {
    return serial;
  }

  public int fd() {
    return fd;
  }

  public MapDefinition definition() {
    return definition;
  }

  /** What the kernel says of the map, read when it was opened. */
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

  /** Bytes that a lookup copies: the value, or one value for each possible CPU. */
  public int copiedValueSize() {
    return copiedValueSize;
  }

  /** Who hears of writes from now on. */
  public void writeListener(MapWriteListener listener) {
    writeListener = listener;
  }

  MapWriteListener writeListener() {
    return writeListener;
  }

  /**
   * Whether writes that the kernel refused may be tried again by a reconciler. Off at first: it is
   * only right where the writer deletes what it no longer wants, and calls {@link #forgetRefused()}
   * before it compares what it wants with what the kernel holds.
   */
  public void retriesRefused(boolean retries) {
    retriesRefused = retries;
  }

  public boolean retriesRefused() {
    return retriesRefused;
  }

  /** The writer starts over from what the kernel holds: what was refused is not wanted any more. */
  public void forgetRefused() {
    writeListener.onStartOver(this);
  }

  /** Copies the value of the entry's key into the entry; 0 or a negative errno. */
  public int lookup(EntryBuffer entry) {
    final int result = MapCalls.lookup(fd, entry.keySegment(), entry.valueSegment());
    if (slots != null) {
      slots.onLookup(entry.key().getInt(0), result);
    }
    return result;
  }

  /**
   * Writes the entry, and tells the listener.
   *
   * @param flags of {@link agent.bindings.MapFlag}
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

  /** Deletes the entry's key, and tells the listener; 0 or a negative errno. */
  public int delete(EntryBuffer entry) {
    final int result = MapCalls.delete(fd, entry.keySegment());
    if (slots != null) {
      slots.onDelete(entry.key().getInt(0), result);
    }
    writeListener.onDelete(this, entry.key(), result);
    return result;
  }

  /**
   * What failed, in the form {@code map policy_00012: update (ingress identity 2031 TCP/443):
   * ENOSPC, 16384 of 16384 entries}. Allocates and, for a full map, counts: for the failure path.
   *
   * @param result the negative errno
   */
  public BpfMapException failure(String operation, EntryBuffer entry, int result) {
    final StringBuilder subject = new StringBuilder();
    format().appendKey(subject, entry.key(), 0, null, 0);
    return failure(operation, subject, result);
  }

  /** As {@link #failure(String, EntryBuffer, int)}, with the subject in the caller's words. */
  public BpfMapException failure(String operation, CharSequence subject, int result) {
    final int errno = Math.abs(result);
    final StringBuilder message = new StringBuilder("map ").append(name()).append(": ");
    message.append(operation).append(" (").append(subject).append("): ").append(Errno.name(errno));
    if (errno == Errno.ENOSPC || errno == Errno.E2BIG) {
      message.append(", ").append(countEntries()).append(" of ").append(maxEntries());
      message.append(" entries");
    }
    return new BpfMapException(message.toString(), errno);
  }

  /** Walks the whole map to count what it holds, unused array slots aside; allocates. */
  public long countEntries() {
    if (slots != null) {
      return slots.count();
    }
    final MapCursor cursor = new MapCursor();
    long count = 0;
    if (cursor.open(this) == 0) {
      try (cursor) {
        while (cursor.next()) {
          count++;
        }
      }
    }
    return count;
  }

  /** Keeps the descriptor open; false where it is closed already, and then nothing may be done. */
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

  /** Ends what {@link #retain()} began. */
  public void release() {
    if (references.decrementAndGet() == 0) {
      Descriptors.close(fd);
    }
  }

  /** Gives the descriptor up: closed now, or when the last reader is done. Pins stay. */
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
