package agent.server.socket;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipalNotFoundException;

/**
 * The file of a listening socket.
 *
 * <p>The socket is bound in a directory of mode 0700 beside its path, gets its group and mode there
 * and is then moved to its path, so that at no time a process without the right can connect.
 */
final class SocketFile {
  private static final String DIRECTORY_MODE = "rwxr-xr-x";
  private static final String PRIVATE_MODE = "rwx------";
  private static final String SOCKET_MODE = "rw-rw----";
  private static final int BACKLOG = 1024;

  private final Path path;
  private Object fileKey;

  SocketFile(Path path) {
    this.path = path.toAbsolutePath();
  }

  /**
   * Listens at the path.
   *
   * @param group group that may connect, or null to leave it as it is
   * @throws IOException naming the path, where another process listens on it or the group does not
   *     exist
   */
  ServerSocketChannel listen(String group) throws IOException {
    final Path directory = path.getParent();
    Files.createDirectories(
        directory,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(DIRECTORY_MODE)));
    refuseIfTaken();
    final Path hidden =
        Files.createTempDirectory(
            directory,
            ".",
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(PRIVATE_MODE)));
    final Path bound = hidden.resolve(path.getFileName());
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
      Files.move(bound, path, StandardCopyOption.ATOMIC_MOVE);
      server.configureBlocking(false);
      return server;
    } catch (IOException | RuntimeException e) {
      server.close();
      Files.deleteIfExists(bound);
      throw new IOException("socket " + path + ": " + reason(e), e);
    } finally {
      Files.deleteIfExists(hidden);
    }
  }

  /** Removes the file, unless another process has replaced it. */
  void remove() throws IOException {
    if (fileKey != null && Files.exists(path, LinkOption.NOFOLLOW_LINKS) && isOurs()) {
      Files.deleteIfExists(path);
    }
  }

  private boolean isOurs() throws IOException {
    return fileKey.equals(
        Files.getFileAttributeView(path, PosixFileAttributeView.class).readAttributes().fileKey());
  }

  private void refuseIfTaken() throws IOException {
    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    if (!Files.readAttributes(path, "isOther", LinkOption.NOFOLLOW_LINKS)
        .get("isOther")
        .equals(true)) {
      throw new IOException("socket " + path + ": a file that is not a socket is in its place");
    }
    if (answers()) {
      throw new IOException("socket " + path + ": another process listens on it");
    }
  }

  private boolean answers() throws IOException {
    try (SocketChannel probe = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      return probe.connect(UnixDomainSocketAddress.of(path));
    } catch (java.net.ConnectException e) {
      return false;
    }
  }

  private GroupPrincipal lookup(String group) throws IOException {
    try {
      return path.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByGroupName(group);
    } catch (UserPrincipalNotFoundException e) {
      throw new IOException("there is no group '" + group + "'", e);
    }
  }

  private static String reason(Exception failure) {
    return failure.getMessage() == null ? failure.toString() : failure.getMessage();
  }
}
