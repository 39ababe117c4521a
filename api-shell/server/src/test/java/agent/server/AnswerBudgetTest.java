package agent.server;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How many large answers are written at one time. */
@Timeout(20)
class AnswerBudgetTest {
  private final AnswerBudget budget = new AnswerBudget(10, 3);

  private CompletableFuture<AnswerBudget.Share> taking(long size) {
    final CompletableFuture<AnswerBudget.Share> share = new CompletableFuture<>();
    Thread.startVirtualThread(
        () -> {
          try {
            share.complete(budget.take(size));
          } catch (InterruptedException e) {
            share.completeExceptionally(e);
          }
        });
    return share;
  }

  @Test
  void shouldNotCountSmallAnswers() {
    assertFalse(budget.isLarge(2));
    assertTrue(budget.isLarge(3));
  }

  @Test
  void shouldHaveAnAnswerWaitUntilThereIsRoomForIt() throws Exception {
    final AnswerBudget.Share six = budget.take(6);
    final AnswerBudget.Share four = budget.take(4);
    final CompletableFuture<AnswerBudget.Share> five = taking(5);
    four.close();
    assertThrows(TimeoutException.class, () -> five.get(150, TimeUnit.MILLISECONDS));
    six.close();
    five.get().close();
  }

  @Test
  void shouldWriteAnAnswerAloneThatHasMoreThanAll() throws Exception {
    final AnswerBudget.Share all = budget.take(1L << 40);
    final CompletableFuture<AnswerBudget.Share> one = taking(1);
    assertThrows(TimeoutException.class, () -> one.get(150, TimeUnit.MILLISECONDS));
    all.close();
    one.get().close();
    budget.take(10).close();
  }
}
