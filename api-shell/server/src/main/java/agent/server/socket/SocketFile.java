package agent.server.socket;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.net.ListenerProbe;
import agent.bindings.net.PeerCredentials;
import agent.types.AlreadyInUseException;
import agent.types.IoFailure;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipalNotFoundException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.Set;

/**
 * The file of a listening socket.
 *
 * <p>The socket is bound in a directory of mode 0700 beside its path, gets its group and mode there
 * and is then linked to its path, so that at no time a process without the right can connect, and
 * that no other file is ever replaced. Of what is in its place only a socket on which no process
 * listens is removed.
 */
public final class SocketFile {
  private static final Set<PosixFilePermission> DIRECTORY_MODE =
      PosixFilePermissions.fromString("rwxr-xr-x");
  private static final String PRIVATE_MODE = "rwx------";
  private static final String SOCKET_MODE = "rw-rw----";
  private static final int BACKLOG = 1024;

  // linux/stat.h
  private static final int S_IFMT = 0170000;
  private static final int S_IFSOCK = 0140000;

  private final Path path;
  private Object fileKey;

  /** Names a file, which is not created yet. */
  public SocketFile(Path path) {
    this.path = path.toAbsolutePath();
  }

  /**
   * Finds a socket on which no process listens, as an agent leaves it that was killed.
   *
   * @param path where an agent would listen
   * @return the path; empty where nothing is there, or a file that is not such a socket
   */
  public static Optional<Path> unused(Path path) {
    try {
      return isSocket(path) && !ListenerProbe.ofFile(path).isListening()
          ? Optional.of(path)
          : Optional.empty();
    } catch (IOException | BindingsException unusable) {
      return Optional.empty();
    }
  }

  private static boolean isSocket(Path path) throws IOException {
    return Files.exists(path, LinkOption.NOFOLLOW_LINKS)
        && ((Integer) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) & S_IFMT)
            == S_IFSOCK;
  }

  /**
   * Listens at the path.
   *
   * @param group group that may connect, or null to leave it as it is
   * @throws AlreadyInUseException naming the path and the process that listens on it
   * @throws IOException naming the path, where another file is in its place, the group does not
   *     exist or the socket cannot be created
   */
  public ServerSocketChannel listen(String group) throws IOException {
    try {
      createParents();
      removeUnused();
      return listenBeside(group);
    } catch (FileAlreadyExistsException e) {
      throw new IOException("socket " + path + ": another process has just created it", e);
    } catch (UserPrincipalNotFoundException e) {
      throw new IOException("socket " + path + ": group '" + group + "' does not exist", e);
    } catch (IOException e) {
      throw new IOException("socket " + path + ": " + IoFailure.reason(e), e);
    }
  }

  private ServerSocketChannel listenBeside(String group) throws IOException {
    final Path hidden =
        Files.createTempDirectory(
            path.getParent(),
            ".",
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(PRIVATE_MODE)));
    final Path bound = hidden.resolve("s"); // its path is shorter than the one it gets
    final ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      server.bind(UnixDomainSocketAddress.of(bound), BACKLOG);
      final PosixFileAttributeView attributes =
          Files.getFileAttributeView(bound, PosixFileAttributeView.class);
      if (group != null) {
        attributes.setGroup(lookup(group));
      }
      attributes.setPermissions(PosixFilePermissions.fromString(SOCKET_MODE));
      fileKey = attributes.readAttributes().fileKey();
      Files.createLink(path, bound);
      server.configureBlocking(false);
      return server;
    } catch (IOException | RuntimeException e) {
      server.close();
      throw e;
    } finally {
      Files.deleteIfExists(bound);
      Files.deleteIfExists(hidden);
    }
  }

  /** Removes the file, unless another one is in its place. */
  public void remove() throws IOException {
    if (isInPlace()) {
      Files.deleteIfExists(path);
    }
  }

  /** Returns whether the file is the one that was created here. */
  boolean isInPlace() {
    try {
      return fileKey != null
          && Files.exists(path, LinkOption.NOFOLLOW_LINKS)
          && fileKey.equals(
              Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                  .fileKey());
    } catch (IOException gone) {
      return false;
    }
  }

  @Override
  public String toString() {
    return path.toString();
  }

  /** Creates the missing directories on the path; the mask of the process does not apply. */
  private void createParents() throws IOException {
    final Deque<Path> missing = new ArrayDeque<>();
    for (Path parent = path.getParent(); !Files.exists(parent); parent = parent.getParent()) {
      missing.push(parent);
    }
    for (final Path directory : missing) {
      Files.createDirectory(directory);
      Files.setPosixFilePermissions(directory, DIRECTORY_MODE);
    }
  }

  /** Removes a socket on which no process listens, as an agent leaves it that was killed. */
  private void removeUnused() throws IOException {
    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    if (!isSocket(path)) {
      throw new IOException("the file exists and is not a socket");
    }
    refuseIfTaken();
    Files.delete(path);
  }

  /** A process that listens and does not accept has the socket in use, too. */
  private void refuseIfTaken() throws IOException {
    final ListenerProbe found;
    try {
      found = ListenerProbe.ofFile(path);
    } catch (BindingsException e) {
      throw new IOException("connecting to it failed: " + Errno.name(e.errno()), e);
    }
    if (found.isListening()) {
      final int pid = found.process().map(PeerCredentials::pid).orElse(0);
      throw new AlreadyInUseException(
          "socket " + path + ": " + (pid == 0 ? "a process" : "process " + pid) + " listens on it");
    }
  }

  private GroupPrincipal lookup(String group) throws IOException {
    return path.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByGroupName(group);
  }
}
