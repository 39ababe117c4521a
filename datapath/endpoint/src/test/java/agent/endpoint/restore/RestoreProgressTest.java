package agent.endpoint.restore;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.conductor.HealthBoard.Reading;
import agent.testkit.RecordedLog;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What health says of a restoration, from before its begin to after its end. */
class RestoreProgressTest {
  private static final Reading NONE = Reading.ok("no endpoint is being restored");

  private final RestoreProgress progress = new RestoreProgress();

  @Test
  void shouldCountUntilItHasEnded() {
    assertEquals(NONE, progress.read());
    progress.begin(2, 0);
    assertEquals(Reading.degraded("restoring: 0 of 2 endpoints"), progress.read());
    progress.count(1);
    assertEquals(Reading.degraded("restoring: 1 of 2 endpoints"), progress.read());
    progress.count(2);
    assertEquals(Reading.degraded("restoring: 2 of 2 endpoints"), progress.read());
    progress.end();
    assertEquals(NONE, progress.read());
  }

  @Test
  void shouldTellWhatCannotBeRemovedWhereNothingIsRestored() {
    progress.faults().degraded("endpoint 7", "its links stay");
    assertEquals(Reading.degraded("its links stay"), progress.read());
    progress.begin(1, 0);
    assertEquals(Reading.degraded("restoring: 0 of 1 endpoints"), progress.read());
    progress.end();
    assertEquals(Reading.degraded("its links stay"), progress.read());
    progress.faults().clear("endpoint 7");
    assertEquals(NONE, progress.read());
  }

  @Test
  void shouldLogItsBeginAndThenAtMostEveryFiveSeconds() {
    final long beginNs = Long.MAX_VALUE - 5; // the clock passes its end
    try (RecordedLog log = RecordedLog.of(RestoreProgress.class)) {
      progress.begin(5, beginNs);
      for (final long afterNs :
          new long[] {4_999_999_999L, 5_000_000_000L, 9_999_999_999L, 10_000_000_000L}) {
        progress.count(beginNs + afterNs);
      }
      assertEquals(
          List.of(
              "INFO restoring: 0 of 5 endpoints",
              "INFO restoring: 2 of 5 endpoints",
              "INFO restoring: 4 of 5 endpoints"),
          log.take());
    }
  }
}
