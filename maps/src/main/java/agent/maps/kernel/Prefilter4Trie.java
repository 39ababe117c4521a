package agent.maps.kernel;

import agent.bindings.Errno;
import agent.bindings.MapFlag;
import agent.maps.layout.Prefilter4KeyFlyweight;
import agent.maps.layout.PrefilterEntryFlyweight;

/**
 * IPv4 source prefixes that are dropped; the address is a number, its first octet most significant.
 * Results are 0 or a negative errno; one thread uses it.
 */
public final class Prefilter4Trie {
  private static final int BATCH = 4096;

  private final BpfMap map;
  private final EntryBuffer entry;
  private final BatchWriter batch;
  private final Prefilter4KeyFlyweight key = new Prefilter4KeyFlyweight();
  private final PrefilterEntryFlyweight value = new PrefilterEntryFlyweight();

  public Prefilter4Trie(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
    batch = new BatchWriter(map, BATCH);
  }

  public BpfMap map() {
    return map;
  }

  public int insert(int address, int prefixLength) {
    key.wrap(entry.key(), 0).prefixLength(prefixLength).address(address);
    value.wrap(entry.value(), 0).deny(1);
    return map.update(entry, MapFlag.ANY);
  }

  public int delete(int address, int prefixLength) {
    key.wrap(entry.key(), 0).prefixLength(prefixLength).address(address);
    return map.delete(entry);
  }

  /** Whether a prefix covers the address: 1, 0, or a negative errno. */
  public int covers(int address) {
    key.wrap(entry.key(), 0).prefixLength(Integer.SIZE);
    key.address(address);
    final int result = map.lookup(entry);
    return result == 0 ? 1 : result == -Errno.ENOENT ? 0 : result;
  }

  /** Keeps a prefix for {@link #insertStaged()} or {@link #deleteStaged()}; true when full. */
  public boolean stage(int address, int prefixLength) {
    key.wrap(batch.keys(), batch.keyOffset()).prefixLength(prefixLength).address(address);
    value.wrap(batch.values(), batch.valueOffset()).deny(1);
    return batch.add();
  }

  /** Writes what was staged by one call; {@link #done()} entries are in, also after a failure. */
  public int insertStaged() {
    return batch.writeAll();
  }

  /** Deletes what was staged by one call; a prefix that is not there is no failure. */
  public int deleteStaged() {
    return batch.deleteAll();
  }

  /** Prefixes that the last staged call has done. */
  public int done() {
    return batch.done();
  }

  /** What failed, naming the prefix at which the last staged call stopped. */
  public BpfMapException stagedFailure(String operation, int result) {
    return batch.failure(operation, result);
  }

  /** What failed, naming the prefix of the last single operation. */
  public BpfMapException failure(String operation, int result) {
    return map.failure(operation, entry, result);
  }
}
