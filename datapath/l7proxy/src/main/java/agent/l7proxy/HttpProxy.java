package agent.l7proxy;

import agent.datapath.spec.ProxyPorts;
import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectCounters;
import agent.types.IpAddress;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.concurrent.FastThreadLocalThread;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.netty.util.internal.logging.Log4J2LoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The HTTP proxy. It listens on {@link RedirectProxy#PORTS} ports of each family, asks policy for
 * each request of the flows that the datapath sends there, and passes on what is allowed.
 */
public final class HttpProxy implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(HttpProxy.class);
  private static final int TCP = 6;
  private static final int BACKLOG = 1024;
  private static final long CLOSE_MS = 5_000;
  private static final String LEAK_DETECTION = "io.netty.leakDetection.level";
  private static final RecvByteBufAllocator RECEIVE_BUFFERS =
      new AdaptiveRecvByteBufAllocator(512, 2048, 32 * 1024);

  private final HttpProxyContext context;
  private final RedirectCounters counters;
  private final ProxyConnections connections;
  private final PooledByteBufAllocator allocator;
  private final EventLoopGroup loops;
  private final LogFile<RequestRecord> log;
  private final Set<ClientConnection> clients = ConcurrentHashMap.newKeySet();
  private final List<Channel> listeners = new ArrayList<>();
  private int firstPort;

  private HttpProxy(HttpProxyContext context) throws IOException {
    this.context = context;
    counters = new RedirectCounters(context.policies(), RedirectKind.HTTP);
    connections = new ProxyConnections(context.descriptors());
    log =
        context.accessLog() == null ? null : RecordText.open(context.accessLog(), context.labels());
    allocator = allocator(context.threads());
    final AtomicInteger number = new AtomicInteger();
    final ThreadFactory threads =
        work -> {
          // Netty pools its objects in threads of this class alone.
          final Thread thread =
              new FastThreadLocalThread(work, "l7-http-" + number.getAndIncrement());
          thread.setDaemon(true);
          return thread;
        };
    loops = new MultiThreadIoEventLoopGroup(context.threads(), threads, context.transport().loop());
  }

  /**
   * Starts a proxy; flows come to it when its first port is given to {@link RedirectProxy#serve}.
   *
   * @param context concluded by this, if it is not yet
   * @throws IOException where the access log cannot be opened, or no ports can be bound
   */
  public static HttpProxy start(HttpProxyContext context) throws IOException {
    InternalLoggerFactory.setDefaultFactory(Log4J2LoggerFactory.INSTANCE);
    if (System.getProperty(LEAK_DETECTION) == null) {
      ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED); // takes stack traces
    }
    final HttpProxy proxy = new HttpProxy(context.conclude());
    try {
      proxy.firstPort =
          ProxyPorts.open(
              context.redirect().previousPort(RedirectKind.HTTP),
              ThreadLocalRandom.current(),
              proxy::listen);
      LOGGER.info(
          "HTTP proxy: ports {} to {}, at most {} descriptors, {}",
          proxy.firstPort,
          proxy.firstPort + RedirectProxy.PORTS - 1,
          context.descriptors(),
          context.transport());
      return proxy;
    } catch (IOException | RuntimeException e) {
      proxy.close();
      throw e;
    }
  }

  /** One arena a thread with chunks of 512 KiB, and small caches: connections are mostly idle. */
  private static PooledByteBufAllocator allocator(int threads) {
    final int pageBytes = 8192;
    final int chunkOrder = 6;
    return new PooledByteBufAllocator(true, 0, threads, pageBytes, chunkOrder, 32, 16, false, 0);
  }

  static RecvByteBufAllocator receiveBuffers() {
    return RECEIVE_BUFFERS;
  }

  private int listen(int first) throws IOException {
    try {
      for (final IpAddress address :
          Stream.of(false, true)
              .map(context.redirect()::address)
              .flatMap(Optional::stream)
              .toList()) {
        for (int port = first; port < first + RedirectProxy.PORTS; port++) {
          listeners.add(bind(address, port));
        }
      }
      if (listeners.isEmpty()) {
        throw new IOException("HTTP proxy: this node has no address");
      }
      return first;
    } catch (IOException e) {
      closeListeners();
      throw e;
    }
  }

  private Channel bind(IpAddress address, int port) throws IOException {
    final SocketProtocolFamily family =
        address.isIpv6() ? SocketProtocolFamily.INET6 : SocketProtocolFamily.INET;
    final ChannelFuture bound =
        new ServerBootstrap()
            .group(loops)
            .channelFactory(context.transport().listener(family))
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .option(ChannelOption.ALLOCATOR, allocator)
            .childOption(ChannelOption.ALLOCATOR, allocator)
            .childOption(ChannelOption.AUTO_READ, false)
            .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childOption(ChannelOption.RECVBUF_ALLOCATOR, RECEIVE_BUFFERS)
            .childHandler(
                new ChannelInitializer<SocketChannel>() {
                  @Override
                  protected void initChannel(SocketChannel channel) {
                    accept(channel);
                  }
                })
            .bind(address.withPort(port))
            .awaitUninterruptibly();
    if (!bound.isSuccess()) {
      throw new IOException("%s port %d: %s".formatted(address, port, bound.cause().getMessage()));
    }
    return bound.channel();
  }

  private void accept(SocketChannel channel) {
    final InetSocketAddress client = channel.remoteAddress();
    final int port = channel.localAddress().getPort();
    final Optional<RedirectedFlow> flow =
        client == null
            ? Optional.empty()
            : context
                .redirect()
                .find(TCP, IpAddress.of(client.getAddress().getAddress()), client.getPort(), port);
    if (flow.isEmpty()) {
      LOGGER.debug("HTTP proxy: the connection from {} was not redirected by the datapath", client);
    }
    final CountedConnection counted =
        flow.map(known -> connections.add(known, channel)).orElse(null);
    if (counted == null) {
      channel.config().setSoLinger(0);
      channel.close();
      return;
    }
    final ClientConnection connection =
        new ClientConnection(
            context, flow.get(), port, channel, counters.of(flow.get()), counted, log);
    clients.add(connection);
    channel.closeFuture().addListener(closed -> clients.remove(connection));
    context.transport().limitInput(channel.pipeline());
    channel.pipeline().addLast(new ProtocolDetector(connection));
  }

  /**
   * Enforces the published policies on what is open: requests that are denied end at once in both
   * directions, tunnels and streams too.
   *
   * @return complete when that is so; does not fail
   */
  public CompletableFuture<Void> enforce() {
    final Map<EventLoop, List<ClientConnection>> byLoop = new HashMap<>();
    for (final ClientConnection connection : clients) {
      byLoop
          .computeIfAbsent(connection.client().eventLoop(), loop -> new ArrayList<>())
          .add(connection);
    }
    return CompletableFuture.allOf(
        byLoop.entrySet().stream()
            .map(each -> CompletableFuture.runAsync(() -> enforce(each.getValue()), each.getKey()))
            .map(done -> done.exceptionally(closing -> null))
            .toArray(CompletableFuture<?>[]::new));
  }

  private static void enforce(List<ClientConnection> connections) {
    for (final ClientConnection connection : connections) {
      try {
        connection.enforce();
      } catch (RuntimeException e) {
        LOGGER.error("{}: {}", connection.flow(), e.getMessage(), e);
        connection.reset();
      }
    }
  }

  /** Returns the first of the ports that it listens on. */
  public int firstPort() {
    return firstPort;
  }

  /** Opens the access log by its name again, such as after a rotation. */
  public void reopen() {
    if (log != null) {
      log.reopen();
    }
  }

  /** Returns how many requests are not in the access log, because it could not be written. */
  public long droppedRecords() {
    return log == null ? 0 : log.dropped();
  }

  /** Returns how many connections of clients are open. */
  public int connections() {
    return connections.clientConnections();
  }

  /** Returns how many descriptors its connections have, those to servers included. */
  int descriptors() {
    return connections.descriptors();
  }

  /**
   * Returns how many connections of clients, and how many to servers for their requests, were
   * refused, because no descriptor was free.
   */
  public long refusedConnections() {
    return connections.refused();
  }

  /** Returns how many idle connections of clients were closed, because others wanted theirs. */
  public long closedIdleConnections() {
    return connections.closedIdle();
  }

  /** Returns how many bytes its buffers hold outside the heap. */
  long bufferBytes() {
    return allocator.metric().usedDirectMemory();
  }

  /** Returns the counters of the messages of redirects. */
  public RedirectCounters redirectCounters() {
    return counters;
  }

  private void closeListeners() {
    listeners.forEach(listener -> listener.close().awaitUninterruptibly());
    listeners.clear();
  }

  /** Stops listening and closes all connections. */
  @Override
  public void close() {
    closeListeners();
    loops.shutdownGracefully(0, CLOSE_MS, TimeUnit.MILLISECONDS).awaitUninterruptibly(CLOSE_MS);
    if (log != null) {
      log.close();
    }
  }
}
