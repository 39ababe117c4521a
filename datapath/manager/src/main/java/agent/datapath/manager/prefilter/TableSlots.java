package agent.datapath.manager.prefilter;

import agent.bindings.Errno;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.PrefilterTables;
import agent.maps.layout.PrefilterTable;
import agent.reconcile.TargetMap;
import java.util.function.BiConsumer;
import java.util.function.IntUnaryOperator;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The slots of {@code prefilter_tables}, by the number of the table, as the kernel reads them: an
 * entry is the id of the map in a slot. What is written is a descriptor of that map, so that only
 * tables that are open can be put into a slot.
 *
 * <p>Before Linux 6.8 each read of a slot waits for an RCU grace period, as each write does: a step
 * of a comparison reads one.
 */
final class TableSlots implements TargetMap {
  /** As many entries as a step compares. */
  private static final int READ_COST = 64;

  private static final PrefilterTable[] TABLES = PrefilterTable.values();

  private final BpfMap map;
  private final PrefilterTables tables;
  private final IntUnaryOperator fds;
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[Integer.BYTES]);
  private int next = TABLES.length;
  private boolean isRead;
  private int error;

  /**
   * Creates access to the open slots.
   *
   * @param fds returns the descriptor of the table with an id, or a negative errno
   */
  TableSlots(BpfMap map, IntUnaryOperator fds) {
    this.map = map;
    this.fds = fds;
    tables = new PrefilterTables(map);
  }

  @Override
  public String name() {
    return map.name();
  }

  @Override
  public int keyBytes() {
    return Integer.BYTES;
  }

  @Override
  public int valueBytes() {
    return Integer.BYTES;
  }

  @Override
  public int maxEntries() {
    return TABLES.length;
  }

  @Override
  public int update(DirectBuffer slot, DirectBuffer id) {
    final int fd = fds.applyAsInt(id.getInt(0));
    return fd < 0 ? fd : tables.set(TABLES[slot.getInt(0)], fd);
  }

  /** Replaces what is in the slot, also where another program has filled it meanwhile. */
  @Override
  public int insert(DirectBuffer slot, DirectBuffer id) {
    return update(slot, id);
  }

  @Override
  public int delete(DirectBuffer slot) {
    return tables.clear(TABLES[slot.getInt(0)]);
  }

  @Override
  public int beginWalk() {
    next = 0;
    error = 0;
    isRead = false;
    return 0;
  }

  /** Reads the next slot; an empty one is a batch without entries. */
  @Override
  public boolean nextBatch() {
    if (next == TABLES.length || error < 0) {
      return false;
    }
    final PrefilterTable table = TABLES[next++];
    final int found = tables.mapId(table);
    if (found < 0 && found != -Errno.ENOENT) {
      error = found;
      return false;
    }
    isRead = found >= 0;
    key.putInt(0, table.number());
    value.putInt(0, found);
    return true;
  }

  @Override
  public int batchCost() {
    return READ_COST;
  }

  @Override
  public boolean nextOfBatch() {
    final boolean hasEntry = isRead;
    isRead = false;
    return hasEntry;
  }

  @Override
  public MutableDirectBuffer key() {
    return key;
  }

  @Override
  public MutableDirectBuffer value() {
    return value;
  }

  @Override
  public int walkError() {
    return error;
  }

  @Override
  public void endWalk() {
    next = TABLES.length;
  }

  @Override
  public void forEach(BiConsumer<MutableDirectBuffer, MutableDirectBuffer> visitor) {
    map.forEachEntry(read -> visitor.accept(read.key(), read.value()));
  }

  @Override
  public String text(MutableDirectBuffer slot) {
    return PrefilterTables.mapName(TABLES[slot.getInt(0)]);
  }

  @Override
  public RuntimeException failure(String operation, String subject, int result) {
    return map.failure(operation, subject, result);
  }
}
