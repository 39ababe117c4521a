package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U64;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.DirectBuffer;

/**
 * A slot of a table of the prefilter: four words, whose meaning depends on the table. {@code struct
 * prefilter_slot} in {@code maps/prefilter_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             words                             |
 * |                           (32 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class PrefilterSlotFlyweight {
  public static final int WORDS_OFFSET = 0;
  public static final int LENGTH = WORDS_OFFSET + PrefilterGeometry.WORDS_PER_SLOT * SIZE_OF_LONG;

  public static final StructSpec STRUCT =
      StructSpec.named("prefilter_slot", LENGTH)
          .scalars("words", WORDS_OFFSET, U64, PrefilterGeometry.WORDS_PER_SLOT)
          .build();

  private DirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public PrefilterSlotFlyweight wrap(DirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns one of the {@code words}. */
  public long word(int index) {
    return buffer.getLong(offset + WORDS_OFFSET + index * SIZE_OF_LONG);
  }
}
