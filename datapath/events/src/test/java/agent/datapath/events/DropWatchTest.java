package agent.datapath.events;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.conductor.HealthBoard.Reading;
import agent.datapath.guard.Check;
import agent.datapath.spec.DatapathMetrics;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Which dropped packets the health names, and for how long. */
class DropWatchTest {
  private static final long SECOND = 1_000_000_000L;
  private static final Reading OK =
      Reading.ok("no packet is dropped because a table is full, or a port or proxy is missing");

  private final TreeMap<Integer, Long> counters = new TreeMap<>();
  private final DatapathMetrics metrics =
      new DatapathMetrics() {
        @Override
        public void forEach(Visitor visitor) {
          counters.forEach(
              (key, packets) -> visitor.onCounter(key >> 8, key & 0xff, packets, 60 * packets));
        }

        @Override
        public long packets(int direction, int reason) {
          return counters.getOrDefault(direction << 8 | reason, 0L);
        }
      };
  private long nowNs = Long.MAX_VALUE - 5; // a clock may overflow

  private void drop(MetricsDirection direction, DropReason reason, long packets) {
    counters.merge(direction.number() << 8 | reason.number(), packets, Long::sum);
  }

  @Test
  void shouldNameWhatIsDroppedUntilNothingHasBeenForHalfAMinute() {
    drop(MetricsDirection.EGRESS, DropReason.PORTS_EXHAUSTED, 1000); // of a previous run
    final DropWatch watch = new DropWatch(metrics, () -> nowNs);
    nowNs += 5 * SECOND - 1;
    drop(MetricsDirection.EGRESS, DropReason.PORTS_EXHAUSTED, 500); // waited for the start
    assertEquals(OK, watch.read());

    nowNs++;
    assertEquals(OK, watch.read());
    drop(MetricsDirection.EGRESS, DropReason.PORTS_EXHAUSTED, 3);
    assertEquals(Reading.degraded("packets are dropped: PORTS_EXHAUSTED 3"), watch.read());
    drop(MetricsDirection.NETWORK, DropReason.PORTS_EXHAUSTED, 4);
    drop(MetricsDirection.INGRESS, DropReason.CONNTRACK_FULL, 1);
    drop(MetricsDirection.INGRESS, DropReason.NO_PROXY, 2);
    nowNs += 20 * SECOND;
    final Reading all =
        Reading.degraded("packets are dropped: CONNTRACK_FULL 1, PORTS_EXHAUSTED 7, NO_PROXY 2");
    assertEquals(all, watch.read());
    nowNs += 30 * SECOND - 1;
    assertEquals(all, watch.read());
    nowNs++;
    assertEquals(OK, watch.read());

    drop(MetricsDirection.INGRESS, DropReason.CONNTRACK_FULL, 5);
    assertEquals(Reading.degraded("packets are dropped: CONNTRACK_FULL 5"), watch.read());
  }

  /** The check dates a drop, however rarely the health is read. */
  @Test
  void shouldForgetWhatItsRoundsHaveSeen() {
    final DropWatch watch = new DropWatch(metrics, () -> nowNs);
    nowNs += 5 * SECOND;
    drop(MetricsDirection.EGRESS, DropReason.NO_PROXY, 1);
    assertEquals(Check.Progress.DONE, watch.step(nowNs));
    nowNs += 30 * SECOND;
    assertEquals(OK, watch.read());
  }

  @Test
  void shouldNotCareForWhatPolicyOrTheSenderIsTheCauseOf() {
    final DropWatch watch = new DropWatch(metrics, () -> nowNs);
    nowNs += 5 * SECOND;
    for (final DropReason reason : DropReason.values()) {
      switch (reason) {
        case CONNTRACK_FULL, PORTS_EXHAUSTED, NO_PROXY -> {}
        default -> drop(MetricsDirection.EGRESS, reason, 9);
      }
    }
    assertEquals(OK, watch.read());
  }
}
