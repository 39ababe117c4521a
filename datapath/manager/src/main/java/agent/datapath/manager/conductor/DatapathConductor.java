package agent.datapath.manager.conductor;

import agent.types.Refusal;
import java.util.ArrayDeque;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.ManyToOneConcurrentArrayQueue;

/**
 * Owns every write to kernel maps, links and programs. It knows nothing of what a command does:
 * those are given to it with the state that they change, which only its thread touches.
 */
public final class DatapathConductor implements Agent {
  private static final int QUEUE_CAPACITY = 8192;
  private static final int COMMANDS_PER_CYCLE = 16;

  /** One bounded step of repairing what could not be written; returns how much it did. */
  @FunctionalInterface
  public interface ReconcileStep {
    int step();
  }

  private final ManyToOneConcurrentArrayQueue<Command<?>> queue =
      new ManyToOneConcurrentArrayQueue<>(QUEUE_CAPACITY);
  private final ArrayDeque<Work> longWork = new ArrayDeque<>();
  private final ParkingIdleStrategy idleStrategy;
  private final ReconcileStep reconcile;
  private volatile boolean isClosed;

  /** Nothing is done before an AgentRunner runs it. */
  public DatapathConductor(ParkingIdleStrategy idleStrategy, ReconcileStep reconcile) {
    this.idleStrategy = idleStrategy;
    this.reconcile = reconcile;
  }

  /**
   * Queues a command; for any thread.
   *
   * @return completed on the conductor's thread; with a {@link Refusal} UNAVAILABLE where the
   *     conductor is closed or its queue is full
   */
  public <T> CompletableFuture<T> submit(Callable<T> work) {
    final Command<T> command = new Command<>(work);
    if (isClosed) {
      command.refuse("the datapath is closed");
    } else if (!queue.offer(command)) {
      command.refuse("the datapath has " + QUEUE_CAPACITY + " commands to do");
    } else {
      idleStrategy.wake();
      if (isClosed) {
        refuseAll(); // it may have come in after the last cycle
      }
    }
    return command.result;
  }

  /** Starts long work, after what is queued and after long work that was started before. */
  public void submit(Work work) {
    submit(
            () -> {
              longWork.add(work);
              return null;
            })
        .whenComplete(
            (done, failure) -> {
              if (failure instanceof RuntimeException refused) {
                work.failed(refused);
              }
            });
  }

  @Override
  public int doWork() {
    int count = 0;
    while (count < COMMANDS_PER_CYCLE) {
      final Command<?> command = queue.poll();
      if (command == null) {
        break;
      }
      command.run();
      count++;
    }
    if (!longWork.isEmpty()) {
      step();
      count++;
    }
    return count + reconcile.step();
  }

  @Override
  public String roleName() {
    return "dp-conductor";
  }

  @Override
  public void onClose() {
    isClosed = true;
    refuseAll();
    while (!longWork.isEmpty()) {
      longWork.remove().failed(Refusal.unavailable("", "the datapath is closed"));
    }
  }

  private void step() {
    final Work work = longWork.peek();
    try {
      if (work.step()) {
        longWork.remove();
      }
    } catch (RuntimeException failure) {
      longWork.remove();
      work.failed(failure);
    }
  }

  private void refuseAll() {
    Command<?> command = queue.poll();
    while (command != null) {
      command.refuse("the datapath is closed");
      command = queue.poll();
    }
  }

  private static final class Command<T> {
    private final Callable<T> work;
    private final CompletableFuture<T> result = new CompletableFuture<>();

    Command(Callable<T> work) {
      this.work = work;
    }

    void run() {
      try {
        result.complete(work.call());
      } catch (Exception failure) {
        result.completeExceptionally(DatapathFailures.refusal(failure));
      }
    }

    void refuse(String reason) {
      result.completeExceptionally(Refusal.unavailable("", reason));
    }
  }
}
