package agent.datapath.manager.guard;

import agent.conductor.Repairs;
import agent.datapath.manager.guard.Check.Progress;
import java.util.List;

/** Compares several maps one after the other, in bounded steps. For the conductor's thread. */
public final class MapRounds {
  private final EntryComparison comparison;
  private final List<GuardedMap> maps;
  private int next;

  /** Creates rounds over these maps, in this order. */
  public MapRounds(KernelFaults faults, Repairs repairs, List<GuardedMap> maps) {
    comparison = new EntryComparison(faults, repairs);
    this.maps = List.copyOf(maps);
  }

  /** Executes one step of the present round, or ends it. */
  public Progress step() {
    if (next == maps.size()) {
      next = 0;
      return Progress.DONE;
    }
    if (comparison.guarded() == null) {
      comparison.begin(maps.get(next));
    }
    final int repaired = comparison.step();
    if (comparison.guarded() == null) {
      next++;
    }
    return repaired == 0 ? Progress.COMPARED : Progress.REPAIRED;
  }

  /** Ends a round in progress; the next step begins a new one. */
  public void abandon() {
    comparison.abandon();
    next = 0;
  }
}
