package agent.maps.layout;

import java.util.Map;

/**
 * The map of generations, and the two bit fields of one of them. The lower bits count policy
 * changes; the bits from {@link #OWNER_SHIFT} on count the endpoints and addresses that have used
 * the id. {@code enum generation_layout} in {@code maps/endpoint_map.h}.
 */
public final class GenerationLayout {
  /** Position of the lowest bit of the owner field. */
  public static final int OWNER_SHIFT = 32;

  /** Index of the first shard of outside addresses; endpoint ids are below it. */
  public static final int OUTSIDE = 65_536;

  /** Number of generations: one for each endpoint id and each shard. */
  public static final int MAX = 131_072;

  static final EnumSpec ENUM =
      EnumSpec.of(
          "generation_layout",
          Map.of(
              "GENERATION_OWNER_SHIFT", OWNER_SHIFT,
              "GENERATION_OUTSIDE", OUTSIDE,
              "GENERATIONS_MAX", MAX));

  private GenerationLayout() {}
}
