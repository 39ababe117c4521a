package agent.maps.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.benchmarks.AllocatesNothing;
import agent.benchmarks.TrivialObject;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.LibBpf;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.ProgramTestRun;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.UnsafeBuffer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Measures the consumption of a ring buffer that a program has filled: ring and program of its own,
 * or those of another process.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class RingBufferReaderBenchmark {
  /** Events of 72 bytes in the ring. */
  public static final int EVENTS = 10_000;

  /** Id of the ring's map; 0: the benchmark loads ring and program. */
  @Param("0")
  public int mapId;

  /** Id of the program that fills the ring. */
  @Param("0")
  public int programId;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment request = arena.allocate(JAVA_INT, 2);
  private final ProgramTestRun run = new ProgramTestRun(0);
  private BpfObject trivial;
  private BpfMap map;
  private RingBufferReader reader;
  private BpfProgram program;
  private final RingBufferReader.RecordHandler handler = this::onRecord;
  private long sum;

  /** Opens ring and program. */
  @Setup
  public void open() {
    LibBpf.ensureLoaded();
    if (mapId == 0) {
      trivial = TrivialObject.load();
      mapId = MapDescription.of(trivial.mapFd("ring")).id();
      programId = trivial.program("fill_ring").info().id();
    }
    final int fd = MapCalls.openById(mapId);
    map = BpfMap.adopt(fd, MapDefinition.of(MapDescription.of(fd).spec()), "");
    reader = new RingBufferReader(map);
    program = BpfProgram.openById(programId);
  }

  /** Closes ring and program. */
  @TearDown
  public void close() {
    reader.close();
    map.close();
    program.close();
    if (trivial != null) {
      trivial.close();
    }
    run.close();
    arena.close();
  }

  /** Fills the ring. */
  @Setup(Level.Invocation)
  public void fill() {
    request.setAtIndex(JAVA_INT, 0, EVENTS);
    if (run.runSyscall(program, request) != 0 || request.getAtIndex(JAVA_INT, 1) != EVENTS) {
      throw new IllegalStateException("the ring was not filled");
    }
  }

  /** Reads the first number of each event. */
  @Benchmark
  @OperationsPerInvocation(EVENTS)
  @AllocatesNothing
  public long consume() {
    if (reader.poll(handler, EVENTS) != EVENTS) {
      throw new IllegalStateException("the ring was not full");
    }
    return sum;
  }

  private void onRecord(UnsafeBuffer buffer, int offset, int length) {
    sum += buffer.getByte(offset);
  }
}
