package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U16;
import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U64;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code early_fragments}: a later fragment that waits for its first one. {@code
 * struct early_fragment} in {@code maps/early_fragment_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             state                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             owner                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            since_ns                           |
 * |                                                               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            datagram                           |
 * |                           (40 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          received_by                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             length            |   direction   |     copied    |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |     place     |                                               |
 * +-+-+-+-+-+-+-+-+                    reserved                   +
 * |                                                               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             frame                             |
 * |                          (2048 bytes)                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class EarlyFragmentFlyweight {
  private static final int FRAME_BYTES = 2048;

  public static final int STATE_OFFSET = 0;
  public static final int OWNER_OFFSET = STATE_OFFSET + SIZE_OF_INT;
  public static final int SINCE_NS_OFFSET = OWNER_OFFSET + SIZE_OF_INT;
  public static final int DATAGRAM_OFFSET = SINCE_NS_OFFSET + SIZE_OF_LONG;
  public static final int RECEIVED_BY_OFFSET = DATAGRAM_OFFSET + Fragment6KeyFlyweight.LENGTH;
  public static final int LENGTH_OFFSET = RECEIVED_BY_OFFSET + SIZE_OF_INT;
  public static final int DIRECTION_OFFSET = LENGTH_OFFSET + SIZE_OF_SHORT;
  public static final int COPIED_OFFSET = DIRECTION_OFFSET + SIZE_OF_BYTE;
  public static final int PLACE_OFFSET = COPIED_OFFSET + SIZE_OF_BYTE;
  public static final int RESERVED_OFFSET = PLACE_OFFSET + SIZE_OF_BYTE;
  public static final int FRAME_OFFSET = RESERVED_OFFSET + 7;
  public static final int LENGTH = FRAME_OFFSET + FRAME_BYTES;

  public static final StructSpec STRUCT =
      StructSpec.named("early_fragment", LENGTH)
          .scalar("state", STATE_OFFSET, U32)
          .scalar("owner", OWNER_OFFSET, U32)
          .scalar("since_ns", SINCE_NS_OFFSET, U64)
          .structs("datagram", DATAGRAM_OFFSET, Fragment6KeyFlyweight.STRUCT, 0)
          .scalar("received_by", RECEIVED_BY_OFFSET, U32)
          .scalar("length", LENGTH_OFFSET, U16)
          .scalar("direction", DIRECTION_OFFSET, U8)
          .scalar("copied", COPIED_OFFSET, U8)
          .scalar("place", PLACE_OFFSET, U8)
          .bytes("reserved", RESERVED_OFFSET, 7)
          .bytes("frame", FRAME_OFFSET, FRAME_BYTES)
          .build();

  private final Fragment6KeyFlyweight datagram = new Fragment6KeyFlyweight();
  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public EarlyFragmentFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    datagram.wrap(buffer, offset + DATAGRAM_OFFSET);
    return this;
  }

  /** Returns {@code state}; 0: free. */
  public int state() {
    return buffer.getInt(offset + STATE_OFFSET);
  }

  /** Returns {@code length}, the bytes of the frame. */
  public int length() {
    return buffer.getShort(offset + LENGTH_OFFSET) & 0xffff;
  }

  /**
   * Returns {@code datagram}, whose {@code reserved[0]} is the family; an IPv4 address is in the
   * first four bytes.
   */
  public Fragment6KeyFlyweight datagram() {
    return datagram;
  }
}
