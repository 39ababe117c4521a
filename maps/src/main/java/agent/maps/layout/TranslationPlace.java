package agent.maps.layout;

/**
 * Whose flow was given another address. {@code enum translation_place} in {@code maps/event_map.h}.
 */
public enum TranslationPlace implements Numbered {
  /** A backend: of a socket, before there is a packet. */
  SOCKET(1),
  /** A backend: of an endpoint, by its first packet. */
  ENDPOINT(2),
  /** A backend: of a client outside, by its first packet. */
  NETWORK(3),
  /** An address of this node as its source: of an endpoint, by its first packet. */
  MASQUERADE(4);

  public static final EnumSpec ENUM = EnumSpec.of("translation_place", "TRANSLATION_", values());

  private final int number;

  TranslationPlace(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
