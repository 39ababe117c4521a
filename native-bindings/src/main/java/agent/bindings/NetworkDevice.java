package agent.bindings;

import java.lang.foreign.Arena;

/** Looks up network interfaces of the calling thread's network namespace by name. */
public final class NetworkDevice {
  private NetworkDevice() {}

  /**
   * Returns the index of an interface. {@code java.net.NetworkInterface} does not find interfaces
   * without an address.
   *
   * @param name name or alternative name of the interface
   * @return the index, or -errno (-ENODEV if no interface has the name)
   */
  public static int index(String name) {
    try (Arena arena = Arena.ofConfined()) {
      return LibC.interfaceIndex(arena.allocate(LibC.CALL_STATE), arena.allocateFrom(name));
    }
  }
}
