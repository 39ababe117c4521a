package agent.maps.kernel;

import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;

/** Prefixes of identity 1 in a map of the ipcache's shape, written in batches. */
public final class PrefixTrie {
  private static final int BATCH = 4096;

  private final BatchWriter batch;
  private final IpcacheEntryFlyweight value = new IpcacheEntryFlyweight();

  public PrefixTrie(BpfMap map) {
    batch = new BatchWriter(map, BATCH);
  }

  /** Stages an IPv4 prefix; true if the batch is full. */
  public boolean stage(int address, int prefixLength) {
    new Ipcache4KeyFlyweight()
        .wrap(batch.keys(), batch.keyOffset())
        .prefixLength(prefixLength)
        .address(address);
    return add();
  }

  /** Stages an IPv6 prefix; true if the batch is full. */
  public boolean stage(long addressHigh, long addressLow, int prefixLength) {
    new Ipcache6KeyFlyweight()
        .wrap(batch.keys(), batch.keyOffset())
        .prefixLength(prefixLength)
        .address(addressHigh, addressLow);
    return add();
  }

  private boolean add() {
    value.wrap(batch.values(), batch.valueOffset()).clear().identity(1);
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
