package agent.reconcile;

import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;

/** What one kind of table adds to the writing of its entries. On the reconciler's thread. */
public interface Realization {
  /** A realization that adds nothing. */
  Realization PLAIN = new Realization() {};

  /**
   * Changes the value that the strongest source has for a key into what the map is to hold. Where
   * its answer for other keys changes, {@link Batch#review} has the table looked through. It does
   * not depend on what is written: several entries are refined before the first one is.
   */
  default void refine(int source, MutableDirectBuffer key, MutableDirectBuffer value) {}

  /**
   * Handles an entry that was written or deleted.
   *
   * @param before the value that the map held, or null where it held none or it is not known
   * @param after the value that it holds now, or null
   */
  default void onWritten(
      MutableDirectBuffer key, MutableDirectBuffer before, MutableDirectBuffer after) {}

  /**
   * Returns whether a write may be executed although one before it was refused in the same round.
   *
   * @param before the value that the map holds, or null
   * @param after the value that it is to hold, or null
   */
  default boolean mayOvertake(MutableDirectBuffer before, MutableDirectBuffer after) {
    return before != null;
  }

  /** Ends a step that has written: generations are raised after the entries. */
  default void onStepEnd() {}

  /** Handles entries that others had changed, and that are repaired now. */
  default void onRepaired() {}

  /**
   * Handles one such entry, before all of them.
   *
   * @param found the value that the map held, or null where it held none
   * @param held the value that it holds again, or null
   */
  default void onEntryRepaired(MutableDirectBuffer key, DirectBuffer found, DirectBuffer held) {}
}
