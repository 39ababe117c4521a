package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U64;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code flow_usage}: the conntrack entries of the flows of one endpoint. {@code
 * struct flow_usage} in {@code maps/flow_usage_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      opened (4 counters)                      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      credit (4 counters)                      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      counted (4 counters)                     |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      overflowed (64 bits)                     |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                       emptied (64 bits)                       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class FlowUsageFlyweight {
  /** Tables in which flows are counted: the first ones of {@link ConntrackTable}. */
  public static final int TABLES = 4;

  public static final int OPENED_OFFSET = 0;
  public static final int CREDIT_OFFSET = OPENED_OFFSET + SIZE_OF_INT * TABLES;
  public static final int COUNTED_OFFSET = CREDIT_OFFSET + SIZE_OF_INT * TABLES;
  public static final int OVERFLOWED_OFFSET = COUNTED_OFFSET + SIZE_OF_INT * TABLES;
  public static final int EMPTIED_OFFSET = OVERFLOWED_OFFSET + SIZE_OF_LONG;
  public static final int LENGTH = EMPTIED_OFFSET + SIZE_OF_LONG;

  public static final StructSpec STRUCT =
      StructSpec.named("flow_usage", LENGTH)
          .scalars("opened", OPENED_OFFSET, U32, TABLES)
          .scalars("credit", CREDIT_OFFSET, U32, TABLES)
          .scalars("counted", COUNTED_OFFSET, U32, TABLES)
          .scalar("overflowed", OVERFLOWED_OFFSET, U64)
          .scalar("emptied", EMPTIED_OFFSET, U64)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public FlowUsageFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns the entries in a table, one of the first {@value #TABLES}. */
  public int entries(int table) {
    return buffer.getInt(offset + OPENED_OFFSET + table * SIZE_OF_INT)
        - buffer.getInt(offset + CREDIT_OFFSET + table * SIZE_OF_INT);
  }

  /** Returns {@code overflowed}. */
  public long overflowed() {
    return buffer.getLong(offset + OVERFLOWED_OFFSET);
  }
}
