package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JacksonException;

/** For how long a rendered body is used. */
class RenderedAnswerTest {
  private long version;
  private long nowNs = Long.MAX_VALUE - 5; // the clock may wrap
  private Object value = "one";
  private final RenderedAnswer answer = new RenderedAnswer(() -> version, () -> nowNs, () -> value);

  private static ApiRequest request(long changes) {
    return new ApiRequest(
        new RouteTable.Match(Route.GET_HEALTHZ, null, Map.of()),
        Map.of(),
        name -> null,
        null,
        null,
        null,
        changes);
  }

  private String rendered(long changes) {
    final Answer.Body body = answer.answer(request(changes), () -> Answer.ok("streamed")).body();
    return body instanceof Answer.Rendered(ByteBuffer bytes)
        ? StandardCharsets.UTF_8.decode(bytes.duplicate()).toString()
        : body.toString();
  }

  @Test
  void shouldUseABodyUntilItsAgeEnds() {
    assertNull(answer.present(1));
    assertEquals("\"one\"", rendered(1));
    final ByteBuffer first = answer.present(1);
    value = "two";
    nowNs += TimeUnit.MILLISECONDS.toNanos(100) - 1;
    assertEquals("\"one\"", rendered(1));
    assertSame(first, answer.present(1));
    nowNs++;
    assertNull(answer.present(1));
    assertEquals("\"two\"", rendered(1));
  }

  @Test
  void shouldRenderAgainAfterAChangeOfTheValueAndAfterAChangingCall() {
    assertEquals("\"one\"", rendered(1));
    value = "two";
    version++;
    assertNull(answer.present(1));
    assertEquals("\"two\"", rendered(1));
    value = "three";
    assertNull(answer.present(2));
    assertEquals("\"three\"", rendered(2));
  }

  @Test
  void shouldNotKeepABodyThatIsTooLarge() {
    value = List.of("x".repeat(RenderedAnswer.MOST_BYTES - 4));
    assertEquals(RenderedAnswer.MOST_BYTES, rendered(1).length());
    value = List.of("x".repeat(RenderedAnswer.MOST_BYTES - 3)).iterator();
    version++;
    assertEquals("Json[value=streamed]", rendered(1));
    assertNull(answer.present(1));
    value = "small";
    assertEquals("Json[value=streamed]", rendered(1), "not tried again before a change");
    version++;
    assertEquals("\"small\"", rendered(1));
  }

  @Test
  void shouldTellThatAValueCannotBeRead() {
    value =
        new Iterator<String>() {
          @Override
          public boolean hasNext() {
            throw new IllegalStateException("planned");
          }

          @Override
          public String next() {
            return "";
          }
        };
    final RuntimeException failure = assertThrows(RuntimeException.class, () -> rendered(1));
    assertEquals("planned", ErrorAnswers.unwrapped(failure).getMessage());
  }

  /** What cannot be read. */
  record Unreadable(String text) {
    @Override
    public String text() {
      throw new IllegalStateException("planned");
    }
  }

  @Test
  void shouldTellThatAMemberCannotBeRead() {
    value = new Unreadable("");
    final RuntimeException failure = assertThrows(JacksonException.class, () -> rendered(1));
    assertEquals("planned", failure.getCause().getMessage());
  }
}
