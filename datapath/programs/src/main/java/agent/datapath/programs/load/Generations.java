package agent.datapath.programs.load;

import agent.maps.kernel.BatchWriter;
import agent.maps.kernel.BpfMap;
import agent.maps.layout.GenerationLayout;
import java.util.concurrent.ThreadLocalRandom;

/** Initializes a new map {@code generations}. */
final class Generations {
  private static final int BATCH = 8192;

  private Generations() {}

  /**
   * Sets the owner part of every generation to one random number, so that conntrack entries that
   * were written under a previous map {@code generations} are not valid by coincidence.
   */
  static void seed(BpfMap map) {
    final long first =
        (ThreadLocalRandom.current().nextLong() & 0xffff_ffffL) << GenerationLayout.OWNER_SHIFT;
    final BatchWriter batch = new BatchWriter(map, BATCH);
    for (int i = 0; i < map.maxEntries(); i++) {
      batch.keys().putInt(batch.keyOffset(), i);
      batch.values().putLong(batch.valueOffset(), first);
      final boolean isFull = batch.add();
      if (isFull || i + 1 == map.maxEntries()) {
        final int result = batch.writeAll();
        if (result < 0) {
          throw batch.failure("update", result);
        }
      }
    }
  }
}
