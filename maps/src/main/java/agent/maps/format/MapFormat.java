package agent.maps.format;

import org.agrona.MutableDirectBuffer;

/** Formats the keys and values of one map as text. Stateless; any thread may use it. */
public interface MapFormat {
  /**
   * Appends the key's text.
   *
   * @param value the value of the key, or null if unknown
   */
  void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset);

  /** Appends the text of the key's value. */
  void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset);

  /** Returns false for an unused array slot, which map listings omit. */
  default boolean present(MutableDirectBuffer value, int valueOffset) {
    return true;
  }
}
