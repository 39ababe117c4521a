package agent.datapath.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.MetricsEntryFlyweight;
import agent.maps.layout.MetricsIndex;
import agent.testkit.KernelTest;
import agent.testkit.OtherThread;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Counters of packets that two threads read: each reads all of them into the same place first. */
@KernelTest
class KernelMetricsKernelTest {
  private static final int EGRESS = MetricsDirection.EGRESS.number();
  private static final int REASON = DropReason.values()[1].number();

  private final BpfMap map =
      BpfMap.create(MapDefinitions.of("endpoint").get(MapCatalog.METRICS), "");
  private final KernelMetrics metrics = new KernelMetrics(map);
  private final List<String> visited = new ArrayList<>();

  @AfterEach
  void close() {
    map.close();
  }

  private void count(long packets, long bytes) {
    final EntryBuffer entry = new EntryBuffer(map);
    entry.key().putInt(0, MetricsIndex.index(EGRESS, REASON));
    entry.value().setMemory(0, map.copiedValueSize(), (byte) 0);
    entry.value().putLong(MetricsEntryFlyweight.PACKETS_OFFSET, packets);
    entry.value().putLong(MetricsEntryFlyweight.BYTES_OFFSET, bytes);
    assertEquals(0, map.update(entry, 0));
  }

  private void visit(int direction, int reason, long packets, long bytes) {
    visited.add(direction + "/" + reason + ": " + packets + " packets, " + bytes + " bytes");
  }

  @Test
  void shouldHaveAnotherThreadReadAfterAWalk() throws Exception {
    count(3, 500);
    final List<OtherThread<Long>> others = new ArrayList<>();
    metrics.forEach(
        (direction, reason, packets, bytes) -> {
          visit(direction, reason, packets, bytes);
          count(8, 900);
          others.add(OtherThread.call(() -> metrics.packets(EGRESS, REASON)));
          assertTrue(others.getFirst().waits(), "it waits for the end of the walk");
        });
    assertEquals(List.of(EGRESS + "/" + REASON + ": 3 packets, 500 bytes"), visited);
    assertEquals(8L, others.getFirst().result());
  }

  @Test
  void shouldWalkAfterTheReadOfAnotherThread() throws Exception {
    count(3, 500);
    final OtherThread<Void> other;
    synchronized (metrics) { // as a read does
      other = OtherThread.run(() -> metrics.forEach(this::visit));
      assertTrue(other.waits());
    }
    other.result();
    assertEquals(List.of(EGRESS + "/" + REASON + ": 3 packets, 500 bytes"), visited);
  }
}
