package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

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
}
