package agent.server.socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.AlreadyInUseException;
import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
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

  @Test
  void shouldFindOnlyASocketOnWhichNoProcessListens() throws IOException {
    final Path path = directory.resolve("agent.sock");
    assertEquals(Optional.empty(), SocketFile.unused(path), "nothing is there");
    try (ServerSocketChannel _ = new SocketFile(path).listen(null)) {
      assertEquals(Optional.empty(), SocketFile.unused(path), "this process listens");
    }
    assertEquals(Optional.of(path), SocketFile.unused(path), "left by a process that was killed");
    final Path link = Files.createSymbolicLink(directory.resolve("link"), path);
    assertEquals(Optional.empty(), SocketFile.unused(link), "a link to it");
    final Path file = Files.writeString(directory.resolve("file"), "precious");
    assertEquals(Optional.empty(), SocketFile.unused(file), "another file");
    assertEquals(Optional.empty(), SocketFile.unused(directory), "a directory");
  }

  @Test
  void shouldListenInPlaceOfASocketOnWhichNoProcessListens() throws IOException {
    final Path path = directory.resolve("agent.sock");
    new SocketFile(path).listen(null).close();
    try (ServerSocketChannel _ = new SocketFile(path).listen(null)) {
      assertEquals(Optional.empty(), SocketFile.unused(path), "this process listens");
      final SocketFile second = new SocketFile(path);
      assertEquals(
          "socket " + path + ": process " + ProcessHandle.current().pid() + " listens on it",
          assertThrows(AlreadyInUseException.class, () -> second.listen(null)).getMessage());
    }
  }

  @Test
  void shouldRemoveNothingInPlaceOfItsSocket() throws IOException {
    final Path path = directory.resolve("agent.sock");
    final SocketFile file = new SocketFile(path);
    try (ServerSocketChannel _ = file.listen(null)) {
      Files.delete(path);
      Files.writeString(path, "precious");
      file.remove();
      assertEquals("precious", Files.readString(path));
    }
  }

  @Test
  void shouldCloseTheSocketThatItCannotServe() throws IOException {
    final SocketFile file = new SocketFile(directory.resolve("agent.sock"));
    final int tries = 200; // other tests of this process may open or close a few meanwhile
    final long before = openSockets();
    for (int i = 0; i < tries; i++) {
      final IOException failure = assertThrows(IOException.class, () -> file.listen("no group"));
      assertTrue(failure.getMessage().endsWith(": group 'no group' does not exist"));
    }
    assertTrue(openSockets() - before < tries / 2);
    try (Stream<Path> left = Files.list(directory)) {
      assertEquals(List.of(), left.toList());
    }
  }

  private static long openSockets() throws IOException {
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      return descriptors.filter(SocketFileTest::isSocket).count();
    }
  }

  private static boolean isSocket(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
    } catch (IOException closed) {
      return false;
    }
  }
}
