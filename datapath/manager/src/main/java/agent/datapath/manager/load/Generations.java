package agent.datapath.manager.load;

import agent.maps.kernel.BatchWriter;
import agent.maps.kernel.BpfMap;
import java.util.concurrent.ThreadLocalRandom;

/** The first values of a new array of generations. */
final class Generations {
  private static final int BATCH = 8192;

  private Generations() {}

  /**
   * Begins at a random number: a verdict that conntrack kept from an array that is gone must not be
   * current by chance.
   */
  static void seed(BpfMap map) {
    final int first = ThreadLocalRandom.current().nextInt();
    final BatchWriter batch = new BatchWriter(map, BATCH);
    for (int i = 0; i < map.maxEntries(); i++) {
      batch.keys().putInt(batch.keyOffset(), i);
      batch.values().putInt(batch.valueOffset(), first);
      final boolean isFull = batch.add();
      if (isFull || i + 1 == map.maxEntries()) {
        final int result = batch.writeAll();
        if (result < 0) {
          throw map.failure("update", "first generations", result);
        }
      }
    }
  }
}
