package agent.conntrack;

import agent.maps.kernel.FlowUsageArray;
import agent.maps.kernel.PagedLongs;
import agent.maps.layout.FlowUsageFlyweight;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * How many entries the flows of each endpoint have in the conntrack tables. The programs count the
 * entries that they create, the kernel reports none that goes, and so each sweep counts anew. An
 * endpoint that has its share of a table opens further flows in the overflow, which this class
 * tells.
 *
 * <p>{@link #overflowed} and {@link #overflowing} are for every thread, until {@link #close} and
 * after it; the thread of the sweeps calls the other methods, and has ended before {@link #close}.
 */
public final class EndpointShares implements ConntrackGc.Usage, AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(EndpointShares.class);

  /** A round starts early when this part of a table was opened since the last one. */
  private static final int PRESSING_PART = 4;

  private final FlowUsageArray usage;
  private final int[] capacity;
  private final PagedLongs openedBefore;
  private final int[] openedInRound = new int[FlowUsageFlyweight.OPENED_COUNT];
  private final PagedLongs overflowedBefore;
  private long overflowedAtStart;
  private long overflowLeft;
  private int overflowSweeps;
  private int overflowSweepsDone;
  private boolean isCounted;
  private boolean isClosed;

  /**
   * Creates the shares with the counts of a previous run.
   *
   * @param usage is closed with this object
   * @param tcpCapacity entries of a table of TCP that can be in use
   * @param anyCapacity entries of another table that can be in use
   */
  public EndpointShares(FlowUsageArray usage, int tcpCapacity, int anyCapacity) {
    this.usage = usage;
    capacity = new int[] {tcpCapacity, anyCapacity, tcpCapacity, anyCapacity};
    openedBefore = new PagedLongs(usage.length());
    overflowedBefore = new PagedLongs(usage.length());
    for (int id = 0; id < usage.length(); id++) {
      overflowedBefore.set(id, usage.overflowed(id));
    }
  }

  /** Returns the entries of a table that can be in use before the kernel evicts one. */
  public static int capacity(int maxEntries, int cpus) {
    // An LRU map keeps up to 128 free entries for each CPU, and evicts where fewer than that are
    // left for all (kernel/bpf/bpf_lru_list.c); a sixteenth is for what was opened since.
    final int reserved = maxEntries / 16 + (cpus + 1) * 128;
    return Math.max(maxEntries / 2, maxEntries - reserved);
  }

  /** Returns whether a round is due: none was yet, or much was opened since the last one. */
  @Override
  public boolean isPressing() {
    boolean isPressing = !isCounted;
    for (int table = 0; table < FlowUsageFlyweight.OPENED_COUNT; table++) {
      final int opened = usage.opened(FlowUsageArray.NODE, table) - openedInRound[table];
      isPressing |= Integer.compareUnsigned(opened, capacity[table] / PRESSING_PART) > 0;
    }
    return isPressing;
  }

  @Override
  public void onSweepStart(int table) {
    if (table >= FlowUsageFlyweight.OPENED_COUNT) {
      if (overflowSweeps++ == 0) {
        overflowedAtStart = usage.overflowed(FlowUsageArray.NODE);
      }
      return;
    }
    openedInRound[table] = usage.opened(FlowUsageArray.NODE, table);
    for (int id = 0; id < usage.length(); id++) {
      openedBefore.set(id, usage.opened(id, table));
      if (usage.counted(id, table) != 0) {
        usage.clearCounted(id, table);
      }
    }
  }

  @Override
  public void onSweepEnd(int table, long left) {
    if (table >= FlowUsageFlyweight.OPENED_COUNT) {
      overflowLeft += left;
      overflowSweepsDone++;
      return;
    }
    usage.credit(
        FlowUsageArray.NODE, table, (int) openedBefore.get(FlowUsageArray.NODE) - (int) left);
    for (int id = 1; id < usage.length(); id++) {
      final int counted = usage.counted(id, table);
      if (counted != 0 || usage.entries(id, table) != 0) {
        usage.credit(id, table, (int) openedBefore.get(id) - counted);
      }
    }
  }

  @Override
  public void onRoundEnd() {
    isCounted = true;
    if (overflowLeft == 0 && overflowSweeps > 0 && overflowSweepsDone == overflowSweeps) {
      usage.emptied(overflowedAtStart);
    }
    overflowLeft = 0;
    overflowSweeps = 0;
    overflowSweepsDone = 0;
    if (usage.overflowed(FlowUsageArray.NODE) == overflowedBefore.get(FlowUsageArray.NODE)) {
      return;
    }
    for (int id = 1; id < usage.length(); id++) {
      final long overflowed = usage.overflowed(id);
      final long more = overflowed - overflowedBefore.get(id);
      if (more != 0) {
        LOGGER.warn(
            "conntrack: endpoint {} exceeded its conntrack share; {} flows moved to the overflow table",
            id,
            more);
        overflowedBefore.set(id, overflowed);
      }
    }
    overflowedBefore.set(FlowUsageArray.NODE, usage.overflowed(FlowUsageArray.NODE));
  }

  /** Returns the flows that endpoints have opened beyond their share. */
  public synchronized long overflowed() {
    return isClosed ? 0 : usage.overflowed(FlowUsageArray.NODE);
  }

  /**
   * Names the endpoints that have opened flows beyond their share since the last round, with the
   * number of these flows; empty without one.
   */
  public synchronized String overflowing() {
    if (isClosed
        || usage.overflowed(FlowUsageArray.NODE) == overflowedBefore.get(FlowUsageArray.NODE)) {
      return "";
    }
    final StringBuilder text = new StringBuilder();
    for (int id = 1; id < usage.length(); id++) {
      final long more = usage.overflowed(id) - overflowedBefore.get(id);
      if (more > 0) {
        text.append(text.isEmpty() ? "" : ", ").append("endpoint ").append(id);
        text.append(" (").append(more).append(" flows)");
      }
    }
    return text.toString();
  }

  /** Unmaps the counts. */
  @Override
  public synchronized void close() {
    isClosed = true;
    usage.close();
  }
}
