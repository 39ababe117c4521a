package agent.server;

import agent.contract.endpoint.EndpointChangeRequest;
import agent.contract.policy.RuleModel;
import agent.fuzz.FuzzInputs;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** What a client may send on the socket: any bytes, then the end of its side. */
public final class HttpFuzz {
  /** Inputs to start from. */
  public static final List<byte[]> SEEDS =
      FuzzInputs.texts(
          "GET /map HTTP/1.1\r\nHost: x\r\n\r\n",
          "GET /endpoint?labels=a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
          "PUT /policy HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n[{}]",
          "PUT /endpoint/7 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
              + "11\r\n{\"state\":\"ready\"}\r\n0\r\n\r\n",
          "GET /map HTTP/1.0\r\n\r\n",
          "GET /map HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n",
          "PUT /policy HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n[]",
          "BREW /coffee HTTP/1.1\r\nHost: x\r\n\r\n",
          "GET /map HTTP/2.0\r\n\r\n");

  private static final byte[] GOOD =
      "GET /map HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  private static final int LONGEST_ANSWER_MS = 8_000;
  private static final int LONGEST_START_MS = 60_000;
  private static final int CHECKED_EVERY = 64;

  private static Path socket;
  private static int inputs;

  private HttpFuzz() {}

  /** Starts the server; it loads its classes, which takes seconds where they are instrumented. */
  public static void fuzzerInitialize() throws IOException {
    socket = FuzzInputs.temporary("agent.sock");
    final Map<Route, ApiHandler> handlers = new EnumMap<>(Route.class);
    for (final Route route : Route.values()) {
      handlers.put(route, request -> Answer.ok(route.operationId()));
    }
    handlers.put(Route.PUT_POLICY, request -> Answer.ok(request.bodyList(RuleModel.class).size()));
    handlers.put(
        Route.PUT_ENDPOINT,
        request -> Answer.created(request.body(EndpointChangeRequest.class).state()));
    ApiServer.start(new ApiContext().socketPath(socket), RouteTable.of(handlers));
    for (final byte[] seed : SEEDS) {
      exchange(seed, LONGEST_START_MS);
    }
  }

  /** Sends the bytes; the server must end the connection, and serve the next one. */
  public static void fuzzerTestOneInput(byte[] input) throws IOException {
    final String answer = exchange(input, LONGEST_ANSWER_MS);
    if (!answer.isEmpty() && !answer.startsWith("HTTP/1.")) {
      throw new AssertionError("the answer is '" + answer + "'");
    }
    if (++inputs % CHECKED_EVERY == 0) {
      final String good = exchange(GOOD, LONGEST_ANSWER_MS);
      if (!good.startsWith("HTTP/1.1 200 ") && !good.startsWith("HTTP/1.0 200 ")) {
        throw new AssertionError("the next client gets '" + good + "'");
      }
    }
  }

  private static String exchange(byte[] request, int longestMs) throws IOException {
    final ByteArrayOutputStream answer = new ByteArrayOutputStream();
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        Selector selector = Selector.open()) {
      channel.connect(UnixDomainSocketAddress.of(socket));
      try {
        channel.write(ByteBuffer.wrap(request));
        channel.shutdownOutput();
      } catch (IOException e) {
        return ""; // refused before it was read whole
      }
      channel.configureBlocking(false);
      channel.register(selector, SelectionKey.OP_READ);
      final ByteBuffer buffer = ByteBuffer.allocate(64 * 1024);
      for (int count = 0; count >= 0; count = channel.read(buffer.clear())) {
        answer.write(buffer.array(), 0, count);
        if (selector.select(longestMs) == 0) {
          throw new AssertionError("the server neither answers nor closes the connection");
        }
        selector.selectedKeys().clear();
      }
    } catch (IOException e) {
      // the server reset a connection whose input it had not read: no answer is lost
    }
    return answer.toString(StandardCharsets.ISO_8859_1);
  }
}
