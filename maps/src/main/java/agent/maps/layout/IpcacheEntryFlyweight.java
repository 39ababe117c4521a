package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U16;
import static agent.maps.layout.StructSpec.Scalar.U32;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the ipcache maps. {@code struct ipcache_entry} in {@code maps/ipcache_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            identity                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |          endpoint_id          |             flags             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class IpcacheEntryFlyweight {
  public static final int IDENTITY_OFFSET = 0;
  public static final int ENDPOINT_ID_OFFSET = IDENTITY_OFFSET + SIZE_OF_INT;
  public static final int FLAGS_OFFSET = ENDPOINT_ID_OFFSET + SIZE_OF_SHORT;
  public static final int LENGTH = FLAGS_OFFSET + SIZE_OF_SHORT;

  public static final StructSpec STRUCT =
      StructSpec.named("ipcache_entry", LENGTH)
          .scalar("identity", IDENTITY_OFFSET, U32)
          .scalar("endpoint_id", ENDPOINT_ID_OFFSET, U16)
          .scalar("flags", FLAGS_OFFSET, U16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public IpcacheEntryFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public IpcacheEntryFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code identity}. */
  public int identity() {
    return buffer.getInt(offset + IDENTITY_OFFSET);
  }

  /** Sets {@code identity}. */
  public IpcacheEntryFlyweight identity(int value) {
    buffer.putInt(offset + IDENTITY_OFFSET, value);
    return this;
  }

  /** Returns {@code endpoint_id}; 0 means that the address is not an endpoint of this node. */
  public int endpointId() {
    return buffer.getShort(offset + ENDPOINT_ID_OFFSET) & 0xffff;
  }

  /** Sets {@code endpoint_id}; 0 means that the address is not an endpoint of this node. */
  public IpcacheEntryFlyweight endpointId(int value) {
    buffer.putShort(offset + ENDPOINT_ID_OFFSET, (short) value);
    return this;
  }

  /** Returns {@code flags}, bits of {@link IpcacheFlag}. */
  public int flags() {
    return buffer.getShort(offset + FLAGS_OFFSET) & 0xffff;
  }

  /** Sets {@code flags}, bits of {@link IpcacheFlag}. */
  public IpcacheEntryFlyweight flags(int value) {
    buffer.putShort(offset + FLAGS_OFFSET, (short) value);
    return this;
  }
}
