package agent.datapath.guard;

import agent.conductor.Repairs;
import agent.maps.kernel.FlowUsageArray;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.WatchedAddressMap;

/**
 * Compares what the sweeps of conntrack have written for the programs with the kernel: another
 * credit gives an endpoint more or less than its share of the tables until the next sweep, and
 * addresses that no round has asked for take the places of those that the next one asks for. What
 * the programs count beside that, each sweep counts anew. For the conductor's thread.
 */
public final class SweepGuard implements Check {
  private static final int IDS_PER_STEP = 8192;
  private static final int BATCH = 64;

  private final FlowUsageArray usage;
  private final WatchedAddressMap addresses;
  private final Subject credits;
  private final Subject watched;
  private final MapCursor cursor = new MapCursor(BATCH);
  private int next;
  private boolean isWalking;

  /** Creates a comparison of the maps of the sweeps. */
  public SweepGuard(
      FlowUsageArray usage, WatchedAddressMap addresses, KernelFaults faults, Repairs repairs) {
    this.usage = usage;
    this.addresses = addresses;
    credits = new Subject("map flow_usage", "other credits", faults, repairs);
    watched = new Subject("map watched_addresses", "addresses of no round", faults, repairs);
  }

  @Override
  public Progress step(long nowNs) {
    if (next < usage.length()) {
      final int from = next;
      next = Math.min(usage.length(), from + IDS_PER_STEP);
      return credits.repaired(usage.repair(from, next));
    }
    if (!isWalking) {
      isWalking = cursor.open(addresses.map()) == 0;
    }
    if (isWalking && cursor.nextBatch()) {
      int removed = 0;
      while (cursor.nextOfBatch()) {
        removed += addresses.removeUnlessAsked(cursor.key()) ? 1 : 0;
      }
      return watched.repaired(removed);
    }
    cursor.close();
    isWalking = false;
    next = 0;
    credits.endRound();
    watched.endRound();
    return Progress.DONE;
  }

  @Override
  public void close() {
    cursor.close();
  }

  @Override
  public String toString() {
    return "maps of sweeps";
  }
}
