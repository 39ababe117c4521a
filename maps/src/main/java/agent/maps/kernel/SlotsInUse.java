package agent.maps.kernel;

import agent.bindings.Errno;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Which slots of an array of maps hold one, from the operations that met them. Kernels before 6.8
 * wait for a grace period in every lookup in such an array, empty slots included: to walk its
 * 65,536 slots takes them a quarter of an hour. Written by the map's writer, read by any thread.
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

  /** In ascending order. */
  int[] toArray() {
    return slots.stream().mapToInt(Integer::intValue).sorted().toArray();
  }
}
