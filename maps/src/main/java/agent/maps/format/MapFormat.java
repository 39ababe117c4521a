package agent.maps.format;

import org.agrona.MutableDirectBuffer;

/** Text of one map's keys and values. Stateless, so that any thread may use it. */
public interface MapFormat {
  /**
   * Appends the key's text.
   *
   * @param value that belongs to the key, or null where it is not known
   */
  void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset);

  /** Appends the text of the value that belongs to the key. */
  void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset);

  /** False for an array slot that nothing uses, which is not listed. */
  default boolean present(MutableDirectBuffer value, int valueOffset) {
    return true;
  }
}
