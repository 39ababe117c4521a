package agent.datapath.guard;

import agent.conductor.Repairs;
import agent.reconcile.DesiredTable;
import agent.reconcile.PeriodicComparison;
import java.util.List;

/**
 * The comparison of maps with their desired tables and words as a check.
 *
 * @param name the name for messages
 */
public record ComparedTables(String name, PeriodicComparison comparison) implements Check {
  /** Compares maps with these tables. */
  public ComparedTables(String name, List<DesiredTable> tables, Repairs repairs) {
    this(name, new PeriodicComparison(tables, repairs));
  }

  @Override
  public Progress step(long nowNs) {
    final int repaired = comparison.step();
    if (repaired == PeriodicComparison.END_OF_ROUND) {
      return Progress.DONE;
    }
    return repaired == 0 ? Progress.COMPARED : Progress.REPAIRED;
  }

  @Override
  public void close() {
    comparison.close();
  }

  @Override
  public String toString() {
    return name;
  }
}
