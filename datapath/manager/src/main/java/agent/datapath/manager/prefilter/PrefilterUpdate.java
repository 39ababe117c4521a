package agent.datapath.manager.prefilter;

import agent.conductor.Work;
import agent.datapath.manager.conductor.DatapathFailures;
import agent.maps.layout.PrefilterTable;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Writes a new deny list to the kernel in bounded steps: first the tables, each filled before it
 * replaces the one before it, then the bitmaps. {@code maps/prefilter_map.h} says why no prefix
 * that stays on the list passes in the meantime. Where a table cannot be written, those before it
 * are put back; the bitmaps are unchanged then.
 */
final class PrefilterUpdate implements Work {
  private static final int WORDS_PER_STEP = 1 << 17;

  private final PrefilterMaps maps;
  private final List<PrefilterTable> tables;
  private final CompletableFuture<Void> done = new CompletableFuture<>();
  private int table;
  private int staged; // words of the table that is being filled
  private int filled;
  private int bitmap;

  /**
   * Creates the update to what the plan of the maps says.
   *
   * @param tables those that differ from the ones in force
   */
  PrefilterUpdate(PrefilterMaps maps, List<PrefilterTable> tables) {
    this.maps = maps;
    this.tables = tables;
  }

  CompletableFuture<Void> done() {
    return done;
  }

  @Override
  public Progress step() {
    if (table < tables.size()) {
      write(tables.get(table));
    } else if (bitmap < PrefilterMaps.BITMAPS) {
      maps.copyCells(bitmap++);
    } else {
      maps.settle();
      done.complete(null);
      return Progress.DONE;
    }
    return Progress.WORKED;
  }

  private void write(PrefilterTable next) {
    if (staged == 0) {
      staged = maps.stage(next);
    } else if (filled < staged) {
      filled = maps.fill(filled, WORDS_PER_STEP);
    } else {
      maps.publish(next);
      table++;
      staged = 0;
      filled = 0;
    }
  }

  @Override
  public void failed(RuntimeException failure) {
    try {
      maps.rollBack();
    } catch (RuntimeException undo) {
      failure.addSuppressed(undo);
    }
    done.completeExceptionally(DatapathFailures.refusal(failure));
  }
}
