package agent.maps.layout;

/**
 * States of a cell of the prefilter bitmaps. {@code enum prefilter_cell} in {@code
 * maps/prefilter_map.h}.
 */
public enum PrefilterCell implements Numbered {
  /** No denied prefix overlaps this cell; packets pass. */
  NONE(0),
  /** Longer prefixes lie inside the cell; the program looks the address up in the trie. */
  PART(1),
  /** A prefix of 24 bits or fewer covers the cell; packets are dropped. */
  WHOLE(3);

  public static final EnumSpec ENUM = EnumSpec.of("prefilter_cell", "PREFILTER_CELL_", values());

  private final int number;

  PrefilterCell(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
