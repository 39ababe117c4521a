package agent.maps.kernel;

import agent.bindings.Errno;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The occupied slots of an array of maps, as observed by its operations. Kernels before 6.8 wait
 * for an RCU grace period in every lookup in such an array, also for empty slots, so that a walk
 * over 65,536 slots takes a quarter of an hour. The map's writer updates it; any thread may read
 * it.
 */
final class SlotsInUse {
  private final Set<Integer> slots = ConcurrentHashMap.newKeySet();

  void onLookup(int slot, int result) {
    if (result == 0) {
      slots.add(slot);
    } else if (result == -Errno.ENOENT) {
      slots.remove(slot);
    }
  }

  void onUpdate(int slot, int result) {
    if (result == 0) {
      slots.add(slot);
    }
  }

  void onDelete(int slot, int result) {
    if (result == 0 || result == -Errno.ENOENT) {
      slots.remove(slot);
    }
  }

  long count() {
    return slots.size();
  }

  /** Returns the slots in ascending order. */
  int[] toArray() {
    return slots.stream().mapToInt(Integer::intValue).sorted().toArray();
  }
}
