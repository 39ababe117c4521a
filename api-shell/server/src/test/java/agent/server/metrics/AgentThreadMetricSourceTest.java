package agent.server.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.AgentThreads;
import agent.conductor.HealthBoard;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.YieldingIdleStrategy;
import org.junit.jupiter.api.Test;

class AgentThreadMetricSourceTest {
  /** Duration of each duty cycle: two of 3 ms, one of 300 ms. */
  private static final List<Long> DURATIONS_MS = List.of(3L, 3L, 300L);

  private final AtomicLong nowNs = new AtomicLong();

  @Test
  void shouldShowAHistogramOfTheDutyCyclesOfEachThread() throws Exception {
    final CyclesAgent agent = new CyclesAgent();
    try (AgentThreads threads =
        new AgentThreads(Thread::new, nowNs::get, new HealthBoard(System::currentTimeMillis))) {
      threads.start(agent, new YieldingIdleStrategy(), () -> {}, 2_000_000_000L);
      assertTrue(agent.idle.await(10, TimeUnit.SECONDS));
      final String text =
          MetricText.PROMETHEUS.write(new AgentThreadMetricSource(threads).collect());
      assertEquals(
          """
          # HELP agent_duty_cycle_seconds Duration of the duty cycles that did work
          # TYPE agent_duty_cycle_seconds histogram
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="0.000001"} 0
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="0.000004"} 0
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="0.000016"} 0
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="0.000064"} 0
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="0.000256"} 0
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="0.001"} 0
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="0.004"} 2
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="0.016"} 2
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="0.064"} 2
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="0.256"} 2
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="1"} 3
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="4"} 3
          agent_duty_cycle_seconds_bucket{agent="dp-test",le="+Inf"} 3
          agent_duty_cycle_seconds_sum{agent="dp-test"} 0.306
          agent_duty_cycle_seconds_count{agent="dp-test"} 3
          # HELP agent_duty_cycle_longest_seconds Duration of the longest duty cycle
          # TYPE agent_duty_cycle_longest_seconds gauge
          agent_duty_cycle_longest_seconds{agent="dp-test"} 0.3
          # HELP agent_duty_cycle_stall_limit_seconds Duty cycle duration from which agent \
          health is Degraded
          # TYPE agent_duty_cycle_stall_limit_seconds gauge
          agent_duty_cycle_stall_limit_seconds{agent="dp-test"} 2
          """,
          text);
    }
  }

  /** Its cycles take the durations above on the clock of the test; then it is idle. */
  private final class CyclesAgent implements Agent {
    private final CountDownLatch idle = new CountDownLatch(2);
    private int cycles;

    @Override
    public int doWork() {
      if (cycles == DURATIONS_MS.size()) {
        idle.countDown();
        return 0;
      }
      nowNs.addAndGet(TimeUnit.MILLISECONDS.toNanos(DURATIONS_MS.get(cycles)));
      cycles++;
      return 1;
    }

    @Override
    public String roleName() {
      return "dp-test";
    }
  }
}
