package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * A network interface, with an address or without one, as netdevice(7) shows it to the calling
 * thread's network namespace.
 *
 * @param name its own name, where it was asked for by another
 * @param index unique in the namespace
 * @param mac 48 bits, the first byte highest, or -1 where it is no Ethernet device
 * @param mtu in bytes
 * @param isUp whether it is administratively up
 * @param driver what drives it, {@code veth} for one; empty where it does not say
 */
public record NetworkDevice(
    String name, int index, long mac, int mtu, boolean isUp, String driver) {
  private static final int AF_UNIX = 1;
  private static final int SOCK_DGRAM_CLOEXEC = 2 | 0x80000;
  private static final long SIOCGIFNAME = 0x8910;
  private static final long SIOCGIFFLAGS = 0x8913;
  private static final long SIOCGIFMTU = 0x8921;
  private static final long SIOCGIFHWADDR = 0x8927;
  private static final long SIOCGIFINDEX = 0x8933;
  private static final long SIOCETHTOOL = 0x8946;
  private static final int ETHTOOL_GDRVINFO = 3;
  private static final int SIZE_OF_DRVINFO = 196;
  private static final int DRVINFO_DRIVER_OFFSET = Integer.BYTES;
  private static final int SIZE_OF_IFREQ = 40;
  private static final int IFNAMSIZ = 16;
  private static final int ARPHRD_ETHER = 1;
  private static final int IFF_UP = 1;
  private static final int SIZE_OF_MAC = 6;

  /**
   * The index of an interface in the calling thread's network namespace. (java.net.NetworkInterface
   * does not see an interface that has no address.)
   *
   * @return the index, or -errno (-ENODEV where there is none)
   */
  public static int index(String name) {
    try (Arena arena = Arena.ofConfined()) {
      return LibC.interfaceIndex(arena.allocate(LibC.CALL_STATE), arena.allocateFrom(name));
    }
  }

  /**
   * The interface with this name or alternative name.
   *
   * @param name at most 15 bytes; a longer one is none
   * @throws BindingsException where it cannot be asked for
   */
  public static Optional<NetworkDevice> find(String name) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final MemorySegment text = arena.allocateFrom(name);
      if (text.byteSize() > IFNAMSIZ) {
        return Optional.empty();
      }
      final int socket = LibC.socket(state, AF_UNIX, SOCK_DGRAM_CLOEXEC, 0);
      BindingsException.check(socket, "interface " + name + ": socket");
      try {
        final MemorySegment request = arena.allocate(SIZE_OF_IFREQ);
        MemorySegment.copy(text, 0, request, 0, text.byteSize());
        return read(name, state, socket, request);
      } finally {
        LibC.close(state, socket);
      }
    }
  }

  /** The requests share the name that the second one writes; one that is gone meanwhile is none. */
  private static Optional<NetworkDevice> read(
      String asked, MemorySegment state, int socket, MemorySegment request) {
    int result = LibC.ioctl(state, socket, SIOCGIFINDEX, request);
    final int index = request.get(JAVA_INT, IFNAMSIZ);
    result = result < 0 ? result : LibC.ioctl(state, socket, SIOCGIFNAME, request);
    result = result < 0 ? result : LibC.ioctl(state, socket, SIOCGIFFLAGS, request);
    final int flags = request.get(JAVA_SHORT, IFNAMSIZ);
    result = result < 0 ? result : LibC.ioctl(state, socket, SIOCGIFMTU, request);
    final int mtu = request.get(JAVA_INT, IFNAMSIZ);
    result = result < 0 ? result : LibC.ioctl(state, socket, SIOCGIFHWADDR, request);
    if (result == -Errno.ENODEV) {
      return Optional.empty();
    }
    BindingsException.check(result, "interface " + asked);
    final long mac = mac(request);
    return Optional.of(
        new NetworkDevice(
            request.getString(0),
            index,
            mac,
            mtu,
            (flags & IFF_UP) != 0,
            driver(state, socket, request)));
  }

  /** ethtool(8) with {@code -i}; the loopback device is one that does not answer. */
  private static String driver(MemorySegment state, int socket, MemorySegment request) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment info = arena.allocate(SIZE_OF_DRVINFO, Integer.BYTES);
      info.set(JAVA_INT, 0, ETHTOOL_GDRVINFO);
      request.set(JAVA_LONG, IFNAMSIZ, info.address());
      final int result = LibC.ioctl(state, socket, SIOCETHTOOL, request);
      return result < 0 ? "" : info.getString(DRVINFO_DRIVER_OFFSET);
    }
  }

  /** A sockaddr: the kind of hardware, then the address. */
  private static long mac(MemorySegment request) {
    if (request.get(JAVA_SHORT, IFNAMSIZ) != ARPHRD_ETHER) {
      return -1;
    }
    long mac = 0;
    for (int i = 0; i < SIZE_OF_MAC; i++) {
      mac = mac << Byte.SIZE | request.get(JAVA_BYTE, IFNAMSIZ + Short.BYTES + i) & 0xff;
    }
    return mac;
  }
}
