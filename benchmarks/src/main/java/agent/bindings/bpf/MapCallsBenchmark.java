package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.benchmarks.AllocatesNothing;
import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Measures single calls, batches and a full dump on a map with a million entries: one of its own,
 * or one that another process created and filled.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class MapCallsBenchmark {
  /** Entries that the map holds. */
  public static final int ENTRIES = 1_000_000;

  private static final int KEY_BYTES = 14;
  private static final int VALUE_BYTES = 56;
  private static final int BATCH = 4096;
  private static final int FILL_BATCH = 10_000;

  /** Id of the map in the kernel; 0: the benchmark makes a map of its own. */
  @Param("0")
  public int mapId;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment cursor = arena.allocate(64, 8);
  private final MemorySegment count = arena.allocate(JAVA_INT);
  private MemorySegment key;
  private MemorySegment value;
  private MemorySegment keys;
  private MemorySegment values;
  private int fd;

  /** Creates a map with {@link #ENTRIES} entries and returns its descriptor. */
  public static int createFilled() {
    final int map =
        BindingsException.check(
            MapCalls.create(MapSpec.of(MapType.HASH, "bench", KEY_BYTES, VALUE_BYTES, ENTRIES, 0)),
            "create the map");
    try (Arena filling = Arena.ofConfined()) {
      final MemorySegment keys = filling.allocate((long) FILL_BATCH * KEY_BYTES, 8);
      final MemorySegment values = filling.allocate((long) FILL_BATCH * VALUE_BYTES, 8);
      final MemorySegment count = filling.allocate(JAVA_INT);
      for (int first = 0; first < ENTRIES; first += FILL_BATCH) {
        for (int i = 0; i < FILL_BATCH; i++) {
          keys.set(JAVA_INT.withByteAlignment(1), (long) i * KEY_BYTES, first + i);
        }
        count.set(JAVA_INT, 0, FILL_BATCH);
        BindingsException.check(MapCalls.updateBatch(map, keys, values, count), "fill the map");
      }
    }
    return map;
  }

  /** Opens or creates the map, and reads the entries of one batch. */
  @Setup
  public void open() {
    LibBpf.ensureLoaded();
    fd =
        mapId == 0
            ? createFilled()
            : BindingsException.check(MapCalls.openById(mapId), "open map " + mapId);
    final MapDescription map = MapDescription.of(fd);
    key = arena.allocate(map.keySize(), 8);
    value = arena.allocate(map.valueSize(), 8);
    keys = arena.allocate((long) BATCH * map.keySize(), 8);
    values = arena.allocate((long) BATCH * map.valueSize(), 8);
    BindingsException.check(MapCalls.nextKey(fd, MemorySegment.NULL, key), "first key");
    count.set(JAVA_INT, 0, BATCH);
    BindingsException.check(
        MapCalls.lookupBatch(fd, MemorySegment.NULL, cursor, keys, values, count), "first batch");
  }

  /** Closes the map. */
  @TearDown
  public void close() {
    Descriptors.close(fd);
    arena.close();
  }

  /** Reads the first entry. */
  @Benchmark
  @AllocatesNothing
  public int lookup() {
    return MapCalls.lookup(fd, key, value);
  }

  /** Writes the first entry. */
  @Benchmark
  @AllocatesNothing
  public int update() {
    return MapCalls.update(fd, key, value, MapFlag.ANY);
  }

  /** Writes the entries of the first batch. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  @AllocatesNothing
  public int updateBatch() {
    count.set(JAVA_INT, 0, BATCH);
    return MapCalls.updateBatch(fd, keys, values, count);
  }

  /** Reads all entries in batches. */
  @Benchmark
  @OperationsPerInvocation(ENTRIES)
  @AllocatesNothing
  public long dump() {
    MemorySegment in = MemorySegment.NULL;
    long entries = 0;
    int result = 0;
    while (result == 0) {
      count.set(JAVA_INT, 0, BATCH);
      result = MapCalls.lookupBatch(fd, in, cursor, keys, values, count);
      entries += count.get(JAVA_INT, 0);
      in = cursor;
    }
    if (result != -Errno.ENOENT || entries != ENTRIES) {
      throw new IllegalStateException(entries + " entries, " + Errno.name(result));
    }
    return entries;
  }
}
