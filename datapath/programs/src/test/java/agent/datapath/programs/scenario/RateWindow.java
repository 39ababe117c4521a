package agent.datapath.programs.scenario;

import java.util.function.Supplier;

/** The windows of 2^30 ns in which the programs count rates. */
final class RateWindow {
  /** The programs' clock is that long behind at most: a tick, and the bits that it leaves out. */
  private static final long LAG_NS = 20_000_000;

  private static final int BITS = 30;
  private static final int ATTEMPTS = 10;

  private RateWindow() {}

  /** Returns the number of the window in which the programs count at least until now. */
  static int present() {
    return (int) (System.nanoTime() >> BITS);
  }

  /**
   * Runs what has to be in one window; again where it failed and was not, for lack of a processor.
   */
  static void inOne(Runnable part) {
    inOne(
        () -> {
          part.run();
          return null;
        });
  }

  /** Returns what comes out where all of it is in one window, as {@link #inOne(Runnable)}. */
  static <T> T inOne(Supplier<T> part) {
    int window = present() - 1;
    for (int attempt = 1; true; attempt++) {
      window = awaitFirstHalfAfter(window);
      AssertionError failure = null;
      T result = null;
      try {
        result = part.get();
      } catch (AssertionError e) {
        failure = e;
      }
      final int last = present();
      if (last == window || attempt == ATTEMPTS) {
        if (failure != null) {
          throw failure;
        }
        return result;
      }
      window = last;
    }
  }

  private static int awaitFirstHalfAfter(int window) {
    final long length = 1L << BITS;
    while (true) {
      final long now = System.nanoTime();
      final long sinceBegin = now & length - 1;
      if ((int) (now >> BITS) != window && sinceBegin > LAG_NS && sinceBegin < length / 2) {
        return (int) (now >> BITS);
      }
      Thread.onSpinWait();
    }
  }
}
