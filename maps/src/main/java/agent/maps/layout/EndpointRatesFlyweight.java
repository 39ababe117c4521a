package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U64;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code endpoint_rates}: what an endpoint did in the present second. {@code
 * struct endpoint_rates} in {@code maps/flow_usage_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          events.window                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          events.count                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        fragments.window                       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        fragments.count                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                  events.exceeded (64 bits)                   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                 fragments.exceeded (64 bits)                  |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class EndpointRatesFlyweight {
  public static final int WINDOW_OFFSET = 0;
  public static final int COUNT_OFFSET = WINDOW_OFFSET + SIZE_OF_INT;
  public static final int EXCEEDED_OFFSET = COUNT_OFFSET + SIZE_OF_INT;
  public static final int RATE_LENGTH = EXCEEDED_OFFSET + SIZE_OF_LONG;

  public static final int EVENTS_OFFSET = 0;
  public static final int FRAGMENTS_OFFSET = EVENTS_OFFSET + RATE_LENGTH;
  public static final int LENGTH = FRAGMENTS_OFFSET + RATE_LENGTH;

  /** {@code struct share_rate}. */
  public static final StructSpec RATE =
      StructSpec.named("share_rate", RATE_LENGTH)
          .scalar("window", WINDOW_OFFSET, U32)
          .scalar("count", COUNT_OFFSET, U32)
          .scalar("exceeded", EXCEEDED_OFFSET, U64)
          .build();

  public static final StructSpec STRUCT =
      StructSpec.named("endpoint_rates", LENGTH)
          .structs("events", EVENTS_OFFSET, RATE, 0)
          .structs("fragments", FRAGMENTS_OFFSET, RATE, 0)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public EndpointRatesFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns {@code events.exceeded}. */
  public long eventsSuppressed() {
    return buffer.getLong(offset + EVENTS_OFFSET + EXCEEDED_OFFSET);
  }

  /** Returns {@code fragments.exceeded}. */
  public long fragmentsOverflowed() {
    return buffer.getLong(offset + FRAGMENTS_OFFSET + EXCEEDED_OFFSET);
  }
}
