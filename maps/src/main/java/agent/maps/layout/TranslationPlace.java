package agent.maps.layout;

/**
 * Whose flow to a service was given a backend. {@code enum translation_place} in {@code maps/event_map.h}.
 */
public enum TranslationPlace implements Numbered {
  /** Of a socket, before there is a packet. */
  SOCKET(1),
  /** Of an endpoint, by its first packet. */
  ENDPOINT(2),
  /** Of a client outside, by its first packet. */
  NETWORK(3);

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
