package agent.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ServiceTurnsTest {
  private static final Runnable NOTHING = () -> {};

  private final List<ServiceTurns.Turn> begun = new ArrayList<>();
  private int wakes;
  private final ServiceTurns turns = new ServiceTurns(() -> wakes++);

  @Test
  void shouldWakeTheOwnerForTheEndOfATurnThatAnotherWaitsForAlone() {
    turns.take(1, begun::add);
    turns.take(2, begun::add);
    turns.take(2, begun::add);
    assertEquals(2, begun.size());
    begun.get(0).end(NOTHING);
    assertEquals(0, wakes);
    begun.get(1).end(NOTHING);
    assertEquals(1, wakes);
    turns.settle();
    assertEquals(3, begun.size());
    begun.get(2).end(NOTHING);
    assertEquals(1, wakes, "no other waits");
  }

  /** The end came when no change waited for it, and woke no thread. */
  @Test
  void shouldBeginAtOnceBehindATurnThatHasEndedAMomentBefore() {
    turns.take(1, begun::add);
    begun.getFirst().end(NOTHING);
    turns.take(1, begun::add);
    assertEquals(2, begun.size());
  }

  @Test
  void shouldSettleATurnBeforeTheNextBegins() {
    final List<String> order = new ArrayList<>();
    turns.take(1, begun::add);
    turns.take(1, own -> order.add("next"));
    begun.getFirst().end(() -> order.add("settled"));
    assertEquals(List.of(), order, "on the owner's thread");
    turns.settle();
    assertEquals(List.of("settled", "next"), order);
  }

  @Test
  void shouldForgetAServiceThatNoChangeIsOf() {
    turns.take(1, begun::add);
    turns.take(1, begun::add);
    assertTrue(turns.isTaken(1));
    begun.getFirst().end(NOTHING);
    turns.settle();
    assertTrue(turns.isTaken(1));
    begun.getLast().end(NOTHING);
    turns.settle();
    assertFalse(turns.isTaken(1));
  }
}
