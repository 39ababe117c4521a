package agent.maps.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.Descriptors;
import agent.bindings.LibBpf;
import agent.bindings.ObjectDescriptions;
import agent.bindings.ProgramTestRun;
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

/** Consuming a ring that a program has filled just before. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class RingBufferReaderBenchmark {
  /** Events of 72 bytes in the ring. */
  public static final int EVENTS = 10_000;

  /** Id of the ring's map. */
  @Param("0")
  public int mapId;

  /** Id of the program that fills it. */
  @Param("0")
  public int programId;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment request = arena.allocate(JAVA_INT, 2);
  private final ProgramTestRun run = new ProgramTestRun(0);
  private BpfMap map;
  private RingBufferReader reader;
  private int programFd;
  private final RingBufferReader.RecordHandler handler = this::onRecord;
  private long sum;

  /** Opens ring and program. */
  @Setup
  public void open() {
    LibBpf.ensureLoaded();
    final int fd = ObjectDescriptions.openMap(mapId);
    map = BpfMap.adopt(fd, MapDefinition.of("ring", ObjectDescriptions.map(fd)), "");
    reader = new RingBufferReader(map);
    programFd = ObjectDescriptions.openProgram(programId);
  }

  /** Closes them. */
  @TearDown
  public void close() {
    reader.close();
    map.close();
    Descriptors.close(programFd);
    run.close();
    arena.close();
  }

  /** Fills the ring. */
  @Setup(Level.Invocation)
  public void fill() {
    request.setAtIndex(JAVA_INT, 0, EVENTS);
    if (run.runSyscall(programFd, request) != 0 || request.getAtIndex(JAVA_INT, 1) != EVENTS) {
      throw new IllegalStateException("the ring was not filled");
    }
  }

  /** Reads the first number of each event. */
  @Benchmark
  @OperationsPerInvocation(EVENTS)
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
