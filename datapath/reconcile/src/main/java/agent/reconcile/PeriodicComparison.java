package agent.reconcile;

import agent.conductor.Repairs;
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Compares the maps of some tables with the kernel, one after the other and again and again; counts
 * and reports what it repairs. A fault ends with the first comparison that finds no difference. For
 * the reconciler's thread.
 */
public final class PeriodicComparison {
  /** The result of the step that ends a round over all tables. */
  public static final int END_OF_ROUND = -1;

  private static final Logger LOGGER = LogManager.getLogger(PeriodicComparison.class);

  private static final class Compared {
    final DesiredTable table;
    final String subject;
    boolean isFaulty;
    String failure;

    Compared(DesiredTable table) {
      this.table = table;
      subject = "map " + table.map().name();
    }
  }

  private final List<Compared> maps = new ArrayList<>();
  private final Repairs repairs;
  private int next;
  private boolean isBegun;
  private int reported;

  /** Creates a comparison of tables that a reconciler has. */
  public PeriodicComparison(List<DesiredTable> tables, Repairs repairs) {
    tables.forEach(this::add);
    this.repairs = repairs;
  }

  /** Adds a table. */
  public void add(DesiredTable table) {
    maps.add(new Compared(table));
  }

  /** Ends the comparison of a table, and its fault. */
  public void remove(DesiredTable table) {
    for (int i = 0; i < maps.size(); i++) {
      if (maps.get(i).table == table) {
        if (i == next && isBegun) {
          table.comparison().abandon();
          isBegun = false;
        }
        table.faults().clear(maps.remove(i).subject);
        next -= i < next ? 1 : 0;
        return;
      }
    }
  }

  /** Executes one bounded step; returns how many entries it has repaired, or the end of a round. */
  public int step() {
    if (next == maps.size()) {
      next = 0;
      return END_OF_ROUND;
    }
    final Compared compared = maps.get(next);
    final TableComparison comparison = compared.table.comparison();
    if (!isBegun) {
      if (!compared.table.isAdopted() || comparison.isRunning()) {
        next++; // nothing is known yet, or a change compares the map already
        return 0;
      }
      comparison.begin(true);
      isBegun = true;
      reported = 0;
    }
    if (!comparison.isReported()) {
      isBegun = false; // a change has compared the map meanwhile
      next++;
      return 0;
    }
    comparison.step();
    final int repaired = comparison.repaired() - reported;
    if (repaired > 0) {
      reported += repaired;
      compared.isFaulty = true;
      repairs.count(Repairs.Kind.MAP_ENTRY, repaired);
      compared.table.faults().degraded(compared.subject, comparison.found());
      compared.table.realization().onRepaired();
    }
    if (!comparison.isRunning()) {
      end(compared);
    }
    return Math.max(0, repaired);
  }

  private void end(Compared compared) {
    final TableComparison comparison = compared.table.comparison();
    if (reported > 0) {
      LOGGER.warn("{}: {}; repaired", compared.subject, comparison.found());
    }
    if (comparison.failure() != null) {
      final String failure = comparison.failure().getMessage();
      compared.table.faults().failed(compared.subject, "repair failed: " + failure);
      if (compared.failure == null) {
        LOGGER.error("{}: repair failed: {}", compared.subject, failure);
      }
      compared.isFaulty = true;
      compared.failure = failure;
    } else {
      compared.failure = null;
      if (compared.isFaulty && reported == 0) {
        compared.isFaulty = false;
        compared.table.faults().clear(compared.subject);
      }
    }
    isBegun = false;
    next++;
  }

  /** Ends a round in progress. */
  public void close() {
    if (isBegun) {
      maps.get(next).table.comparison().abandon();
      isBegun = false;
    }
    next = 0;
  }
}
