package agent.bindings.net;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Whether a process listens on a Unix stream socket, found by a connection that is closed at once.
 * The probe does not wait, also where the process accepts no client.
 *
 * @param isListening whether a process listens
 * @param process the process, as the kernel recorded it; empty where no process listens or where
 *     the queue of the socket is full, so that the kernel does not tell
 */
public record ListenerProbe(boolean isListening, Optional<PeerCredentials> process) {
  private static final int AF_UNIX = 1;
  private static final int SOCK_STREAM = 1;
  private static final int SOCK_NONBLOCK = 0x800;
  private static final int SOCK_CLOEXEC = 0x80000;

  /**
   * Tries the socket of a file.
   *
   * @throws BindingsException where the file is no stream socket or cannot be reached
   */
  public static ListenerProbe ofFile(Path file) {
    final byte[] path = file.toString().getBytes(StandardCharsets.UTF_8);
    return of(java.util.Arrays.copyOf(path, path.length + 1), file.toString());
  }

  /**
   * Tries an address in the abstract namespace.
   *
   * @param name the address without the zero byte before it
   */
  static ListenerProbe ofName(String name) {
    return of(abstractPath(name), "@" + name);
  }

  private static ListenerProbe of(byte[] path, String shown) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final int fd = socket(state);
      try {
        final int result = LibC.connect(state, fd, address(arena, path));
        return switch (result) {
          case -Errno.ECONNREFUSED -> new ListenerProbe(false, Optional.empty());
          case -Errno.EAGAIN -> new ListenerProbe(true, Optional.empty());
          case 0 -> new ListenerProbe(true, Optional.of(PeerCredentials.of(fd)));
          default -> throw new BindingsException(shown + ": connect", result);
        };
      } finally {
        Descriptors.close(fd);
      }
    }
  }

  static int socket(MemorySegment state) {
    return BindingsException.check(
        LibC.socket(state, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "Unix socket");
  }

  /** A zero byte and the name. */
  static byte[] abstractPath(String name) {
    return ("\0" + name).getBytes(StandardCharsets.US_ASCII);
  }

  /** A sockaddr_un: family (2 bytes), path. */
  static MemorySegment address(Arena arena, byte[] path) {
    final MemorySegment address = arena.allocate(Short.BYTES + path.length, Short.BYTES);
    address.set(ValueLayout.JAVA_SHORT, 0, (short) AF_UNIX);
    MemorySegment.copy(path, 0, address, ValueLayout.JAVA_BYTE, Short.BYTES, path.length);
    return address;
  }
}
