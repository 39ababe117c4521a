package agent.conductor;

import agent.types.Refusal;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.ManyToOneConcurrentArrayQueue;
import org.agrona.concurrent.NanoClock;

/**
 * An agent that owns the state of a domain. Any thread submits commands through a bounded queue.
 * Long work is executed in steps, one per duty cycle, so that a command waits for at most one step.
 * The agent itself never blocks.
 */
public class ConductorAgent implements Agent {
  private static final int QUEUE_CAPACITY = 8192;
  private static final int COMMANDS_PER_CYCLE = 16;

  /** Work that others need not wait for has a step at least in each cycle of so many. */
  private static final int CYCLES_PER_PATIENT_STEP = 5;

  private final String roleName;
  private final NanoClock clock;
  private final ParkingIdleStrategy idleStrategy = new ParkingIdleStrategy();
  private final ManyToOneConcurrentArrayQueue<Command<?>> queue =
      new ManyToOneConcurrentArrayQueue<>(QUEUE_CAPACITY);
  private final ArrayDeque<Work> urgentWorks = new ArrayDeque<>();
  private final ArrayDeque<Work> works = new ArrayDeque<>();
  private final ArrayDeque<Work> patientWorks = new ArrayDeque<>();
  private final PriorityQueue<Timer> timers =
      new PriorityQueue<>(Comparator.comparingLong(Timer::dueNs));
  private int cyclesWithoutPatientStep;
  private volatile boolean isClosed;
  private volatile long executed;

  /**
   * Creates the agent without starting its thread.
   *
   * @param roleName name of the agent and of its thread
   * @param clock clock of the timers
   */
  public ConductorAgent(String roleName, NanoClock clock) {
    this.roleName = roleName;
    this.clock = clock;
  }

  /** Returns the idle strategy of this agent, which {@link #wake()} wakes. */
  public final ParkingIdleStrategy idleStrategy() {
    return idleStrategy;
  }

  /** Wakes the thread of this agent; for any thread. */
  public final void wake() {
    idleStrategy.wake();
  }

  /** Ends each following park after so long at the latest; for this agent's thread. */
  protected final void parkFor(long nanoseconds) {
    idleStrategy.parkAtMost(nanoseconds);
  }

  /** Returns the number of executed commands, timers and steps of long work; for any thread. */
  public final long executed() {
    return executed;
  }

  /**
   * Queues a command; for any thread.
   *
   * @return completed on this agent's thread, with the result of the command or exceptionally with
   *     its translated exception ({@link #translate}); completed exceptionally with a {@link
   *     Refusal} UNAVAILABLE where the agent is closed or its queue is full
   */
  public final <T> CompletableFuture<T> submit(Callable<T> work) {
    final Command<T> command = new Command<>(work);
    if (isClosed) {
      command.refuse(roleName + " is closed");
    } else if (!queue.offer(command)) {
      command.refuse(roleName + " has " + QUEUE_CAPACITY + " commands to carry out");
    } else {
      wake();
      if (isClosed) {
        refuseAll(); // the last cycle may have ended before the offer
      }
    }
    return command.result;
  }

  /** Queues a command without a result; otherwise as {@link #submit(Callable)}. */
  public final CompletableFuture<Void> run(Runnable work) {
    return submit(
        () -> {
          work.run();
          return null;
        });
  }

  /** Queues long work behind the queued commands; for any thread. */
  public final void begin(Work work) {
    run(() -> works.add(work))
        .whenComplete(
            (done, failure) -> {
              if (failure instanceof RuntimeException refused) {
                work.failed(refused);
              }
            });
  }

  /** Queues long work whose steps precede all work that is not urgent; for this agent's thread. */
  public final void beginUrgent(Work work) {
    urgentWorks.add(work);
  }

  /** Queues long work without waiting for queued commands; for this agent's thread. */
  public final void beginHere(Work work) {
    works.add(work);
  }

  /**
   * Queues work of many steps, such as a change of thousands of entries, that lets all else pass:
   * it has a step in a cycle with nothing else to do, or in every fifth one. For this agent's
   * thread.
   */
  public final void beginPatient(Work work) {
    patientWorks.add(work);
  }

  /**
   * Executes a command after a delay, unless the agent is closed before. For this agent's thread,
   * or for any thread before the agent is started.
   */
  public final void schedule(long delayNs, Runnable work) {
    timers.add(new Timer(clock.nanoTime() + delayNs, work));
  }

  /**
   * Returns the exception that completes the future of a command that failed with this exception.
   */
  protected RuntimeException translate(Throwable failure) {
    return failure instanceof RuntimeException known ? known : new IllegalStateException(failure);
  }

  /**
   * Executes a bounded amount of background work in each duty cycle, and returns its work count.
   */
  protected int background() {
    return 0;
  }

  @Override
  public final int doWork() {
    int count = 0;
    while (count < COMMANDS_PER_CYCLE) {
      final Command<?> command = queue.poll();
      if (command == null) {
        break;
      }
      executed = executed + 1; // one writer
      command.execute();
      count++;
    }
    count += fireTimer();
    count += step(urgentWorks) || step(works) ? 1 : 0;
    count += stepPatiently(count > 0) ? 1 : 0;
    return count + background();
  }

  private int fireTimer() {
    final Timer next = timers.peek();
    if (next == null || next.dueNs() - clock.nanoTime() > 0) {
      return 0;
    }
    timers.remove();
    executed = executed + 1;
    next.work().run();
    return 1;
  }

  private boolean stepPatiently(boolean hasWorked) {
    if (hasWorked && ++cyclesWithoutPatientStep < CYCLES_PER_PATIENT_STEP) {
      return false;
    }
    cyclesWithoutPatientStep = 0;
    return step(patientWorks);
  }

  /** Executes one step of the first work that is not waiting, in round-robin order. */
  private boolean step(ArrayDeque<Work> queued) {
    for (int i = queued.size(); i > 0; i--) {
      final Work work = queued.poll();
      final Work.Progress progress;
      try {
        progress = work.step();
      } catch (RuntimeException failure) {
        executed = executed + 1;
        work.failed(translate(failure));
        return true;
      }
      if (progress != Work.Progress.DONE) {
        queued.add(work);
      }
      if (progress != Work.Progress.WAITING) {
        executed = executed + 1;
        return true;
      }
    }
    return false;
  }

  @Override
  public final String roleName() {
    return roleName;
  }

  @Override
  public final void onClose() {
    isClosed = true;
    refuseAll();
    urgentWorks.addAll(works);
    works.clear();
    urgentWorks.addAll(patientWorks);
    patientWorks.clear();
    while (!urgentWorks.isEmpty()) {
      urgentWorks.poll().failed(refusal());
    }
    timers.clear();
    closed();
    idleStrategy.close();
  }

  /** Called once when the agent is closed, on its thread, after the last duty cycle. */
  protected void closed() {}

  private Refusal refusal() {
    return Refusal.unavailable("", roleName + " is closed");
  }

  private void refuseAll() {
    Command<?> command = queue.poll();
    while (command != null) {
      command.refuse(roleName + " is closed");
      command = queue.poll();
    }
  }

  private record Timer(long dueNs, Runnable work) {}

  private final class Command<T> {
    private final Callable<T> work;
    private final CompletableFuture<T> result = new CompletableFuture<>();

    Command(Callable<T> work) {
      this.work = work;
    }

    void execute() {
      final T value;
      try {
        value = work.call();
      } catch (Exception failure) {
        result.completeExceptionally(translate(failure));
        return;
      } catch (Error failure) {
        result.completeExceptionally(failure);
        throw failure;
      }
      result.complete(value);
    }

    void refuse(String reason) {
      result.completeExceptionally(Refusal.unavailable("", reason));
    }
  }
}
