package agent.bindings.net;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * A lock of the network namespace of the calling thread: an abstract Unix socket address, which
 * exists once in each network namespace (unix(7)). The kernel releases it when the process ends.
 * The socket listens, so that others can ask the kernel for the credentials of the holder; no
 * thread accepts on it.
 */
public final class NamespaceLock implements AutoCloseable {
  private static final int BACKLOG = 4096;

  private final int fd;

  private NamespaceLock(int fd) {
    this.fd = fd;
  }

  /**
   * Acquires the lock, without waiting.
   *
   * @param name name of the lock
   * @return the lock; empty where another process holds it
   * @throws BindingsException if the kernel refuses the socket
   */
  public static Optional<NamespaceLock> tryTake(String name) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final int fd = ListenerProbe.socket(state);
      final int bound =
          LibC.bind(state, fd, ListenerProbe.address(arena, ListenerProbe.abstractPath(name)));
      final int result = bound < 0 ? bound : LibC.listen(state, fd, BACKLOG);
      if (result == 0) {
        return Optional.of(new NamespaceLock(fd));
      }
      Descriptors.close(fd);
      if (result != -Errno.EADDRINUSE) {
        throw new BindingsException("lock of the network namespace", result);
      }
      return Optional.empty();
    }
  }

  /** Returns whether a process holds the lock, and which one. */
  public static ListenerProbe holder(String name) {
    return ListenerProbe.ofName(name);
  }

  /** Releases the lock. */
  @Override
  public void close() {
    Descriptors.close(fd);
  }
}
