package agent.server;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * Runs reads, of each peer process a bounded number at one time: reads take processors, and many of
 * one process would let those of others wait. Thread-safe.
 */
final class ReadWorkers {
  /** Reads of one process that run at one time; a read may also wait for a slow client. */
  static final int AT_WORK = 32;

  private final Executor workers;
  private final Map<Integer, Peer> peers = new HashMap<>();

  ReadWorkers(Executor workers) {
    this.workers = workers;
  }

  /** Runs a read when less than the bound of the same process are at work. */
  void execute(int process, Runnable read) {
    synchronized (peers) {
      final Peer peer = peers.computeIfAbsent(process, pid -> new Peer());
      if (peer.atWork == AT_WORK) {
        peer.waiting.add(read);
        return;
      }
      peer.atWork++;
    }
    start(process, read);
  }

  private void start(int process, Runnable read) {
    workers.execute(
        () -> {
          try {
            read.run();
          } finally {
            startNext(process);
          }
        });
  }

  private void startNext(int process) {
    final Runnable next;
    synchronized (peers) {
      final Peer peer = peers.get(process);
      next = peer.waiting.poll();
      if (next == null && --peer.atWork == 0) {
        peers.remove(process);
      }
    }
    if (next != null) {
      try {
        start(process, next);
      } catch (RejectedExecutionException stopped) {
        return; // the server closes its connections
      }
    }
  }

  private static final class Peer {
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private int atWork;
  }
}
