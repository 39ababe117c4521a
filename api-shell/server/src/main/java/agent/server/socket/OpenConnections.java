package agent.server.socket;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;

/**
 * The open connections of a listener, up to a limit. Where there is no room for a new client, the
 * connection whose client has been idle for the longest time is closed. Thread-safe.
 */
final class OpenConnections {
  /** A client that keeps a worker waiting for this time counts as idle. */
  private static final long LONG_WAIT_NS = TimeUnit.SECONDS.toNanos(5);

  private final int limit;
  private final Runnable onRoom;
  private final Set<UnixStreamConnection> connections = ConcurrentHashMap.newKeySet();
  private final AtomicInteger count = new AtomicInteger(); // with those not yet handed over
  private final AtomicReference<UnixStreamConnection> leaving = new AtomicReference<>();
  private final LongAdder closedIdle = new LongAdder();
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

  /** Counts a client that was accepted; {@link #add} or {@link #drop} follows. */
  void accepted() {
    count.incrementAndGet();
    isFull = false;
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
