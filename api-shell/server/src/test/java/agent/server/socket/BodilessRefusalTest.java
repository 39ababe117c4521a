package agent.server.socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which answers of the parser get a body. */
class BodilessRefusalTest {
  private static final String MALFORMED =
      "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  private static String withBody(String answer) {
    final ByteBuffer replaced = BodilessRefusal.withBody(bytes(answer));
    return StandardCharsets.US_ASCII.decode(replaced).toString();
  }

  private static String answer(String body) {
    return "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\n"
        + "Content-Length: "
        + body.length()
        + "\r\n\r\n"
        + body;
  }

  @Test
  void shouldSayWhatIsWrongInJson() {
    assertEquals(
        answer("\"request: its line or its headers are malformed or too large\""),
        withBody(MALFORMED));
    assertEquals(
        answer("\"Host: No Host Header\""),
        withBody("HTTP/1.1 400 No Host Header\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
  }

  @Test
  void shouldReadFromThePositionAndLeaveItThere() {
    final ByteBuffer later = bytes("xyz" + MALFORMED + "xyz");
    later.position(3).limit(3 + MALFORMED.length());
    assertEquals(
        answer("\"request: its line or its headers are malformed or too large\""),
        StandardCharsets.US_ASCII.decode(BodilessRefusal.withBody(later)).toString());
    assertEquals(3, later.position());
    assertEquals(MALFORMED.length(), later.remaining());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "HTTP/1.1 ",
        "HTTP/1.1 400",
        "HTTP/1.1 400 ",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "xTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n\"\"",
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 400 Bad Request\r\nDate: today\r\nContent-Length: 0\r\n\r\n",
      })
  void shouldLeaveEveryOtherAnswer(String answer) {
    assertNull(BodilessRefusal.withBody(bytes(answer)));
  }

  @Test
  void shouldLeaveWhatIsLongerThanAnAnswerOfTheParser() {
    final String frame = "HTTP/1.1 400 \r\nContent-Length: 0\r\n\r\n";
    final String longest = "x".repeat(256 - frame.length());
    final String start = frame.substring(0, "HTTP/1.1 400 ".length());
    final String end = frame.substring(start.length());
    assertEquals(answer("\"Host: " + longest + "\""), withBody(start + longest + end));
    assertNull(BodilessRefusal.withBody(bytes(start + longest + "x" + end)));
  }

  /** Nearly all answers are no refusals: they are not decoded. */
  @Test
  void shouldAllocateLittleForEveryOtherAnswer() {
    final ByteBuffer other = bytes("HTTP/1.1 200 OK\r\n" + "x".repeat(200));
    final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    BodilessRefusal.withBody(other);
    final int answers = 1_000;
    final long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < answers; i++) {
      assertNull(BodilessRefusal.withBody(other));
    }
    final long bytes = (threads.getCurrentThreadAllocatedBytes() - before) / answers;
    assertTrue(bytes <= 600, bytes + " bytes an answer");
  }
}
