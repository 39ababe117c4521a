package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.BindingsException;
import agent.bindings.CallShape;
import agent.bindings.LibC;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * The sockets of this process by the addresses that they are bound to, whatever opened them and
 * keeps their descriptors.
 */
public final class OwnSockets {
  private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

  private static final int SOL_SOCKET = 1; // asm-generic/socket.h
  private static final int SO_PROTOCOL = 38;
  private static final int SO_ATTACH_BPF = 50;
  private static final int AF_INET = 2;
  private static final int AF_INET6 = 10;
  private static final ValueLayout.OfShort PORT =
      ValueLayout.JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

  /** Of sockaddr_in and sockaddr_in6. */
  private static final int PORT_OFFSET = 2;

  private static final int ADDRESS4_OFFSET = 4;
  private static final int ADDRESS6_OFFSET = 8;
  private static final int ADDRESS4_BYTES = 4;
  private static final int ADDRESS6_BYTES = 16;
  private static final int SOCKADDR_BYTES = 28;

  /** What an IPv4 address has before it in a socket of IPv6 (RFC 4291, section 2.5.5.2). */
  private static final byte[] MAPPED = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1};

  private static final MethodHandle GETSOCKNAME =
      CallShape.link("getsockname", CallShape.ADDRESS_SECOND);

  private OwnSockets() {}

  /**
   * Makes a program judge what the sockets get that are bound to an address and one of some ports,
   * in the place of another one that they had (SO_ATTACH_BPF, socket(7)).
   *
   * @param filter of the type of socket filters
   * @param protocol the number of the IP protocol
   * @param address 4 or 16 bytes
   * @return how many sockets there are
   * @throws BindingsException where the kernel refuses the program for one of them
   */
  public static int filter(
      BpfProgram filter, int protocol, byte[] address, int firstPort, int lastPort) {
    int filtered = 0;
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment program = arena.allocateFrom(JAVA_INT, filter.fd());
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      for (final int fd : descriptors()) {
        final int port = portAt(fd, protocol, address);
        if (port >= firstPort && port <= lastPort) {
          BindingsException.check(
              LibC.setsockopt(state, fd, SOL_SOCKET, SO_ATTACH_BPF, program),
              filter + ": filter of port " + port);
          filtered++;
        }
      }
    }
    return filtered;
  }

  private static List<Integer> descriptors() {
    try (Stream<Path> all = Files.list(DESCRIPTORS)) {
      return all.map(path -> Integer.valueOf(path.getFileName().toString())).toList();
    } catch (IOException failure) {
      throw new UncheckedIOException("descriptors of this process", failure);
    }
  }

  /** Returns the port of a socket of the protocol at the address; -1: it is none. */
  private static int portAt(int fd, int protocol, byte[] address) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final MemorySegment name = arena.allocate(SOCKADDR_BYTES, Integer.BYTES);
      final MemorySegment found = arena.allocate(JAVA_INT);
      final MemorySegment length = arena.allocateFrom(JAVA_INT, Integer.BYTES);
      if (getsockname(state, fd, name, arena.allocateFrom(JAVA_INT, SOCKADDR_BYTES)) != 0
          || !Arrays.equals(address, address(name))
          || LibC.getsockopt(state, fd, SOL_SOCKET, SO_PROTOCOL, found, length) != 0
          || found.get(JAVA_INT, 0) != protocol) {
        return -1;
      }
      return Short.toUnsignedInt(name.get(PORT, PORT_OFFSET));
    }
  }

  /** Returns 4 or 16 bytes, an IPv4-mapped address as that of IPv4; nothing for other families. */
  private static byte[] address(MemorySegment name) {
    final byte[] whole = name.toArray(ValueLayout.JAVA_BYTE);
    final int family = name.get(ValueLayout.JAVA_SHORT, 0);
    if (family == AF_INET) {
      return Arrays.copyOfRange(whole, ADDRESS4_OFFSET, ADDRESS4_OFFSET + ADDRESS4_BYTES);
    }
    if (family != AF_INET6) {
      return new byte[0];
    }
    final int end = ADDRESS6_OFFSET + ADDRESS6_BYTES;
    final int last = end - ADDRESS4_BYTES;
    return Arrays.equals(whole, ADDRESS6_OFFSET, last, MAPPED, 0, MAPPED.length)
        ? Arrays.copyOfRange(whole, last, end)
        : Arrays.copyOfRange(whole, ADDRESS6_OFFSET, end);
  }

  private static int getsockname(
      MemorySegment state, int fd, MemorySegment name, MemorySegment length) {
    try {
      return LibC.result(
          state,
          (int)
              (long)
                  GETSOCKNAME.invokeExact(
                      state,
                      (long) fd,
                      name,
                      length.address(),
                      0L,
                      MemorySegment.NULL,
                      MemorySegment.NULL));
    } catch (Throwable t) {
      throw LibC.unexpected(t);
    }
  }
}
