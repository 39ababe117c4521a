package agent.reconcile;

import static agent.reconcile.ReconcileBench.WEAK;
import static agent.reconcile.ReconcileBench.number;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.bindings.Errno;
import agent.maps.mirror.RefusedWrites.Write;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What other threads read of refused rows, in which order, and until when. */
class RefusedEntriesTest {
  private final ReconcileBench bench = new ReconcileBench();
  private final NumberedMap map = new NumberedMap("a", RefusedEntries.LIMIT + 10);
  private final NumberedMap other = new NumberedMap("b", 10);

  private List<Integer> numbers(String name) {
    return bench.refused.of(name).stream().map(ReconcileBench::number).toList();
  }

  @Test
  void shouldHoldTheOperationTheBytesAndTheErrorOfARefusedWrite() {
    final DesiredTable table = bench.table(map, 0);
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    map.room = 1;
    bench.change(batch -> bench.put(batch, table, WEAK, 2, 20));
    map.refused = 1;
    bench.change(batch -> bench.remove(batch, table, WEAK, 1));
    final Write update = bench.refused.of("a").get(0);
    assertEquals(2, number(update));
    final byte[] value = ByteBuffer.allocate(4).order(ByteOrder.nativeOrder()).putInt(20).array();
    assertArrayEquals(value, update.value());
    assertEquals("update: ENOSPC", update.error());
    final Write delete = bench.refused.of("a").get(1);
    assertEquals(1, number(delete));
    assertNull(delete.value());
    assertEquals("delete: EBUSY", delete.error());
    assertEquals(2, bench.refused.size());
    assertEquals(List.of(), bench.refused.of("b"));
    map.refused = -1;
    map.room = 2;
    bench.elapse(10_000);
    assertEquals(0, bench.refused.size());
    assertEquals(List.of(), bench.refused.of("a"));
    assertEquals("2=20", map.entries());
  }

  @Test
  void shouldHoldTheLastWriteOfARowInTheOrderOfTheFirst() {
    final DesiredTable table = bench.table(map, 0);
    final DesiredTable second = bench.table(other, 0);
    map.room = 0;
    other.room = 0;
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    bench.change(batch -> bench.put(batch, table, WEAK, 2, 20));
    bench.change(batch -> bench.put(batch, second, WEAK, 1, 30));
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 11));
    assertEquals(List.of(1, 2), numbers("a"));
    assertEquals(11, bench.refused.of("a").getFirst().value()[0]);
    assertEquals(List.of(1), numbers("b"));
    assertEquals(3, bench.refused.size());
    bench.reconciler.remove(table);
    assertEquals(List.of(), numbers("a"));
    assertEquals(List.of(1), numbers("b"));
    assertEquals(1, bench.refused.size());
  }

  /** Another reconciler of the same thread has its rows beside them. */
  @Test
  void shouldHoldTheRowsOfAllReconcilers() {
    final ReconcileBench further = new ReconcileBench(bench.refused);
    map.room = 0;
    other.room = 0;
    final DesiredTable table = bench.table(map, 0);
    final DesiredTable second = further.table(other, 0);
    bench.change(batch -> bench.put(batch, table, WEAK, 1, 10));
    further.change(batch -> further.put(batch, second, WEAK, 1, 10));
    assertEquals(2, bench.refused.size());
    other.room = 1;
    further.elapse(10_000);
    assertEquals(List.of(1), numbers("a"));
    assertEquals(List.of(), numbers("b"));
  }

  @Test
  void shouldHoldNoMoreThanItsLimitAndStillTheLastWriteOfEachRow() {
    final DesiredTable table = bench.table(map, 0);
    final int count = RefusedEntries.LIMIT + 2;
    bench.change(
        batch ->
            IntStream.range(0, count).forEach(number -> bench.put(batch, table, WEAK, number, 1)));
    for (int row = 0; row < count; row++) {
      table.refused(row, Errno.ENOSPC);
    }
    assertEquals(RefusedEntries.LIMIT, bench.refused.size());
    assertEquals(RefusedEntries.LIMIT - 1, numbers("a").getLast());
    table.refused(5, Errno.ENOMEM);
    assertEquals("update: ENOMEM", bench.refused.of("a").get(5).error());
    assertEquals(RefusedEntries.LIMIT, bench.refused.size());
    table.deleted(5);
    table.deleted(count - 1);
    assertEquals(RefusedEntries.LIMIT - 1, bench.refused.size());
  }
}
