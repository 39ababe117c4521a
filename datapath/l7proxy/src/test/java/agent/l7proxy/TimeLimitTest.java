package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A limit that is started and stopped, on a clock that the test moves. */
class TimeLimitTest {
  private final EmbeddedSocket channel = new EmbeddedSocket();
  private final TimeLimit limit = new TimeLimit(channel, Duration.ofMillis(100));
  private final List<String> expired = new ArrayList<>();

  @Test
  void shouldKeepItsEndWhileItRuns() {
    assertFalse(limit.isRunning());
    limit.start(() -> expired.add("first"));
    assertTrue(limit.isRunning());
    channel.pass(60);
    limit.start(() -> expired.add("second"));
    channel.pass(39);
    assertEquals(List.of(), expired);
    channel.pass(1);
    assertEquals(List.of("second"), expired);
    assertFalse(limit.isRunning());
  }

  @Test
  void shouldNotExpireAfterItsStop() {
    limit.stop();
    limit.start(() -> expired.add("a"));
    limit.stop();
    assertFalse(limit.isRunning());
    channel.pass(1_000);
    limit.start(() -> expired.add("b"));
    channel.pass(100);
    assertEquals(List.of("b"), expired);
  }

  @Test
  void shouldNotRunWithoutALimitOrOnAClosedConnection() {
    final TimeLimit none = new TimeLimit(channel, Duration.ZERO);
    none.start(() -> expired.add("a"));
    assertFalse(none.isRunning());
    channel.close();
    limit.start(() -> expired.add("b"));
    assertFalse(limit.isRunning());
  }
}
