package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Rendered answers over the socket: which requests get them, and what a request allocates. */
@Timeout(120)
class RenderedReadsTest {
  private static final int MOST_BYTES_PER_REQUEST = 2048;
  private static final String READ = TestServer.get("/endpoint");

  private final AtomicInteger value = new AtomicInteger();
  private final AtomicInteger handled = new AtomicInteger();
  private final AtomicLong nowNs = new AtomicLong();
  private TestServer server;

  @BeforeEach
  void start() throws IOException {
    final RenderedAnswer plain = new RenderedAnswer(() -> 0, nowNs::get, () -> value);
    server =
        TestServer.start(
            new ApiContext().ioThreads(1),
            Map.of(
                Route.LIST_ENDPOINTS,
                ApiHandler.rendering(
                    plain,
                    request -> {
                      handled.incrementAndGet();
                      return request.labels().isPresent() || request.headerSwitch("brief")
                          ? Answer.ok("other")
                          : plain.answer(request, () -> Answer.ok("large"));
                    }),
                Route.PUT_POLICY,
                request -> Answer.ok(request.bodyList(String.class)),
                Route.DELETE_POLICY,
                request -> {
                  throw new IllegalStateException("failed");
                }));
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private static String body(String answer) {
    assertTrue(answer.startsWith("HTTP/1.1 200 "), answer);
    return answer.substring(answer.indexOf("\r\n\r\n") + 4);
  }

  @Test
  void shouldAnswerAPlainReadWithoutTheHandler() throws IOException {
    assertEquals("0", body(server.exchange(READ)));
    value.set(7);
    assertEquals("0", body(server.exchange(READ)));
    assertEquals(1, handled.get());
    assertEquals("\"other\"", body(server.exchange(TestServer.get("/endpoint?labels=a"))));
    assertEquals("\"other\"", body(server.exchange(TestServer.request("GET", "/endpoint", "[]"))));
    assertEquals(
        "\"other\"",
        body(server.exchange("GET /endpoint HTTP/1.1\r\nHost: x\r\nbrief: true\r\n\r\n")));
    assertTrue(server.exchange(TestServer.get("/endpoint?x=1")).startsWith("HTTP/1.1 400 "));
    assertEquals(4, handled.get());
  }

  @Test
  void shouldShowAChangeFromTheMomentItIsAnswered() throws IOException {
    assertEquals("0", body(server.exchange(READ)));
    value.set(7);
    body(server.exchange(TestServer.request("PUT", "/policy", "[]")));
    assertEquals("7", body(server.exchange(READ)));
    value.set(8);
    assertTrue(server.exchange(TestServer.request("DELETE", "/policy", "")).contains(" 500 "));
    assertEquals("8", body(server.exchange(READ)), "also where the change failed halfway");
  }

  @Test
  void shouldShowTheNewRoutesWhenTheyAreServed() throws IOException {
    assertEquals("0", body(server.exchange(READ)));
    value.set(7);
    server.server().serve(RouteTable.of(TestServer.withNames(Map.of())));
    assertEquals("\"listEndpoints\"", body(server.exchange(READ)));
  }

  @Test
  void shouldLimitTheRateOfRenderedAnswers() throws IOException {
    assertEquals("0", body(server.exchange(READ)));
    server.server().limit(RateLimits.parse(Map.of("read", "1/m"), () -> 0L));
    assertEquals("0", body(server.exchange(READ)));
    final String limited = server.exchange(READ);
    assertTrue(limited.startsWith("HTTP/1.1 429 "), limited);
    assertTrue(limited.contains("\r\nRetry-After: 60\r\n"), limited);
    assertEquals(1, handled.get());
  }

  @Test
  void shouldAllocateLittleForARenderedAnswer() throws IOException {
    final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    final long thread =
        Thread.getAllStackTraces().keySet().stream()
            .filter(one -> one.getName().startsWith("api-io"))
            .findFirst()
            .orElseThrow()
            .threadId();
    try (RawClient client = server.connect()) {
      for (int i = 0; i < 20_000; i++) {
        client.send(READ).readAnswer();
      }
      final int requests = 5_000;
      final long before = threads.getThreadAllocatedBytes(thread);
      for (int i = 0; i < requests; i++) {
        client.send(READ).readAnswer();
      }
      final long bytes = (threads.getThreadAllocatedBytes(thread) - before) / requests;
      assertTrue(bytes <= MOST_BYTES_PER_REQUEST, bytes + " bytes a request");
      assertEquals(1, handled.get());
    }
  }
}
