package agent.datapath.manager.conductor;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.InterfaceArray;
import agent.maps.layout.InterfaceCellFlyweight;
import agent.maps.layout.MapSize;
import agent.reconcile.TargetMap;
import java.util.function.BiConsumer;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** The map {@code interfaces} in mapped memory: one store writes a cell, and no call reads them. */
final class MappedCells implements TargetMap, AutoCloseable {
  private static final int BATCH = 512;
  private static final int CELLS_PER_ENTRY = 256;

  private final BpfMap map;
  private final InterfaceArray array;
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[InterfaceCellFlyweight.LENGTH]);
  private int next;
  private int end;

  MappedCells(BpfMap map) {
    this.map = map;
    array = new InterfaceArray(map);
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
    return InterfaceCellFlyweight.LENGTH;
  }

  @Override
  public int update(DirectBuffer index, DirectBuffer cell) {
    array.set(index.getInt(0), cell.getLong(0));
    return 0;
  }

  @Override
  public int insert(DirectBuffer index, DirectBuffer cell) {
    return update(index, cell);
  }

  @Override
  public int delete(DirectBuffer index) {
    array.set(index.getInt(0), 0);
    return 0;
  }

  @Override
  public int beginWalk() {
    next = 0;
    end = 0;
    return 0;
  }

  @Override
  public boolean nextBatch() {
    next = end;
    end = Math.min(MapSize.INTERFACE_CELLS, next + BATCH);
    return next < end;
  }

  @Override
  public int batchCost() {
    return BATCH / CELLS_PER_ENTRY;
  }

  @Override
  public boolean nextOfBatch() {
    while (next < end) {
      final long cell = array.get(next++);
      if (cell != 0) {
        key.putInt(0, next - 1);
        value.putLong(0, cell);
        return true;
      }
    }
    return false;
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
    return 0;
  }

  @Override
  public void endWalk() {
    end = MapSize.INTERFACE_CELLS;
    next = end;
  }

  @Override
  public void forEach(BiConsumer<MutableDirectBuffer, MutableDirectBuffer> visitor) {
    map.forEachEntry(read -> visitor.accept(read.key(), read.value()));
  }

  @Override
  public String text(MutableDirectBuffer index) {
    return "cell " + index.getInt(0);
  }

  @Override
  public RuntimeException failure(String operation, String subject, int result) {
    return map.failure(operation, subject, result);
  }

  /** Unmaps the memory; the cells stay. */
  @Override
  public void close() {
    array.close();
  }
}
