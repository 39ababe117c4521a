package agent.datapath.manager.prefilter;

import agent.datapath.manager.conductor.DatapathFailures;
import agent.datapath.manager.thread.Work;
import agent.types.Prefix;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Writes a new deny list to the kernel in bounded steps: first the tries, then the bitmaps, so that
 * a cell that refers to the trie never precedes its prefixes. Where a trie cannot be written, the
 * steps are undone; the bitmaps are unchanged then.
 */
final class PrefilterUpdate implements Work {
  private static final int PREFIXES_PER_STEP = 8192;
  private static final int BITMAPS = 3;

  private final PrefilterMaps maps;
  private final List<Prefix> inserts;
  private final List<Prefix> deletes;
  private final CellPlan plan;
  private final CompletableFuture<Void> done = new CompletableFuture<>();
  private int inserted;
  private int deleted;
  private int bitmap;

  PrefilterUpdate(PrefilterMaps maps, List<Prefix> inserts, List<Prefix> deletes, CellPlan plan) {
    this.maps = maps;
    this.inserts = inserts;
    this.deletes = deletes;
    this.plan = plan;
  }

  CompletableFuture<Void> done() {
    return done;
  }

  @Override
  public Progress step() {
    if (inserted < inserts.size()) {
      inserted = maps.write(inserts, inserted, PREFIXES_PER_STEP, true);
    } else if (deleted < deletes.size()) {
      deleted = maps.write(deletes, deleted, PREFIXES_PER_STEP, false);
    } else if (bitmap < BITMAPS) {
      maps.copyCells(plan, bitmap++);
    } else {
      done.complete(null);
      return Progress.DONE;
    }
    return Progress.WORKED;
  }

  /** Undoes the completed steps and the failed one. */
  @Override
  public void failed(RuntimeException failure) {
    try {
      undo(inserts, inserted, false);
      undo(deletes, deleted, true);
    } catch (RuntimeException undo) {
      failure.addSuppressed(undo);
    }
    done.completeExceptionally(DatapathFailures.refusal(failure));
  }

  private void undo(List<Prefix> prefixes, int done, boolean isInsert) {
    final int end = Math.min(prefixes.size(), done + PREFIXES_PER_STEP);
    maps.write(prefixes, 0, end, isInsert);
  }
}
