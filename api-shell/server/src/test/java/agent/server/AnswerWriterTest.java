package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.OperationException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every kind of answer as the client gets it. */
@Timeout(60)
class AnswerWriterTest {
  private static final String JSON = "Content-Type: application/json\r\n";

  private final ByteBuffer rendered =
      ByteBuffer.wrap("{\"a\":1}".getBytes(StandardCharsets.UTF_8)).asReadOnlyBuffer();
  private TestServer server;

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  /** Returns what the client of a call gets that is answered so. */
  private String sent(Answer answer) throws IOException {
    server = TestServer.start(Map.of(Route.GET_POLICY, request -> answer));
    return again();
  }

  private String again() throws IOException {
    return server.exchange(TestServer.get("/policy"));
  }

  private static void assertSent(String status, String headers, String body, String sent) {
    assertTrue(sent.startsWith("HTTP/1.1 " + status + "\r\n"), sent);
    assertTrue(sent.contains("\r\n" + headers), sent);
    assertEquals(body, sent.substring(sent.indexOf("\r\n\r\n") + 4));
  }

  @Test
  void shouldSendAValueAsJson() throws IOException {
    assertSent("200 OK", JSON, "[\"ü\",1]", sent(Answer.ok(List.of("ü", 1))));
  }

  @Test
  void shouldSayThatSomethingWasCreated() throws IOException {
    assertSent("201 Created", JSON, "7", sent(Answer.created(7)));
  }

  @Test
  void shouldSendNoBody() throws IOException {
    final String sent = sent(Answer.ok());
    assertSent("200 OK", "Content-Length: 0\r\n", "", sent);
    assertEquals(-1, sent.indexOf("Content-Type"), sent);
  }

  @Test
  void shouldSendAText() throws IOException {
    final Answer answer = new Answer(202, new Answer.Text("text/x", "ü {}"));
    assertSent("202 Accepted", "Content-Type: text/x\r\n", "ü {}", sent(answer));
  }

  @Test
  void shouldSendWhatIsRenderedMoreThanOnce() throws IOException {
    assertSent("200 OK", JSON, "{\"a\":1}", sent(Answer.rendered(rendered)));
    assertSent("200 OK", JSON, "{\"a\":1}", again());
    assertEquals(0, rendered.position());
  }

  @Test
  void shouldStreamAnArray() throws IOException {
    final Answer answer = Answer.streamedArray(List.of(1, 2), number -> List.of("n" + number));
    assertSent("200 OK", JSON, "[[\"n1\"],[\"n2\"]]", sent(answer));
    assertSent("200 OK", JSON, "[[\"n1\"],[\"n2\"]]", again());
  }

  @Test
  void shouldSendNothingOfAnAnswerThatFailsBeforeItsFirstBytesAreSent() throws IOException {
    final Answer answer =
        Answer.streamed(
            json -> {
              json.writeStartArray();
              json.writeString("x".repeat(10_000)); // more than the generator keeps
              throw new OperationException("map small: walk: EFAULT");
            });
    assertSent("500 Internal Server Error", JSON, "\"map small: walk: EFAULT\"", sent(answer));
  }

  @Test
  void shouldSendTheHeadersOfARefusal() throws IOException {
    server = TestServer.start(Map.of());
    final String sent = server.exchange(TestServer.request("PATCH", "/policy", "[]"));
    assertTrue(sent.startsWith("HTTP/1.1 405 "), sent);
    assertTrue(sent.contains("\r\nAllow: GET, PUT, DELETE\r\n"), sent);
    assertTrue(sent.contains("\r\n" + JSON), sent);
  }
}
