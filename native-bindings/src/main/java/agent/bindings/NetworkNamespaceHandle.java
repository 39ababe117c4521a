package agent.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;

/** An open network namespace, which exists at least until this is closed. */
public final class NetworkNamespaceHandle implements AutoCloseable {
  private static final String OWN = "/proc/thread-self/ns/net";
  private static final int CLONE_NEWNET = 0x40000000; // sched.h
  private static final long SIOCGSKNS = 0x894c; // linux/sockios.h

  // asm-generic/fcntl.h
  private static final int O_RDONLY = 0;
  private static final int O_CLOEXEC = 0x80000;

  private final int fd;

  private NetworkNamespaceHandle(int fd) {
    this.fd = fd;
  }

  /**
   * Opens the namespace of the calling thread.
   *
   * @throws BindingsException if the kernel refuses
   */
  public static NetworkNamespaceHandle ofThisThread() {
    try (Arena arena = Arena.ofConfined()) {
      return new NetworkNamespaceHandle(
          BindingsException.check(
              LibC.open(
                  arena.allocate(LibC.CALL_STATE), arena.allocateFrom(OWN), O_RDONLY | O_CLOEXEC),
              OWN + ": open"));
    }
  }

  /** Opens the namespace of a socket. */
  static NetworkNamespaceHandle ofSocket(int socket) {
    try (Arena arena = Arena.ofConfined()) {
      return new NetworkNamespaceHandle(
          BindingsException.check(
              LibC.ioctl(arena.allocate(LibC.CALL_STATE), socket, SIOCGSKNS, MemorySegment.NULL),
              "network namespace of a socket"));
    }
  }

  /**
   * Returns what the work returns, which the calling thread does in this namespace.
   *
   * @param own the namespace of the calling thread, to which it returns
   * @throws BindingsException if the kernel refuses
   */
  public <T> T run(NetworkNamespaceHandle own, Supplier<T> work) {
    enter();
    try {
      return work.get();
    } finally {
      own.enter();
    }
  }

  private void enter() {
    try (Arena arena = Arena.ofConfined()) {
      BindingsException.check(
          LibC.setns(arena.allocate(LibC.CALL_STATE), fd, CLONE_NEWNET),
          "enter a network namespace");
    }
  }

  @Override
  public void close() {
    Descriptors.close(fd);
  }
}
