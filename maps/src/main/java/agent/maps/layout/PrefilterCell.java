package agent.maps.layout;

/**
 * What a cell of the prefilter bitmap says. {@code enum prefilter_cell} in {@code
 * maps/prefilter_map.h}.
 */
public enum PrefilterCell implements Numbered {
  /** No prefix touches this /24: pass. */
  NONE(0),
  /** Longer prefixes lie in it: ask the trie. */
  PART(1),
  /** A prefix of 24 bits or fewer covers it: drop. */
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
