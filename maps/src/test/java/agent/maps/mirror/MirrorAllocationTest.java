package agent.maps.mirror;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.testkit.HeapAllocation;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** It depends on the compiler of the JVM, and so runs without the probes of PIT. */
class MirrorAllocationTest {
  private static final int KEY_SIZE = 13;
  private static final int VALUE_SIZE = 9;

  private final UnsafeBuffer key = new UnsafeBuffer(new byte[KEY_SIZE]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[VALUE_SIZE]);
  private final MirrorStore store = new MirrorStore();

  @AfterEach
  void close() {
    store.release();
  }

  @Test
  void shouldAllocateNothingPerOperation() {
    final int[] round = new int[1];
    final Runnable work =
        () -> {
          key.putInt(0, round[0]++ & 0xfff);
          store.put(1, key, 0, KEY_SIZE, value, 0, VALUE_SIZE);
          if ((round[0] & 3) == 0) {
            store.remove(1, key, 0, KEY_SIZE);
          }
        };
    assertEquals(0, HeapAllocation.steady(10_000, work));
  }
}
