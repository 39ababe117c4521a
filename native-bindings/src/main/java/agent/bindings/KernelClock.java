package agent.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The clock of the running kernel. */
public final class KernelClock {
  private static final int CLOCK_MONOTONIC_COARSE = 6; // linux/time.h

  /** struct timespec: seconds and nanoseconds, 8 bytes each. */
  private static final int SIZE_OF_TIMESPEC = 2 * Long.BYTES;

  private static final double NS_PER_SECOND = 1e9;

  private KernelClock() {}

  /**
   * Returns how often a second the kernel's coarse clocks tick, CONFIG_HZ: their resolution is one
   * tick (clock_getres(2)).
   */
  public static int tickHertz() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment resolution = arena.allocate(SIZE_OF_TIMESPEC, Long.BYTES);
      BindingsException.check(
          LibC.clockGetres(arena.allocate(LibC.CALL_STATE), CLOCK_MONOTONIC_COARSE, resolution),
          "resolution of the coarse clock");
      return (int) Math.round(NS_PER_SECOND / resolution.get(ValueLayout.JAVA_LONG, Long.BYTES));
    }
  }
}
