package agent.bindings.net;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.LibC;
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

  // linux/net.h, asm-generic/socket.h
  private static final int AF_INET = 2;
  private static final int SOCK_DGRAM_CLOEXEC = 2 | O_CLOEXEC;
  private static final int SOL_SOCKET = 1;
  private static final int SO_NETNS_COOKIE = 71; // Linux 5.14

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

  /**
   * Returns the number by which programs at sockets know the namespace of the calling thread.
   *
   * @throws BindingsException if the kernel refuses
   */
  public static long cookieOfThisThread() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final int socket =
          BindingsException.check(
              LibC.socket(state, AF_INET, SOCK_DGRAM_CLOEXEC, 0), "network namespace: socket");
      try {
        final MemorySegment cookie = arena.allocate(JAVA_LONG);
        final MemorySegment length = arena.allocateFrom(JAVA_INT, (int) cookie.byteSize());
        BindingsException.check(
            LibC.getsockopt(state, socket, SOL_SOCKET, SO_NETNS_COOKIE, cookie, length),
            "network namespace: cookie");
        return cookie.get(JAVA_LONG, 0);
      } finally {
        Descriptors.close(socket);
      }
    }
  }

  /** Opens the namespace of a socket. */
  public static NetworkNamespaceHandle ofSocket(int socket) {
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
