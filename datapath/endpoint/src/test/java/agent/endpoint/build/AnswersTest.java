package agent.endpoint.build;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.OtherThread;
import agent.types.OperationException;
import agent.types.Refusal;
import java.io.IOException;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** How the failure of an answer is reported. */
class AnswersTest {
  private static final OperationException FAILURE = new OperationException("the kernel refused");

  private final List<String> errors = new ArrayList<>();

  private static Throwable failureOf(CompletableFuture<?> answer) {
    return assertThrows(CompletionException.class, answer::join).getCause();
  }

  @Test
  void shouldPutTheOperationBeforeTheMessageAndKeepTheKind() {
    assertEquals(
        7, Answers.named("endpoint 12: attach", CompletableFuture.completedFuture(7)).join());
    final Throwable failed =
        failureOf(Answers.named("endpoint 12: attach", CompletableFuture.failedFuture(FAILURE)));
    assertEquals(OperationException.class, failed.getClass());
    assertEquals("endpoint 12: attach: the kernel refused", failed.getMessage());
    assertSame(FAILURE, failed.getCause());
    final Refusal full = Refusal.exhausted("", "the map is full");
    final Refusal refused =
        assertInstanceOf(
            Refusal.class, Answers.named("ipcache", new CompletionException("x", full)));
    assertEquals(Refusal.Kind.EXHAUSTED, refused.kind());
    assertEquals("ipcache: the map is full", refused.getMessage());
    assertSame(full, refused.getCause());
  }

  @Test
  void shouldCollectTheMessageOfAFailedAnswer() {
    Answers.settled(errors, CompletableFuture.completedFuture(7)).join();
    assertEquals(List.of(), errors);
    Answers.settled(errors, CompletableFuture.failedFuture(FAILURE)).join();
    Answers.settled(errors, CompletableFuture.failedFuture(new CompletionException("x", FAILURE)))
        .join();
    Answers.settled(errors, CompletableFuture.failedFuture(new CompletionException("y", null)))
        .join();
    Answers.settled(errors, CompletableFuture.failedFuture(new NullPointerException())).join();
    assertEquals(
        List.of("the kernel refused", "the kernel refused", "y", "failed without a cause"), errors);
  }

  @Test
  void shouldCollectTheMessageOfAFailedStep() {
    final boolean[] ran = {false};
    Answers.attempt(errors, () -> ran[0] = true);
    assertTrue(ran[0]);
    assertEquals(List.of(), errors);
    Answers.attempt(
        errors,
        () -> {
          throw FAILURE;
        });
    assertEquals(List.of("the kernel refused"), errors);
  }

  @Test
  void shouldFindTheCauseOfAFutureThatFailed() {
    assertSame(FAILURE, Answers.unwrapped(FAILURE));
    assertSame(FAILURE, Answers.unwrapped(new CompletionException("x", FAILURE)));
    final IOException checked = new IOException("gone");
    assertSame(checked, Answers.unwrapped(checked).getCause());
    assertEquals(CompletionException.class, Answers.unwrapped(checked).getClass());
  }

  /** Makes the other answer fail while an error is added. */
  private final class SlowErrors extends AbstractList<String> {
    private final CompletableFuture<Void> other = new CompletableFuture<>();
    private OtherThread<Boolean> failing;

    @Override
    public boolean add(String error) {
      if (failing == null) {
        failing = OtherThread.call(() -> other.completeExceptionally(FAILURE));
        assertTrue(failing.waits(), "it waits until the error is there");
      }
      return errors.add(error);
    }

    @Override
    public String get(int index) {
      return errors.get(index);
    }

    @Override
    public int size() {
      return errors.size();
    }
  }

  /** Answers come from the threads of the datapath, of the disk and of the identities. */
  @Test
  void shouldAddOneErrorAfterTheOther() throws Exception {
    final SlowErrors slow = new SlowErrors();
    Answers.settled(slow, slow.other);
    Answers.settled(slow, CompletableFuture.failedFuture(FAILURE)).join();
    slow.failing.result();
    assertEquals(2, errors.size());
  }
}
