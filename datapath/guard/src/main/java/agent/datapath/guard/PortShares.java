package agent.datapath.guard;

import agent.conductor.HealthBoard;
import agent.datapath.spec.DatapathStatus;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.PagedLongs;
import agent.maps.kernel.PortUsageArray;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.agrona.concurrent.NanoClock;

/**
 * Reports the endpoints that have used up their share of the ports of masqueraded flows: their
 * half-open flows have lost their ports to later ones, or flows have found none, also by rules
 * where the stack masquerades. The health says so until nothing of that has been counted for half a
 * minute. Read by any thread, until {@link #close} and after it.
 */
public final class PortShares implements Check, HealthBoard.Probe, AutoCloseable {
  /** Its health module. */
  public static final String MODULE = "masquerade-ports";

  private static final long REMEMBERED_NS = TimeUnit.SECONDS.toNanos(30);

  private final BpfMap map;
  private final PortUsageArray node;
  private final NanoClock clock;
  private final PagedLongs replacedBefore;
  private final PagedLongs refusedBefore;
  private LongSupplier overShare = () -> 0;
  private LongSupplier withoutPort = () -> 0;
  private long overShareBefore;
  private long withoutPortBefore;
  private long seen;
  private long seenNs;
  private boolean isTelling;
  private boolean isClosed;

  /**
   * Watches the counters from now on: what a previous run has counted is past.
   *
   * @param map stays open for as long as this object
   */
  public PortShares(BpfMap map, NanoClock clock) {
    this.map = map;
    this.clock = clock;
    node = PortUsageArray.ofNode(map);
    replacedBefore = new PagedLongs(map.maxEntries());
    refusedBefore = new PagedLongs(map.maxEntries());
    begin();
  }

  /**
   * Counts what rules of the stack refuse, too.
   *
   * @param overShare reads how many packets they have dropped beyond the share of a workload
   * @param withoutPort reads how many of protocols without ports they have dropped
   */
  public synchronized void addRules(LongSupplier overShare, LongSupplier withoutPort) {
    this.overShare = overShare;
    this.withoutPort = withoutPort;
    begin();
  }

  private long refusedByRules() {
    return overShare.getAsLong() + withoutPort.getAsLong();
  }

  private long counted() {
    return node.replaced(PortUsageArray.NODE)
        + node.refused(PortUsageArray.NODE)
        + refusedByRules();
  }

  /** Sets the present counts as the baseline of what is reported. */
  private void begin() {
    seen = counted();
    overShareBefore = overShare.getAsLong();
    withoutPortBefore = withoutPort.getAsLong();
    try (PortUsageArray usage = new PortUsageArray(map)) {
      for (int id = 0; id < usage.length(); id++) {
        replacedBefore.set(id, usage.replaced(id));
        refusedBefore.set(id, usage.refused(id));
      }
    }
  }

  @Override
  public Progress step(long nowNs) {
    sample(nowNs);
    return Progress.DONE;
  }

  private synchronized boolean sample(long nowNs) {
    if (isClosed) {
      return false;
    }
    if (counted() != seen) {
      seen = counted();
      seenNs = nowNs;
      isTelling = true;
    } else if (isTelling && nowNs - seenNs >= REMEMBERED_NS) {
      isTelling = false;
      begin();
    }
    return isTelling;
  }

  @Override
  public synchronized HealthBoard.Reading read() {
    final StringBuilder text = new StringBuilder();
    if (sample(clock.nanoTime())) {
      try (PortUsageArray usage = new PortUsageArray(map)) {
        for (int id = 0; id < usage.length(); id++) {
          append(
              text,
              id,
              usage.replaced(id) - replacedBefore.get(id),
              usage.refused(id) - refusedBefore.get(id));
        }
      }
      append(
          text,
          ", ",
          overShare.getAsLong() - overShareBefore,
          "beyond the port share of a workload");
      text.insert(0, text.isEmpty() ? "" : "masquerading port share exhausted: ");
      append(text, "; ", withoutPort.getAsLong() - withoutPortBefore, "of protocols without ports");
    }
    return text.isEmpty()
        ? HealthBoard.Reading.ok("no endpoint has exhausted its share of masquerading ports")
        : HealthBoard.Reading.degraded(text.toString());
  }

  private static void append(StringBuilder text, String separator, long packets, String what) {
    if (packets != 0) {
      text.append(text.isEmpty() ? "" : separator).append("netfilter rules dropped ");
      text.append(packets).append(" packets ").append(what);
    }
  }

  private static void append(StringBuilder text, int id, long replaced, long refused) {
    if (id == PortUsageArray.NODE || replaced + refused == 0) {
      return;
    }
    text.append(text.isEmpty() ? "" : ", ").append("endpoint ").append(id);
    text.append(" (").append(replaced).append(" half-open flows replaced, ");
    text.append(refused).append(" flows refused)");
  }

  /** Returns what all endpoints lacked since the map was created. */
  public synchronized DatapathStatus.Ports status() {
    return isClosed
        ? new DatapathStatus.Ports(0, 0)
        : new DatapathStatus.Ports(
            node.replaced(PortUsageArray.NODE),
            node.refused(PortUsageArray.NODE) + refusedByRules());
  }

  /** Unmaps the counts of the node. */
  @Override
  public synchronized void close() {
    if (!isClosed) {
      isClosed = true;
      node.close();
    }
  }

  @Override
  public String toString() {
    return "ports of masqueraded flows";
  }
}
