package agent.maps.mirror;

import agent.bindings.Errno;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapWriteListener;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.DirectBuffer;

/**
 * One registered map and the state of its mirror. The conductor's thread reports writes, the thread
 * {@code dp-mirror} copies entries, and readers ask whether the mirror is current. It is current
 * while every write since the copy went through the ring and the ring is drained.
 */
final class MirroredMap implements MapWriteListener {
  private static final long NO_COPY = -1;

  private final BpfMap map;
  private final WriteRing ring;
  private final AtomicLong changes = new AtomicLong(); // writes that are not in the ring
  private final AtomicInteger readers = new AtomicInteger();
  private final AtomicBoolean requested = new AtomicBoolean();
  private volatile boolean isNoted;
  private volatile boolean isRemoved;
  private volatile long copiedChanges = NO_COPY;
  private volatile long entries;
  private volatile long notBeforeNs;

  MirroredMap(BpfMap map, WriteRing ring, long nowNs) {
    this.map = map;
    notBeforeNs = nowNs;
    this.ring = ring;
  }

  BpfMap map() {
    return map;
  }

  @Override
  public void onUpdate(BpfMap written, DirectBuffer key, DirectBuffer value, int result) {
    onWrite(key, value, result);
  }

  @Override
  public void onDelete(BpfMap written, DirectBuffer key, int result) {
    onWrite(key, null, result == -Errno.ENOENT ? 0 : result);
  }

  private void onWrite(DirectBuffer key, DirectBuffer value, int result) {
    if (result >= 0 && (!isNoted || !ring.note(map.serial(), key, value))) {
      changes.incrementAndGet();
    }
  }

  @Override
  public void onBulkWrite(BpfMap written) {
    invalidate();
  }

  /** Invalidates the copy, which may differ from the kernel; it is not read until it is rebuilt. */
  void invalidate() {
    changes.incrementAndGet();
  }

  /** Returns the number of writes that are not in the ring. */
  long changes() {
    return changes.get();
  }

  /**
   * Begins to read the copy, for readers. Returns false if it is not current; otherwise the reader
   * calls {@link #endReading()}.
   */
  boolean beginReading() {
    readers.incrementAndGet();
    if (isCurrent()) {
      return true;
    }
    readers.decrementAndGet();
    return false;
  }

  void endReading() {
    readers.decrementAndGet();
  }

  boolean isCurrent() {
    return !isStale() && ring.isDrained(ring.end());
  }

  /** Returns whether the copy must be rebuilt. */
  private boolean isStale() {
    return copiedChanges != changes.get();
  }

  long entries() {
    return entries;
  }

  /**
   * Returns whether the calling reader must request a copy from the thread {@code dp-mirror}; true
   * for one caller only.
   */
  boolean wantsCopy(long nowNs) {
    return isStale() && nowNs - notBeforeNs >= 0 && requested.compareAndSet(false, true);
  }

  /** Marks the map as removed from the registry; its copy is cleared after the last reader. */
  void remove() {
    isRemoved = true;
  }

  /**
   * Returns whether the caller must request that {@code dp-mirror} clears the copy; true for one
   * caller only.
   */
  boolean wantsClearing() {
    return isRemoved && readers.get() == 0 && requested.compareAndSet(false, true);
  }

  boolean isRemoved() {
    return isRemoved;
  }

  /**
   * Hides the copy and records writes in the ring, on the thread {@code dp-mirror}; current readers
   * continue.
   *
   * @return the number of changes so far, or a negative number while there are readers
   */
  long beginCopy() {
    copiedChanges = NO_COPY;
    if (readers.get() > 0) {
      return NO_COPY;
    }
    isNoted = true;
    return changes.get();
  }

  /** Marks the copy as complete, on the thread {@code dp-mirror}. */
  void endCopy(long changesBefore) {
    requested.set(false);
    copiedChanges = changesBefore;
  }

  /**
   * Marks the copy as absent, on the thread {@code dp-mirror}; readers do not request one before
   * this time.
   */
  void noCopy(long untilNs) {
    isNoted = false;
    notBeforeNs = untilNs;
    requested.set(false);
  }

  void addEntries(int difference) {
    entries += difference;
  }
}
