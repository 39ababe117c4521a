package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.ConnectHandler;
import io.undertow.websockets.core.AbstractReceiveListener;
import io.undertow.websockets.core.BufferedBinaryMessage;
import io.undertow.websockets.core.BufferedTextMessage;
import io.undertow.websockets.core.WebSocketChannel;
import io.undertow.websockets.core.WebSockets;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * WebSocket and CONNECT through the HTTP proxy, by rules of either end in both families: the
 * clients are the JDK's and curl, the server is Undertow.
 */
@KernelTest
class ProxyTunnelsKernelTest {
  private static final int PORT = ClientAndServer.PORT;
  private static final int TARGET_PORT = 9090;
  private static final long LONGEST_SEC = 10;
  private static final int LARGE = 300_000;
  private static final long AFTER_DENIAL_MS = 400;

  private final List<String> reached = new CopyOnWriteArrayList<>();
  private volatile Numbers up;
  private volatile Numbers down;
  private TestNode node;
  private ClientAndServer pair;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    pair = ClientAndServer.start(node);
    final HttpHandler plain = exchange -> exchange.getResponseSender().send("plain");
    final HttpHandler sockets =
        Handlers.path(plain)
            .addExactPath("/socket", Handlers.websocket((exchange, channel) -> greet(channel)))
            .addExactPath("/count", Handlers.websocket((exchange, channel) -> count(channel)));
    final HttpHandler all = new ConnectHandler(sockets);
    final Undertow undertow =
        pair.server()
            .namespace()
            .run(
                () -> {
                  final Undertow built =
                      Undertow.builder()
                          .addHttpListener(PORT, "::")
                          .setIoThreads(1)
                          .setWorkerThreads(2)
                          .setHandler(exchange -> handle(exchange, all))
                          .build();
                  built.start();
                  return built;
                });
    node.keep(undertow::stop);
  }

  private void handle(HttpServerExchange exchange, HttpHandler next) throws Exception {
    reached.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
    next.handleRequest(exchange);
  }

  /** Sends a frame before the client has sent one, and then what it gets. */
  private static void greet(WebSocketChannel channel) {
    channel
        .getReceiveSetter()
        .set(
            new AbstractReceiveListener() {
              @Override
              protected void onFullTextMessage(WebSocketChannel from, BufferedTextMessage text) {
                WebSockets.sendText("got " + text.getData(), from, null);
              }

              @Override
              protected void onFullBinaryMessage(WebSocketChannel from, BufferedBinaryMessage got) {
                WebSockets.sendBinary(got.getData().getResource(), from, null);
              }
            });
    channel.resumeReceives();
    WebSockets.sendText("welcome", channel, null);
  }

  /** Sends numbers all the time, and keeps the last one that comes. */
  private void count(WebSocketChannel channel) {
    channel
        .getReceiveSetter()
        .set(
            new AbstractReceiveListener() {
              @Override
              protected void onFullTextMessage(WebSocketChannel from, BufferedTextMessage text) {
                up.got.set(Integer.parseInt(text.getData()));
              }
            });
    channel.resumeReceives();
    down.pour(number -> WebSockets.sendTextBlocking(number, channel));
  }

  /** The numbers that one end sends, and the last that the other one has got. */
  private static final class Numbers {
    private final AtomicInteger sent = new AtomicInteger();
    private final AtomicInteger got = new AtomicInteger();

    private interface Sender {
      void send(String text) throws Exception;
    }

    /** Sends until that fails. */
    void pour(Sender sender) {
      Thread.ofPlatform()
          .daemon()
          .start(
              () -> {
                try {
                  while (true) {
                    sender.send(Integer.toString(sent.incrementAndGet()));
                    Thread.sleep(2);
                  }
                } catch (Exception e) {
                  // the proxy has reset it
                }
              });
    }
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** What the client has received, as text. */
  private static final class Received implements WebSocket.Listener {
    private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();
    private final StringBuilder text = new StringBuilder();
    private final ByteBuffer bytes = ByteBuffer.allocate(LARGE);

    @Override
    public CompletionStage<?> onText(WebSocket socket, CharSequence part, boolean isLast) {
      text.append(part);
      if (isLast) {
        messages.add(text.toString());
        text.setLength(0);
      }
      socket.request(1);
      return null;
    }

    @Override
    public CompletionStage<?> onBinary(WebSocket socket, ByteBuffer part, boolean isLast) {
      bytes.put(part);
      if (isLast) {
        messages.add(bytes.position() + " bytes, hash " + bytes.flip().hashCode());
        bytes.clear();
      }
      socket.request(1);
      return null;
    }

    @Override
    public CompletionStage<?> onClose(WebSocket socket, int status, String reason) {
      messages.add("closed " + status);
      return null;
    }

    @Override
    public void onError(WebSocket socket, Throwable error) {
      messages.add(error.toString());
    }

    String next() throws InterruptedException {
      return messages.poll(LONGEST_SEC, TimeUnit.SECONDS);
    }
  }

  /** Opens a WebSocket, or fails as the JDK does. */
  private static WebSocket open(HttpClient http, String address, String path, Received received) {
    return http.newWebSocketBuilder()
        .buildAsync(URI.create("ws://" + address + ":" + PORT + path), received)
        .orTimeout(LONGEST_SEC, TimeUnit.SECONDS)
        .join();
  }

  private static void converse(HttpClient http, String address) throws Exception {
    final Received received = new Received();
    final WebSocket socket = open(http, address, "/socket", received);
    assertEquals("welcome", received.next());
    socket.sendText("one ", false).get(LONGEST_SEC, TimeUnit.SECONDS);
    socket.sendText("two", true).get(LONGEST_SEC, TimeUnit.SECONDS);
    assertEquals("got one two", received.next());
    final byte[] bytes = new byte[LARGE];
    new Random(1).nextBytes(bytes);
    socket.sendBinary(ByteBuffer.wrap(bytes), true).get(LONGEST_SEC, TimeUnit.SECONDS);
    final String same = LARGE + " bytes, hash " + ByteBuffer.wrap(bytes).hashCode();
    assertEquals(same, received.next());
    socket.sendClose(WebSocket.NORMAL_CLOSURE, "").get(LONGEST_SEC, TimeUnit.SECONDS);
    assertEquals("closed 1000", received.next());
  }

  private static int refusedStatus(HttpClient http, String address, String path) {
    final CompletionException failure =
        assertThrows(
            CompletionException.class, () -> open(http, address, path, new Received()).abort());
    return assertInstanceOf(WebSocketHandshakeException.class, failure.getCause())
        .getResponse()
        .statusCode();
  }

  @Test
  void shouldPassTheFramesOfAWebSocketThatARuleAllows() throws Exception {
    for (final String direction : List.of("ingress", "egress")) {
      pair.allow(direction, "{\"method\": \"GET\", \"path\": \"/(socket|plain)\"}");
      for (final String address : pair.urlHosts()) {
        reached.clear();
        pair.client()
            .namespace()
            .run(
                () -> {
                  final HttpClient http = HttpClient.newHttpClient();
                  try {
                    converse(http, address);
                    assertEquals(403, refusedStatus(http, address, "/secret"));
                  } finally {
                    http.shutdownNow(); // close would wait for what is not answered
                  }
                  return null;
                });
        assertEquals(List.of("GET /socket"), reached);
        final String url = "http://" + address + ":" + PORT;
        assertEquals(
            "Access denied403 1;plain200 0;",
            curl(
                "-H",
                "Connection: Upgrade",
                "-H",
                "Upgrade: websocket",
                "-H",
                "Sec-WebSocket-Version: 13",
                "-H",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                url + "/secret",
                "--next",
                url + "/plain"));
        assertEquals(List.of("GET /socket", "GET /plain"), reached);
      }
    }
  }

  /** Returns what comes of numbers that were sent after the policy was changed. */
  private void countAcrossDenial(HttpClient http, String address, String denial) throws Exception {
    up = new Numbers();
    down = new Numbers();
    final Received received = new Received();
    final WebSocket socket = open(http, address, "/count", received);
    up.pour(number -> socket.sendText(number, true).get(LONGEST_SEC, TimeUnit.SECONDS));
    while (up.got.get() < 20) {
      assertTrue(Integer.parseInt(received.next()) > 0);
    }
    pair.agent().expect(200, "PUT", "/policy?replace=true", denial);
    final int sentUp = up.sent.get();
    final int sentDown = down.sent.get();
    Thread.sleep(AFTER_DENIAL_MS);
    assertTrue(up.got.get() <= sentUp, up.got + " reached the server, denied after " + sentUp);
    for (String next = received.messages.poll(); next != null; next = received.messages.poll()) {
      final boolean isNumber = Character.isDigit(next.charAt(0));
      assertTrue(
          !isNumber || Integer.parseInt(next) <= sentDown,
          next + " reached the client, denied after " + sentDown);
    }
    socket.abort();
  }

  @Test
  void shouldPassNothingOfAWebSocketOnceItsDenialIsAnswered() throws Exception {
    final String ofRequest =
        """
        [{"labels": [{"key": "name", "value": "requests"}],
          "endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [{"toPorts": [
            {"ports": [{"port": "8080", "protocol": "TCP"}],
             "rules": {"http": [{"path": "/plain"}]}}]}]}]
        """;
    final String ofFlow =
        """
        [{"labels": [{"key": "name", "value": "requests"}],
          "endpointSelector": {"matchLabels": {"app": "client"}},
          "egressDeny": [{"toEndpoints": [{"matchLabels": {"app": "server"}}]}]}]
        """;
    for (final String denial : List.of(ofRequest, ofFlow)) {
      for (final String address : pair.urlHosts()) {
        pair.allow("egress", "{\"method\": \"GET\", \"path\": \"/count\"}");
        pair.client()
            .namespace()
            .run(
                () -> {
                  final HttpClient http = HttpClient.newHttpClient();
                  try {
                    countAcrossDenial(http, address, denial);
                  } finally {
                    http.shutdownNow();
                  }
                  return null;
                });
      }
    }
  }

  @Test
  void shouldTunnelWhereARuleAllowsConnect() throws Exception {
    try (HttpOrigin target = HttpOrigin.start(pair.server().namespace(), TARGET_PORT)) {
      for (final String direction : List.of("ingress", "egress")) {
        pair.allow(
            direction,
            "{\"method\": \"CONNECT\", \"path\": \"127\\\\.0\\\\.0\\\\.1:" + TARGET_PORT + "\"}",
            "{\"method\": \"GET\", \"path\": \"/plain\"}");
        for (final String address : pair.urlHosts()) {
          reached.clear();
          final String proxy = "http://" + address + ":" + PORT;
          final String inside = "http://127.0.0.1:" + TARGET_PORT;
          // Both requests go by one tunnel, in which nothing is judged.
          assertEquals(
              "from 127.0.0.1200 1;from 127.0.0.1200 0;",
              curl("-p", "-x", proxy, inside + "/one", "--next", "-p", "-x", proxy, inside + "/2"));
          final String refused = curl("-p", "-x", proxy, "http://127.0.0.1:" + PORT + "/one");
          assertTrue(refused.contains("response 403"), refused);
          assertEquals(
              "Access denied403 1;plain200 0;",
              curl(
                  "-X",
                  "CONNECT",
                  "--request-target",
                  "127.0.0.1:1",
                  "-H",
                  "Host: 127.0.0.1:1",
                  proxy + "/",
                  "--next",
                  proxy + "/plain"));
          assertEquals(List.of("CONNECT 127.0.0.1:" + TARGET_PORT, "GET /plain"), reached);
        }
      }
      assertEquals(4, target.count("GET /one"));
      assertEquals(4, target.count("GET /2"));
    }
  }

  /** Returns each body with its status and the connections that were opened for it. */
  private String curl(String... arguments) {
    final List<String> line = new ArrayList<>(List.of("curl"));
    final List<String> options =
        List.of("-sS", "-g", "-m", "8", "-w", "%{http_code} %{num_connects};");
    line.addAll(options);
    for (final String argument : arguments) {
      line.add(argument);
      if (argument.equals("--next")) {
        line.addAll(options);
      }
    }
    return pair.ask(line.toArray(String[]::new));
  }
}
