package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.NameLookup.Source;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When names are stored, on a clock that the test advances. */
class NameWriterTest {
  private final NameCache cache =
      new NameCache(new NameCache.Limits(60, 3, 0), new HeldShares(() -> 0));
  private final AtomicLong nowMs = new AtomicLong(-70);
  private final BlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
  private final BlockingQueue<String> calls = new LinkedBlockingQueue<>();
  private volatile boolean fails;
  private final NameWriter writer = new NameWriter(new Store(), cache, tasks::add, nowMs::get);

  /** A store whose calls can be made to fail. */
  private final class Store implements NameStore {
    private void call(String name) {
      calls.add(name);
      if (fails) {
        throw new OperationException("no space left on device");
      }
    }

    @Override
    public List<NameLookup> load() {
      return List.of();
    }

    @Override
    public void save(List<NameLookup> lookups) {
      call("save");
    }

    @Override
    public void append(List<NameLookup> lookups) {
      call("append " + lookups.size());
    }

    @Override
    public void sync() {
      call("sync");
    }

    @Override
    public void compact(Supplier<List<NameLookup>> all) {
      call("compact");
    }
  }

  @AfterEach
  void close() {
    writer.close();
  }

  private static NameLookup lookup() {
    return new NameLookup(
        "www.example.com.",
        List.of(IpAddress.parse("192.0.2.1")),
        60,
        Instant.EPOCH,
        Instant.EPOCH.plusSeconds(60),
        Source.LOOKUP,
        7);
  }

  private String next() throws InterruptedException {
    return calls.poll(10, TimeUnit.SECONDS);
  }

  /** What the store has done on another thread is known to the writer then. */
  private void runTask() throws InterruptedException {
    tasks.poll(10, TimeUnit.SECONDS).run();
  }

  /** Writes a millisecond before the time is over, and when it is. */
  private void assertStoredAfter(long delayMs) throws InterruptedException {
    nowMs.addAndGet(delayMs - 1);
    assertTrue(writer.write());
    assertEquals(List.of(), List.copyOf(calls), "before " + delayMs + " ms");
    nowMs.incrementAndGet();
    assertTrue(writer.write());
    assertEquals("compact", next());
    runTask();
  }

  /** What the other thread was to do before the time would come before its wait for the disk. */
  private void assertStoredAfter(long delayMs, Consumer<NameWriter> change) throws Exception {
    change.accept(writer);
    nowMs.addAndGet(delayMs - 1);
    appendAndSync();
    runTask();
    assertStoredAfter(1);
  }

  private void appendAndSync() throws Exception {
    writer.add(lookup());
    assertTrue(writer.write());
    assertEquals("append 1", next());
    writer.sync();
    assertEquals("sync", next());
  }

  @Test
  void shouldStoreAllLookupsAsSoonAsTheChangeNeeds() throws Exception {
    assertStoredAfter(15_000, NameWriter::changed);
    assertStoredAfter(100, NameWriter::changedSoon);
    assertStoredAfter(15_000, NameWriter::changed);
    writer.changedNow();
    assertTrue(writer.write());
    assertEquals("compact", next());
    runTask();
  }

  @Test
  void shouldWaitForTheDiskOnceInATenthOfASecond() throws Exception {
    for (int i = 0; i < 3; i++) {
      writer.add(lookup());
      assertTrue(writer.write());
      assertEquals("append 1", next());
      writer.sync();
      assertEquals("sync", next());
      runTask();

      writer.add(lookup());
      assertTrue(writer.write());
      assertEquals("append 1", next());
      nowMs.addAndGet(99);
      writer.sync();
      assertNothingStored();
      nowMs.incrementAndGet();
      writer.sync();
      assertEquals("sync", next());
      runTask();
      nowMs.addAndGet(100);
      writer.sync();
      assertNothingStored();
    }
  }

  /** What the other thread was to do would come before what it is asked for now. */
  private void assertNothingStored() throws InterruptedException {
    writer.changedNow();
    assertTrue(writer.write());
    assertEquals("compact", next());
    runTask();
  }

  /** A later change puts nothing off. */
  @Test
  void shouldKeepTheEarlierOfTwoTimes() throws Exception {
    writer.changed();
    nowMs.addAndGet(1_000);
    assertStoredAfter(100, NameWriter::changedSoon);
    writer.changed();
    nowMs.addAndGet(14_000);
    assertStoredAfter(1_000, NameWriter::changed);
  }

  @Test
  void shouldTryAgainASecondAfterAFailure() throws Exception {
    fails = true;
    writer.add(lookup());
    assertFalse(writer.write());
    assertEquals("append 1", next());
    for (int failures = 1; failures < 4; failures++) {
      nowMs.addAndGet(999);
      assertFalse(writer.write());
      assertEquals(List.of(), List.copyOf(calls), "after " + failures);
      nowMs.incrementAndGet();
      assertFalse(writer.write());
      assertEquals("save", next());
    }
    fails = false;
    nowMs.addAndGet(1_000);
    assertTrue(writer.write());
    assertEquals("save", next());
    assertTrue(writer.write());
    assertEquals(List.of(), List.copyOf(calls));
  }

  @Test
  void shouldCompactAgainASecondAfterAFailure() throws Exception {
    fails = true;
    writer.changed();
    assertStoredAfter(15_000);
    fails = false;
    assertStoredAfter(1_000);
    nowMs.addAndGet(60_000);
    assertTrue(writer.write());
    assertEquals(List.of(), List.copyOf(calls));
  }

  /** What waits for the disk on the other thread may fail there, or come too late. */
  @Test
  void shouldWaitForTheDiskAtItsEndWhileItIsNotKnownToHaveAll() throws Exception {
    appendAndSync();
    writer.close();
    assertEquals(List.of("sync"), List.copyOf(calls));
  }

  @Test
  void shouldNotWaitForTheDiskAtItsEndWhereItHasAll() throws Exception {
    appendAndSync();
    runTask();
    writer.close();
    assertEquals(List.of(), List.copyOf(calls));
  }
}
