package agent.l7proxy;

import agent.datapath.manager.spec.RedirectProxy;
import agent.datapath.manager.spec.RedirectedFlow;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.HttpRequest;
import agent.policy.request.HttpVerdict;
import agent.policy.request.PolicyRedirect;
import agent.policy.request.RequestPolicies;
import agent.types.IpAddress;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Sends requests through a proxy of its own on loopback, so that the path of a request is compiled
 * before the first client's. That proxy has the code of the real one, and neither its ports,
 * counters, listeners, log nor policies. A warm-up is bounded in time and in requests, runs on
 * threads of its own, and ends with everything that it opened.
 */
final class HttpProxyWarmUp implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(HttpProxyWarmUp.class);
  private static final IpAddress LOOPBACK = IpAddress.parse("127.0.0.1");
  private static final int BACKLOG = 16;

  /** Each client has one request under way; what they allocate is young and bounded. */
  private static final int CLIENTS = 4;

  private static final int MOST_REQUESTS = 60_000;
  private static final int REQUESTS_A_CONNECTION = 500;

  /** More than the warm-up opens; connections of the real proxy have their own count. */
  private static final int DESCRIPTORS = 64;

  private static final int TIMEOUT_MS = 1000;
  private static final byte[] REQUEST =
      """
      GET /warm/up?item=1&name=value HTTP/1.1
      Host: warm-up.invalid:8080
      User-Agent: agent
      Accept: */*
      Accept-Encoding: gzip, deflate
      X-Request-Id: 0123456789abcdef

      """
          .replace("\n", "\r\n")
          .getBytes(StandardCharsets.US_ASCII);
  private static final byte[] RESPONSE =
      ("""
      HTTP/1.1 200 OK
      Server: agent
      Content-Type: application/octet-stream
      Content-Length: 1024
      Connection: keep-alive

      """
                  .replace("\n", "\r\n")
              + "x".repeat(1024))
          .getBytes(StandardCharsets.US_ASCII);

  private final Duration limit;
  private final IntConsumer onEnd;
  private final AtomicInteger answered = new AtomicInteger();
  private final Thread thread =
      Thread.ofPlatform().name("l7-warm-up").daemon().unstarted(this::run);
  private long endNs;
  private volatile boolean isClosed;

  private HttpProxyWarmUp(Duration limit, IntConsumer onEnd) {
    this.limit = limit;
    this.onEnd = onEnd;
  }

  /**
   * Begins a warm-up. Where it cannot be carried out, as on a node without loopback, it ends at
   * once: the first requests are slower, and nothing else differs.
   *
   * @param limit how long it may take
   * @param onEnd called once, on its thread, with the number of requests that were answered
   */
  static HttpProxyWarmUp start(Duration limit, IntConsumer onEnd) {
    final HttpProxyWarmUp warmUp = new HttpProxyWarmUp(limit, onEnd);
    warmUp.thread.start();
    return warmUp;
  }

  /** Ends it early and waits for its end. */
  @Override
  public void close() {
    isClosed = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    endNs = System.nanoTime() + limit.toNanos();
    try (ServerSocket server =
        new ServerSocket(0, BACKLOG, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}))) {
      Thread.ofPlatform().name("l7-warm-up-server").daemon().start(() -> serve(server));
      send(server.getLocalPort());
    } catch (IOException | RuntimeException failure) {
      LOGGER.debug("HTTP proxy: the warm-up ended early: {}", failure.toString());
    } finally {
      onEnd.accept(answered.get());
    }
  }

  private void send(int serverPort) throws IOException {
    final HttpProxyContext context =
        new HttpProxyContext()
            .redirect(new LoopbackFlows(serverPort))
            .policies(new EveryRequest())
            .descriptors(DESCRIPTORS);
    try (HttpProxy proxy = HttpProxy.startUnserved(context, LOOPBACK)) {
      final List<Thread> clients = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(
            Thread.ofPlatform()
                .name("l7-warm-up-client-" + i)
                .daemon()
                .start(() -> request(proxy.firstPort())));
      }
      for (final Thread client : clients) {
        client.join();
      }
    } catch (InterruptedException ending) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean isDue() {
    return !isClosed && System.nanoTime() - endNs < 0 && answered.get() < MOST_REQUESTS;
  }

  /** Sends one request after another; a new connection now and then. */
  private void request(int port) {
    final byte[] buffer = new byte[2 * RESPONSE.length];
    try {
      while (isDue()) {
        try (Socket socket = new Socket()) {
          socket.setSoTimeout(TIMEOUT_MS);
          socket.setTcpNoDelay(true);
          socket.connect(new InetSocketAddress(LOOPBACK.toString(), port), TIMEOUT_MS);
          for (int i = 0; i < REQUESTS_A_CONNECTION && isDue(); i++) {
            socket.getOutputStream().write(REQUEST);
            if (!receive(socket.getInputStream(), buffer)) {
              return;
            }
            answered.incrementAndGet();
          }
        }
      }
    } catch (IOException | RuntimeException failure) {
      LOGGER.debug("HTTP proxy: a client of the warm-up ended early: {}", failure.toString());
    }
  }

  /** Reads one response, whose body is as long as it says: 1,024 bytes end it. */
  private static boolean receive(InputStream in, byte[] buffer) throws IOException {
    int length = 0;
    int end = -1;
    while (end < 0 || length < end) {
      final int read = in.read(buffer, length, buffer.length - length);
      if (read <= 0) {
        return false;
      }
      length += read;
      end = end < 0 ? endOfHead(buffer, length) : end;
    }
    return true;
  }

  /** Returns where the body ends, or -1 where the head has not ended yet. */
  private static int endOfHead(byte[] buffer, int length) {
    for (int i = 3; i < length; i++) {
      if (buffer[i] == '\n' && buffer[i - 2] == '\n') {
        return i + 1 + 1024;
      }
    }
    return -1;
  }

  private static void serve(ServerSocket server) {
    try {
      while (true) {
        final Socket accepted = server.accept();
        Thread.ofPlatform().name("l7-warm-up-connection").daemon().start(() -> answer(accepted));
      }
    } catch (SocketException closed) {
      // the warm-up has ended
    } catch (IOException failure) {
      LOGGER.debug("HTTP proxy: the server of the warm-up: {}", failure.toString());
    }
  }

  private static void answer(Socket accepted) {
    final byte[] buffer = new byte[4 * REQUEST.length];
    try (Socket socket = accepted) {
      socket.setTcpNoDelay(true);
      final InputStream in = socket.getInputStream();
      final OutputStream out = socket.getOutputStream();
      int length = 0;
      for (int read = in.read(buffer);
          read > 0;
          read = in.read(buffer, length, buffer.length - length)) {
        length += read;
        if (length > 3 && buffer[length - 1] == '\n' && buffer[length - 3] == '\n') {
          out.write(RESPONSE);
          length = 0;
        }
      }
    } catch (IOException | RuntimeException failure) {
      LOGGER.debug("HTTP proxy: the server of the warm-up: {}", failure.toString());
    }
  }

  /** Every connection is a flow to one server on loopback. */
  private record LoopbackFlows(int serverPort) implements RedirectProxy {
    @Override
    public Optional<IpAddress> address(boolean ipv6) {
      return ipv6 ? Optional.empty() : Optional.of(LOOPBACK);
    }

    @Override
    public int previousPort(RedirectKind kind) {
      return 0;
    }

    @Override
    public CompletableFuture<Void> serve(RedirectKind kind, int firstPort) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public Optional<RedirectedFlow> find(int protocol, IpAddress client, int clientPort, int port) {
      return Optional.of(
          new RedirectedFlow(protocol, client, clientPort, 0, 1, LOOPBACK, serverPort, 0, 0));
    }

    @Override
    public Optional<String> refusal(RedirectedFlow flow) {
      return Optional.empty();
    }

    @Override
    public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void leave(RedirectedFlow flow, int port) {}
  }

  /** A policy that reads what rules read of a request, and allows it. */
  private static final class EveryRequest implements RequestPolicies {
    @Override
    public HttpVerdict http(RedirectedFlow flow, HttpRequest request) {
      return request.method().isEmpty()
              || request.path().isEmpty()
              || request.host().isEmpty()
              || request.hasHeader("x-warm-up", null)
          ? HttpVerdict.DENIED
          : HttpVerdict.ALLOWED;
    }

    @Override
    public boolean dns(RedirectedFlow flow, String name) {
      return false;
    }

    @Override
    public RedirectKind redirect(RedirectedFlow flow, PolicyDirection direction) {
      return direction == PolicyDirection.EGRESS ? RedirectKind.HTTP : RedirectKind.NONE;
    }

    @Override
    public List<PolicyRedirect> redirects(int endpointId) {
      return List.of();
    }

    @Override
    public long revision() {
      return 0;
    }
  }
}
