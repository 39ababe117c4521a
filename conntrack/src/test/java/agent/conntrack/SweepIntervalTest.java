package agent.conntrack;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class SweepIntervalTest {
  private static final long SECOND_NS = 1_000_000_000L;
  private static final long CONFIGURED_NS = 60 * SECOND_NS;

  @Test
  void shouldShortenTheIntervalByTheDeletedShare() {
    assertEquals(30 * SECOND_NS, next(60, 1000, 500));
    assertEquals(12 * SECOND_NS, next(30, 1000, 600));
  }

  @Test
  void shouldKeepTheIntervalWhenAModerateShareWasDeleted() {
    assertEquals(30 * SECOND_NS, next(30, 1000, 250));
    assertEquals(30 * SECOND_NS, next(30, 1000, 50));
  }

  @Test
  void shouldGrowUpToTheConfiguredIntervalWhenFewEntriesWereDeleted() {
    assertEquals(45 * SECOND_NS, next(30, 1000, 49));
    assertEquals(60 * SECOND_NS, next(45, 1000, 0));
    assertEquals(60 * SECOND_NS, next(60, 0, 0));
  }

  @Test
  void shouldNotFallBelowATenthOfTheConfiguredIntervalNorBelowOneSecond() {
    assertEquals(6 * SECOND_NS, next(7, 1000, 1000));
    assertEquals(SECOND_NS, SweepInterval.nextNs(2 * SECOND_NS, 5 * SECOND_NS, 10, 10));
    assertEquals(SECOND_NS / 2, SweepInterval.nextNs(SECOND_NS / 2, SECOND_NS / 2, 10, 10));
  }

  private static long next(long currentSec, long visited, long deleted) {
    return SweepInterval.nextNs(currentSec * SECOND_NS, CONFIGURED_NS, visited, deleted);
  }
}
