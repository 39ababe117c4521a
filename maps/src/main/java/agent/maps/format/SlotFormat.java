package agent.maps.format;

import org.agrona.MutableDirectBuffer;

/**
 * Formats an array of numbers as {@code endpoint 12} and {@code generation 3}. A zero value marks
 * an unused slot.
 */
final class SlotFormat implements MapFormat {
  private final String keyName;
  private final String valueName;
  private final boolean wide;
  private final boolean hexadecimal;

  private SlotFormat(String keyName, String valueName, boolean wide, boolean hexadecimal) {
    this.keyName = keyName;
    this.valueName = valueName;
    this.wide = wide;
    this.hexadecimal = hexadecimal;
  }

  static SlotFormat ofInts(String keyName, String valueName) {
    return new SlotFormat(keyName, valueName, false, false);
  }

  static SlotFormat ofLongs(String keyName, String valueName) {
    return new SlotFormat(keyName, valueName, true, false);
  }

  static SlotFormat ofWords(String keyName) {
    return new SlotFormat(keyName, "0x", true, true);
  }

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    FieldText.unsigned(out.append(keyName), key.getInt(keyOffset));
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final long number = number(value, valueOffset);
    out.append(valueName);
    out.append(hexadecimal ? Long.toHexString(number) : Long.toUnsignedString(number));
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    return number(value, valueOffset) != 0;
  }

  private long number(MutableDirectBuffer value, int valueOffset) {
    return wide ? value.getLong(valueOffset) : Integer.toUnsignedLong(value.getInt(valueOffset));
  }
}
