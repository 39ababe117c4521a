package agent.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth.Level;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.IdleStrategy;
import org.junit.jupiter.api.Test;

/** What one duty cycle counts, what a full queue and the end refuse, and what is measured. */
class WorkCycleTest {
  private final List<String> events = new CopyOnWriteArrayList<>();
  private long nowNs;
  private int background;

  private final class Conductor extends ConductorAgent {
    Conductor() {
      super("test-conductor", () -> nowNs);
    }

    @Override
    protected int background() {
      return background;
    }

    @Override
    protected void closed() {
      events.add("closed");
    }
  }

  private final Conductor conductor = new Conductor();

  private Work work(String name, boolean fails) {
    return new Work() {
      @Override
      public Progress step() {
        if (fails) {
          throw new IllegalStateException("EPERM");
        }
        events.add(name);
        return Progress.WORKED;
      }

      @Override
      public void failed(RuntimeException failure) {
        events.add(name + " failed: " + failure.getMessage());
      }
    };
  }

  @Test
  void shouldCountCommandsTimersStepsAndBackgroundWork() {
    assertEquals(0, conductor.doWork());
    background = 5;
    assertEquals(5, conductor.doWork());
    conductor.submit(() -> "one");
    assertEquals(6, conductor.doWork());
    conductor.schedule(10, () -> events.add("timer"));
    assertEquals(5, conductor.doWork());
    nowNs = 10;
    assertEquals(6, conductor.doWork());
    conductor.beginHere(work("work", false));
    assertEquals(6, conductor.doWork());
    assertEquals(List.of("timer", "work"), events);
    assertEquals(3, conductor.executed());
  }

  @Test
  void shouldCountAStepThatFails() {
    conductor.beginHere(work("bad", true));
    assertEquals(1, conductor.doWork());
    assertEquals(List.of("bad failed: EPERM"), events);
    assertEquals(1, conductor.executed());
    assertEquals(0, conductor.doWork(), "it is not stepped again");
  }

  @Test
  void shouldStepUrgentWorkBeforeOtherWork() {
    conductor.beginHere(work("other", false));
    conductor.beginUrgent(work("urgent", false));
    conductor.doWork();
    conductor.doWork();
    assertEquals(List.of("urgent", "urgent"), events);
  }

  @Test
  void shouldStepPatientWorkWhereACycleHasNothingElseAndInEveryFifthOne() {
    conductor.beginPatient(work("patient", false));
    conductor.doWork();
    conductor.doWork();
    assertEquals(List.of("patient", "patient"), events);
    events.clear();
    conductor.beginHere(work("other", false));
    for (int i = 0; i < 10; i++) {
      conductor.doWork();
    }
    final List<String> five = List.of("other", "other", "other", "other", "other", "patient");
    assertEquals(Stream.of(five, five).flatMap(List::stream).toList(), events);
  }

  @Test
  void shouldFailAllWorkAtItsEnd() {
    conductor.beginPatient(work("patient", false));
    conductor.beginHere(work("other", false));
    conductor.beginUrgent(work("urgent", false));
    conductor.schedule(0, () -> events.add("timer"));
    conductor.onClose();
    assertEquals(4, events.size());
    assertTrue(events.get(2).startsWith("patient failed: "), events.toString());
    assertTrue(events.get(0).startsWith("urgent failed: "), events.toString());
    assertTrue(events.get(1).startsWith("other failed: "), events.toString());
    assertTrue(events.get(1).contains("test-conductor is closed"), events.toString());
    assertEquals("closed", events.get(3));
    assertEquals(0, conductor.doWork());
  }

  @Test
  void shouldRefuseACommandWhereTheQueueIsFull() {
    CompletableFuture<String> last = conductor.submit(() -> "first");
    for (int i = 1; i <= 8192; i++) {
      last = conductor.submit(() -> "last");
    }
    final Refusal refusal = (Refusal) last.exceptionNow();
    assertEquals(Refusal.Kind.UNAVAILABLE, refusal.kind());
    assertTrue(refusal.getMessage().contains("8192 commands"), refusal.getMessage());
    conductor.doWork();
    assertFalse(conductor.submit(() -> "next").isDone());
  }

  @Test
  void shouldWaitForAFutureAndWakeTheConductorWhenItCompletes() {
    final CompletableFuture<String> slow = new CompletableFuture<>();
    final StepSequence sequence =
        new StepSequence(() -> events.add("wake"))
            .thenAwait(() -> slow)
            .thenAwait(() -> CompletableFuture.completedFuture("now"))
            .then(() -> events.add("then"))
            .onDone(() -> events.add("done"));
    assertEquals(Work.Progress.WORKED, sequence.step());
    assertEquals(Work.Progress.WAITING, sequence.step());
    slow.complete("late");
    assertEquals(List.of("wake"), events);
    assertEquals(Work.Progress.WORKED, sequence.step());
    assertEquals(Work.Progress.WORKED, sequence.step());
    assertEquals(Work.Progress.DONE, sequence.step());
    assertEquals(List.of("wake", "then", "done"), events, "a complete future wakes no thread");
  }

  @Test
  void shouldForgetTheStepsAfterAFailure() {
    final StepSequence sequence =
        new StepSequence(() -> {})
            .then(() -> events.add("then"))
            .onFailure(failure -> events.add(failure.getMessage()));
    sequence.failed(new IllegalStateException("closed"));
    sequence.step();
    assertEquals(List.of("closed"), events);
  }

  @Test
  void shouldMeasureCyclesThatFailAndShowItsLimits() {
    final DutyCycle cycle = new DutyCycle("dp-test", 1);
    assertEquals(1, cycle.stallLimitNs());
    assertThrows(IllegalArgumentException.class, () -> new DutyCycle("dp-test", 0));
    cycle.begin(1_000);
    cycle.fail(3_500, "ENOMEM");
    assertEquals(2_500, cycle.totalNs());
    assertEquals(1, cycle.count(1));
    assertEquals(1_000, DutyCycle.boundNs(0));
    assertEquals(4_000_000_000L, DutyCycle.boundNs(DutyCycle.buckets() - 2));
    assertEquals(Long.MAX_VALUE, DutyCycle.boundNs(DutyCycle.buckets() - 1));
    cycle.begin(5_000);
    assertEquals(Level.DEGRADED, cycle.health(5_001).level(), "of the failed cycle");
    cycle.end(5_001, 1);
    cycle.begin(6_000);
    assertEquals(Level.OK, cycle.health(6_001).level());
    assertEquals(Level.DEGRADED, cycle.health(6_002).level());
  }

  /** An agent that fails once. */
  private final class Failing implements Agent {
    private int cycles;

    @Override
    public void onStart() {
      events.add("start");
    }

    @Override
    public int doWork() {
      if (cycles++ == 0) {
        throw new IllegalStateException("ENOMEM");
      }
      return 0;
    }

    @Override
    public void onClose() {
      events.add("close");
    }

    @Override
    public String roleName() {
      return "dp-test";
    }
  }

  @Test
  void shouldStartMeasureAndCloseAnAgent() throws Exception {
    final HealthBoard board = new HealthBoard(() -> 0);
    final AgentThreads threads = new AgentThreads(Thread::new, System::nanoTime, board);
    final ParkingIdleStrategy idle = new ParkingIdleStrategy();
    final AutoCloseable handle =
        threads.start(new Failing(), idle, () -> wakeOf(idle), 60_000_000_000L);
    final DutyCycle cycle = threads.dutyCycles().getFirst();
    final long deadlineNs = System.nanoTime() + 60_000_000_000L;
    while (measured(cycle) == 0 && System.nanoTime() < deadlineNs) {
      Thread.onSpinWait();
    }
    assertEquals(1, measured(cycle), "the cycle that failed");
    handle.close();
    assertEquals(List.of("start", "wake", "close"), new ArrayList<>(events));
    assertEquals(Level.STOPPED, board.read().getFirst().level());
    threads.close();
    assertEquals(List.of("start", "wake", "close"), new ArrayList<>(events), "it is closed once");
  }

  /** Two agents: what closes them all closes each once, and the last one first. */
  @Test
  void shouldCloseAllInTheReverseOrderOfTheirStart() throws Exception {
    final AgentThreads threads =
        new AgentThreads(Thread::new, System::nanoTime, new HealthBoard(() -> 0));
    assertNotNull(threads.start(conductor, 1_000_000_000));
    final ConductorAgent other =
        new ConductorAgent("other", () -> 0) {
          @Override
          protected void closed() {
            events.add("other closed");
          }
        };
    threads.start(other, 1_000_000_000);
    assertEquals(2, threads.dutyCycles().size());
    conductor.submit(() -> "done").get(60, TimeUnit.SECONDS);
    other.submit(() -> "done").get(60, TimeUnit.SECONDS);
    threads.close();
    assertEquals(List.of("other closed", "closed"), new ArrayList<>(events));
  }

  /** The clock moves by 5 at each cycle, which the agent needs for its work. */
  @Test
  void shouldMeasureEachCycleAndPassItsWorkOn() throws Exception {
    final AtomicLong clockNs = new AtomicLong(1_000_000);
    final AgentThreads threads =
        new AgentThreads(Thread::new, clockNs::get, new HealthBoard(() -> 0));
    final List<Integer> idled = new CopyOnWriteArrayList<>();
    final Agent agent =
        new Agent() {
          @Override
          public int doWork() {
            clockNs.addAndGet(5);
            Thread.yield();
            return 3;
          }

          @Override
          public String roleName() {
            return "dp-test";
          }
        };
    final IdleStrategy idle =
        new IdleStrategy() {
          @Override
          public void idle(int workCount) {
            idled.add(workCount);
          }

          @Override
          public void idle() {}

          @Override
          public void reset() {}
        };
    threads.start(agent, idle, () -> {}, 60_000_000_000L);
    final long deadlineNs = System.nanoTime() + 60_000_000_000L;
    while (idled.isEmpty() && System.nanoTime() < deadlineNs) {
      Thread.onSpinWait();
    }
    threads.close();
    assertEquals(3, idled.getFirst());
    final DutyCycle cycle = threads.dutyCycles().getFirst();
    assertEquals(5, cycle.longestNs());
    assertEquals(5 * measured(cycle), cycle.totalNs());
  }

  private void wakeOf(ParkingIdleStrategy idle) {
    events.add("wake");
    idle.stop();
  }

  private static long measured(DutyCycle cycle) {
    long count = 0;
    for (int bucket = 0; bucket < DutyCycle.buckets(); bucket++) {
      count += cycle.count(bucket);
    }
    return count;
  }
}
