package agent.bindings.process;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.LibC;
import agent.bindings.net.NetworkNamespaceHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * A socket of another process, opened a second time (pidfd_getfd(2), Linux 5.6). Where the process
 * closes it meanwhile, it is closed with this.
 */
public final class ProcessSocket implements AutoCloseable {
  private static final long SYS_PIDFD_OPEN = 434; // equal on all architectures
  private static final long SYS_PIDFD_GETFD = 438;
  private static final int SOL_SOCKET = 1;
  private static final int SO_COOKIE = 57; // asm-generic/socket.h
  private static final int AF_UNSPEC = 0;
  private static final int AF_INET = 2;
  private static final int AF_INET6 = 10;
  private static final ValueLayout.OfShort PORT = JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);
  private static final ValueLayout.OfInt WORD =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
  private static final ValueLayout.OfLong HALF =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

  private static final int PORT_OFFSET = 2; // of sockaddr_in and sockaddr_in6
  private static final int ADDRESS4_OFFSET = 4;
  private static final int ADDRESS6_OFFSET = 8;
  private static final int ADDRESS4_BYTES = 16;
  private static final int ADDRESS6_BYTES = 28;

  private final int fd;

  private ProcessSocket(int fd) {
    this.fd = fd;
  }

  /**
   * Opens a socket of a process.
   *
   * @param process id of the process
   * @param descriptor number of the descriptor there
   * @param cookie the cookie of the socket (SO_COOKIE)
   * @return empty where the process has it no longer
   * @throws BindingsException if the kernel refuses (EPERM without CAP_SYS_PTRACE)
   */
  public static Optional<ProcessSocket> open(int process, int descriptor, long cookie) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final int handle = LibC.syscall(state, SYS_PIDFD_OPEN, process, 0, 0);
      if (isGone(handle)) {
        return Optional.empty();
      }
      BindingsException.check(handle, "process " + process + ": open");
      final int fd;
      try {
        fd = LibC.syscall(state, SYS_PIDFD_GETFD, handle, descriptor, 0);
      } finally {
        Descriptors.close(handle);
      }
      if (isGone(fd)) {
        return Optional.empty();
      }
      BindingsException.check(fd, "process " + process + ": descriptor " + descriptor);
      final ProcessSocket socket = new ProcessSocket(fd);
      if (socket.hasCookie(arena, state, cookie)) {
        return Optional.of(socket);
      }
      socket.close();
      return Optional.empty();
    }
  }

  private static boolean isGone(int result) {
    return result == -Errno.ESRCH || result == -Errno.EBADF || result == -Errno.EINVAL;
  }

  private boolean hasCookie(Arena arena, MemorySegment state, long cookie) {
    final MemorySegment found = arena.allocate(JAVA_LONG);
    final MemorySegment length = arena.allocateFrom(JAVA_INT, (int) found.byteSize());
    return LibC.getsockopt(state, fd, SOL_SOCKET, SO_COOKIE, found, length) == 0
        && found.get(JAVA_LONG, 0) == cookie;
  }

  /**
   * Connects the socket to an address.
   *
   * @param isIpv6 whether the socket is of AF_INET6
   * @param high upper half of the address, an IPv4 address as an IPv4-mapped one
   * @param low lower half of it
   * @return 0, or a negative errno
   */
  public int connect(boolean isIpv6, long high, long low, int port) {
    try (Arena arena = Arena.ofConfined()) {
      return LibC.connect(
          arena.allocate(LibC.CALL_STATE), fd, address(arena, isIpv6, high, low, port));
    }
  }

  /** Returns whether the peer of the socket is the address; otherwise as {@link #connect}. */
  public boolean isConnectedTo(boolean isIpv6, long high, long low, int port) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment expected = address(arena, isIpv6, high, low, port);
      final MemorySegment peer = arena.allocate(ADDRESS6_BYTES, Integer.BYTES);
      final MemorySegment length = arena.allocateFrom(JAVA_INT, ADDRESS6_BYTES);
      return LibC.getpeername(arena.allocate(LibC.CALL_STATE), fd, peer, length) == 0
          && length.get(JAVA_INT, 0) == expected.byteSize()
          && isSamePeer(isIpv6, peer, expected);
    }
  }

  /** Compares addresses of one length without flow label and scope. */
  private static boolean isSamePeer(boolean isIpv6, MemorySegment peer, MemorySegment expected) {
    final int offset = isIpv6 ? ADDRESS6_OFFSET : ADDRESS4_OFFSET;
    final int end = isIpv6 ? ADDRESS6_OFFSET + 2 * Long.BYTES : ADDRESS4_OFFSET + Integer.BYTES;
    return peer.get(PORT, PORT_OFFSET) == expected.get(PORT, PORT_OFFSET)
        && MemorySegment.mismatch(peer, offset, end, expected, offset, end) < 0;
  }

  /**
   * Dissolves the connection of a datagram socket.
   *
   * @return 0, or a negative errno
   */
  public int disconnect() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment address = arena.allocate(ADDRESS4_BYTES, Integer.BYTES);
      address.set(JAVA_SHORT, 0, (short) AF_UNSPEC);
      return LibC.connect(arena.allocate(LibC.CALL_STATE), fd, address);
    }
  }

  private static MemorySegment address(Arena arena, boolean isIpv6, long high, long low, int port) {
    final MemorySegment address =
        arena.allocate(isIpv6 ? ADDRESS6_BYTES : ADDRESS4_BYTES, Integer.BYTES);
    address.set(JAVA_SHORT, 0, (short) (isIpv6 ? AF_INET6 : AF_INET));
    address.set(PORT, PORT_OFFSET, (short) port);
    if (isIpv6) {
      address.set(HALF, ADDRESS6_OFFSET, high);
      address.set(HALF, ADDRESS6_OFFSET + Long.BYTES, low);
    } else {
      address.set(WORD, ADDRESS4_OFFSET, (int) low);
    }
    return address;
  }

  /**
   * Opens the network namespace of the socket; the caller closes it.
   *
   * @throws BindingsException if the kernel refuses
   */
  public NetworkNamespaceHandle namespace() {
    return NetworkNamespaceHandle.ofSocket(fd);
  }

  @Override
  public void close() {
    Descriptors.close(fd);
  }
}
