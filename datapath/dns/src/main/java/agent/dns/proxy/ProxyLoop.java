package agent.dns.proxy;

import agent.conductor.ThreadPriority;
import agent.types.IoFailure;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The thread of the proxy: it waits for sockets and for what other threads report. What it does not
 * wait for sockets for is done in turn: another thread may do a piece of it while it waits.
 */
final class ProxyLoop {
  private static final Logger LOGGER = LogManager.getLogger(ProxyLoop.class);
  private static final long TICK_MS = 50;
  private static final int MOST_REPORTS = 4_096;

  private final Selector selector;
  private final Queue<Runnable> reports = new ConcurrentLinkedQueue<>();
  private final Deque<Runnable> later = new ArrayDeque<>();
  private final Thread thread =
      Thread.ofPlatform()
          .daemon()
          .name(DnsProxy.THREAD)
          .unstarted(ThreadPriority.raising(this::run));

  /** Held by the thread that works. */
  private final ReentrantLock turn = new ReentrantLock();

  private volatile boolean isClosed;
  private Runnable tick;
  private Runnable end;
  private final LongSupplier nanoClock;
  private long nowNs;

  /** What a socket is for. */
  interface Socket {
    /** The socket can be used; called in turn on the thread of the proxy. */
    void onReady(SelectionKey key) throws IOException;

    /** The socket is not used any more, since {@link #onReady} failed. */
    void onFailed();
  }

  ProxyLoop() {
    this(System::nanoTime);
  }

  ProxyLoop(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
    nowNs = nanoClock.getAsLong();
    try {
      selector = Selector.open();
    } catch (IOException e) {
      throw new OperationException("DNS proxy: selector: " + IoFailure.reason(e), e);
    }
  }

  /**
   * Starts the thread.
   *
   * @param everyTick called again and again, at least every 100 ms
   * @param atEnd called once, at last
   */
  void start(Runnable everyTick, Runnable atEnd) {
    tick = everyTick;
    end = atEnd;
    thread.start();
  }

  SelectionKey register(SelectableChannel channel, int operations, Socket socket)
      throws IOException {
    channel.configureBlocking(false);
    return channel.register(selector, operations, socket);
  }

  /** Runs a task on the thread; any thread may call. */
  void tell(Runnable report) {
    reports.add(report);
    if (Thread.currentThread() != thread) {
      selector.wakeup();
    }
  }

  /**
   * Does something that changes no socket, but for what is done {@link #later}: on the calling
   * thread where the proxy's waits, since a packet waits for it; else as {@link #tell} does.
   */
  void tellPromptly(Runnable report) {
    if (Thread.currentThread() == thread || !turn.tryLock()) {
      tell(report);
      return;
    }
    boolean hasLater = false;
    try {
      if (!isClosed) {
        nowNs = nanoClock.getAsLong();
        report.run();
        hasLater = !later.isEmpty();
      }
    } catch (RuntimeException e) {
      LOGGER.error("DNS proxy: {}", e.getMessage(), e);
    } finally {
      turn.unlock();
    }
    if (hasLater) {
      selector.wakeup();
    }
  }

  /** Runs a task on the thread after the present one. */
  void later(Runnable work) {
    later.add(work);
  }

  /** Returns when the present cycle began, by the clock of this. */
  long nowNs() {
    return nowNs;
  }

  private void run() {
    long tickNs = nanoClock.getAsLong();
    while (!isClosed) {
      try {
        if (hasWork()) {
          selector.selectNow(this::ready);
        } else {
          selector.select(this::ready, TICK_MS);
        }
        tickNs = work(tickNs);
      } catch (IOException | RuntimeException e) {
        LOGGER.error("DNS proxy: {}", e.getMessage(), e);
      }
    }
    turn.lock();
    try {
      end.run();
    } finally {
      turn.unlock();
    }
    try {
      selector.close();
    } catch (IOException e) {
      LOGGER.warn("DNS proxy: selector: {}", IoFailure.reason(e));
    }
  }

  private boolean hasWork() {
    turn.lock();
    try {
      return !reports.isEmpty() || !later.isEmpty();
    } finally {
      turn.unlock();
    }
  }

  /** Does what was reported and left for later, and what is due; returns when the last tick was. */
  private long work(long tickNs) {
    turn.lock();
    try {
      nowNs = nanoClock.getAsLong();
      Runnable next = reports.poll();
      for (int i = 1; next != null; i++) {
        next.run();
        next = i < MOST_REPORTS ? reports.poll() : null;
      }
      for (int most = later.size(); most > 0; most--) {
        later.poll().run();
      }
      final boolean isDue = nowNs - tickNs >= TICK_MS * 1_000_000;
      if (isDue) {
        tick.run();
      }
      return isDue ? nowNs : tickNs;
    } finally {
      turn.unlock();
    }
  }

  private void ready(SelectionKey key) {
    final Socket socket = (Socket) key.attachment();
    turn.lock();
    try {
      socket.onReady(key);
    } catch (IOException e) {
      socket.onFailed();
    } catch (RuntimeException e) {
      LOGGER.error("DNS proxy: {}", e.getMessage(), e);
      socket.onFailed();
    } finally {
      turn.unlock();
    }
  }

  /** Ends the thread and waits for it. */
  void close() {
    isClosed = true;
    selector.wakeup();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
