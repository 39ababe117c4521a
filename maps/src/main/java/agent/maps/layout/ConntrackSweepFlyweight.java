package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U64;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Context of the program that sweeps one conntrack table. {@code struct conntrack_sweep} in {@code
 * config/conntrack_sweep.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             now_ns                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            visited                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            deleted                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             table                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            reserved                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ConntrackSweepFlyweight {
  public static final int NOW_NS_OFFSET = 0;
  public static final int VISITED_OFFSET = NOW_NS_OFFSET + SIZE_OF_LONG;
  public static final int DELETED_OFFSET = VISITED_OFFSET + SIZE_OF_LONG;
  public static final int TABLE_OFFSET = DELETED_OFFSET + SIZE_OF_LONG;
  public static final int RESERVED_OFFSET = TABLE_OFFSET + SIZE_OF_INT;
  public static final int LENGTH = RESERVED_OFFSET + SIZE_OF_INT;

  public static final StructSpec STRUCT =
      StructSpec.named("conntrack_sweep", LENGTH)
          .scalar("now_ns", NOW_NS_OFFSET, U64)
          .scalar("visited", VISITED_OFFSET, U64)
          .scalar("deleted", DELETED_OFFSET, U64)
          .scalar("table", TABLE_OFFSET, U32)
          .scalar("reserved", RESERVED_OFFSET, U32)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Views {@value #LENGTH} bytes from {@code offset} on. */
  public ConntrackSweepFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, the reserved ones too. */
  public ConntrackSweepFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** {@code now_ns}: in: on CLOCK_MONOTONIC; entries that expire no later go. */
  public long nowNs() {
    return buffer.getLong(offset + NOW_NS_OFFSET);
  }

  /** {@code now_ns}: in: on CLOCK_MONOTONIC; entries that expire no later go. */
  public ConntrackSweepFlyweight nowNs(long value) {
    buffer.putLong(offset + NOW_NS_OFFSET, value);
    return this;
  }

  /** {@code visited}: out: entries seen, the deleted ones too. */
  public long visited() {
    return buffer.getLong(offset + VISITED_OFFSET);
  }

  /** {@code visited}: out: entries seen, the deleted ones too. */
  public ConntrackSweepFlyweight visited(long value) {
    buffer.putLong(offset + VISITED_OFFSET, value);
    return this;
  }

  /** {@code deleted}: out. */
  public long deleted() {
    return buffer.getLong(offset + DELETED_OFFSET);
  }

  /** {@code deleted}: out. */
  public ConntrackSweepFlyweight deleted(long value) {
    buffer.putLong(offset + DELETED_OFFSET, value);
    return this;
  }

  /** {@code table}: in: see {@link ConntrackTable}. */
  public int table() {
    return buffer.getInt(offset + TABLE_OFFSET);
  }

  /** {@code table}: in: see {@link ConntrackTable}. */
  public ConntrackSweepFlyweight table(int value) {
    buffer.putInt(offset + TABLE_OFFSET, value);
    return this;
  }
}
