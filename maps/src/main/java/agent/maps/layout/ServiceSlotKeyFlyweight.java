package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static org.agrona.BitUtil.SIZE_OF_INT;

import org.agrona.MutableDirectBuffer;

/**
 * Key of the map {@code service_slots}. {@code struct service_slot_key} in {@code
 * maps/service_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           service_id                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              slot                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ServiceSlotKeyFlyweight {
  public static final int SERVICE_ID_OFFSET = 0;
  public static final int SLOT_OFFSET = SERVICE_ID_OFFSET + SIZE_OF_INT;
  public static final int LENGTH = SLOT_OFFSET + SIZE_OF_INT;

  public static final StructSpec STRUCT =
      StructSpec.named("service_slot_key", LENGTH)
          .scalar("service_id", SERVICE_ID_OFFSET, U32)
          .scalar("slot", SLOT_OFFSET, U32)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ServiceSlotKeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public ServiceSlotKeyFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code service_id}. */
  public int serviceId() {
    return buffer.getInt(offset + SERVICE_ID_OFFSET);
  }

  /** Sets {@code service_id}. */
  public ServiceSlotKeyFlyweight serviceId(int value) {
    buffer.putInt(offset + SERVICE_ID_OFFSET, value);
    return this;
  }

  /** Returns {@code slot}. */
  public int slot() {
    return buffer.getInt(offset + SLOT_OFFSET);
  }

  /** Sets {@code slot}. */
  public ServiceSlotKeyFlyweight slot(int value) {
    buffer.putInt(offset + SLOT_OFFSET, value);
    return this;
  }
}
