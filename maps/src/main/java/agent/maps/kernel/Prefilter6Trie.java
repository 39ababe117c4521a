package agent.maps.kernel;

import agent.maps.layout.Prefilter6KeyFlyweight;
import agent.maps.layout.PrefilterEntryFlyweight;

/**
 * IPv6 source prefixes that are dropped; the address is its upper and lower 64 bits as numbers.
 * Results are 0 or a negative errno; one thread uses it.
 */
public final class Prefilter6Trie {
  private static final int BATCH = 4096;

  private final BpfMap map;
  private final BatchWriter batch;
  private final Prefilter6KeyFlyweight key = new Prefilter6KeyFlyweight();
  private final PrefilterEntryFlyweight value = new PrefilterEntryFlyweight();

  public Prefilter6Trie(BpfMap map) {
    this.map = map;
    batch = new BatchWriter(map, BATCH);
  }

  public BpfMap map() {
    return map;
  }

  /**
   * Stages a prefix for {@link #insertStaged()} or {@link #deleteStaged()}; true if the batch is
   * full.
   */
  public boolean stage(long addressHigh, long addressLow, int prefixLength) {
    key.wrap(batch.keys(), batch.keyOffset())
        .prefixLength(prefixLength)
        .address(addressHigh, addressLow);
    value.wrap(batch.values(), batch.valueOffset()).deny(1);
    return batch.add();
  }

  /** Writes the staged prefixes in order with one call; stops at the first that fails. */
  public int insertStaged() {
    return batch.writeAll();
  }

  /** Deletes the staged prefixes with one call; a prefix that does not exist is no failure. */
  public int deleteStaged() {
    return batch.deleteAll();
  }

  /** Returns the failure of the last staged call, with the prefix at which it stopped. */
  public BpfMapException stagedFailure(String operation, int result) {
    return batch.failure(operation, result);
  }
}
