package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U64;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the metrics map, one per CPU. {@code struct metrics_entry} in {@code
 * maps/metrics_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            packets                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             bytes                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class MetricsEntryFlyweight {
  public static final int PACKETS_OFFSET = 0;
  public static final int BYTES_OFFSET = PACKETS_OFFSET + SIZE_OF_LONG;
  public static final int LENGTH = BYTES_OFFSET + SIZE_OF_LONG;

  public static final StructSpec STRUCT =
      StructSpec.named("metrics_entry", LENGTH)
          .scalar("packets", PACKETS_OFFSET, U64)
          .scalar("bytes", BYTES_OFFSET, U64)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public MetricsEntryFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public MetricsEntryFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code packets}. */
  public long packets() {
    return buffer.getLong(offset + PACKETS_OFFSET);
  }

  /** Sets {@code packets}. */
  public MetricsEntryFlyweight packets(long value) {
    buffer.putLong(offset + PACKETS_OFFSET, value);
    return this;
  }

  /** Returns {@code bytes}. */
  public long bytes() {
    return buffer.getLong(offset + BYTES_OFFSET);
  }

  /** Sets {@code bytes}. */
  public MetricsEntryFlyweight bytes(long value) {
    buffer.putLong(offset + BYTES_OFFSET, value);
    return this;
  }
}
