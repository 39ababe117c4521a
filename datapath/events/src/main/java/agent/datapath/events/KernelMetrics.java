package agent.datapath.events;

import agent.bindings.Errno;
import agent.datapath.spec.DatapathMetrics;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.MetricsMap;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;

/** Reads the per-CPU counters of packets and bytes on demand. */
public final class KernelMetrics implements DatapathMetrics {
  private static final MetricsDirection[] DIRECTIONS = MetricsDirection.values();
  private static final DropReason[] REASONS = DropReason.values();

  private final MetricsMap map;

  /** Creates a reader of the open map {@code metrics}. */
  public KernelMetrics(BpfMap metrics) {
    map = new MetricsMap(metrics);
  }

  @Override
  public synchronized void forEach(Visitor visitor) {
    refresh();
    for (final MetricsDirection direction : DIRECTIONS) {
      for (final DropReason reason : REASONS) {
        final long packets = map.packets(direction.number(), reason.number());
        if (packets != 0) {
          visitor.onCounter(
              direction.number(),
              reason.number(),
              packets,
              map.bytes(direction.number(), reason.number()));
        }
      }
    }
  }

  @Override
  public synchronized long packets(int direction, int reason) {
    refresh();
    return map.packets(direction, reason);
  }

  private void refresh() {
    final int result = map.refresh();
    if (result < 0) {
      throw new BpfMapException("map metrics: walk: " + Errno.name(result), -result);
    }
  }
}
