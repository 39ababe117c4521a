package agent.maps.layout;

import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_INT;

import org.agrona.MutableDirectBuffer;

/** Converts six octets to the lower 48 bits of a long, the first octet most significant. */
final class MacBytes {
  private MacBytes() {}

  static long get(MutableDirectBuffer buffer, int offset) {
    return (buffer.getInt(offset, BIG_ENDIAN) & 0xffff_ffffL) << 16
        | buffer.getShort(offset + SIZE_OF_INT, BIG_ENDIAN) & 0xffffL;
  }

  static void put(MutableDirectBuffer buffer, int offset, long mac) {
    buffer.putInt(offset, (int) (mac >>> 16), BIG_ENDIAN);
    buffer.putShort(offset + SIZE_OF_INT, (short) mac, BIG_ENDIAN);
  }
}
