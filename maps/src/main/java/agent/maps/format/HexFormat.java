package agent.maps.format;

import org.agrona.MutableDirectBuffer;

/** Formats keys and values of a map with unknown fields as bytes in hexadecimal. */
final class HexFormat implements MapFormat {
  private final int keySize;
  private final int valueSize;

  HexFormat(int keySize, int valueSize) {
    this.keySize = keySize;
    this.valueSize = valueSize;
  }

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    append(out, key, keyOffset, keySize);
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    append(out, value, valueOffset, valueSize);
  }

  private static void append(StringBuilder out, MutableDirectBuffer buffer, int offset, int size) {
    for (int i = 0; i < size; i++) {
      final int octet = buffer.getByte(offset + i) & 0xff;
      out.append(Character.forDigit(octet >>> 4, 16)).append(Character.forDigit(octet & 0xf, 16));
    }
  }
}
