package agent.maps.layout;

import java.util.Map;

/**
 * The two bit fields of a generation. The lower bits count policy changes; the bits from {@link
 * #OWNER_SHIFT} on count the endpoints and addresses that have used the id. {@code enum
 * generation_layout} in {@code maps/endpoint_map.h}.
 */
public final class GenerationLayout {
  /** Position of the lowest bit of the owner field. */
  public static final int OWNER_SHIFT = 24;

  static final EnumSpec ENUM =
      EnumSpec.of("generation_layout", Map.of("GENERATION_OWNER_SHIFT", OWNER_SHIFT));

  private GenerationLayout() {}
}
