package agent.reconcile;

/** Computes the words that an array is to hold. */
@FunctionalInterface
public interface WordPlan {
  /** Copies some of the words, from an index on. Allocates nothing. */
  void copy(int from, long[] to, int count);
}
