package agent.datapath.manager.prefilter;

import agent.conductor.Repairs;
import agent.conductor.Repairs.Kind;
import agent.datapath.guard.Check;
import agent.datapath.guard.KernelFaults;
import agent.maps.kernel.PrefilterTables;
import agent.maps.layout.PrefilterTable;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Compares the tables and bitmaps of the prefilter, word by word in mapped memory, with those of
 * the list in force. It rests while a change of the list is written. For the conductor's thread.
 */
final class PrefilterGuard implements Check {
  private static final Logger LOGGER = LogManager.getLogger(PrefilterGuard.class);
  private static final int WORDS_PER_STEP = 16_384;
  private static final PrefilterTable[] TABLES = PrefilterTable.values();
  private static final String SUBJECT = "prefilter list";

  private final PrefilterMaps maps;
  private final CellPlan plan;
  private final KernelFaults faults;
  private final Repairs repairs;
  private boolean isActive;

  /** What is compared: the words of the tables, then the bitmaps. */
  private int part;

  private int next;
  private int words;
  private String first;
  private boolean isFaulty;

  PrefilterGuard(PrefilterMaps maps, CellPlan plan, KernelFaults faults, Repairs repairs) {
    this.maps = maps;
    this.plan = plan;
    this.faults = faults;
    this.repairs = repairs;
  }

  /** Stops the comparison: a change of the plan begins. */
  void suspend() {
    restart();
    isActive = false;
  }

  /**
   * Begins to compare with the plan, which the kernel holds and which does not change meanwhile.
   */
  void resume() {
    restart();
    isActive = true;
  }

  private void restart() {
    part = 0;
    next = 0;
    words = 0;
    first = null;
  }

  @Override
  public Progress step(long nowNs) {
    if (!isActive) {
      return Progress.DONE;
    }
    final int repaired = compare();
    if (repaired > 0) {
      isFaulty = true;
      repairs.count(Kind.MAP_ENTRY, repaired);
      faults.degraded(0, null, SUBJECT, found());
    }
    if (part == TABLES.length + PrefilterMaps.BITMAPS) {
      end();
      return Progress.DONE;
    }
    return repaired > 0 ? Progress.REPAIRED : Progress.COMPARED;
  }

  private void end() {
    if (words > 0) {
      LOGGER.warn("{}: {}; repaired", SUBJECT, found());
    } else if (isFaulty) {
      isFaulty = false;
      faults.clear(SUBJECT);
    }
    restart();
  }

  private String found() {
    return "%d words of tables and bitmaps wrong; first: %s".formatted(words, first);
  }

  /** Compares the next words; returns the number of those that were repaired. */
  private int compare() {
    final int from = next;
    next += WORDS_PER_STEP;
    final int repaired;
    final int end;
    if (part < TABLES.length) {
      final PrefilterTable table = TABLES[part];
      repaired = maps.repairWords(plan, table, from, next);
      end = plan.table(table).words();
      if (repaired > 0) {
        note("word of ", PrefilterTables.mapName(table));
      }
    } else {
      final int bitmap = part - TABLES.length;
      repaired = maps.repairCells(plan, bitmap, from, next);
      end = maps.cellWords(bitmap);
      if (repaired > 0) {
        note("word of bitmap ", bitmap);
      }
    }
    words += repaired;
    if (next >= end) {
      part++;
      next = 0;
    }
    return repaired;
  }

  private void note(String found, Object what) {
    if (first == null) {
      first = found + what;
    }
  }

  @Override
  public String toString() {
    return SUBJECT;
  }
}
