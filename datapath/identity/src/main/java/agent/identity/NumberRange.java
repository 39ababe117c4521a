package agent.identity;

import agent.types.Refusal;
import java.util.BitSet;

/**
 * Numbers of a range, given in ascending order and from the start again; the caller holds the lock.
 */
final class NumberRange {
  private final String what;
  private final int min;
  private final int max;
  private final BitSet used = new BitSet();
  private int cursor;
  private int taken;

  NumberRange(String what, int min, int max) {
    this.what = what;
    this.min = min;
    this.max = max;
  }

  /** Returns the next free number after the previous one. */
  int next() {
    final int size = max - min + 1;
    if (taken == size) {
      throw Refusal.exhausted("identity", "all " + size + " " + what + " are in use");
    }
    int index = used.nextClearBit(cursor);
    if (index >= size) {
      index = used.nextClearBit(0);
    }
    mark(index, index + 1);
    return min + index;
  }

  /** Reserves a number that was allocated before a restart. */
  void take(int number) {
    if (number < min || number > max) {
      throw Refusal.invalid(
          "identity", number + " is not between " + min + " and " + max + " (" + what + ")");
    }
    mark(number - min, Math.max(cursor, number - min + 1));
  }

  private void mark(int index, int next) {
    used.set(index);
    taken++;
    cursor = next > max - min ? 0 : next;
  }

  void free(int number) {
    used.clear(number - min);
    taken--;
  }
}
