package agent.maps.format;

import java.nio.ByteOrder;
import org.agrona.MutableDirectBuffer;

/** Formats watched addresses as {@code 192.0.2.7} or {@code 2001:db8::7}, and {@code flows 3}. */
final class WatchedAddressFormat implements MapFormat {
  private static final int LOW_OFFSET = Long.BYTES;
  private static final long MAPPED = 0xffffL;

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final long high = key.getLong(keyOffset, ByteOrder.BIG_ENDIAN);
    final long low = key.getLong(keyOffset + LOW_OFFSET, ByteOrder.BIG_ENDIAN);
    if (high == 0 && low >>> Integer.SIZE == MAPPED) {
      FieldText.ipv4(out, (int) low);
    } else {
      FieldText.ipv6(out, high, low);
    }
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    FieldText.unsigned(out.append("flows "), value.getInt(valueOffset));
  }
}
