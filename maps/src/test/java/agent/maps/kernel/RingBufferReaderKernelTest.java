package agent.maps.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.EventPoll;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.ProgramTestRun;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Reads what a program of the kernel writes. */
@KernelTest
class RingBufferReaderKernelTest {
  private static final int RECORD_LENGTH = 72;

  private final Arena arena = Arena.ofConfined();
  private final MemorySegment request = arena.allocate(JAVA_INT, 2);
  private final ProgramTestRun run = new ProgramTestRun(64);
  private BpfObject object;
  private BpfMap map;
  private RingBufferReader reader;
  private long expected;
  private int wrong;

  @BeforeEach
  void load() throws IOException {
    try (InputStream stream = getClass().getResourceAsStream("/bpf/trivial.bpf.o")) {
      assertNotNull(stream);
      object = BpfObject.open(stream.readAllBytes(), "ring_test");
    }
    object.load();
    final int ring = MapCalls.openById(MapDescription.of(object.mapFd("ring")).id());
    map = BpfMap.adopt(ring, MapDefinition.of(MapDescription.of(ring).spec()), "");
    reader = new RingBufferReader(map);
  }

  @AfterEach
  void close() {
    reader.close();
    map.close();
    object.close();
    run.close();
    arena.close();
  }

  private int produce(int events) {
    request.setAtIndex(JAVA_INT, 0, events);
    assertEquals(0, run.runSyscall(object.program("fill_ring"), request));
    return request.getAtIndex(JAVA_INT, 1);
  }

  private void onRecord(UnsafeBuffer buffer, int offset, int length) {
    if (length != RECORD_LENGTH || buffer.getLong(offset) != expected) {
      wrong++;
    }
    expected++;
  }

  @Test
  void shouldReadEveryRecordManyTimesRoundTheRing() {
    try (EventPoll poll = new EventPoll()) {
      poll.add(reader.fd());
      readManyRounds(poll);
    }
  }

  private void readManyRounds(EventPoll poll) {
    for (int round = 0; round < 20; round++) {
      assertEquals(10_000, produce(10_000));
      expected = 0;
      int polled;
      int total = 0;
      do {
        polled = reader.poll(this::onRecord, 777);
        assertTrue(polled <= 777);
        total += polled;
      } while (polled > 0);
      assertEquals(10_000, total);
      assertEquals(0, wrong);
      assertEquals(0, poll.await(0), "the kernel counts no byte that was not consumed");
    }
  }

  @Test
  void shouldGiveTheKernelItsSpaceBack() {
    final int fits = produce(1_000_000);
    assertTrue(fits > 10_000 && fits < 1_000_000, "fits " + fits);
    assertEquals(0, produce(1));
    assertEquals(fits, reader.poll(this::onRecord, Integer.MAX_VALUE));
    assertEquals(1, produce(1));
  }

  @Test
  void shouldAllocateNothingAnEvent() {
    final RingBufferReader.RecordHandler handler = this::onRecord;
    final long allocated =
        HeapAllocation.steady(
            () -> {
              produce(10_000);
              final long before = HeapAllocation.bytes(); // leaves the producer's part out
              final int polled = reader.poll(handler, Integer.MAX_VALUE);
              final long bytes = HeapAllocation.bytes() - before;
              assertEquals(10_000, polled);
              return bytes;
            });
    assertEquals(0, allocated);
  }

  @Test
  void shouldBeReadableByPollAsLongAsRecordsWait() {
    try (EventPoll poll = new EventPoll()) {
      produce(1); // without a wake-up, so that it must be there before
      poll.add(reader.fd());
      assertEquals(1, poll.await(0));
      assertEquals(1, reader.poll(this::onRecord, 10));
      assertEquals(0, poll.await(0));
    }
  }
}
