package agent.bindings.net;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Looks up network interfaces of the calling thread's network namespace. */
public final class NetworkDevice {
  private static final int AF_INET = 2;
  private static final int SOCK_DGRAM = 2;
  private static final long SIOCGIFNAME = 0x8910;
  private static final long SIOCGIFHWADDR = 0x8927;
  private static final long REQUEST_BYTES = 40; // struct ifreq
  private static final long INDEX_OFFSET = 16; // after the name
  private static final long ADDRESS_OFFSET = INDEX_OFFSET + Short.BYTES; // sockaddr.sa_data
  private static final int ADDRESS_BYTES = 6;

  /** The guard of hooks asks once a round, and allocates nothing. */
  private static final ThreadLocal<Memory> MEMORY = ThreadLocal.withInitial(Memory::new);

  private NetworkDevice() {}

  /** What one thread calls the kernel with. */
  private static final class Memory {
    final MemorySegment state = Arena.ofAuto().allocate(LibC.CALL_STATE);
    final MemorySegment request = Arena.ofAuto().allocate(REQUEST_BYTES, Long.BYTES);
  }

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

  /**
   * Returns the hardware address of an interface; its first octet is the most significant.
   *
   * @return the address, 0 for an interface without one, or -errno (-ENODEV if no interface has the
   *     index)
   */
  public static long hardwareAddress(int ifindex) {
    final Memory memory = MEMORY.get();
    final int fd = LibC.socket(memory.state, AF_INET, SOCK_DGRAM, 0);
    if (fd < 0) {
      return fd;
    }
    try {
      memory.request.fill((byte) 0);
      memory.request.set(JAVA_INT, INDEX_OFFSET, ifindex);
      int result = LibC.ioctl(memory.state, fd, SIOCGIFNAME, memory.request);
      if (result == 0) {
        result = LibC.ioctl(memory.state, fd, SIOCGIFHWADDR, memory.request);
      }
      return result < 0 ? result : address(memory.request);
    } finally {
      LibC.close(memory.state, fd);
    }
  }

  private static long address(MemorySegment request) {
    long address = 0;
    for (int i = 0; i < ADDRESS_BYTES; i++) {
      address = address << Byte.SIZE | request.get(JAVA_BYTE, ADDRESS_OFFSET + i) & 0xff;
    }
    return address;
  }
}
