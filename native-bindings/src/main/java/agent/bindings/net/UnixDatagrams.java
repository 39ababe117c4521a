package agent.bindings.net;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * The sending side of a Unix datagram socket, which java.nio does not have. Sending never waits.
 * Not thread-safe.
 */
public final class UnixDatagrams implements AutoCloseable {
  private static final int AF_UNIX = 1;
  private static final int SOCK_DGRAM = 2;
  private static final int SOCK_NONBLOCK = 0x800;
  private static final int SOCK_CLOEXEC = 0x80000;

  private final int fd;

  private UnixDatagrams(int fd) {
    this.fd = fd;
  }

  /**
   * Connects to the socket of a file.
   *
   * @throws BindingsException where no process has the socket open, or it is of another kind
   */
  public static UnixDatagrams to(Path file) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final byte[] path = file.toString().getBytes(StandardCharsets.UTF_8);
      final int fd =
          BindingsException.check(
              LibC.socket(state, AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
              "Unix datagram socket");
      final int result =
          LibC.connect(
              state, fd, ListenerProbe.address(arena, Arrays.copyOf(path, path.length + 1)));
      if (result < 0) {
        Descriptors.close(fd);
        throw new BindingsException(file + ": connect", result);
      }
      return new UnixDatagrams(fd);
    }
  }

  /**
   * Sends one datagram.
   *
   * @return 0 or -errno; -EAGAIN where the queue of the receiver is full
   */
  public int send(byte[] bytes) {
    try (Arena arena = Arena.ofConfined()) {
      final int result =
          LibC.write(
              arena.allocate(LibC.CALL_STATE),
              fd,
              arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes));
      return Math.min(result, 0);
    }
  }

  @Override
  public void close() {
    Descriptors.close(fd);
  }
}
