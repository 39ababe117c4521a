package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import agent.types.OperationException;
import agent.types.Refusal;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** Status and message of every kind of failure. */
class ErrorAnswersTest {
  private static String answer(Route route, Throwable failure) {
    final ErrorAnswers answer = ErrorAnswers.of(route, failure);
    return answer.status() + " " + answer.message();
  }

  @Test
  void shouldAnswerEachKindOfFailure() {
    assertEquals("405 m", answer(null, HttpRefusal.of(405, "m")));
    assertEquals("461 deny: m", answer(Route.PATCH_PREFILTER, Refusal.invalid("deny", "m")));
    assertEquals("500 m", answer(Route.GET_MAP, new OperationException("m")));
    assertEquals(
        "413 body: larger than 7 bytes", answer(null, new BoundedBody.TooLargeException(7)));
    assertEquals(
        "400 body: incomplete",
        answer(null, new BoundedBody.ClientGoneException(new IOException("reset"))));
    assertEquals(
        Map.of("Allow", "GET"),
        ErrorAnswers.of(null, HttpRefusal.withHeader(405, "m", "Allow", "GET")).headers());
  }

  @Test
  void shouldTellTheFirstLineOfAFailureOfTheAgent() {
    assertEquals(
        "500 internal error: one", answer(Route.GET_MAP, new IllegalStateException("one\ntwo")));
    assertEquals(
        "500 internal error: see the log of the agent",
        answer(null, new NullPointerException(null)));
    assertEquals(
        "500 internal error: see the log of the agent",
        answer(null, new IllegalStateException("")));
  }

  @Test
  void shouldFindTheFailureOfAFuture() {
    final Refusal cause = Refusal.notFound("id", "m");
    final Throwable wrapped =
        new ExecutionException(new CompletionException(new ExecutionException(cause)));
    assertSame(cause, ErrorAnswers.unwrapped(wrapped));
    assertEquals("404 id: m", answer(Route.GET_ENDPOINT, wrapped));
    final CompletionException bare = new CompletionException("m", null);
    assertSame(bare, ErrorAnswers.unwrapped(bare));
    final IllegalStateException other = new IllegalStateException(cause);
    assertSame(other, ErrorAnswers.unwrapped(other), "its cause is not the failure");
  }

  @Test
  void shouldCutALongMessageInItsMiddle() {
    final String longest = "a".repeat(512) + "b".repeat(512);
    assertEquals(longest, new ErrorAnswers(400, longest, Map.of()).message());
    assertEquals(
        "a".repeat(512) + " ... " + "b".repeat(512),
        new ErrorAnswers(400, "a".repeat(512) + "x" + "b".repeat(512), Map.of()).message());
  }
}
