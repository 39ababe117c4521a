package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_INT;

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

/** Measures single calls and a full dump on a map that another process created and filled. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class MapCallsBenchmark {
  /** Entries that the map holds. */
  public static final int ENTRIES = 1_000_000;

  private static final int BATCH = 4096;

  /** Id of the map in the kernel. */
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

  /** Opens the map. */
  @Setup
  public void open() {
    LibBpf.ensureLoaded();
    fd = BindingsException.check(MapCalls.openById(mapId), "open map " + mapId);
    final MapDescription map = MapDescription.of(fd);
    key = arena.allocate(map.keySize(), 8);
    value = arena.allocate(map.valueSize(), 8);
    keys = arena.allocate((long) BATCH * map.keySize(), 8);
    values = arena.allocate((long) BATCH * map.valueSize(), 8);
    BindingsException.check(MapCalls.nextKey(fd, MemorySegment.NULL, key), "first key");
  }

  /** Closes the map. */
  @TearDown
  public void close() {
    Descriptors.close(fd);
    arena.close();
  }

  /** Reads the first entry. */
  @Benchmark
  public int lookup() {
    return MapCalls.lookup(fd, key, value);
  }

  /** Writes the first entry. */
  @Benchmark
  public int update() {
    return MapCalls.update(fd, key, value, MapFlag.ANY);
  }

  /** Reads all entries in batches. */
  @Benchmark
  @OperationsPerInvocation(ENTRIES)
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
