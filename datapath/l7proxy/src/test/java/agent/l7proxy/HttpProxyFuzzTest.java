package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.policy.request.HttpVerdict;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Random bytes and random pieces of requests, for a few seconds. */
class HttpProxyFuzzTest {
  private static final long DURATION_MS = Long.getLong("agent.fuzz.ms", 5_000);
  private static final String[] PIECES = {
    "GET ",
    "POST ",
    "PUT ",
    "/",
    "/ok",
    "/no",
    "%2e",
    "%2f",
    "..",
    " HTTP/1.1",
    " HTTP/1.0",
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\r",
    "Host: a.test\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "Transfer-Encoding: chunked\r\n",
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "hello",
    " ",
    "\t",
    ":",
    ";",
    "\0",
    "Connection: close\r\n",
    "Upgrade: websocket\r\nConnection: upgrade\r\n",
    "GET /ok HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "GET /no HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "POST /ok HTTP/1.1\r\nHost: a.test\r\nContent-Length: 45\r\n\r\n",
    "POST /ok HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n",
    "Expect: 100-continue\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "http://a.test/ok",
    "\u00ff"
  };

  @Test
  void shouldForwardNothingThatWasNotAllowedAndKeepServing() throws Exception {
    final Set<String> allowed = Collections.synchronizedSet(new HashSet<>());
    try (OriginServer server = OriginServer.answering();
        ProxyBench bench = new ProxyBench(server.port())) {
      bench.rule =
          request -> {
            if (request.path().contains("no")) {
              return HttpVerdict.DENIED;
            }
            allowed.add(request.method() + " " + request.path());
            return HttpVerdict.ALLOWED;
          };
      final long seed = System.nanoTime();
      final Random random = new Random(seed);
      final long end = System.currentTimeMillis() + DURATION_MS;
      int count = 0;
      while (System.currentTimeMillis() < end) {
        send(bench, random);
        count++;
      }
      assertTrue(count > 50, "connections: " + count);
      for (final HttpSocket.Message request : server.requests) {
        final String[] line = request.start().split(" ");
        assertTrue(
            allowed.contains(line[0] + " " + line[1]), "seed " + seed + ": " + request.start());
      }
      assertTrue(!server.requests.isEmpty());
      try (HttpSocket client = bench.client()) {
        assertEquals("GET /ok|", client.get("/ok").text());
      }
    }
  }

  private static void send(ProxyBench bench, Random random) throws Exception {
    byte[] bytes = {};
    try (HttpSocket client = bench.client()) {
      if (random.nextInt(5) == 0) {
        bytes = new byte[random.nextInt(300)];
        random.nextBytes(bytes);
      } else {
        final StringBuilder text =
            new StringBuilder(random.nextBoolean() ? "" : "GET / HTTP/1.1\r\nHost: a.test\r\n");
        for (int i = random.nextInt(12); i >= 0; i--) {
          text.append(PIECES[random.nextInt(PIECES.length)]);
        }
        bytes = text.toString().getBytes(StandardCharsets.ISO_8859_1);
      }
      client.socket.setSoTimeout(20_000); // a head may take longer
      client.send(bytes);
      client.socket.shutdownOutput();
      client.in().readAllBytes();
    } catch (SocketTimeoutException e) {
      throw new AssertionError(
          "not ended after: " + new String(bytes, StandardCharsets.ISO_8859_1), e);
    } catch (java.net.SocketException e) {
      // reset by the proxy
    }
  }
}
