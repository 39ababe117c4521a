package agent.reconcile;

import java.lang.foreign.Arena;
import org.agrona.concurrent.UnsafeBuffer;

/** Memory outside the Java heap, which is freed with the buffer over it. */
final class OffHeap {
  private OffHeap() {}

  /** Allocates memory of zeros. */
  static UnsafeBuffer allocate(int bytes) {
    return new UnsafeBuffer(Arena.ofAuto().allocate(bytes, Long.BYTES).asByteBuffer());
  }
}
