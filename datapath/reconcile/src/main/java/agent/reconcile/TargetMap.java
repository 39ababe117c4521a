package agent.reconcile;

import java.util.function.BiConsumer;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;

/**
 * The map in which a {@link DesiredTable} is realized: that of the kernel, or one of a test. Keys
 * and values are at the start of their buffers. A call that writes returns 0 or a negative errno.
 */
public interface TargetMap {
  /** Returns the name for messages. */
  String name();

  /** Returns the length of a key, a multiple of 4. */
  int keyBytes();

  /** Returns the length of a value, a multiple of 4. */
  int valueBytes();

  /** Returns the largest number of entries. */
  default int maxEntries() {
    return Integer.MAX_VALUE;
  }

  /** Writes an entry, whether there is one of the key or not. */
  int update(DirectBuffer key, DirectBuffer value);

  /**
   * Returns how many entries {@link #updateStaged} takes at once; 1 where each is written alone.
   */
  default int batch() {
    return 1;
  }

  /** Keeps an entry, one of {@link #batch} at most, for {@link #updateStaged}. */
  default void stage(DirectBuffer key, DirectBuffer value) {}

  /**
   * Writes the entries that are staged in their order until one is refused, and forgets all.
   *
   * @return how many were written
   */
  default int updateStaged() {
    return 0;
  }

  /** Writes an entry; returns -EEXIST where there is one of the key. */
  int insert(DirectBuffer key, DirectBuffer value);

  /** Deletes the entry of a key; returns -ENOENT where there is none. */
  int delete(DirectBuffer key);

  /** Begins a walk over all entries, and ends the former one; returns 0 or a negative errno. */
  int beginWalk();

  /** Reads the next entries; returns false after the last one, and after an error. */
  boolean nextBatch();

  /**
   * Returns how many entries can be compared in the time in which a batch is read: more than one
   * where it has many slots and few entries.
   */
  default int batchCost() {
    return 1;
  }

  /** Advances within what {@link #nextBatch} has read; returns false after the last entry of it. */
  boolean nextOfBatch();

  /** Returns the key of the present entry of the walk. */
  MutableDirectBuffer key();

  /** Returns the value of the present entry of the walk. */
  MutableDirectBuffer value();

  /** Returns the negative errno that ended the walk early, or 0. */
  int walkError();

  /** Ends the walk. */
  void endWalk();

  /** Passes each key with its value to a visitor, beside a walk in progress; allocates. */
  void forEach(BiConsumer<MutableDirectBuffer, MutableDirectBuffer> visitor);

  /** Returns a key as text. */
  String text(MutableDirectBuffer key);

  /**
   * Creates the exception of a failed call, whose message names the map, the entry and the error.
   */
  RuntimeException failure(String operation, String subject, int result);
}
