package agent.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.OperationException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** Which operations run at the same time, and what lets the next one begin. */
class OperationQueueTest {
  private final ConductorAgent conductor = new ConductorAgent("ep-test", () -> 0);
  private final OperationQueue queue = new OperationQueue(conductor, 8);
  private final List<String> begun = new ArrayList<>();
  private final List<CompletableFuture<String>> results = new ArrayList<>();

  /** Queues an operation; it ends with the returned future. */
  private CompletableFuture<String> add(String name, int subject) {
    final CompletableFuture<String> end = new CompletableFuture<>();
    results.add(
        queue.add(
            subject,
            () -> {
              begun.add(name);
              return end;
            }));
    return end;
  }

  private void turn() {
    for (int i = 0; i < 50; i++) {
      conductor.doWork();
    }
  }

  @Test
  void shouldRunTheOperationsOnOneSubjectOneAfterAnother() {
    final CompletableFuture<String> first = add("first", 7);
    final CompletableFuture<String> second = add("second", 7);
    add("other", 8);
    turn();
    assertEquals(List.of("first", "other"), begun);
    assertFalse(results.getFirst().isDone());
    first.complete("done");
    turn();
    assertEquals("done", results.getFirst().join());
    assertEquals(List.of("first", "other", "second"), begun);
    second.complete("too");
    turn();
    assertEquals("too", results.get(1).join());
  }

  @Test
  void shouldRunEightAtATimeAndNewSubjectsBesideEachOther() {
    final CompletableFuture<String> first = add("a", OperationQueue.NEW);
    for (final String next : List.of("b", "c", "d", "e", "f", "g", "h", "i")) {
      add(next, OperationQueue.NEW);
    }
    add("j", 5);
    turn();
    assertEquals(List.of("a", "b", "c", "d", "e", "f", "g", "h"), begun);
    first.complete("done");
    turn();
    assertEquals(List.of("a", "b", "c", "d", "e", "f", "g", "h", "i"), begun);
  }

  @Test
  void shouldGoOnAfterAnOperationThatFailsInEitherWay() {
    final OperationException refused = new OperationException("refused");
    for (int i = 0; i < 3; i++) {
      add("fails", 7).completeExceptionally(refused);
    }
    final CompletableFuture<Void> thrown =
        queue.add(
            7,
            () -> {
              throw refused;
            });
    final CompletableFuture<String> last = add("last", 7);
    turn();
    assertEquals(List.of("fails", "fails", "fails", "last"), begun);
    for (int i = 0; i < 3; i++) {
      assertSame(refused, assertThrows(CompletionException.class, results.get(i)::join).getCause());
    }
    assertSame(refused, assertThrows(CompletionException.class, thrown::join).getCause());
    last.complete("done");
    turn();
    assertTrue(results.getLast().isDone());
  }

  @Test
  void shouldRefuseAnOperationOfAConductorThatHasEnded() {
    conductor.onClose();
    add("late", 7);
    turn();
    assertEquals(List.of(), begun);
    assertTrue(results.getFirst().isCompletedExceptionally());
  }
}
