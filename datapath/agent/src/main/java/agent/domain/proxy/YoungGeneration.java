package agent.domain.proxy;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.util.Optional;

/**
 * The part of the heap for new objects. An agent that only changes things does with little of it.
 * With the HTTP proxy each collection stops all requests at work, and how often one comes depends
 * on this part alone: so it grows when the proxy starts, and takes no memory before.
 *
 * <p>The serial collector makes it half of the old generation, which is resized in a full
 * collection to have a part free that can be set; what is free there and was never used takes no
 * memory.
 */
final class YoungGeneration {
  private static final String OLD_GENERATION = "Tenured Gen";
  private static final String LEAST_FREE = "MinHeapFreeRatio";
  private static final String MOST_FREE = "MaxHeapFreeRatio";

  /**
   * Twice the wanted young generation; a heap of both is not yet one that is returned after a large
   * change.
   */
  static final long OLD_BYTES = 40L << 20;

  private static final int MOST_PERCENT = 80;

  /** What a large request needed is returned all the same: little more stays free than wanted. */
  private static final int MARGIN_PERCENT = 5;

  private YoungGeneration() {}

  /** Enlarges it where it is small and the collector is the serial one, by a full collection. */
  static void enlarge() {
    final Optional<MemoryPoolMXBean> old =
        ManagementFactory.getMemoryPoolMXBeans().stream()
            .filter(pool -> pool.getName().equals(OLD_GENERATION))
            .findFirst();
    if (old.isEmpty()) {
      return;
    }
    System.gc();
    final HotSpotDiagnosticMXBean options =
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
    final int free = freePercent(old.get().getUsage().getUsed());
    if (free > Integer.parseInt(options.getVMOption(LEAST_FREE).getValue())) {
      options.setVMOption(MOST_FREE, Integer.toString(free + MARGIN_PERCENT)); // first: not below
      options.setVMOption(LEAST_FREE, Integer.toString(free));
      System.gc();
    }
  }

  /** Returns the part of the old generation that is to be free, in percent. */
  static int freePercent(long usedBytes) {
    return Math.clamp(100 * (OLD_BYTES - usedBytes) / OLD_BYTES, 0, MOST_PERCENT);
  }
}
