package agent.maps.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.bindings.Errno;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.testkit.KernelTest;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.BitSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Walks whose calls fail in the middle: only the kernel's ENOENT is the end of a map. */
@KernelTest
class MapCursorKernelTest {
  private static final int ENTRIES = 1000;
  private static final int EFAULT = 14;
  private static final int BPF_F_WRONLY = 1 << 4;

  private BpfMap map;

  @BeforeEach
  void fill() {
    map = create(0);
    final EntryBuffer entry = new EntryBuffer(map);
    for (int i = 0; i < ENTRIES; i++) {
      entry.key().putInt(0, i);
      assertEquals(0, map.update(entry, 0));
    }
  }

  @AfterEach
  void close() {
    map.close();
  }

  private static BpfMap create(int flags) {
    return BpfMap.create(
        MapDefinition.of(MapSpec.of(MapType.ARRAY, "walked", 4, 8, ENTRIES, flags)), "");
  }

  /** The kernel, which answers some of the calls with an error. */
  private static class Failing implements MapCursor.Reads {
    private final int first;
    private final int last;
    private final int result;
    private final int count;
    private int calls;

    /**
     * Creates the kernel of a test.
     *
     * @param first number of the first call that fails, from 1
     * @param last number of the last call that fails
     * @param result its result
     * @param count entries that it says it has read
     */
    Failing(int first, int last, int result, int count) {
      this.first = first;
      this.last = last;
      this.result = result;
      this.count = count;
    }

    private boolean fails() {
      calls++;
      return calls >= first && calls <= last;
    }

    @Override
    public int batch(
        int fd,
        MemorySegment in,
        MemorySegment out,
        MemorySegment keys,
        MemorySegment values,
        MemorySegment read) {
      if (!fails()) {
        return KERNEL.batch(fd, in, out, keys, values, read);
      }
      if (count > 0) {
        read.set(ValueLayout.JAVA_INT, 0, count);
        assertEquals(0, KERNEL.batch(fd, in, out, keys, values, read));
      }
      read.set(ValueLayout.JAVA_INT, 0, count);
      return result;
    }

    @Override
    public int nextKey(int fd, MemorySegment key, MemorySegment next) {
      return fails() ? result : KERNEL.nextKey(fd, key, next);
    }

    @Override
    public int lookup(int fd, MemorySegment key, MemorySegment value) {
      return KERNEL.lookup(fd, key, value);
    }
  }

  /** Without batches, as kernels read maps of maps. */
  private static final class KeyByKey extends Failing {
    KeyByKey(int first, int result) {
      super(first, first, result, 0);
    }

    @Override
    public int batch(
        int fd,
        MemorySegment in,
        MemorySegment out,
        MemorySegment keys,
        MemorySegment values,
        MemorySegment read) {
      return -Errno.EOPNOTSUPP;
    }
  }

  private record Walk(int seen, int error) {}

  private Walk walk(MapCursor.Reads reads) {
    final BitSet seen = new BitSet();
    try (MapCursor cursor = new MapCursor(16, reads)) {
      assertEquals(0, cursor.open(map));
      while (cursor.next()) {
        seen.set(cursor.key().getInt(0));
      }
      return new Walk(seen.cardinality(), cursor.error());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {EFAULT, Errno.EAGAIN, Errno.ENOMEM, Errno.EBADF, Errno.EINVAL})
  void shouldReportEachErrorInTheMiddleOfTheMap(int errno) {
    assertEquals(new Walk(32, -errno), walk(new Failing(3, 3, -errno, 0)));
    assertEquals(new Walk(20, -errno), walk(new KeyByKey(21, -errno)));
  }

  @Test
  void shouldReportABucketThatIsLargerThanTheLargestBatch() {
    assertEquals(
        new Walk(32, -Errno.ENOSPC), walk(new Failing(3, Integer.MAX_VALUE, -Errno.ENOSPC, 0)));
    assertEquals(new Walk(ENTRIES, 0), walk(new Failing(3, 5, -Errno.ENOSPC, 0)));
  }

  @Test
  void shouldNotTakeABatchWithoutEntriesForTheEnd() {
    assertEquals(new Walk(32, -Errno.EAGAIN), walk(new Failing(3, 3, 0, 0)));
  }

  /** Linux before 6.13 ends a batch where keys were deleted under it (generic_map_lookup_batch). */
  @Test
  void shouldGoOnAfterAnInterruptionAndEndWhereItGetsNoFurther() {
    assertEquals(new Walk(ENTRIES, 0), walk(new Failing(3, 3, -Errno.EINTR, 7)));
    assertEquals(new Walk(ENTRIES, 0), walk(new Failing(1, 5, -Errno.EINTR, 0)));
    assertEquals(
        new Walk(32, -Errno.EINTR), walk(new Failing(3, Integer.MAX_VALUE, -Errno.EINTR, 0)));
  }

  @Test
  void shouldNotCountAMapThatCannotBeRead() {
    try (BpfMap unreadable = create(BPF_F_WRONLY)) {
      final BpfMapException failure = assertThrows(BpfMapException.class, unreadable::countEntries);
      assertEquals("map walked: walk (all entries): EPERM", failure.getMessage());
      assertEquals(-1, new MetricsMap(unreadable).refresh());
    }
  }
}
