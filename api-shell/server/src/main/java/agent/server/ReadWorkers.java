package agent.server;

import agent.server.socket.Peer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * Runs reads, of each peer a bounded number at one time: reads take processors, and many of one
 * would let those of others wait. Thread-safe.
 */
final class ReadWorkers {
  /** Reads of one peer that run at one time; a read may also wait for a slow client. */
  static final int AT_WORK = 32;

  private final Executor workers;
  private final Map<Peer, Reads> readsByPeer = new HashMap<>();

  ReadWorkers(Executor workers) {
    this.workers = workers;
  }

  /** Runs a read when less than the bound of the same peer are at work. */
  void execute(Peer peer, Runnable read) {
    synchronized (readsByPeer) {
      final Reads reads = readsByPeer.computeIfAbsent(peer, none -> new Reads());
      if (reads.atWork == AT_WORK) {
        reads.waiting.add(read);
        return;
      }
      reads.atWork++;
    }
    start(peer, read);
  }

  private void start(Peer peer, Runnable read) {
    workers.execute(
        () -> {
          try {
            read.run();
          } finally {
            startNext(peer);
          }
        });
  }

  private void startNext(Peer peer) {
    final Runnable next;
    synchronized (readsByPeer) {
      final Reads reads = readsByPeer.get(peer);
      next = reads.waiting.poll();
      if (next == null && --reads.atWork == 0) {
        readsByPeer.remove(peer);
      }
    }
    if (next != null) {
      try {
        start(peer, next);
      } catch (RejectedExecutionException stopped) {
        return; // the server closes its connections
      }
    }
  }

  private static final class Reads {
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private int atWork;
  }
}
