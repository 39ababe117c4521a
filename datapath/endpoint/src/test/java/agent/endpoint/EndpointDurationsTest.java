package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.endpoint.state.EndpointState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Each duration of the context decides what it is for: all that a test sets differ from the
 * default.
 */
class EndpointDurationsTest {
  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void restartWithOtherDurations() {
    agent.retryBase = Duration.ofSeconds(3);
    agent.retryMax = Duration.ofSeconds(10);
    agent.refreshInterval = Duration.ofSeconds(17);
    agent.restart();
  }

  /** Advances the clock, and returns the seconds between the changes of a number. */
  private List<Integer> pauses(int seconds, IntSupplier number) {
    final List<Integer> pauses = new ArrayList<>();
    int before = number.getAsInt();
    int since = 0;
    for (int second = 1; second <= seconds; second++) {
      agent.advance(Duration.ofSeconds(1));
      final int now = number.getAsInt();
      if (now != before) {
        before = now;
        pauses.add(second - since);
        since = second;
      }
    }
    return pauses;
  }

  @Test
  void shouldDoubleThePauseOfRetriesFromTheFirstToTheLongest() {
    agent.datapath.fails = call -> call.equals("attach 12");
    agent.create("12", Requests.on("lxc1").ipv4("10.5.0.9").later());
    agent.run();
    assertEquals(EndpointState.NOT_READY, agent.get("12").state());
    assertEquals(
        List.of(3, 6, 10, 10),
        pauses(36, () -> agent.get("12").controllers().getFirst().consecutiveFailureCount()));
  }

  /** A comparison adds the route of the endpoint again, which no event reported. */
  @Test
  void shouldCompareTheNodeAtTheRefreshInterval() {
    agent.create("12", Requests.on("lxc1").ipv4("10.5.0.9"));
    final AtomicInteger added = new AtomicInteger();
    assertEquals(
        List.of(17, 17, 17),
        pauses(
            67,
            () -> {
              final boolean isAdded = !agent.node.routed.isEmpty();
              agent.node.routed.clear();
              return isAdded ? added.incrementAndGet() : added.get();
            }));
  }

  @Test
  void shouldPauseForASecondAtFirstAndForAMinuteAtMostByDefault() {
    final EndpointContext context = new EndpointContext();
    assertEquals(Duration.ofSeconds(1), context.retryBase());
    assertEquals(Duration.ofMinutes(1), context.retryMax());
  }
}
