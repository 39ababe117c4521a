package agent.datapath.manager.prefilter;

import agent.reconcile.WordPlan;

/** The words of one table of the prefilter, as a deny list requires them. */
interface TablePlan extends WordPlan {
  /** Returns the number of slots, at least 1. */
  int slots();

  /** Returns a word of a slot, by its index in the table. Allocates nothing. */
  long word(int index);

  @Override
  default void copy(int from, long[] to, int count) {
    for (int i = 0; i < count; i++) {
      to[i] = word(from + i);
    }
  }
}
