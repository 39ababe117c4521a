package agent.reconcile;

/** Changes of desired entries that belong together, applied in slices. */
@FunctionalInterface
public interface TableChanges {
  /**
   * Applies further changes, at most so many.
   *
   * @return whether there are more
   */
  boolean apply(Batch batch, int limit);

  /**
   * Answers a refused write, before the removals of the change.
   *
   * @return true where {@link #apply} has further changes instead, such as those that restore what
   *     was before; false where the write is to be retried, and fails the change
   */
  default boolean replaces(RuntimeException refusal) {
    return false;
  }

  /**
   * Ends a round: what was applied since the last one is in force, as far as no map refused it.
   *
   * @param batch has the refusals of each table
   * @param failure the first failure of the change until now, or null
   * @return whether there is another round, whose changes {@link #apply} is asked for
   */
  default boolean endRound(Batch batch, RuntimeException failure) {
    return false;
  }
}
