package agent.maps.layout;

/**
 * The counters of {@code socket_metrics}. {@code enum socket_counter} in {@code
 * maps/service_map.h}.
 */
public enum SocketCounter implements Numbered {
  /** Connections to a service. */
  CONNECTED(0),
  /** Datagrams to a service from sockets that are not connected. */
  SENT(1),
  /** Connections and datagrams to a service that has no backend for them. */
  REFUSED(2);

  public static final EnumSpec ENUM = EnumSpec.of("socket_counter", "SOCKET_", values());

  private final int number;

  SocketCounter(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
