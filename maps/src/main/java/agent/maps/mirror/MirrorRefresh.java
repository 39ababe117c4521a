package agent.maps.mirror;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCursor;

/** Copies one map from the kernel into its store, a bounded number of entries a step. */
final class MirrorRefresh {
  /** A map that holds more is not copied: reading it from the kernel is quicker, and costs less. */
  static final int LARGEST_COPY = 1 << 16;

  private final MapCursor cursor = new MapCursor();
  private MirroredMap mirror;
  private MirrorStore store;
  private int epoch;
  private long changesBefore;
  private long held;
  private int copied;
  private int segment;
  private boolean copying;

  boolean active() {
    return mirror != null;
  }

  MirroredMap mirror() {
    return mirror;
  }

  /** Begins; false where the map is gone. */
  boolean begin(MirroredMap target, MirrorStore into) {
    if (cursor.open(target.map()) != 0) {
      return false;
    }
    epoch = target.beginRefresh(into);
    mirror = target;
    store = into;
    changesBefore = target.changes();
    held = 0;
    copied = 0;
    segment = 0;
    copying = true;
    return true;
  }

  /**
   * Goes on.
   *
   * @return true when it has ended; see {@link #error()}
   */
  boolean step(int limit) {
    final BpfMap map = mirror.map();
    if (copying) {
      for (int i = 0; i < limit; i++) {
        if (!cursor.next()) {
          copying = false;
          break;
        }
        if (++copied > LARGEST_COPY) {
          return true;
        }
        store.put(
            map.serial(),
            epoch,
            cursor.key(),
            0,
            map.keySize(),
            cursor.value(),
            0,
            map.valueSize());
      }
      if (copying) {
        return false;
      }
      cursor.close();
    }
    if (cursor.error() != 0) {
      return true;
    }
    held += store.sweep(segment, map.serial(), epoch);
    return ++segment == store.segments();
  }

  /** Whether it ended because the map holds too much. */
  boolean tooLarge() {
    return copied > LARGEST_COPY;
  }

  /** Why the copy is not whole: a negative errno, or 0. */
  int error() {
    return cursor.error();
  }

  /** Ends, and shows the copy where it is whole. */
  void end(long nowNs, long nowMs) {
    if (cursor.error() == 0 && !tooLarge()) {
      mirror.endRefresh(epoch, changesBefore, held, nowNs, nowMs);
    }
    cancel();
  }

  void cancel() {
    cursor.close();
    mirror = null;
    store = null;
  }
}
