package agent.server.socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Mode, group and directories of the socket's file. */
@Timeout(60)
class SocketFileTest {
  @TempDir private Path directory;

  private static String mode(Path path) throws IOException {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
  }

  private static String groupOf(Path path) throws IOException {
    return Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
        .group()
        .getName();
  }

  /** Returns a group that this process may give to a file, other than its own where it can. */
  private String group() throws IOException {
    final boolean isRoot = (Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid") == 0;
    return isRoot ? "daemon" : groupOf(directory);
  }

  @Test
  void shouldCreateTheMissingDirectoriesForAllToEnter() throws IOException {
    final Path path = directory.resolve("a/b/agent.sock");
    final SocketFile file = new SocketFile(path);
    try (ServerSocketChannel server = file.listen(null)) {
      assertFalse(server.isBlocking());
      assertEquals("rwxr-xr-x", mode(directory.resolve("a")));
      assertEquals("rwxr-xr-x", mode(directory.resolve("a/b")));
      assertEquals("rw-rw----", mode(path));
      assertEquals(groupOf(directory.resolve("a")), groupOf(path));
      try (Stream<Path> beside = Files.list(path.getParent())) {
        assertEquals(List.of(path), beside.toList());
      }
    }
    file.remove();
    assertFalse(Files.exists(path));
    file.remove();
  }

  @Test
  void shouldLeaveTheModeOfDirectoriesThatExist() throws IOException {
    final Path existing = Files.createDirectory(directory.resolve("a"));
    Files.setPosixFilePermissions(existing, PosixFilePermissions.fromString("rwx------"));
    try (ServerSocketChannel _ = new SocketFile(existing.resolve("agent.sock")).listen(null)) {
      assertEquals("rwx------", mode(existing));
    }
  }

  @Test
  void shouldBelongToTheGroup() throws IOException {
    final Path path = directory.resolve("agent.sock");
    try (ServerSocketChannel _ = new SocketFile(path).listen(group())) {
      assertEquals(group(), groupOf(path));
      assertEquals("rw-rw----", mode(path));
    }
  }

  @Test
  void shouldRemoveNothingBeforeItListens() throws IOException {
    final Path path = Files.writeString(directory.resolve("agent.sock"), "precious");
    new SocketFile(path).remove();
    assertTrue(Files.exists(path));
  }

  @Test
  void shouldNameTheSocketAndTheReason() throws IOException {
    final Path file = Files.writeString(directory.resolve("file"), "");
    final Path path = file.resolve("agent.sock");
    final IOException failure =
        assertThrows(IOException.class, () -> new SocketFile(path).listen(null));
    assertEquals("socket " + path + ": not a directory", failure.getMessage());
  }
}
