package agent.server.socket;

import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.xnio.XnioIoThread;

/**
 * An I/O thread: a selector, tasks and timers. It replaces the threads of XNIO, which do not
 * support Unix sockets.
 */
final class UnixIoThread extends XnioIoThread {
  private static final Logger LOGGER = LogManager.getLogger(UnixIoThread.class);
  private static final long NO_TIMER = -1;

  /**
   * The attachment of a selection key; called on this thread with the operations that are ready.
   */
  interface Selected {
    void onReady(int readyOps);
  }

  private final Selector selector;
  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final PriorityQueue<Timer> timers = new PriorityQueue<>();
  private final AtomicBoolean awake = new AtomicBoolean();
  private volatile boolean closed;

  UnixIoThread(int number) throws IOException {
    super(null, number, "api-io-" + number);
    setDaemon(true);
    selector = Selector.open();
  }

  /**
   * Registers a channel with this thread's selector.
   *
   * @param channel a channel in non-blocking mode
   * @param ops the first interest
   * @param selected is called with the operations that are ready
   * @return the key
   */
  SelectionKey register(SelectableChannel channel, int ops, Selected selected) throws IOException {
    final SelectionKey key = channel.register(selector, ops, selected);
    wakeup();
    return key;
  }

  /** Wakes the selector, so that it processes changed interests and cancelled keys. */
  void wakeup() {
    if (Thread.currentThread() != this && awake.compareAndSet(false, true)) {
      selector.wakeup();
    }
  }

  /** Ends the thread; channels that are still registered are closed by their owners. */
  void shutdown() {
    closed = true;
    selector.wakeup();
  }

  @Override
  public void execute(Runnable command) {
    if (closed) {
      throw new RejectedExecutionException("the server is closed");
    }
    tasks.add(command);
    wakeup();
  }

  @Override
  public Key executeAfter(Runnable command, long time, TimeUnit unit) {
    return schedule(new Timer(command, System.nanoTime() + unit.toNanos(time), 0));
  }

  @Override
  public Key executeAtInterval(Runnable command, long time, TimeUnit unit) {
    return schedule(new Timer(command, System.nanoTime() + unit.toNanos(time), unit.toNanos(time)));
  }

  /**
   * Undertow sets timers while connections close; after the end of this thread they have no effect.
   */
  private Key schedule(Timer timer) {
    if (closed) {
      return Key.IMMEDIATE;
    }
    synchronized (timers) {
      timers.add(timer);
    }
    wakeup();
    return timer;
  }

  private boolean removeTimer(Timer timer) {
    synchronized (timers) {
      return timers.remove(timer);
    }
  }

  @Override
  public void run() {
    try {
      while (!closed) {
        select(runTimers());
        runTasks();
      }
    } catch (ClosedSelectorException e) {
      LOGGER.debug("selector closed");
    } catch (IOException e) {
      LOGGER.error("API I/O thread stopped: {}", e.getMessage(), e);
    } finally {
      runTasks();
      try {
        selector.close();
      } catch (IOException e) {
        LOGGER.warn("closing the API selector: {}", e.getMessage());
      }
    }
  }

  private void select(long waitMs) throws IOException {
    if (!tasks.isEmpty() || waitMs == 0) {
      selector.selectNow(UnixIoThread::dispatch);
    } else {
      selector.select(UnixIoThread::dispatch, waitMs == NO_TIMER ? 0 : waitMs);
    }
    awake.set(false);
  }

  private static void dispatch(SelectionKey key) {
    if (key.isValid()) {
      guarded(() -> ((Selected) key.attachment()).onReady(key.readyOps()));
    }
  }

  private void runTasks() {
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      guarded(task);
    }
  }

  private long runTimers() {
    while (true) {
      final Timer timer;
      synchronized (timers) {
        timer = timers.peek();
        if (timer == null) {
          return NO_TIMER;
        }
        final long remainingNs = timer.deadlineNs - System.nanoTime();
        if (remainingNs > 0) {
          return TimeUnit.NANOSECONDS.toMillis(remainingNs) + 1;
        }
        timers.poll();
        if (timer.intervalNs > 0) {
          timers.add(timer.next());
        }
      }
      guarded(timer.command);
    }
  }

  private static void guarded(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      LOGGER.error("API I/O thread: a task failed: {}", e.toString(), e);
    }
  }

  private final class Timer implements Key, Comparable<Timer> {
    private final Runnable command;
    private final long intervalNs;
    private long deadlineNs;

    Timer(Runnable command, long deadlineNs, long intervalNs) {
      this.command = command;
      this.deadlineNs = deadlineNs;
      this.intervalNs = intervalNs;
    }

    /** Sets the next expiry of a periodic timer, whose key stays valid. */
    Timer next() {
      deadlineNs += intervalNs;
      return this;
    }

    @Override
    public boolean remove() {
      return removeTimer(this);
    }

    @Override
    public int compareTo(Timer other) {
      return Long.signum(deadlineNs - other.deadlineNs);
    }
  }
}
