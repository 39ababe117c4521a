package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static org.agrona.BitUtil.SIZE_OF_INT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code services}. {@code struct service_entry} in {@code maps/service_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           service_id                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             slots                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                   affinity_s                  |   forwarding  |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ServiceEntryFlyweight {
  public static final int SERVICE_ID_OFFSET = 0;
  public static final int SLOTS_OFFSET = SERVICE_ID_OFFSET + SIZE_OF_INT;
  public static final int AFFINITY_S_OFFSET = SLOTS_OFFSET + SIZE_OF_INT;
  public static final int LENGTH = AFFINITY_S_OFFSET + SIZE_OF_INT;

  private static final int AFFINITY_S_BITS = 24;
  private static final int AFFINITY_S_MASK = (1 << AFFINITY_S_BITS) - 1;

  public static final StructSpec STRUCT =
      StructSpec.named("service_entry", LENGTH)
          .scalar("service_id", SERVICE_ID_OFFSET, U32)
          .scalar("slots", SLOTS_OFFSET, U32)
          .bits("affinity_s", AFFINITY_S_OFFSET * Byte.SIZE, U32, AFFINITY_S_BITS)
          .bits("forwarding", AFFINITY_S_OFFSET * Byte.SIZE + AFFINITY_S_BITS, U32, Byte.SIZE)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ServiceEntryFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public ServiceEntryFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code service_id}. */
  public int serviceId() {
    return buffer.getInt(offset + SERVICE_ID_OFFSET);
  }

  /** Sets {@code service_id}. */
  public ServiceEntryFlyweight serviceId(int value) {
    buffer.putInt(offset + SERVICE_ID_OFFSET, value);
    return this;
  }

  /** Returns {@code slots}; 0 means that no backend takes new connections. */
  public int slots() {
    return buffer.getInt(offset + SLOTS_OFFSET);
  }

  /** Sets {@code slots}; 0 means that no backend takes new connections. */
  public ServiceEntryFlyweight slots(int value) {
    buffer.putInt(offset + SLOTS_OFFSET, value);
    return this;
  }

  /** Returns {@code affinity_s}; 0 means no affinity. */
  public int affinityS() {
    return buffer.getInt(offset + AFFINITY_S_OFFSET) & AFFINITY_S_MASK;
  }

  /** Sets {@code affinity_s}; 0 means no affinity. */
  public ServiceEntryFlyweight affinityS(int value) {
    final int others = buffer.getInt(offset + AFFINITY_S_OFFSET) & ~AFFINITY_S_MASK;
    buffer.putInt(offset + AFFINITY_S_OFFSET, others | value & AFFINITY_S_MASK);
    return this;
  }

  /** Returns {@code forwarding}, a number of {@link ServiceForwarding}. */
  public int forwarding() {
    return buffer.getInt(offset + AFFINITY_S_OFFSET) >>> AFFINITY_S_BITS;
  }

  /** Sets {@code forwarding}. */
  public ServiceEntryFlyweight forwarding(ServiceForwarding value) {
    buffer.putInt(offset + AFFINITY_S_OFFSET, value.number() << AFFINITY_S_BITS | affinityS());
    return this;
  }
}
