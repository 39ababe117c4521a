package agent.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.CannedHttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The forms of an answer in HTTP/1.1, and what is none. */
@Timeout(300)
class AnswerFormsTest {
  private static final RequestPath PATH = RequestPath.of("x");
  private static final String OK = "HTTP/1.1 200 OK\r\n";
  private static final String CHUNKED = OK + "Transfer-Encoding: chunked\r\n\r\n";

  private static AgentClient clientOf(CannedHttpServer server) {
    return AgentClient.of(server.socket().toString(), Duration.ofSeconds(20));
  }

  /** Returns the body of the only answer of a server. */
  private static String body(String answer) throws IOException {
    final AtomicInteger asked = new AtomicInteger();
    try (CannedHttpServer server =
            CannedHttpServer.start(request -> asked.getAndIncrement() == 0 ? answer : "");
        AgentClient client = clientOf(server)) {
      return new String(client.open("PUT", PATH, "{}").readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static void assertBroken(String message, String answer) {
    assertEquals(message, assertThrows(IOException.class, () -> body(answer)).getMessage());
  }

  @Test
  void shouldReadABodyOfEitherForm() throws IOException {
    assertEquals("abc", body(OK + "Content-Length: 3\r\n\r\nabc"));
    assertEquals("", body(OK + "Content-Length: 0\r\n\r\n"));
    assertEquals("abc", body(OK + "CONTENT-LENGTH:  3 \n\nabc"));
    assertEquals(
        "0123456789abcdef-xyz",
        body(CHUNKED + "10\r\n0123456789abcdef\r\n1 ;n=v\r\n-\r\n3\r\nxyz\r\n0\r\nT: 1\r\n\r\n"));
    assertEquals("", body(OK + "transfer-encoding: gzip, Chunked\r\n\r\n0\r\n\r\n"));
    assertEquals("", body("HTTP/1.1 204 No Content\r\n\r\n"));
    assertEquals("a", body("HTTP/1.0 200\r\nContent-Length: 1\r\n\r\na"));
    assertEquals("a", body("HTTP/1.1 199 x\r\nA: b\r\n\r\n" + OK + "Content-Length: 1\r\n\r\na"));
  }

  @Test
  void shouldReadByteByByteAndInParts() throws IOException {
    try (CannedHttpServer server =
            CannedHttpServer.start(
                request -> CHUNKED + "3\r\na\u0001\u007f\r\n2\r\nbc\r\n0\r\n\r\n");
        AgentClient client = clientOf(server)) {
      final InputStream body = client.open("GET", PATH, null);
      assertEquals(0, body.read(new byte[3], 0, 0));
      assertEquals('a', body.read());
      final byte[] part = new byte[9];
      assertEquals(2, body.read(part, 4, 5), "up to the end of a chunk");
      assertEquals(2, body.read(part, 6, 3));
      assertArrayEquals(new byte[] {0, 0, 0, 0, 1, 0x7f, 'b', 'c', 0}, part);
      assertEquals(-1, body.read());
      assertEquals(-1, body.read(part, 0, 1));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "not an HTTP answer: 'HTTP/2 200' | HTTP/2 200~~",
        "not an HTTP answer: 'HTTP/1.1 600 x' | HTTP/1.1 600 x~~",
        "malformed header 'novalue' | HTTP/1.1 200 OK~novalue~~",
        "malformed header ': x' | HTTP/1.1 200 OK~: x~~",
        "malformed Content-Length '-1' | HTTP/1.1 200 OK~Content-Length: -1~~",
        "malformed Content-Length '1x' | HTTP/1.1 200 OK~Content-Length: 1x~~",
        "malformed chunk size 'x' | HTTP/1.1 200 OK~Transfer-Encoding: chunked~~x~",
        "malformed chunk size '-1' | HTTP/1.1 200 OK~Transfer-Encoding: chunked~~-1~"
      })
  void shouldSayWhatIsWrongWithAnAnswer(String message, String answer) {
    assertBroken(message, answer.replace("~", "\r\n"));
  }

  @Test
  void shouldRefuseLinesAndHeadersThatNeverEnd() {
    assertBroken("a line of the answer is too long", OK + "A: " + "x".repeat(70_000) + "\r\n\r\n");
    assertBroken("a line of the answer is too long", CHUNKED + "0".repeat(9_000) + "\r\n\r\n");
    final StringBuilder headers = new StringBuilder(OK);
    for (int i = 0; i < 256; i++) {
      headers.append("h").append(i).append(": x\r\n");
    }
    assertBroken("malformed header 'more: x'", headers + "more: x\r\n\r\n");
  }

  @Test
  void shouldTellThatTheAgentDoesNotAnswer() throws IOException {
    try (CannedHttpServer server =
            CannedHttpServer.start(request -> OK + "Content-Length: 3\r\n\r\na");
        AgentClient client =
            AgentClient.of("unix://" + server.socket(), Duration.ofMillis(1_100))) {
      final InputStream body = client.open("GET", PATH, null);
      assertEquals('a', body.read());
      assertEquals(
          "the agent did not answer within 1100 ms",
          assertThrows(IOException.class, body::read).getMessage());
    }
    assertBroken("the agent closed the connection", "");
  }

  /** A connection with the rest of an answer, or one that the agent gives up, is not used again. */
  @Test
  void shouldUseAConnectionAgainOnlyAfterAWholeAnswer() throws IOException {
    assertEquals(1, connectionsOf(OK + "Content-Length: 2\r\n\r\n[]", true));
    assertEquals(1, connectionsOf(CHUNKED + "2\r\n[]\r\n0\r\n\r\n", true));
    assertEquals(3, connectionsOf(OK + "Content-Length: 2\r\n\r\n[]", false));
    assertEquals(3, connectionsOf(CHUNKED + "2\r\n[]\r\n0\r\n\r\n", false));
    assertEquals(3, connectionsOf(OK + "Connection: Close\r\nContent-Length: 2\r\n\r\n[]", true));
    assertEquals(
        1, connectionsOf(OK + "Connection: keep-alive\r\nContent-Length: 0\r\n\r\n", true));
  }

  /** Counts connections by the threads of the server: each serves one. */
  private static int connectionsOf(String answer, boolean isRead) throws IOException {
    final List<Thread> threads = new ArrayList<>();
    try (CannedHttpServer server =
            CannedHttpServer.start(
                request -> {
                  synchronized (threads) {
                    threads.add(Thread.currentThread());
                  }
                  return answer;
                });
        AgentClient client = clientOf(server)) {
      for (int i = 0; i < 3; i++) {
        final InputStream body = client.open("GET", PATH, null);
        if (isRead) {
          body.readAllBytes();
        } else {
          body.read();
        }
      }
    }
    assertEquals(3, threads.size());
    return (int) threads.stream().distinct().count();
  }

  @Test
  void shouldShowTheTextOfAnErrorThatIsNotJson() throws IOException {
    try (CannedHttpServer server =
            CannedHttpServer.start(request -> CannedHttpServer.answer(400, " no json\n"));
        AgentClient client = clientOf(server)) {
      final AgentException refused = assertThrows(AgentException.class, client::maps);
      assertEquals("400 no json", refused.status() + " " + refused.getMessage());
    }
    try (CannedHttpServer server =
            CannedHttpServer.start(request -> CannedHttpServer.answer(200, "{\"maps\":7}"));
        AgentClient client = clientOf(server)) {
      final IOException unreadable = assertThrows(IOException.class, client::maps);
      assertTrue(
          unreadable.getMessage().startsWith("the agent's answer cannot be read: "),
          unreadable.getMessage());
    }
  }

  @Test
  void shouldEncodeEveryByteThatIsNotPlain() {
    assertEquals("", RequestPath.of().toString());
    assertEquals(
        "/AZaz09-._~:/%00%2F%7F%C2%80%20%25?q=%2B&r=&q=%3D",
        RequestPath.of("AZaz09-._~:", "\0/\u007f\u0080 %")
            .query("q", "+")
            .query("none", null)
            .query("r", "")
            .queryEach("q", List.of("="))
            .toString());
  }

  @Test
  void shouldTakeOnlyAbsolutePathsAsAddresses() throws IOException {
    AgentClient.of("/run/x").close();
    AgentClient.of("unix:///run/x").close();
    for (final String address : List.of("", "run/x", "unix://run", "http://localhost/")) {
      assertEquals(
          "'"
              + address
              + "' is not an address of an agent, such as"
              + " unix:///var/run/agent/agent.sock",
          assertThrows(IllegalArgumentException.class, () -> AgentClient.of(address)).getMessage());
    }
  }
}
