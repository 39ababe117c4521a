package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U64;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code port_usage}: what an endpoint lacked of the ports of masqueraded flows.
 * {@code struct port_usage} in {@code maps/port_usage_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            replaced                           |
 * |                                                               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            refused                            |
 * |                                                               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class PortUsageFlyweight {
  public static final int REPLACED_OFFSET = 0;
  public static final int REFUSED_OFFSET = REPLACED_OFFSET + SIZE_OF_LONG;
  public static final int LENGTH = REFUSED_OFFSET + SIZE_OF_LONG;

  public static final StructSpec STRUCT =
      StructSpec.named("port_usage", LENGTH)
          .scalar("replaced", REPLACED_OFFSET, U64)
          .scalar("refused", REFUSED_OFFSET, U64)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public PortUsageFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns {@code replaced}, the half-open flows whose port a later flow has got. */
  public long replaced() {
    return buffer.getLong(offset + REPLACED_OFFSET);
  }

  /** Returns {@code refused}, the flows for which no port was free. */
  public long refused() {
    return buffer.getLong(offset + REFUSED_OFFSET);
  }
}
