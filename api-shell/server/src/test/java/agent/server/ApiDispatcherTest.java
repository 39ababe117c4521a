package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.RecordedLog;
import agent.types.OperationException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a request is refused, ended or broken off, and what becomes of its connection. */
@Timeout(60)
class ApiDispatcherTest {
  private static final int LIMIT = 1 << 20;
  private static final String CLOSED = "\r\nConnection: close\r\n";

  private final AtomicInteger atWork = new AtomicInteger();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final CompletableFuture<Throwable> endOfAnswer = new CompletableFuture<>();
  private TestServer server;

  @BeforeEach
  void start() throws IOException {
    server =
        TestServer.start(
            new ApiContext().maxBodyBytes(LIMIT),
            Map.of(
                Route.PUT_POLICY,
                request -> Answer.ok(request.bodyList(String.class).size()),
                Route.PATCH_CONFIG,
                request -> {
                  request.bodyList(String.class);
                  return Answer.streamed(
                      json -> {
                        ended.await();
                        json.writeString("late");
                      });
                },
                Route.DELETE_POLICY,
                request -> {
                  final int labels = request.labels().orElseThrow().size();
                  atWork.incrementAndGet();
                  ended.await();
                  return Answer.ok(labels);
                },
                Route.GET_MAP,
                request -> Answer.streamed(this::writeUntilItFails)));
  }

  @AfterEach
  void stop() throws IOException {
    ended.countDown();
    server.close();
  }

  /** Writes more than the client reads, or until the source fails. */
  private void writeUntilItFails(tools.jackson.core.JsonGenerator json) {
    try {
      json.writeStartArray();
      while (ended.getCount() > 0) {
        json.writeString("x".repeat(1000));
      }
      throw new OperationException("map large: walk (all entries): EFAULT");
    } catch (RuntimeException failure) {
      endOfAnswer.complete(failure);
      throw failure;
    }
  }

  private static String head(String method, String path, String headers) {
    return method + " " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n";
  }

  /** Sends a request after which the server ends the connection. */
  private String last(String request) throws IOException {
    try (RawClient client = server.connect()) {
      return client.send(request).readToEnd();
    }
  }

  @Test
  void shouldReadTheTypeAndTheCodingOnlyOfABodyThatIsThere() throws IOException {
    final String headers = "Content-Type: text/yaml\r\nContent-Encoding: br\r\n";
    assertTrue(server.exchange(head("GET", "/policy", headers)).endsWith("\"getPolicy\""));
    final String blank = "Content-Encoding:  \r\nContent-Length: 2\r\n";
    assertTrue(server.exchange(head("PUT", "/policy", blank) + "[]").endsWith("\r\n\r\n0"));
  }

  @Test
  void shouldEndTheConnectionWhereTheNextRequestCannotBeFound() throws IOException {
    final String coded = last(head("PUT", "/policy", "Transfer-Encoding: gzip\r\n") + "[]");
    assertTrue(coded.startsWith("HTTP/1.1 400 ") && coded.contains(CLOSED), coded);
    final String half;
    try (RawClient client = server.connect()) {
      client.send(head("PUT", "/policy", "Content-Length: 50\r\n") + "[]").shutdownOutput();
      half = client.readToEnd();
    }
    assertTrue(half.startsWith("HTTP/1.1 400 ") && half.contains(CLOSED), half);
    final String large =
        server.exchange(head("PUT", "/policy", "Content-Length: " + 100L * LIMIT + "\r\n"));
    assertEquals(
        "HTTP/1.1 413 Request Entity Too Large\r\nConnection: close\r\n"
            + "Content-Type: application/json\r\nContent-Length: 33\r\n\r\n"
            + "\"body: larger than 1048576 bytes\"",
        large);
  }

  /** The client would otherwise find the connection closed before it has read the answer. */
  @Test
  void shouldReadFourTimesTheLimitOfARefusedBody() throws IOException {
    try (RawClient client = server.connect()) {
      client.send(head("PUT", "/policy", "Content-Length: " + 100L * LIMIT + "\r\n"));
      final byte[] part = new byte[LIMIT / 16];
      client.send(part, 4 * 16);
      assertTrue(client.readAnswer().startsWith("HTTP/1.1 413 "));
      // more than is discarded, and the socket has room for
      assertThrows(IOException.class, () -> client.send(part, 4 * 16));
    }
  }

  @Test
  void shouldGiveTheRoomOfABodyBackBeforeItsAnswerIsWritten() throws IOException {
    final String body = "[\"" + "x".repeat(LIMIT - 10) + "\"]";
    try (RawClient late = server.connect()) {
      late.send(TestServer.request("PATCH", "/config", body));
      for (int i = 0; i < 2; i++) {
        final String answer = server.exchange(TestServer.request("PUT", "/policy", body));
        assertTrue(answer.endsWith("\r\n\r\n1"), answer);
      }
      ended.countDown();
      assertTrue(late.readAnswer().endsWith("\"late\""));
    }
  }

  @Test
  void shouldHaveTheConnectionInUseWhileItsRequestIsAtWork() throws Exception {
    try (RawClient late = server.connect()) {
      late.send(TestServer.request("PATCH", "/config", "[]"));
      while (server.server().connections().inUse() != 1) {
        Thread.sleep(1);
      }
      ended.countDown();
      assertTrue(late.readAnswer().endsWith("\"late\""));
      while (server.server().connections().inUse() != 0) {
        Thread.sleep(1);
      }
    }
  }

  /** Each takes the room of its length, not that of a body whose length is not known. */
  @Test
  void shouldServeManySmallBodiesAtOnce() throws Exception {
    final int most = 200;
    final List<RawClient> clients = new ArrayList<>();
    try {
      for (int i = 0; i < most; i++) {
        clients.add(server.connect().send(TestServer.request("DELETE", "/policy", "[]")));
      }
      while (atWork.get() < most) {
        Thread.sleep(1);
      }
      ended.countDown();
      for (final RawClient client : clients) {
        assertTrue(client.readAnswer().endsWith("\r\n\r\n0"));
      }
    } finally {
      for (final RawClient client : clients) {
        client.close();
      }
    }
  }

  @Test
  void shouldGiveTheRoomOfABodyBackWhereItsRequestFails() throws IOException {
    final String body = "[\"" + "x".repeat(LIMIT - 10) + "\",7]";
    for (int i = 0; i < 2; i++) {
      final String answer = server.exchange(TestServer.request("PUT", "/policy", body));
      assertTrue(answer.startsWith("HTTP/1.1 400 "), answer);
    }
  }

  @Test
  void shouldSayThatAnAnswerWasBrokenOffByItsSource() throws IOException {
    try (RecordedLog log = RecordedLog.of(ApiDispatcher.class);
        RawClient client = server.connect()) {
      client.send(TestServer.get("/map/large")).read(100_000);
      ended.countDown();
      assertFalse(client.readToEnd().endsWith("]"));
      assertEquals(
          List.of(
              "WARN api: the answer to GET /map/large was aborted:"
                  + " map large: walk (all entries): EFAULT"),
          log.take());
    }
  }

  @Test
  void shouldSayNothingOfAClientThatDoesNotReadItsAnswer() throws Exception {
    try (RecordedLog log = RecordedLog.of(ApiDispatcher.class)) {
      try (RawClient client = server.connect()) {
        client.send(TestServer.get("/map/large")).read(100);
      }
      assertTrue(ErrorAnswers.unwrapped(endOfAnswer.join()) instanceof IOException);
      while (server.server().connections().open() > 0) {
        Thread.sleep(1);
      }
      assertEquals(List.of(), log.take());
    }
  }

  @Test
  void shouldLimitAtTheRateThatIsSetLast() throws IOException {
    assertTrue(server.exchange(TestServer.get("/policy")).startsWith("HTTP/1.1 200 "));
    server.server().limit(RateLimits.parse(Map.of("read", "1/m"), () -> 0L));
    assertTrue(server.exchange(TestServer.get("/policy")).startsWith("HTTP/1.1 200 "));
    assertTrue(server.exchange(TestServer.get("/policy")).startsWith("HTTP/1.1 429 "));
    assertTrue(server.exchange(TestServer.get("/healthz")).startsWith("HTTP/1.1 200 "));
    server.server().limit(RateLimits.NONE);
    assertTrue(server.exchange(TestServer.get("/policy")).startsWith("HTTP/1.1 200 "));
  }

  @Test
  void shouldCountTheChangesThatItCarriedOut() throws IOException {
    server.exchange(TestServer.get("/policy"));
    assertEquals(0, server.server().changes());
    server.exchange(TestServer.request("PUT", "/policy", "[]"));
    server.exchange(TestServer.request("PUT", "/policy", "{}"));
    assertEquals(2, server.server().changes(), "one that fails may have changed something");
  }
}
