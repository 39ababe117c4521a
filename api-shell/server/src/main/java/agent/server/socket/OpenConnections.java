package agent.server.socket;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;

/**
 * The open connections of a listener, up to a limit. Where there is no room for a new client, the
 * connection whose client has been idle for the longest time is closed. Thread-safe.
 */
final class OpenConnections {
  /** Connections above the limit, so that those who watch the agent are served at any time. */
  static final int RESERVED = 16;

  private static final long HANGUP_CHECK_MS = 50;

  /** A client that keeps a worker waiting for this time counts as idle. */
  private static final long LONG_WAIT_NS = TimeUnit.SECONDS.toNanos(5);

  private final int limit;
  private final Runnable onRoom;
  private final Set<UnixStreamConnection> connections = ConcurrentHashMap.newKeySet();
  private final AtomicInteger count = new AtomicInteger(); // with those not yet handed over
  private final AtomicReference<UnixStreamConnection> leaving = new AtomicReference<>();
  private final LongAdder closedIdle = new LongAdder();
  private final AtomicBoolean isWatching = new AtomicBoolean();
  private final ScheduledExecutorService watcher =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().name("api-hangups").daemon().factory());
  private volatile boolean isFull;

  /**
   * Creates an empty set.
   *
   * @param limit most connections
   * @param onRoom called on any thread after a connection was closed
   */
  OpenConnections(int limit, Runnable onRoom) {
    this.limit = limit;
    this.onRoom = onRoom;
  }

  boolean hasRoom() {
    return count.get() < limit;
  }

  /** Returns whether one of the reserved connections is free, and needed: no other is idle. */
  boolean hasReserve() {
    return isFull && count.get() < limit + RESERVED;
  }

  /** Counts a client that was accepted; {@link #add} or {@link #drop} follows. */
  void accepted() {
    if (count.incrementAndGet() <= limit) {
      isFull = false;
    }
  }

  /**
   * Looks for clients that have gone, for as long as requests are at work. It is not done by the
   * I/O threads, which sleep while workers work.
   */
  void watchHangups() {
    if (isWatching.compareAndSet(false, true)) {
      try {
        watcher.schedule(this::closeGone, HANGUP_CHECK_MS, TimeUnit.MILLISECONDS);
      } catch (RejectedExecutionException closed) {
        return; // so are all connections
      }
    }
  }

  private void closeGone() {
    isWatching.set(false);
    boolean isServing = false;
    for (final UnixStreamConnection connection : connections) {
      if (connection.isServingGoneClient()) {
        connection.execute(connection::closeIfGone);
      }
      isServing |= connection.isServing();
    }
    if (isServing) {
      watchHangups();
    }
  }

  /** Runs a task again and again, on no I/O thread. */
  void repeat(Runnable task, long intervalMs) {
    watcher.scheduleWithFixedDelay(task, intervalMs, intervalMs, TimeUnit.MILLISECONDS);
  }

  /** Ends the thread that looks for clients that have gone. */
  void close() {
    watcher.shutdownNow();
  }

  /** Uncounts an accepted client for which no connection could be created. */
  void drop() {
    count.decrementAndGet();
    onRoom.run();
  }

  void add(UnixStreamConnection connection) {
    connections.add(connection);
  }

  void remove(UnixStreamConnection connection) {
    if (connections.remove(connection)) {
      leaving.compareAndSet(connection, null);
      drop();
    }
  }

  /**
   * Closes the connection that has been idle for the longest time, on its I/O thread; {@code
   * onRoom} is called afterwards. Does nothing while an earlier call is at work.
   *
   * @param nowNs the time
   */
  void closeLongestIdle(long nowNs) {
    if (leaving.get() != null) {
      return;
    }
    final UnixStreamConnection idle = longestIdle(nowNs);
    isFull = idle == null;
    if (idle != null && leaving.compareAndSet(null, idle)) {
      idle.execute(() -> close(idle));
    }
  }

  private UnixStreamConnection longestIdle(long nowNs) {
    UnixStreamConnection idle = null;
    UnixStreamConnection waiting = null;
    for (final UnixStreamConnection connection : connections) {
      if (!connection.isServing()) {
        idle = longer(idle, connection);
      } else if (connection.waitsForClient()) {
        waiting = longer(waiting, connection);
      }
    }
    final boolean isLong = waiting != null && nowNs - waiting.lastActiveNs() > LONG_WAIT_NS;
    return idle == null && isLong ? waiting : idle;
  }

  private static UnixStreamConnection longer(UnixStreamConnection one, UnixStreamConnection other) {
    return one == null || other.lastActiveNs() - one.lastActiveNs() < 0 ? other : one;
  }

  /** Runs on the I/O thread of the connection, on which its requests begin. */
  private void close(UnixStreamConnection idle) {
    if (idle.isIdle()) {
      closedIdle.increment();
      idle.closeNow();
    } else {
      leaving.set(null);
      onRoom.run();
    }
  }

  ConnectionCounts counts() {
    final int inUse = (int) connections.stream().filter(UnixStreamConnection::isServing).count();
    return new ConnectionCounts(count.get(), inUse, limit, closedIdle.sum(), isFull && !hasRoom());
  }
}
