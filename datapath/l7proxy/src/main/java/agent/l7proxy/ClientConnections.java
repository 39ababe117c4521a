package agent.l7proxy;

import agent.datapath.manager.spec.RedirectedFlow;
import io.netty.util.concurrent.Ticker;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Counts the open connections of clients. A client gets one more while it has fewer than half of
 * what is free: alone it gets a third of all, and however many clients open connections without
 * end, another one finds some free. Any thread may call.
 */
final class ClientConnections {
  private static final Logger LOGGER = LogManager.getLogger(ClientConnections.class);
  private static final long LOGGED_NS = TimeUnit.MINUTES.toNanos(1);

  private final int most;
  private final Ticker ticker;
  private final Map<Integer, Integer> clients = new HashMap<>();
  private int open;
  private long refused;
  private long refusedBefore;
  private long loggedNs;

  /**
   * Creates the counter.
   *
   * @param most how many connections there may be
   */
  ClientConnections(int most) {
    this(most, Ticker.systemTicker());
  }

  ClientConnections(int most, Ticker ticker) {
    this.most = most;
    this.ticker = ticker;
    loggedNs = ticker.nanoTime() - LOGGED_NS;
  }

  /**
   * Clients outside this node are counted by the endpoint that they connect to: their number of
   * addresses is not limited.
   */
  private static Integer client(RedirectedFlow flow) {
    return flow.clientEndpoint() != 0 ? flow.clientEndpoint() : -flow.serverEndpoint();
  }

  /** Counts one more connection; returns whether there is room for it. */
  synchronized boolean add(RedirectedFlow flow) {
    final int own = clients.getOrDefault(client(flow), 0);
    if (2L * own >= most - open) {
      refused++;
      LOGGER.debug("{}: the connection is refused: there are too many", flow);
      logRefusal(flow, own);
      return false;
    }
    clients.put(client(flow), own + 1);
    open++;
    return true;
  }

  /** Tells of the first refusal, and then once a minute. */
  private void logRefusal(RedirectedFlow flow, int own) {
    final long nowNs = ticker.nanoTime();
    if (nowNs - loggedNs < LOGGED_NS) {
      return;
    }
    LOGGER.warn(
        "HTTP proxy: a connection of {} {} is refused: {} of {} connections are open, {} of them so;"
            + " refused since the last message: {}",
        flow.clientEndpoint() != 0 ? "endpoint" : "clients outside to endpoint",
        Math.abs(client(flow)),
        open,
        most,
        own,
        refused - refusedBefore);
    loggedNs = nowNs;
    refusedBefore = refused;
  }

  /** A connection that was counted is closed. */
  synchronized void remove(RedirectedFlow flow) {
    clients.computeIfPresent(client(flow), (id, own) -> own == 1 ? null : own - 1);
    open--;
  }

  synchronized int open() {
    return open;
  }

  synchronized long refused() {
    return refused;
  }
}
