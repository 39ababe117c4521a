package agent.datapath.programs.attach;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Three moves within a minute, on a clock that the test advances; it begins anywhere. */
class ProgramMovesTest {
  private static final long MINUTE_NS = TimeUnit.MINUTES.toNanos(1);
  private static final long SECOND_NS = TimeUnit.SECONDS.toNanos(1);

  private final ProgramMoves moves = new ProgramMoves();

  /** Moves the program three times, a second apart. */
  private void moveThreeTimes(long startNs) {
    for (int i = 0; i < 3; i++) {
      assertFalse(moves.isExhausted(false, startNs + i * SECOND_NS), "move " + i);
      moves.count();
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 5, Long.MAX_VALUE - 30_000_000_000L, Long.MIN_VALUE})
  void shouldAllowThreeMovesWithinAMinuteOfTheFirst(long startNs) {
    moveThreeTimes(startNs);
    assertTrue(moves.isExhausted(false, startNs + 3 * SECOND_NS));
    assertTrue(moves.isExhausted(false, startNs + MINUTE_NS));
    assertFalse(moves.isExhausted(false, startNs + MINUTE_NS + 1));
  }

  @Test
  void shouldCountAWholeMinuteAgainFromTheNextMove() {
    moveThreeTimes(0);
    moveThreeTimes(MINUTE_NS + 1);
    assertTrue(moves.isExhausted(false, 2 * MINUTE_NS + 1));
    assertFalse(moves.isExhausted(false, 2 * MINUTE_NS + 2));
  }

  @Test
  void shouldStayExhaustedWhileTheForeignProgramIsThere() {
    moveThreeTimes(0);
    assertTrue(moves.isExhausted(false, 3 * SECOND_NS));
    assertTrue(moves.isExhausted(true, 10 * MINUTE_NS));
    assertFalse(moves.isExhausted(false, 10 * MINUTE_NS), "it has gone");
  }

  @Test
  void shouldNotCountWhatWasNotMoved() {
    for (int i = 0; i < 10; i++) {
      assertFalse(moves.isExhausted(false, i));
    }
    moveThreeTimes(MINUTE_NS / 2);
    assertTrue(moves.isExhausted(false, MINUTE_NS + 3));
  }
}
