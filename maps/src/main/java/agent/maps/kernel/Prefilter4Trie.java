package agent.maps.kernel;

import agent.maps.layout.Prefilter4KeyFlyweight;
import agent.maps.layout.PrefilterEntryFlyweight;

/**
 * IPv4 source prefixes that are dropped; the address is a number, its first octet most significant.
 * Results are 0 or a negative errno; one thread uses it.
 */
public final class Prefilter4Trie {
  private static final int BATCH = 4096;

  private final BpfMap map;
  private final BatchWriter batch;
  private final Prefilter4KeyFlyweight key = new Prefilter4KeyFlyweight();
  private final PrefilterEntryFlyweight value = new PrefilterEntryFlyweight();

  public Prefilter4Trie(BpfMap map) {
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
  public boolean stage(int address, int prefixLength) {
    key.wrap(batch.keys(), batch.keyOffset()).prefixLength(prefixLength).address(address);
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
