package agent.conductor;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.HeapAllocation;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class AgentThreadsTest {
  private long nowMs = 1000;
  private final AtomicLong nowNs = new AtomicLong();
  private final HealthBoard board = new HealthBoard(() -> nowMs);

  @Test
  void shouldCountCyclesByDurationAndSkipIdleOnes() {
    final DutyCycle cycle = new DutyCycle("dp-test", 500);
    cycle.begin(0);
    cycle.end(1_000, 1);
    cycle.begin(5_000);
    cycle.end(6_001, 3);
    cycle.begin(7_000);
    cycle.end(9_000, 0);
    cycle.begin(10_000);
    cycle.end(5_000_000_000L, 1);
    assertEquals(1, cycle.count(0), "1,000 ns are in the first bucket");
    assertEquals(1, cycle.count(1));
    assertEquals(1, cycle.count(DutyCycle.buckets() - 1));
    assertEquals(1_000 + 1_001 + 4_999_990_000L, cycle.totalNs());
    assertEquals(4_999_990_000L, cycle.longestNs());
  }

  @Test
  void shouldReportAStallOnlyWhileTheCycleStalls() {
    final DutyCycle cycle = new DutyCycle("dp-test", 500_000_000);
    assertEquals(ModuleHealth.Level.OK, cycle.health(0).level());
    cycle.begin(0);
    assertEquals(ModuleHealth.Level.OK, cycle.health(500_000_000).level());
    final HealthBoard.Reading stalled = cycle.health(700_000_000);
    assertEquals(ModuleHealth.Level.DEGRADED, stalled.level());
    assertEquals(
        "stalled: the current cycle has run for 700 ms, the limit is 500 ms", stalled.message());
    cycle.end(800_000_000, 1);
    assertEquals(ModuleHealth.Level.OK, cycle.health(900_000_000).level());
    cycle.close();
    assertEquals(ModuleHealth.Level.STOPPED, cycle.health(900_000_000).level());
  }

  @Test
  void shouldReportAFailedCycleUntilTheNextOneSucceeds() {
    final DutyCycle cycle = new DutyCycle("dp-test", 500);
    cycle.begin(0);
    cycle.fail(10, "ENOMEM");
    assertEquals("the last cycle failed: ENOMEM", cycle.health(20).message());
    cycle.begin(30);
    cycle.end(40, 0);
    assertEquals(ModuleHealth.Level.OK, cycle.health(50).level());
  }

  @Test
  void shouldReportTheLastTimeThatAModuleWasOk() {
    final boolean[] isBroken = {false};
    board.add(
        "module",
        () ->
            isBroken[0] ? HealthBoard.Reading.degraded("broken") : HealthBoard.Reading.ok("works"));
    assertEquals(1000, board.read().getFirst().lastOkMs());
    nowMs = 2000;
    assertEquals(2000, board.read().getFirst().lastOkMs(), "it advances with every OK reading");
    isBroken[0] = true;
    nowMs = 3000;
    final ModuleHealth broken = board.read().getFirst();
    assertEquals(
        new ModuleHealth("module", ModuleHealth.Level.DEGRADED, "broken", 2000, 3000), broken);
    isBroken[0] = false;
    nowMs = 4000;
    assertEquals(
        4000, board.read().getFirst().lastOkMs(), "the module is OK as soon as the cause ends");
    assertThrows(
        IllegalStateException.class,
        () -> board.add("module", () -> null),
        "module names are unique");
  }

  @Test
  void shouldReadModulesInTheOrderOfTheirNames() {
    for (final String module : List.of("dp-b", "names", "api", "dp-a")) {
      board.add(module, () -> HealthBoard.Reading.ok("works"));
    }
    assertEquals(
        List.of("api", "dp-a", "dp-b", "names"),
        board.read().stream().map(ModuleHealth::moduleId).toList());
  }

  /** A thread that does not come back cannot say what is wrong. */
  @Test
  void shouldReportTheFaultsOfAnOwnerWhileItsThreadWorks() throws Exception {
    final Faults faults = new Faults("all is stored");
    final ConductorAgent owner = new ConductorAgent("owner", System::nanoTime);
    final CountDownLatch goesOn = new CountDownLatch(1);
    try (AgentThreads threads = new AgentThreads(Thread::new, nowNs::get, board)) {
      threads.start(owner, 500, faults);
      assertHealth(ModuleHealth.Level.OK, "all is stored");
      faults.failed("disk", "the disk is full");
      assertHealth(ModuleHealth.Level.STOPPED, "the disk is full");
      final CountDownLatch isAtWork = new CountDownLatch(1);
      owner.submit(
          () -> {
            isAtWork.countDown();
            goesOn.await();
            return null;
          });
      isAtWork.await();
      nowNs.set(1_000_000);
      assertHealth(
          ModuleHealth.Level.DEGRADED,
          "stalled: the current cycle has run for 1 ms, the limit is 0 ms");
      goesOn.countDown();
    }
    assertHealth(ModuleHealth.Level.STOPPED, "closed");
  }

  private void assertHealth(ModuleHealth.Level level, String message) {
    final ModuleHealth only = board.read().getFirst();
    assertEquals(level, only.level());
    assertEquals(message, only.message());
  }

  @Test
  void shouldAllocateNothingWhileItMeasures() {
    final DutyCycle cycle = new DutyCycle("dp-test", 500);
    final Runnable measure =
        () -> {
          cycle.begin(0);
          cycle.end(2_000, 1);
        };
    HeapAllocation.of(20_000, measure);
    assertEquals(0, HeapAllocation.steady(100_000, measure));
  }

  @Test
  void shouldRunMeasureAndStopAnAgentOnAThreadWithItsName() throws Exception {
    final AgentThreads threads = new AgentThreads(Thread::new, System::nanoTime, board);
    final ConductorAgent agent = new ConductorAgent("dp-test", System::nanoTime);
    threads.start(agent, agent.idleStrategy(), agent.idleStrategy()::stop, 1_000_000_000);
    assertEquals("dp-test", agent.submit(() -> Thread.currentThread().getName()).get(60, SECONDS));
    final DutyCycle cycle = threads.dutyCycles().getFirst();
    assertEquals("dp-test", cycle.name());
    final long deadline = System.nanoTime() + 5_000_000_000L;
    while (cycle.totalNs() == 0 && System.nanoTime() < deadline) {
      Thread.onSpinWait();
    }
    assertTrue(cycle.totalNs() > 0);
    assertEquals(ModuleHealth.Level.OK, board.read().getFirst().level());
    threads.close();
    assertEquals(ModuleHealth.Level.STOPPED, board.read().getFirst().level());
  }
}
