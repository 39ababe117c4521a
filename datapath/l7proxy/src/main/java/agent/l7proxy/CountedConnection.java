package agent.l7proxy;

import agent.l7proxy.ProxyConnections.Client;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.util.AttributeKey;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A connection that {@link ProxyConnections} counts. Its event loop says when it is at work and
 * when it is idle; while it is idle its descriptor can be taken for another connection by any
 * thread, and never while it is at work.
 *
 * <p>{@link ProxyConnections} has it in a queue by the time since which it was idle when it was
 * queued. Use does not change its place: that is made good when a descriptor is looked for. One
 * that is found at work then leaves the queue, and enters it again when it becomes idle.
 */
final class CountedConnection implements Comparable<CountedConnection> {
  private static final AttributeKey<CountedConnection> OF_CHANNEL =
      AttributeKey.valueOf(CountedConnection.class, "OF_CHANNEL");

  /** It is at work, and in the queue. */
  private static final long AT_WORK = Long.MIN_VALUE;

  /** It is at work, and not in the queue. */
  private static final long AT_WORK_UNQUEUED = Long.MIN_VALUE + 1;

  /** Its descriptor was taken, or it is closed. */
  private static final long ENDED = Long.MIN_VALUE + 2;

  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(CountedConnection.class, "state", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final ProxyConnections connections;
  private final Client client;
  private final boolean isClient;
  private final long number;
  private Channel channel;

  /** One of the above, or else the time since which it is idle. */
  private volatile long state = AT_WORK_UNQUEUED;

  /** Its place in the queue; used by {@link ProxyConnections}, as is whether it was counted. */
  private long queuedNs;

  private boolean isReleased;

  /**
   * Creates one at work.
   *
   * @param isClient whether it is one of a client, else to a server
   * @param number tells it from all others
   */
  CountedConnection(ProxyConnections connections, Client client, boolean isClient, long number) {
    this.connections = connections;
    this.client = client;
    this.isClient = isClient;
    this.number = number;
  }

  /** Returns that of a channel of the proxy. */
  static CountedConnection of(Channel channel) {
    return channel.attr(OF_CHANNEL).get();
  }

  /** Sets its channel, before it is idle for the first time, and counts it until that is closed. */
  void channel(Channel value) {
    channel = value;
    value.attr(OF_CHANNEL).set(this);
    value.closeFuture().addListener(closed -> release());
  }

  /** Counts a connection to a server for the same client; null: there is no room for it. */
  CountedConnection addServer() {
    return connections.addServer(client);
  }

  boolean isClient() {
    return isClient;
  }

  Client client() {
    return client;
  }

  /**
   * It is at work from now on; called on its event loop.
   *
   * @return false: it is being closed, and can be used no more
   */
  boolean begin() {
    final long now = state;
    return now == AT_WORK
        || now == AT_WORK_UNQUEUED
        || now != ENDED && STATE.compareAndSet(this, now, AT_WORK);
  }

  /** It is idle from now on; called on its event loop. */
  void idle() {
    if (!STATE.compareAndSet(this, AT_WORK, connections.nanoTime())) {
      connections.requeue(this);
    }
  }

  /** It has begun to be used: it is idle since now, if it is idle; called on its event loop. */
  void touch() {
    final long now = state;
    if (now != AT_WORK && now != AT_WORK_UNQUEUED && now != ENDED) {
      STATE.compareAndSet(this, now, connections.nanoTime());
    }
  }

  /** Its channel is closed, or was never opened. */
  void release() {
    connections.release(this);
  }

  /** Claims its descriptor if it has been idle since it was queued. */
  boolean take() {
    return STATE.compareAndSet(this, queuedNs, ENDED);
  }

  /** Returns whether it is at work and has left the queue; else it has a new place in it. */
  boolean leaveQueue() {
    if (STATE.compareAndSet(this, AT_WORK, AT_WORK_UNQUEUED)) {
      return true;
    }
    final long now = state;
    if (now != AT_WORK) {
      queuedNs = now;
    }
    return false;
  }

  /** Returns whether it was at work without a place in the queue, and is idle since now. */
  boolean enterQueue(long nowNs) {
    if (state != AT_WORK_UNQUEUED) {
      return false;
    }
    queuedNs = nowNs;
    state = nowNs;
    return true;
  }

  /** Returns whether it was counted until now. */
  boolean end() {
    state = ENDED;
    final boolean wasCounted = !isReleased;
    isReleased = true;
    return wasCounted;
  }

  /**
   * Closes it, on its event loop. One to a server is reset: where thousands are closed a second,
   * their ports would all be in use for a minute (TIME-WAIT, RFC 9293 section 3.6.1).
   */
  void close() {
    channel.eventLoop().execute(this::closeNow);
  }

  private void closeNow() {
    if (channel.isOpen() && !isClient) {
      channel.config().setOption(ChannelOption.SO_LINGER, 0);
    }
    channel.close();
  }

  @Override
  public int compareTo(CountedConnection other) {
    final int bySince = Long.signum(queuedNs - other.queuedNs);
    return bySince != 0 ? bySince : Long.compare(number, other.number);
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(number);
  }
}
