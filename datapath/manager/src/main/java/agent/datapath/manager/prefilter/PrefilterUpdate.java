package agent.datapath.manager.prefilter;

import agent.datapath.manager.conductor.DatapathFailures;
import agent.datapath.manager.conductor.Work;
import agent.types.Prefix;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Brings the kernel to another list in bounded steps: first the tries, then the cells, so that no
 * cell sends a packet to a trie that does not know yet. Where a trie refuses, what was done is
 * undone; cells have not changed then.
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
  public boolean step() {
    if (inserted < inserts.size()) {
      inserted = maps.write(inserts, inserted, PREFIXES_PER_STEP, true);
    } else if (deleted < deletes.size()) {
      deleted = maps.write(deletes, deleted, PREFIXES_PER_STEP, false);
    } else if (bitmap < BITMAPS) {
      maps.copyCells(plan, bitmap++);
    } else {
      done.complete(null);
      return true;
    }
    return false;
  }

  /** Undoes at most what the steps did, the one that failed included. */
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
