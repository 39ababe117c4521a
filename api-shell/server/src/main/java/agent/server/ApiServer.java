package agent.server;

import agent.contract.WireFormat;
import agent.server.socket.ConnectionCounts;
import agent.server.socket.UnixSocketListener;
import io.undertow.UndertowOptions;
import io.undertow.server.DefaultByteBufferPool;
import io.undertow.server.protocol.http.HttpOpenListener;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.xnio.OptionMap;

/**
 * The management API on its Unix socket.
 *
 * <p>I/O threads parse requests. A request that may wait or that has a body is served on a virtual
 * thread.
 */
public final class ApiServer implements AutoCloseable {
  /** Pattern of the message about a change that was carried out, each of which is logged. */
  public static final String CARRIED_OUT = "api: {} {} {} by {}";

  private static final int BUFFER_BYTES = 16 * 1024;
  private static final int MAX_POOLED_BUFFERS = 1024;
  private static final int MAX_HEADER_BYTES = 64 * 1024;
  private static final int PARSE_TIMEOUT_MS = 30_000;
  private static final int WATCH_THREADS = 2;
  private static final int NO_REQUEST_TIMEOUT_MS = 600_000;

  private final UnixSocketListener listener;
  private final HttpOpenListener openListener;
  private final DefaultByteBufferPool buffers;
  private final ExecutorService workers;
  private final ExecutorService watchWorkers;
  private final ApiDispatcher dispatcher;

  private ApiServer(ApiContext context, RouteTable routes) throws IOException {
    buffers = new DefaultByteBufferPool(true, BUFFER_BYTES, MAX_POOLED_BUFFERS, 0);
    workers = Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("api-", 0).factory());
    watchWorkers =
        Executors.newFixedThreadPool(
            WATCH_THREADS, Thread.ofPlatform().name("api-watch-", 0).daemon().factory());
    dispatcher =
        new ApiDispatcher(context, routes, WireFormat.strictMapper(), workers, watchWorkers);
    openListener = new HttpOpenListener(buffers, options(context.maxBodyBytes()));
    openListener.setRootHandler(
        context.profiling() ? new ProfilingHandler(dispatcher, workers) : dispatcher);
    listener =
        new UnixSocketListener(
            context.socketPath(),
            context.socketGroup(),
            context.ioThreads(),
            context.stallLimitMs(),
            context.maxConnections(),
            openListener);
  }

  static OptionMap options(long maxBodyBytes) {
    return OptionMap.builder()
        .set(UndertowOptions.MAX_ENTITY_SIZE, ApiDispatcher.DRAINED_BODIES * maxBodyBytes)
        .set(UndertowOptions.MAX_HEADER_SIZE, MAX_HEADER_BYTES)
        .set(UndertowOptions.REQUEST_PARSE_TIMEOUT, PARSE_TIMEOUT_MS)
        .set(UndertowOptions.NO_REQUEST_TIMEOUT, NO_REQUEST_TIMEOUT_MS)
        .set(UndertowOptions.DECODE_URL, false)
        .set(UndertowOptions.ALWAYS_SET_DATE, false)
        .getMap();
  }

  /**
   * Binds the socket and starts to serve.
   *
   * @param context configuration; it is concluded here
   * @param routes the routes to serve first: {@link RouteTable#starting}, or all
   * @throws agent.types.AlreadyInUseException naming the socket and the process that listens on it
   * @throws IOException naming the socket, where it cannot be bound
   */
  public static ApiServer start(ApiContext context, RouteTable routes) throws IOException {
    final ApiServer server = new ApiServer(context.conclude(), routes);
    server.listener.start();
    return server;
  }

  /** Replaces the routes that are served. */
  public void serve(RouteTable routes) {
    dispatcher.serve(routes);
  }

  /** Replaces the rates at which operations may be called. */
  public void limit(RateLimits limits) {
    dispatcher.limit(limits);
  }

  /** Returns the connections of clients. */
  public ConnectionCounts connections() {
    return listener.counts();
  }

  /** Returns why no client finds the socket; empty where its file is in its place. */
  public Optional<String> socketFault() {
    return listener.fault();
  }

  /** Returns how many changing calls were carried out. */
  public long changes() {
    return dispatcher.changes();
  }

  /** Stops accepting, closes the connections and removes the socket. */
  @Override
  public void close() throws IOException {
    listener.stopAccepting();
    openListener.closeConnections();
    workers.shutdownNow();
    watchWorkers.shutdownNow();
    listener.close();
    buffers.close();
  }
}
