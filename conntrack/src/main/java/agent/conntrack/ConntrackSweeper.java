package agent.conntrack;

import agent.maps.layout.ConntrackSweepFlyweight;

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
