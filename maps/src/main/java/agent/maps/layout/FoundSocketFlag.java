package agent.maps.layout;

/**
 * Bits of {@code found_socket.flags}. {@code enum found_socket_flag} in {@code
 * config/found_socket.h}.
 */
public enum FoundSocketFlag implements Numbered {
  /** The socket is of AF_INET6; its peer may be an IPv4 address all the same. */
  IPV6(1),
  /** The service has a backend for it. */
  SERVED(2);

  public static final EnumSpec ENUM = EnumSpec.of("found_socket_flag", "FOUND_SOCKET_", values());

  private final int number;

  FoundSocketFlag(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }

  /** Returns whether the bit is set. */
  public boolean isIn(int flags) {
    return (flags & number) != 0;
  }
}
