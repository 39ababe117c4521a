package agent.reconcile;

import agent.conductor.Repairs;
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Compares maps with their desired tables or words, one after the other and again and again; counts
 * and reports what it repairs. A fault ends with the first comparison that finds no difference. For
 * the reconciler's thread.
 */
public final class PeriodicComparison {
  /** The result of the step that ends a round over all maps. */
  public static final int END_OF_ROUND = -1;

  private static final Logger LOGGER = LogManager.getLogger(PeriodicComparison.class);

  private static final class Compared {
    final MapComparison comparison;
    final String subject;
    boolean isFaulty;
    String failure;

    Compared(MapComparison comparison) {
      this.comparison = comparison;
      subject = "map " + comparison.name();
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
    maps.add(new Compared(table.comparison()));
  }

  /** Adds the words of an array. */
  public void add(DesiredWords words) {
    maps.add(new Compared(words.comparison()));
  }

  /** Ends the comparison of a table, and its fault. */
  public void remove(DesiredTable table) {
    remove(table.comparison());
  }

  /** Ends the comparison of words, and their fault. */
  public void remove(DesiredWords words) {
    remove(words.comparison());
  }

  private void remove(MapComparison comparison) {
    for (int i = 0; i < maps.size(); i++) {
      if (maps.get(i).comparison == comparison) {
        if (i == next && isBegun) {
          comparison.abandon();
          isBegun = false;
        }
        comparison.faults().clear(maps.remove(i).subject);
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
    final MapComparison comparison = compared.comparison;
    if (!isBegun) {
      if (!comparison.beginReported()) {
        next++;
        return 0;
      }
      isBegun = true;
      reported = 0;
    }
    if (!comparison.isReported()) {
      isBegun = false; // it has given way to a change
      next++;
      return 0;
    }
    comparison.step();
    final int repaired = comparison.repaired() - reported;
    if (repaired > 0) {
      reported += repaired;
      compared.isFaulty = true;
      repairs.count(Repairs.Kind.MAP_ENTRY, repaired);
      comparison.faults().degraded(compared.subject, comparison.found());
      comparison.onRepaired();
    }
    if (!comparison.isRunning()) {
      end(compared);
    }
    return Math.max(0, repaired);
  }

  private void end(Compared compared) {
    final MapComparison comparison = compared.comparison;
    if (reported > 0) {
      LOGGER.warn("{}: {}; repaired", compared.subject, comparison.found());
    }
    if (comparison.failure() != null) {
      final String failure = comparison.failure().getMessage();
      comparison.faults().failed(compared.subject, "repair failed: " + failure);
      if (compared.failure == null) {
        LOGGER.error("{}: repair failed: {}", compared.subject, failure);
      }
      compared.isFaulty = true;
      compared.failure = failure;
    } else {
      compared.failure = null;
      if (compared.isFaulty && reported == 0) {
        compared.isFaulty = false;
        comparison.faults().clear(compared.subject);
      }
    }
    isBegun = false;
    next++;
  }

  /** Ends a round in progress. */
  public void close() {
    if (isBegun) {
      maps.get(next).comparison.abandon();
      isBegun = false;
    }
    next = 0;
  }
}
