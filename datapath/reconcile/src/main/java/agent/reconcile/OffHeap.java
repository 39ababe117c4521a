package agent.reconcile;

import java.lang.foreign.Arena;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** Memory outside the Java heap, which is freed with the buffer over it, and its comparison. */
final class OffHeap {
  private OffHeap() {}

  /** Allocates memory of zeros. */
  static UnsafeBuffer allocate(int bytes) {
    return new UnsafeBuffer(Arena.ofAuto().allocate(bytes, Long.BYTES).asByteBuffer());
  }

  /** Returns whether bytes of two buffers, a multiple of four, are the same. */
  static boolean areEqual(DirectBuffer one, int at, DirectBuffer other, int bytes) {
    for (int i = 0; i < bytes; i += Integer.BYTES) {
      if (one.getInt(at + i) != other.getInt(i)) {
        return false;
      }
    }
    return true;
  }
}
