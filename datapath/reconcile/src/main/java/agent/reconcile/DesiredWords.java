package agent.reconcile;

/**
 * The words that an array in mapped memory is to hold, as a {@link WordPlan} computes them. Neither
 * these nor those that the array holds are copied, and no store is refused, so that nothing is
 * retried. The owner of the plan {@linkplain #write writes} the words in slices, and says when the
 * array holds them; {@link PeriodicComparison} then compares them until the plan is about to
 * change.
 *
 * <p>Words of one list are in force together where the owner writes them before what refers to the
 * array: a table of the prefilter is put into its slot when it is complete. For the reconciler's
 * thread.
 */
public final class DesiredWords {
  private static final int SLICE = 512;

  private final WordArray array;
  private final WordPlan plan;
  private final WordComparison comparison;
  private final long[] slice = new long[SLICE];
  private boolean isSettled;

  /**
   * Creates the words of an array, which are not compared yet.
   *
   * @param name the name of the map, for messages
   * @param faults where faults of the map are reported
   */
  public DesiredWords(String name, WordArray array, WordPlan plan, MapFaults faults) {
    this.array = array;
    this.plan = plan;
    comparison = new WordComparison(this, name, faults);
  }

  /** Returns the number of words. */
  public int count() {
    return array.count();
  }

  /**
   * Writes those words that differ, from an index on.
   *
   * @param limit the number of words that are looked at, at most
   * @return the index after the last of them
   */
  public int write(int from, int limit) {
    return write(from, limit, false);
  }

  /** Writes the words of a new array as {@link #write} does; it holds zeros and is not read. */
  public int fill(int from, int limit) {
    return write(from, limit, true);
  }

  private int write(int from, int limit, boolean isNew) {
    final int end = Math.min(array.count(), from + limit);
    for (int at = from; at < end; at += SLICE) {
      final int count = Math.min(SLICE, end - at);
      plan.copy(at, slice, count);
      for (int i = 0; i < count; i++) {
        final long held = isNew ? 0 : array.word(at + i);
        if (held != slice[i]) {
          array.word(at + i, slice[i]);
          comparison.written(at + i);
        }
      }
    }
    return end;
  }

  /** Ends the comparison in progress, since the plan is about to change. */
  public void suspend() {
    isSettled = false;
    comparison.abandon();
  }

  /** Begins to compare the words again: the array holds what the plan says. */
  public void resume() {
    isSettled = true;
  }

  /** Returns whether the plan is not about to change, and the array is to hold what it says. */
  boolean isSettled() {
    return isSettled;
  }

  WordComparison comparison() {
    return comparison;
  }
}
