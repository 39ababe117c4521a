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
}
