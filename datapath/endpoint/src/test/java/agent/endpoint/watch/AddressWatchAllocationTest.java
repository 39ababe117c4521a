package agent.endpoint.watch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.Endpoint;
import agent.endpoint.state.Reachability;
import agent.node.AddressProbes;
import agent.testkit.HeapAllocation;
import agent.types.IpAddress;
import agent.types.MacAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The cost of a duty cycle with a thousand endpoints. */
class AddressWatchAllocationTest {
  private static final int ENDPOINTS = 1000;
  private static final long CYCLE_NS = Duration.ofMillis(10).toNanos();

  private final ProbedEndpoints endpoints = new ProbedEndpoints();
  private final Loopback workloads = new Loopback();
  private final AddressWatch watch = endpoints.watch(workloads);
  private long nowNs;

  /** Workloads that answer every request in the next cycle. */
  private static final class Loopback implements AddressProbes {
    private final int[] devices = new int[ENDPOINTS];
    private final long[] addresses = new long[ENDPOINTS];
    private int pending;
    private long asked;

    @Override
    public boolean ask(int deviceIndex, MacAddress hostMac, MacAddress mac, IpAddress address) {
      devices[pending] = deviceIndex;
      addresses[pending] = address.low();
      pending++;
      asked++;
      return true;
    }

    @Override
    public int receive(Handler handler, int limit) {
      final int count = Math.min(limit, pending);
      for (int i = 0; i < count; i++) {
        pending--;
        handler.onAnswer(devices[pending], true, 0, addresses[pending]);
      }
      return count;
    }

    @Override
    public void close() {}
  }

  private void addEndpoints() {
    for (int id = 1; id <= ENDPOINTS; id++) {
      endpoints.add(id);
    }
  }

  private int cycle() {
    nowNs += CYCLE_NS;
    final long before = workloads.asked;
    watch.work(nowNs);
    return (int) (workloads.asked - before);
  }

  @Test
  void shouldAllocateNothingWhileNothingChanges() {
    addEndpoints();
    for (int i = 0; i < 2000; i++) {
      cycle();
    }
    assertEquals(0, HeapAllocation.steady(1000, this::cycle));
    for (final Endpoint endpoint : endpoints.registry.all()) {
      assertEquals(Reachability.Status.ANSWERED, endpoint.reachability().status());
    }
  }

  /** In a minute each is asked about every 2.6 seconds, and no cycle asks many. */
  @Test
  void shouldSpreadTheRequestsOverTheInterval() {
    addEndpoints();
    int most = 0;
    for (int i = 0; i < 6000; i++) {
      most = Math.max(most, cycle());
    }
    assertTrue(most <= 64, "asked in one cycle: " + most);
    workloads.asked = 0;
    for (int i = 0; i < 6000; i++) {
      cycle();
    }
    final long perEndpoint = workloads.asked / ENDPOINTS;
    assertTrue(perEndpoint >= 18 && perEndpoint <= 27, () -> perEndpoint + " requests each");
  }
}
