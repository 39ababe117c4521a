package agent.l7proxy;

import agent.datapath.spec.RedirectedFlow;
import io.netty.channel.Channel;
import io.netty.util.concurrent.Ticker;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Counts the descriptors of connections, those of clients and those to servers. Where few are free,
 * an idle connection gives its own away: the one to a server that is idle for the longest time,
 * else one of the client that has the most. Of a part that is kept a client gets more only while it
 * has fewer than half of what is free: one whose connections are all at work does not shut others
 * out. Any thread may call.
 *
 * <p>A connection that was taken is counted no more at once, and its event loop closes it.
 */
final class ProxyConnections {
  private static final Logger LOGGER = LogManager.getLogger(ProxyConnections.class);
  private static final long LOGGED_NS = TimeUnit.MINUTES.toNanos(1);
  private static final int PART_KEPT = 16;
  private static final int LEAST_KEPT = 4;
  private static final Comparator<Client> LARGEST_FIRST =
      Comparator.comparingInt((Client client) -> client.own).reversed();

  /** An endpoint of this node, or all clients outside that connect to one. */
  static final class Client {
    private final int id;

    /** How many descriptors it has, with those of connections to servers. */
    private int own;

    /** Its connections, but for those that were found at work. */
    private final TreeSet<CountedConnection> queue = new TreeSet<>();

    private Client(int id) {
      this.id = id;
    }

    @Override
    public String toString() {
      return (id > 0 ? "endpoint " : "clients outside to endpoint ") + Math.abs(id);
    }
  }

  private final int most;

  /** How many are kept of new connections of clients; half of them of those to servers. */
  private final int kept;

  private final Ticker ticker;

  /** Clients outside are counted by the endpoint that they connect to: they may have any number. */
  private final Map<Integer, Client> clients = new HashMap<>();

  /** The connections to servers, but for those that were found at work. */
  private final TreeSet<CountedConnection> servers = new TreeSet<>();

  private int free;
  private int clientConnections;
  private long counted;
  private long closedIdle;
  private long refused;
  private long refusedBefore;
  private long loggedNs;

  /**
   * Creates the counter.
   *
   * @param most how many descriptors there may be
   */
  ProxyConnections(int most) {
    this(most, Ticker.systemTicker());
  }

  ProxyConnections(int most, Ticker ticker) {
    this.most = most;
    this.ticker = ticker;
    free = most;
    kept = Math.max(LEAST_KEPT, most / PART_KEPT);
    loggedNs = ticker.nanoTime() - LOGGED_NS;
  }

  /**
   * Counts a connection of a client until it is closed; it is idle.
   *
   * @return null: there is no room for it
   */
  synchronized CountedConnection add(RedirectedFlow flow, Channel channel) {
    final int id = flow.clientEndpoint() != 0 ? flow.clientEndpoint() : -flow.serverEndpoint();
    final Client client = clients.computeIfAbsent(id, Client::new);
    if (!hasRoom(client, free > kept, 2L * client.own < free, client.own + 1)) {
      refuse(client, "a connection");
      return null;
    }
    final CountedConnection added = count(client, true);
    added.channel(channel);
    requeue(added);
    return added;
  }

  /**
   * Counts a connection to a server for a request; it is at work.
   *
   * @return null: there is no room for it
   */
  synchronized CountedConnection addServer(Client client) {
    // The request has a connection of its client already, which is of no use without this one.
    if (!hasRoom(client, free > kept / 2, client.own <= free, client.own)) {
      refuse(client, "a connection to a server");
      return null;
    }
    return count(client, false);
  }

  private CountedConnection count(Client client, boolean isClient) {
    free--;
    client.own++;
    if (isClient) {
      clientConnections++;
    }
    return new CountedConnection(this, client, isClient, counted++);
  }

  /**
   * Returns whether there is a free descriptor for a client; one may be taken for it.
   *
   * @param isManyFree whether more are free than are kept
   * @param isFewOwn whether the client may have one of those
   * @param large the least that another client has from which one is taken
   */
  private boolean hasRoom(Client client, boolean isManyFree, boolean isFewOwn, int large) {
    if (isManyFree) {
      return true;
    }
    CountedConnection taken = takeOldest(servers);
    if (taken == null && free > 0 && isFewOwn) {
      return true;
    }
    if (taken == null) {
      taken = takeFromLargest(client, large);
    }
    if (taken == null) {
      return false;
    }
    if (taken.isClient()) {
      closedIdle++;
    }
    client.own++; // it stays known where what is taken is its last
    release(taken);
    client.own--;
    taken.close();
    return true;
  }

  /**
   * Reclaims a connection from clients that have many, the largest first, or else from this one.
   */
  private CountedConnection takeFromLargest(Client client, int large) {
    final List<Client> larger =
        clients.values().stream()
            .filter(other -> other != client && other.own >= large && !other.queue.isEmpty())
            .sorted(LARGEST_FIRST)
            .toList();
    for (final Client other : larger) {
      final CountedConnection taken = takeOldest(other.queue);
      if (taken != null) {
        return taken;
      }
    }
    return takeOldest(client.queue);
  }

  /** Removes and returns the connection that has been idle the longest; null: all are busy. */
  private static CountedConnection takeOldest(TreeSet<CountedConnection> queue) {
    for (CountedConnection next = queue.pollFirst(); next != null; next = queue.pollFirst()) {
      if (next.take()) {
        return next;
      }
      if (!next.leaveQueue()) {
        queue.add(next); // used since it was queued
      }
    }
    return null;
  }

  /** Queues a connection that has become idle and is in no queue. */
  synchronized void requeue(CountedConnection connection) {
    if (connection.enterQueue(ticker.nanoTime())) {
      queue(connection).add(connection);
    }
  }

  private TreeSet<CountedConnection> queue(CountedConnection connection) {
    return connection.isClient() ? connection.client().queue : servers;
  }

  /** A connection is closed, or it was not opened; counts once. */
  synchronized void release(CountedConnection connection) {
    if (!connection.end()) {
      return;
    }
    queue(connection).remove(connection);
    free++;
    if (connection.isClient()) {
      clientConnections--;
    }
    forget(connection.client(), 1);
  }

  private void forget(Client client, int released) {
    client.own -= released;
    if (client.own == 0) {
      clients.remove(client.id, client);
    }
  }

  /** Logs the first refusal, and then once a minute. */
  private void refuse(Client client, String what) {
    refused++;
    forget(client, 0);
    LOGGER.debug("{} of {} is refused", what, client);
    final long nowNs = ticker.nanoTime();
    if (nowNs - loggedNs >= LOGGED_NS) {
      LOGGER.warn(
          "HTTP proxy: {} of {} refused: {} of {} descriptors are in use, {} of them by this client;"
              + " clients with connections: {}; {} refused since the last message",
          what,
          client,
          most - free,
          most,
          client.own,
          clients.size(),
          refused - refusedBefore);
      loggedNs = nowNs;
      refusedBefore = refused;
    }
  }

  long nanoTime() {
    return ticker.nanoTime();
  }

  /** Returns how many connections of clients are open. */
  synchronized int clientConnections() {
    return clientConnections;
  }

  /** Returns how many descriptors are in use. */
  synchronized int descriptors() {
    return most - free;
  }

  /** Returns how many connections of clients were closed for others, because they were idle. */
  synchronized long closedIdle() {
    return closedIdle;
  }

  /** Returns how many connections were refused, of clients and to servers. */
  synchronized long refused() {
    return refused;
  }
}
