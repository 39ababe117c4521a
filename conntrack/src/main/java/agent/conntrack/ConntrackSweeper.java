package agent.conntrack;

import agent.maps.layout.ConntrackSweepFlyweight;

/** Removes the expired flows of one table. */
@FunctionalInterface
public interface ConntrackSweeper {
  /**
   * Sweeps one table whole.
   *
   * @param table a number of {@link agent.maps.layout.ConntrackTable}
   * @param result where visited and deleted entries are told
   * @return 0 or -errno
   */
  int sweep(int table, ConntrackSweepFlyweight result);
}
