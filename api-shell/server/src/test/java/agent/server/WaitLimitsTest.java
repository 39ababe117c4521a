package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.undertow.UndertowOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.xnio.OptionMap;

/** How long the API waits for a share, for an answer, and for a client: without the wait. */
class WaitLimitsTest {
  private static final long MAX_BODY_BYTES = 1 << 20;

  /** A semaphore that tells the time that one would have waited, and what for. */
  private static final class Full extends Semaphore {
    private static final long serialVersionUID = 1L;

    private final transient List<String> waits = new ArrayList<>();

    Full() {
      super(0);
    }

    @Override
    public boolean tryAcquire(int permits, long timeout, TimeUnit unit) {
      waits.add(permits + " for " + unit.toSeconds(timeout) + " s");
      return false;
    }
  }

  private static void assertUnavailable(String message, Executable call) {
    final HttpRefusal refusal = assertThrows(HttpRefusal.class, call);
    assertEquals(503, refusal.status());
    assertEquals(message, refusal.getMessage());
    assertEquals(Map.of("Retry-After", "5"), refusal.headers());
  }

  @Test
  void shouldRefuseABodyThatHasNoShareAfterHalfAMinute() {
    final Full small = new Full();
    final Full large = new Full();
    final BodyBudget budget = new BodyBudget(MAX_BODY_BYTES, small, large);
    final String message = "body: too many large bodies are being read";
    assertUnavailable(message, () -> budget.take(1_024));
    assertUnavailable(message, () -> budget.take(-1));
    assertEquals(List.of("2 for 30 s", "65 for 30 s"), small.waits);
    assertUnavailable(message, () -> budget.take(65_537));
    assertEquals(List.of("65 for 30 s"), large.waits);
  }

  @Test
  void shouldRefuseALargeAnswerThatHasNoShareAfterHalfAMinute() {
    final Full units = new Full();
    final AnswerBudget budget = new AnswerBudget(1_000, 10, units);
    assertUnavailable("too many clients are reading large answers", () -> budget.take(999));
    assertUnavailable("too many clients are reading large answers", () -> budget.take(5_000));
    assertEquals(List.of("999 for 30 s", "1000 for 30 s"), units.waits);
  }

  @Test
  void shouldWaitTwoMinutesForTheDaemon() {
    final List<Long> seconds = new ArrayList<>();
    final CompletableFuture<String> never =
        new CompletableFuture<>() {
          @Override
          public String get(long timeout, TimeUnit unit) throws TimeoutException {
            seconds.add(unit.toSeconds(timeout));
            throw new TimeoutException();
          }
        };
    assertThrows(TimeoutException.class, () -> ApiRequest.await(never));
    assertEquals(List.of(120L), seconds);
  }

  @Test
  void shouldBoundTheTimeAndTheBytesOfAClient() {
    final OptionMap options = ApiServer.options(MAX_BODY_BYTES);
    assertEquals(30_000, options.get(UndertowOptions.REQUEST_PARSE_TIMEOUT));
    assertEquals(600_000, options.get(UndertowOptions.NO_REQUEST_TIMEOUT));
    assertEquals(64 << 10, options.get(UndertowOptions.MAX_HEADER_SIZE));
    assertEquals(4L << 20, options.get(UndertowOptions.MAX_ENTITY_SIZE));
  }
}
