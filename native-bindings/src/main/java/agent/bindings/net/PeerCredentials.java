package agent.bindings.net;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.LibC;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The credentials of the peer of a Unix socket (SO_PEERCRED, unix(7)).
 *
 * @param pid process id of the peer when it connected
 * @param uid effective user id of the peer when it connected
 * @param gid effective group id of the peer when it connected
 */
public record PeerCredentials(int pid, int uid, int gid) {
  private static final int SOL_SOCKET = 1;
  private static final int SO_PEERCRED = 17;
  private static final int SO_PEERPIDFD = 77; // Linux 6.5
  private static final long PIDFD_GET_PID_NAMESPACE = 0xff05; // linux/pidfd.h, Linux 6.11
  private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

  /**
   * Reads the credentials from the kernel.
   *
   * @param fd a connected Unix socket
   * @throws BindingsException if the descriptor is not a Unix socket
   */
  public static PeerCredentials of(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment credentials = arena.allocate(JAVA_INT, 3);
      final MemorySegment length = arena.allocateFrom(JAVA_INT, (int) credentials.byteSize());
      BindingsException.check(
          LibC.getsockopt(
              arena.allocate(LibC.CALL_STATE), fd, SOL_SOCKET, SO_PEERCRED, credentials, length),
          "peer credentials of descriptor " + fd);
      return new PeerCredentials(
          credentials.getAtIndex(JAVA_INT, 0),
          credentials.getAtIndex(JAVA_INT, 1),
          credentials.getAtIndex(JAVA_INT, 2));
    }
  }

  /**
   * Returns the inode number of the PID namespace of the peer, also where its process has no number
   * in that of the caller; 0 where the kernel does not tell it (before Linux 6.11, or without
   * CAP_SYS_PTRACE), or where the peer has ended.
   *
   * @param fd a connected Unix socket
   */
  public static long pidNamespaceOf(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final MemorySegment process = arena.allocateFrom(JAVA_INT, -1);
      final MemorySegment length = arena.allocateFrom(JAVA_INT, Integer.BYTES);
      if (LibC.getsockopt(state, fd, SOL_SOCKET, SO_PEERPIDFD, process, length) < 0) {
        return 0;
      }
      final int handle = process.get(JAVA_INT, 0);
      final int namespace = LibC.ioctl(state, handle, PIDFD_GET_PID_NAMESPACE, MemorySegment.NULL);
      try {
        return namespace < 0 ? 0 : inode(namespace);
      } finally {
        Descriptors.close(namespace);
        Descriptors.close(handle);
      }
    }
  }

  private static long inode(int fd) {
    try {
      return (Long) Files.getAttribute(DESCRIPTORS.resolve(Integer.toString(fd)), "unix:ino");
    } catch (IOException unreadable) {
      return 0;
    }
  }
}
