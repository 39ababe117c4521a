package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U64;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code endpoint_rates}: what an endpoint did in the present second. {@code
 * struct endpoint_rate} in {@code maps/flow_usage_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          event_window                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             events                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        fragment_window                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           fragments                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                  events_suppressed (64 bits)                  |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                 fragments_overflowed (64 bits)                |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class EndpointRateFlyweight {
  public static final int EVENT_WINDOW_OFFSET = 0;
  public static final int EVENTS_OFFSET = EVENT_WINDOW_OFFSET + SIZE_OF_INT;
  public static final int FRAGMENT_WINDOW_OFFSET = EVENTS_OFFSET + SIZE_OF_INT;
  public static final int FRAGMENTS_OFFSET = FRAGMENT_WINDOW_OFFSET + SIZE_OF_INT;
  public static final int EVENTS_SUPPRESSED_OFFSET = FRAGMENTS_OFFSET + SIZE_OF_INT;
  public static final int FRAGMENTS_OVERFLOWED_OFFSET = EVENTS_SUPPRESSED_OFFSET + SIZE_OF_LONG;
  public static final int LENGTH = FRAGMENTS_OVERFLOWED_OFFSET + SIZE_OF_LONG;

  public static final StructSpec STRUCT =
      StructSpec.named("endpoint_rate", LENGTH)
          .scalar("event_window", EVENT_WINDOW_OFFSET, U32)
          .scalar("events", EVENTS_OFFSET, U32)
          .scalar("fragment_window", FRAGMENT_WINDOW_OFFSET, U32)
          .scalar("fragments", FRAGMENTS_OFFSET, U32)
          .scalar("events_suppressed", EVENTS_SUPPRESSED_OFFSET, U64)
          .scalar("fragments_overflowed", FRAGMENTS_OVERFLOWED_OFFSET, U64)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public EndpointRateFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns {@code events_suppressed}. */
  public long eventsSuppressed() {
    return buffer.getLong(offset + EVENTS_SUPPRESSED_OFFSET);
  }

  /** Returns {@code fragments_overflowed}. */
  public long fragmentsOverflowed() {
    return buffer.getLong(offset + FRAGMENTS_OVERFLOWED_OFFSET);
  }
}
