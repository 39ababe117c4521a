package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How many bodies are decoded at one time. */
@Timeout(20)
class BodyBudgetTest {
  private static final long LARGEST = 1 << 20;
  private static final int SMALL = 64 << 10;

  private final BodyBudget budget = new BodyBudget(LARGEST);

  private CompletableFuture<BodyBudget.Share> taking(long length) {
    return CompletableFuture.supplyAsync(() -> budget.take(length), Thread::startVirtualThread);
  }

  private static void assertWaits(CompletableFuture<?> share) {
    assertThrows(TimeoutException.class, () -> share.get(150, TimeUnit.MILLISECONDS));
  }

  @Test
  void shouldHaveALargeBodyWaitForAnotherAndNeverASmallOne() throws Exception {
    final BodyBudget.Share first = budget.take(LARGEST);
    final CompletableFuture<BodyBudget.Share> second = taking(SMALL + 1);
    assertWaits(second);
    for (int i = 0; i < 50; i++) {
      budget.take(SMALL);
    }
    assertFalse(second.isDone());
    first.close();
    first.close();
    second.get().close();
    budget.take(LARGEST).close();
  }

  @Test
  void shouldCountManySmallBodies() throws Exception {
    final BodyBudget.Share one = budget.take(-1);
    for (int i = 1; i < 126; i++) {
      budget.take(SMALL);
    }
    final CompletableFuture<BodyBudget.Share> next = taking(SMALL);
    assertWaits(next);
    one.close();
    next.get().close();
  }

  /** A body of unknown length takes the place of a large one when it turns out to be one. */
  @Test
  void shouldTakeAnotherShareForABodyThatTurnsOutToBeLarge() throws Exception {
    final BodyBudget.Share unknown = budget.take(-1);
    unknown.read(SMALL);
    budget.take(LARGEST).close();
    unknown.read(SMALL + 1);
    final CompletableFuture<BodyBudget.Share> large = taking(LARGEST);
    assertWaits(large);
    unknown.read(LARGEST);
    unknown.close();
    large.get().close();
  }

  @Test
  void shouldGiveTheSmallShareBackForALargeOne() throws Exception {
    final BodyBudget.Share unknown = budget.take(-1);
    for (int i = 1; i < 126; i++) {
      budget.take(SMALL);
    }
    unknown.read(SMALL + 1);
    taking(SMALL).get().close();
    unknown.close();
  }

  @Test
  void shouldRefuseTheBodyOfAThreadThatIsToEnd() {
    Thread.currentThread().interrupt();
    final HttpRefusal refusal = assertThrows(HttpRefusal.class, () -> budget.take(SMALL));
    assertTrue(Thread.interrupted());
    assertEquals("503 the agent is stopping", refusal.status() + " " + refusal.getMessage());
  }

  /** Whatever its coding, what is read of a body of unknown length counts. */
  @Test
  void shouldTakeALargeShareWhenMoreWasRead() throws Exception {
    final byte[] bytes = new byte[SMALL + 1];
    final ByteArrayOutputStream encoded = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(encoded)) {
      gzip.write(bytes);
    }
    final BodyBudget.Share plain = budget.take(-1);
    assertTakesALargeShare(plain, new BoundedBody(new ByteArrayInputStream(bytes), LARGEST, plain));
    final BodyBudget.Share decoded = budget.take(-1);
    assertTakesALargeShare(
        decoded,
        new DecodedBody(new ByteArrayInputStream(encoded.toByteArray()), LARGEST, decoded));
  }

  private void assertTakesALargeShare(BodyBudget.Share share, InputStream body) throws Exception {
    assertEquals(SMALL + 1, body.readAllBytes().length);
    final CompletableFuture<BodyBudget.Share> next = taking(LARGEST);
    assertWaits(next);
    share.close();
    next.get().close();
  }

  @Test
  void shouldDecodeSingleBytes() throws IOException {
    final ByteArrayOutputStream encoded = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(encoded)) {
      gzip.write(new byte[] {0, (byte) 0xff});
    }
    try (DecodedBody body =
        new DecodedBody(
            new ByteArrayInputStream(encoded.toByteArray()), LARGEST, budget.take(-1))) {
      assertEquals("0 255 -1", body.read() + " " + body.read() + " " + body.read());
    }
  }
}
