package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U64;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Input and output of the program that sweeps one conntrack table. {@code struct conntrack_sweep}
 * in {@code config/conntrack_sweep.h}.
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
 * |                            watches                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ConntrackSweepFlyweight {
  public static final int NOW_NS_OFFSET = 0;
  public static final int VISITED_OFFSET = NOW_NS_OFFSET + SIZE_OF_LONG;
  public static final int DELETED_OFFSET = VISITED_OFFSET + SIZE_OF_LONG;
  public static final int TABLE_OFFSET = DELETED_OFFSET + SIZE_OF_LONG;
  public static final int WATCHES_OFFSET = TABLE_OFFSET + SIZE_OF_INT;
  public static final int LENGTH = WATCHES_OFFSET + SIZE_OF_INT;

  public static final StructSpec STRUCT =
      StructSpec.named("conntrack_sweep", LENGTH)
          .scalar("now_ns", NOW_NS_OFFSET, U64)
          .scalar("visited", VISITED_OFFSET, U64)
          .scalar("deleted", DELETED_OFFSET, U64)
          .scalar("table", TABLE_OFFSET, U32)
          .scalar("watches", WATCHES_OFFSET, U32)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ConntrackSweepFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero. */
  public ConntrackSweepFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /**
   * Returns {@code now_ns}, an input in ns on CLOCK_MONOTONIC, 0 for the current time; entries that
   * expire at or before it are deleted.
   */
  public long nowNs() {
    return buffer.getLong(offset + NOW_NS_OFFSET);
  }

  /**
   * Sets {@code now_ns}, an input in ns on CLOCK_MONOTONIC, 0 for the current time; entries that
   * expire at or before it are deleted.
   */
  public ConntrackSweepFlyweight nowNs(long value) {
    buffer.putLong(offset + NOW_NS_OFFSET, value);
    return this;
  }

  /** Returns {@code visited}, an output: visited entries, including the deleted ones. */
  public long visited() {
    return buffer.getLong(offset + VISITED_OFFSET);
  }

  /** Sets {@code visited}, an output: visited entries, including the deleted ones. */
  public ConntrackSweepFlyweight visited(long value) {
    buffer.putLong(offset + VISITED_OFFSET, value);
    return this;
  }

  /** Returns {@code deleted}, an output: deleted entries. */
  public long deleted() {
    return buffer.getLong(offset + DELETED_OFFSET);
  }

  /** Sets {@code deleted}, an output: deleted entries. */
  public ConntrackSweepFlyweight deleted(long value) {
    buffer.putLong(offset + DELETED_OFFSET, value);
    return this;
  }

  /** Returns {@code table}, an input: a number of {@link ConntrackTable}. */
  public int table() {
    return buffer.getInt(offset + TABLE_OFFSET);
  }

  /** Sets {@code table}, an input: a number of {@link ConntrackTable}. */
  public ConntrackSweepFlyweight table(int value) {
    buffer.putInt(offset + TABLE_OFFSET, value);
    return this;
  }

  /** Returns {@code watches}, an input: 1 where flows to watched addresses are counted, else 0. */
  public int watches() {
    return buffer.getInt(offset + WATCHES_OFFSET);
  }

  /** Sets {@code watches}, an input: 1 where flows to watched addresses are counted, else 0. */
  public ConntrackSweepFlyweight watches(int value) {
    buffer.putInt(offset + WATCHES_OFFSET, value);
    return this;
  }
}
