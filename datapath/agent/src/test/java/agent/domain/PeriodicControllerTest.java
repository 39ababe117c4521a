package agent.domain;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.conductor.ConductorAgent;
import agent.testkit.RecordedLog;
import agent.types.OperationException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What a controller counts, and that a failed run does not end it. */
class PeriodicControllerTest {
  private Instant now = Instant.parse("2026-11-20T12:00:00Z");
  private long nowNs;
  private String failure;
  private int runs;
  private final PeriodicController controller =
      new PeriodicController("watch", Duration.ofMillis(2500), () -> now, this::task);

  private void task() {
    runs++;
    if (failure != null) {
      throw new OperationException(failure);
    }
  }

  @Test
  void shouldCountSuccessesAndFailures() {
    controller.run();
    now = now.plusSeconds(1);
    failure = "the disk is full";
    controller.run();
    controller.run();
    assertEquals("watch", controller.name());
    assertEquals(Duration.ofMillis(2500), controller.interval());
    assertEquals(
        new PeriodicController.Status(2, 2, 1, "the disk is full", now, now.minusSeconds(1)),
        controller.status());
    failure = null;
    now = now.plusSeconds(1);
    controller.run();
    assertEquals(
        new PeriodicController.Status(0, 2, 2, "the disk is full", now.minusSeconds(1), now),
        controller.status());
  }

  @Test
  void shouldLogAFailureThatIsNewAndItsEnd() {
    try (RecordedLog log = RecordedLog.of(PeriodicController.class)) {
      controller.run();
      for (final String message : List.of("the disk is full", "the disk is full", "no space")) {
        failure = message;
        controller.run();
      }
      failure = null;
      controller.run();
      controller.run();
      failure = "no space";
      controller.run();
      assertEquals(
          List.of(
              "WARN watch: the disk is full; again in 2500 ms",
              "WARN watch: no space; again in 2500 ms",
              "INFO watch: succeeds again after 3 failures",
              "WARN watch: no space; again in 2500 ms"),
          log.take());
    }
  }

  @Test
  void shouldRunAtItsIntervalAlsoAfterAFailure() {
    final ConductorAgent agent = new ConductorAgent("test", () -> nowNs) {};
    controller.start(agent);
    agent.doWork();
    assertEquals(0, runs);
    failure = "no";
    for (int i = 1; i <= 3; i++) {
      nowNs += TimeUnit.MILLISECONDS.toNanos(2500);
      agent.doWork();
      assertEquals(i, runs);
    }
  }
}
