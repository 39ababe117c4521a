package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.EndpointRatesFlyweight;
import agent.maps.layout.ShareRateFlyweight;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The windows in which rates are counted. */
@KernelTest
class RateKernelTest {
  /** The clock of the programs changes with the tick. */
  private static final long TICK_NS = 20_000_000;

  /** A window is 2^30 ns long, and its number that of the windows since the boot. */
  @Test
  void shouldCountInWindowsOfAboutASecond() {
    try (ScenarioNode node = new ScenarioNode()) {
      node.eventsPerSecond(50).with(ALICE, EndpointOption.DROP_NOTIFICATION);
      final long before = System.nanoTime() - TICK_NS >> 30;
      node.fromWorkload(ALICE, Family.IPV4.packet(ALICE, PEER).udp(40000, 53))
          .dropsFor(DropReason.POLICY_DENIED);
      final long after = System.nanoTime() >> 30;
      final BpfMap rates = node.map("endpoint_rates");
      final EntryBuffer entry = new EntryBuffer(rates);
      entry.key().putInt(0, ALICE.id);
      assertEquals(0, rates.lookup(entry));
      final int events = EndpointRatesFlyweight.EVENTS_OFFSET;
      final long window = entry.value().getInt(events + ShareRateFlyweight.WINDOW_OFFSET);
      assertTrue(before <= window && window <= after, List.of(before, window, after)::toString);
      assertEquals(1, entry.value().getInt(events + ShareRateFlyweight.COUNT_OFFSET));
    }
  }
}
