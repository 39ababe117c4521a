package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The edge of {@code --api-max-body}: so many bytes are taken, and one more is not. */
@Timeout(60)
class BodyLimitTest {
  private static final int LIMIT = 100_000;

  /** Answers with the length of the only string of the body. */
  private static final ApiHandler LENGTH =
      request -> Answer.ok(request.bodyList(String.class).getFirst().length());

  private TestServer server;

  @BeforeEach
  void start() throws IOException {
    server =
        TestServer.start(
            new ApiContext().maxBodyBytes(LIMIT),
            Map.of(
                Route.PUT_POLICY,
                LENGTH,
                Route.DELETE_POLICY,
                request -> Answer.ok(request.labels().isPresent())));
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  @Test
  void shouldTakeABodyOfExactlyTheLimit() throws IOException {
    assertEquals("200 " + (LIMIT - 4), answer(withLength(body(LIMIT))));
  }

  @Test
  void shouldRefuseABodyOfOneByteMore() throws IOException {
    assertEquals(
        "413 \"body: larger than " + LIMIT + " bytes\"", answer(withLength(body(LIMIT + 1))));
  }

  @Test
  void shouldTakeAChunkedBodyOfExactlyTheLimit() throws IOException {
    assertEquals("200 " + (LIMIT - 4), answer(chunked(body(LIMIT))));
  }

  @Test
  void shouldRefuseAChunkedBodyOfOneByteMore() throws IOException {
    assertEquals("413 \"body: larger than " + LIMIT + " bytes\"", answer(chunked(body(LIMIT + 1))));
  }

  @Test
  void shouldRefuseTheByteOverTheLimitAlsoAfterTheEndOfTheDocument() throws IOException {
    final String document = body(LIMIT - 10);
    assertTrue(answer(chunked(document + " ".repeat(11))).startsWith("413 "));
    assertEquals("200 " + (LIMIT - 14), answer(chunked(document + " ".repeat(10))));
  }

  @Test
  void shouldRefuseOneByteMoreOnEveryOtherCallWithABody() throws IOException {
    final String tooLong = body(LIMIT + 1);
    assertTrue(answer(request("DELETE", tooLong)).startsWith("413 "));
    assertTrue(answer(request("DELETE", body(LIMIT))).startsWith("200 "));
  }

  private static String body(int bytes) {
    final String body = "[\"" + "x".repeat(bytes - 4) + "\"]";
    assertEquals(bytes, body.length());
    return body;
  }

  private static String withLength(String body) {
    return request("PUT", body);
  }

  private static String request(String method, String body) {
    return TestServer.request(method, "/policy", body);
  }

  /** In chunks of 1000 bytes. */
  private static String chunked(String body) {
    final StringBuilder request =
        new StringBuilder(
            "PUT /policy HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int at = 0; at < body.length(); at += 1000) {
      final String chunk = body.substring(at, Math.min(body.length(), at + 1000));
      request.append(Integer.toHexString(chunk.length())).append("\r\n").append(chunk);
      request.append("\r\n");
    }
    return request.append("0\r\n\r\n").toString();
  }

  private String answer(String request) throws IOException {
    final String answer = server.exchange(request);
    return answer.substring(9, 13) + answer.substring(answer.indexOf("\r\n\r\n") + 4);
  }
}
