package agent.bindings;

import java.lang.foreign.Arena;

/** Network interfaces, with an address or without one. */
public final class NetworkDevice {
  private NetworkDevice() {}

  /**
   * The index of an interface in the calling thread's network namespace. (java.net.NetworkInterface
   * does not see an interface that has no address.)
   *
   * @return the index, or -errno (-ENODEV where there is none)
   */
  public static int index(final String name) {
    try (Arena arena = Arena.ofConfined()) {
      return LibC.interfaceIndex(arena.allocate(LibC.CALL_STATE), arena.allocateFrom(name));
    }
  }
}
