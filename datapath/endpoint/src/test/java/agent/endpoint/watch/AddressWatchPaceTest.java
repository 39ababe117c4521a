package agent.endpoint.watch;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.endpoint.state.Endpoint;
import agent.node.AddressProbes;
import agent.types.IpAddress;
import agent.types.MacAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** When a watch walks over the endpoints, how far, and how long it receives answers. */
class AddressWatchPaceTest {
  private static final long WALK_PAUSE_NS = Duration.ofMillis(200).toNanos();
  private static final long RECEIVE_NS = Duration.ofSeconds(2).toNanos();

  private final ProbedEndpoints endpoints = new ProbedEndpoints();
  private final SilentWorkloads workloads = new SilentWorkloads();
  private final AddressWatch watch = endpoints.watch(workloads);

  /** Workloads that never answer. */
  private static final class SilentWorkloads implements AddressProbes {
    private final List<Integer> asked = new ArrayList<>();
    private int receives;

    @Override
    public boolean ask(int deviceIndex, MacAddress hostMac, MacAddress mac, IpAddress address) {
      asked.add(deviceIndex);
      return true;
    }

    @Override
    public int receive(Handler handler, int limit) {
      receives++;
      return 0;
    }

    @Override
    public void close() {}
  }

  @Test
  void shouldPauseBetweenTwoWalks() {
    endpoints.add(1);
    assertEquals(1, watch.work(0), "the first walk is due at once");
    assertEquals(List.of(101), workloads.asked);
    endpoints.add(2);
    for (final long early : new long[] {0, 1, WALK_PAUSE_NS / 2, WALK_PAUSE_NS - 1}) {
      assertEquals(0, watch.work(early));
    }
    assertEquals(List.of(101), workloads.asked);
    assertEquals(1, watch.work(WALK_PAUSE_NS));
    assertEquals(List.of(101, 102), workloads.asked);
    endpoints.add(3);
    watch.work(2 * WALK_PAUSE_NS - 1);
    assertEquals(2, workloads.asked.size());
    watch.work(2 * WALK_PAUSE_NS);
    assertEquals(List.of(101, 102, 103), workloads.asked);
  }

  @Test
  void shouldContinueALongWalkInTheNextCycleWithoutAPause() {
    for (int id = 1; id <= 100; id++) {
      endpoints.add(id);
    }
    assertEquals(1, watch.work(0), "there is more to do");
    assertEquals(64, workloads.asked.size());
    assertEquals(36, watch.work(1));
    assertEquals(100, workloads.asked.size());
    assertEquals(0, watch.work(2));
  }

  @Test
  void shouldReceiveAnswersForTwoSecondsAfterTheLastRequest() {
    final Endpoint endpoint = endpoints.add(1);
    watch.work(0);
    assertEquals(0, workloads.receives, "nothing was asked before");
    endpoints.registry.remove(endpoint);
    watch.work(1);
    watch.work(RECEIVE_NS - 1);
    assertEquals(2, workloads.receives);
    watch.work(RECEIVE_NS);
    assertEquals(2, workloads.receives);
  }

  /** A busy thread has many cycles in a millisecond, and each look is two system calls. */
  @Test
  void shouldLookForAnswersOnceInAMillisecond() {
    endpoints.add(1);
    watch.work(0);
    for (final long now : new long[] {1, 2, 500_000, 1_000_000}) {
      watch.work(now);
      assertEquals(1, workloads.receives, "at " + now);
    }
    watch.work(1_000_001);
    assertEquals(2, workloads.receives);
  }

  @Test
  void shouldHaveAnotherMembershipForEachEndpointThatComesOrGoes() {
    final ProbedEndpoints others = new ProbedEndpoints();
    final int none = others.registry.membership();
    final Endpoint endpoint = others.add(1);
    final int one = others.registry.membership();
    others.registry.remove(endpoint);
    assertEquals(3, Set.of(none, one, others.registry.membership()).size());
  }
}
