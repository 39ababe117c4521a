package agent.conntrack;

import agent.bindings.Errno;
import agent.maps.layout.ConntrackSweepFlyweight;
import agent.maps.layout.ConntrackTable;
import java.util.Collection;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.NanoClock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Removes expired flows in rounds; each duty cycle of a round sweeps one table. Between rounds a
 * duty cycle only reads the clock. The BPF programs set the expiry of each entry.
 */
public final class ConntrackGc implements Agent {
  /** The name of the agent and of its thread. */
  private static final String ROLE_NAME = "dp-conntrack-gc";

  private static final Logger LOGGER = LogManager.getLogger(ConntrackGc.class);

  private final ConntrackSweepFlyweight sweep = new ConntrackSweepFlyweight();
  private final ConntrackCounters counters = new ConntrackCounters();
  private final ConntrackSweeper sweeper;
  private final Usage usage;
  private final Watch watch;
  private final ConntrackTable[] tables;
  private final NanoClock clock;
  private final long configuredIntervalNs;
  private volatile long intervalNs;
  private long nextRoundNs;
  private long earliestRoundNs;
  private int cursor;
  private long roundVisited;
  private long roundDeleted;
  private boolean isWatching;
  private boolean isComplete;

  /**
   * Creates an agent whose first round begins after one interval.
   *
   * @param sweeper removes the expired flows of one table
   * @param usage learns of each sweep, and may demand a round earlier
   * @param watch may have a round look for flows
   * @param tables the tables to sweep, in this order
   * @param clock clock of the duty cycles
   * @param configuredIntervalNs the longest time between two rounds: {@code
   *     --conntrack-garbage-collector-interval} (agent-api.md)
   */
  public ConntrackGc(
      ConntrackSweeper sweeper,
      Usage usage,
      Watch watch,
      Collection<ConntrackTable> tables,
      NanoClock clock,
      long configuredIntervalNs) {
    if (tables.isEmpty() || configuredIntervalNs <= 0) {
      throw new IllegalArgumentException(
          "conntrack: " + tables.size() + " tables, interval " + configuredIntervalNs + " ns");
    }
    this.sweeper = sweeper;
    this.usage = usage;
    this.watch = watch;
    this.tables = tables.toArray(ConntrackTable[]::new);
    this.clock = clock;
    this.configuredIntervalNs = configuredIntervalNs;
    intervalNs = configuredIntervalNs;
    earliestRoundNs = clock.nanoTime();
    nextRoundNs = earliestRoundNs + configuredIntervalNs;
  }

  @Override
  public int doWork() {
    final long nowNs = clock.nanoTime();
    if (cursor == 0 && !isRoundDue(nowNs)) {
      return 0;
    }
    if (cursor == 0) {
      isComplete = true;
      isWatching = watch.onRoundStart();
    }
    sweepTable(tables[cursor], nowNs);
    if (++cursor == tables.length) {
      endRound(nowNs);
    }
    return 1;
  }

  private boolean isRoundDue(long nowNs) {
    return nowNs - nextRoundNs >= 0
        || nowNs - earliestRoundNs >= 0 && (usage.isPressing() || watch.isPressing());
  }

  @Override
  public String roleName() {
    return ROLE_NAME;
  }

  /** Counters of the sweeps; for every thread. */
  public ConntrackCounters counters() {
    return counters;
  }

  /** The current time between two rounds; for every thread. */
  public long intervalNs() {
    return intervalNs;
  }

  private void sweepTable(ConntrackTable table, long startNs) {
    usage.onSweepStart(table.number());
    final int result = sweeper.sweep(table.number(), isWatching, sweep);
    if (result < 0) {
      onFailure(table, -result);
      return;
    }
    final long visited = sweep.visited();
    final long deleted = sweep.deleted();
    roundVisited += visited;
    roundDeleted += deleted;
    usage.onSweepEnd(table.number(), visited - deleted);
    counters.onSweep(table, visited, deleted, clock.nanoTime() - startNs);
  }

  private void onFailure(ConntrackTable table, int errno) {
    if (counters.lastErrno(table) != errno) {
      LOGGER.warn("conntrack: sweep of table {}: {}", table, Errno.name(errno));
    }
    counters.onFailure(table, errno);
    isComplete = false;
  }

  private void endRound(long nowNs) {
    intervalNs = SweepInterval.nextNs(intervalNs, configuredIntervalNs, roundVisited, roundDeleted);
    nextRoundNs = nowNs + intervalNs;
    earliestRoundNs = nowNs + SweepInterval.SHORTEST_NS;
    usage.onRoundEnd();
    watch.onRoundEnd(isComplete);
    cursor = 0;
    roundVisited = 0;
    roundDeleted = 0;
  }

  /** What the entries of the tables are counted for. */
  public interface Usage {
    /** Counts nothing. */
    Usage NONE =
        new Usage() {
          @Override
          public boolean isPressing() {
            return false;
          }

          @Override
          public void onSweepStart(int table) {
            // nothing to count
          }

          @Override
          public void onSweepEnd(int table, long left) {
            // nothing to count
          }

          @Override
          public void onRoundEnd() {
            // nothing to count
          }
        };

    /** Returns whether a round is to begin before its time, a second after the last at least. */
    boolean isPressing();

    /** Called before the sweep of a table. */
    void onSweepStart(int table);

    /** Called after a sweep that succeeded, with the number of entries that it left. */
    void onSweepEnd(int table, long left);

    /** Called after the sweep of the last table. */
    void onRoundEnd();
  }

  /** Makes rounds look for flows to addresses, which are in the map of watched addresses. */
  public interface Watch {
    /** Looks for none. */
    Watch NONE =
        new Watch() {
          @Override
          public boolean isPressing() {
            return false;
          }

          @Override
          public boolean onRoundStart() {
            return false;
          }

          @Override
          public void onRoundEnd(boolean isComplete) {
            // nothing was looked for
          }
        };

    /** Returns whether a round is to begin before its time, a second after the last at least. */
    boolean isPressing();

    /** Called before a round; returns whether its sweeps count the flows to watched addresses. */
    boolean onRoundStart();

    /**
     * Called after the sweep of the last table.
     *
     * @param isComplete whether no sweep of the round failed
     */
    void onRoundEnd(boolean isComplete);
  }

  /** Removes the expired flows of one table. */
  @FunctionalInterface
  public interface ConntrackSweeper {
    /**
     * Sweeps all entries of one table.
     *
     * @param table number of a {@link agent.maps.layout.ConntrackTable}
     * @param watches whether flows to watched addresses are counted
     * @param result receives the numbers of visited and deleted entries
     * @return 0 or -errno
     */
    int sweep(int table, boolean watches, ConntrackSweepFlyweight result);
  }
}
