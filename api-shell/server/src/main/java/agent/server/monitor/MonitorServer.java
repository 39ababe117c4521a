package agent.server.monitor;

import agent.bindings.BindingsException;
import agent.bindings.net.PeerCredentials;
import agent.datapath.spec.DatapathEvents;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.server.socket.ListeningSocket;
import agent.types.IoFailure;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import sun.nio.ch.SelChImpl;

/** Accepts subscribers of live events, each with a thread and a queue of its own. */
public final class MonitorServer implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(MonitorServer.class);
  private static final int MOST_SUBSCRIBERS = 32;
  private static final long JOIN_MS = 2_000;
  private static final long BACKOFF_MS = 100;

  private final ListeningSocket socket;
  private final Selector selector;
  private final Subscriber.Offer offer;
  private final Map<Subscriber, Thread> subscribers = new ConcurrentHashMap<>();
  private final Thread acceptor;

  private volatile boolean isClosed;

  private MonitorServer(Path path, String group, Subscriber.Offer offer) throws IOException {
    this.offer = offer;
    selector = Selector.open();
    try {
      socket = new ListeningSocket("event socket", path, group);
      listen(socket.channel());
    } catch (IOException | RuntimeException unusable) {
      selector.close();
      throw unusable;
    }
    acceptor = Thread.ofPlatform().name("monitor-accept").daemon().unstarted(this::accept);
  }

  private static String[] texts(Enum<?>[] constants) {
    return Arrays.stream(constants).map(MonitorServer::text).toArray(String[]::new);
  }

  private static String text(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /**
   * Binds the socket and starts to accept.
   *
   * @param group group that may connect, or null for the group of the process
   * @param queueEvents flow events that the queue of a subscriber holds
   * @param packetBytes first bytes of a packet that an event may have
   * @param version of the agent
   * @throws agent.types.AlreadyInUseException naming the socket and the process that listens on it
   * @throws IOException naming the socket, where it cannot be bound
   */
  public static MonitorServer start(
      Path socket,
      String group,
      int queueEvents,
      int packetBytes,
      String version,
      DatapathEvents datapath,
      AgentEvents agent)
      throws IOException {
    final MonitorServer server =
        new MonitorServer(
            socket,
            group,
            new Subscriber.Offer(
                datapath,
                agent,
                queueEvents,
                packetBytes,
                version,
                texts(DropReason.values()),
                texts(MetricsDirection.values())));
    server.acceptor.start();
    return server;
  }

  /** Returns the number of subscribers. */
  public int subscribers() {
    return subscribers.size();
  }

  /** Returns why no new subscriber finds the socket; empty where its file is in its place. */
  public Optional<String> fault() {
    return socket.fault();
  }

  private void listen(ServerSocketChannel channel) throws IOException {
    channel.register(selector, SelectionKey.OP_ACCEPT);
  }

  private void accept() {
    while (!isClosed) {
      try {
        selector.select(ListeningSocket.CHECK_MS);
        selector.selectedKeys().clear();
        socket.restore(this::listen);
        acceptWaiting();
      } catch (IOException failure) {
        if (!isClosed) {
          LOGGER.warn("accepting a subscriber of events failed: {}", IoFailure.reason(failure));
          pause();
        }
      }
    }
  }

  private void acceptWaiting() throws IOException {
    for (SocketChannel channel = socket.channel().accept();
        channel != null;
        channel = socket.channel().accept()) {
      serve(channel);
    }
  }

  private static void pause() {
    try {
      Thread.sleep(BACKOFF_MS);
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
    }
  }

  private void serve(SocketChannel channel) throws IOException {
    if (subscribers.size() >= MOST_SUBSCRIBERS) {
      channel.close();
      LOGGER.warn("a subscriber of events was rejected: there are already {}", MOST_SUBSCRIBERS);
      return;
    }
    try {
      final PeerCredentials peer = PeerCredentials.of(((SelChImpl) channel).getFDVal());
      channel.configureBlocking(false);
      final Subscriber subscriber = new Subscriber(channel, offer, Arena.ofShared());
      final Thread thread =
          Thread.ofPlatform()
              .name("monitor-" + peer.pid())
              .daemon()
              .unstarted(
                  () -> {
                    subscriber.run();
                    subscribers.remove(subscriber);
                  });
      subscribers.put(subscriber, thread);
      thread.start();
      LOGGER.debug("process {} of user {} subscribes to events", peer.pid(), peer.uid());
    } catch (IOException | BindingsException failure) {
      channel.close();
      LOGGER.warn("serving a subscriber of events failed: {}", failure.getMessage());
    }
  }

  @Override
  public void close() throws IOException {
    isClosed = true;
    socket.close();
    selector.wakeup();
    subscribers.keySet().forEach(Subscriber::stop);
    try {
      acceptor.join(JOIN_MS);
      selector.close();
      for (final Thread thread : subscribers.values()) {
        thread.join(JOIN_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
