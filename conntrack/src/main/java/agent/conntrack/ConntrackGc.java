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
  private final ConntrackTable[] tables;
  private final NanoClock clock;
  private final long configuredIntervalNs;
  private volatile long intervalNs;
  private long nextRoundNs;
  private int cursor;
  private long roundVisited;
  private long roundDeleted;

  /**
   * Creates an agent whose first round begins after one interval.
   *
   * @param sweeper removes the expired flows of one table
   * @param tables the tables to sweep, in this order
   * @param clock clock of the duty cycles
   * @param configuredIntervalNs the longest time between two rounds: {@code
   *     --conntrack-garbage-collector-interval} (agent-api.md)
   */
  public ConntrackGc(
      ConntrackSweeper sweeper,
      Collection<ConntrackTable> tables,
      NanoClock clock,
      long configuredIntervalNs) {
    if (tables.isEmpty() || configuredIntervalNs <= 0) {
      throw new IllegalArgumentException(
          "conntrack: " + tables.size() + " tables, interval " + configuredIntervalNs + " ns");
    }
    this.sweeper = sweeper;
    this.tables = tables.toArray(ConntrackTable[]::new);
    this.clock = clock;
    this.configuredIntervalNs = configuredIntervalNs;
    intervalNs = configuredIntervalNs;
    nextRoundNs = clock.nanoTime() + configuredIntervalNs;
  }

  @Override
  public int doWork() {
    final long nowNs = clock.nanoTime();
    if (cursor == 0 && nowNs - nextRoundNs < 0) {
      return 0;
    }
    sweepTable(tables[cursor], nowNs);
    if (++cursor == tables.length) {
      endRound(nowNs);
    }
    return 1;
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
    final int result = sweeper.sweep(table.number(), sweep);
    if (result < 0) {
      onFailure(table, -result);
      return;
    }
    final long visited = sweep.visited();
    final long deleted = sweep.deleted();
    roundVisited += visited;
    roundDeleted += deleted;
    counters.onSweep(table, visited, deleted, clock.nanoTime() - startNs);
  }

  private void onFailure(ConntrackTable table, int errno) {
    if (counters.lastErrno(table) != errno) {
      LOGGER.warn("conntrack: sweep of table {}: {}", table, Errno.name(errno));
    }
    counters.onFailure(table, errno);
  }

  private void endRound(long nowNs) {
    intervalNs = SweepInterval.nextNs(intervalNs, configuredIntervalNs, roundVisited, roundDeleted);
    nextRoundNs = nowNs + intervalNs;
    cursor = 0;
    roundVisited = 0;
    roundDeleted = 0;
  }

  /** Removes the expired flows of one table. */
  @FunctionalInterface
  public interface ConntrackSweeper {
    /**
     * Sweeps all entries of one table.
     *
     * @param table number of a {@link agent.maps.layout.ConntrackTable}
     * @param result receives the numbers of visited and deleted entries
     * @return 0 or -errno
     */
    int sweep(int table, ConntrackSweepFlyweight result);
  }
}
