package agent.server;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
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
}
