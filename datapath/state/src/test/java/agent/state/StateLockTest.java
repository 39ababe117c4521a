package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Refusal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StateLockTest {
  @TempDir private Path root;

  @Test
  void shouldCreateTheDirectoryAndNameTheHolder() throws Exception {
    final Path directory = root.resolve("a/b");
    try (StateLock _ = StateLock.take(directory, false)) {
      assertEquals(
          ProcessHandle.current().pid() + "\nwritten\n",
          Files.readString(directory.resolve("agent.lock")));
    }
  }

  @Test
  void shouldRefuseWhileAnotherProcessHoldsTheDirectoryAndNotAfterItsDeath() throws Exception {
    final Process holder = ChildJvm.start(Holder.class, root.toString());
    try {
      assertEquals('.', holder.getInputStream().read());
      final IllegalStateException refusal =
          assertThrows(IllegalStateException.class, () -> StateLock.take(root, false));
      assertEquals(
          "state directory " + root + " is in use by another agent, process " + holder.pid(),
          refusal.getMessage());
    } finally {
      holder.destroyForcibly().waitFor();
    }
    try (StateLock _ = StateLock.take(root, false)) {
      assertTrue(Files.exists(root.resolve("agent.lock")));
    }
  }

  @Test
  void shouldRefuseASecondHolderInTheSameProcess() {
    try (StateLock _ = StateLock.take(root, false)) {
      assertThrows(IllegalStateException.class, () -> StateLock.take(root, false));
    }
  }

  @Test
  void shouldLeaveNoDescriptorOfALockThatItRefused() throws Exception {
    try (StateLock _ = StateLock.take(root, false)) {
      final long before = descriptors();
      assertThrows(IllegalStateException.class, () -> StateLock.take(root, false));
      assertThrows(IllegalStateException.class, () -> StateLock.takeExisting(root));
      assertEquals(before, descriptors());
    }
  }

  /** Counts the open descriptors of the lock file. */
  private long descriptors() throws IOException {
    final Path file = root.toRealPath().resolve("agent.lock");
    long count = 0;
    try (DirectoryStream<Path> all = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (final Path one : all) {
        try {
          count += Files.readSymbolicLink(one).equals(file) ? 1 : 0;
        } catch (NoSuchFileException closedMeanwhile) {
          continue;
        }
      }
    }
    return count;
  }

  @Test
  void shouldBeFreeWhenItIsClosed() throws Exception {
    StateLock.take(root, false).close();
    StateLock.take(root, false).close();
  }

  @Test
  void shouldTakeALockThatIsThereAndCreateNone() throws Exception {
    assertTrue(StateLock.takeExisting(root).isEmpty());
    assertFalse(Files.exists(root.resolve("agent.lock")));
    StateLock.take(root, false).close();
    try (StateLock _ = StateLock.takeExisting(root).orElseThrow()) {
      assertThrows(IllegalStateException.class, () -> StateLock.take(root, false));
      assertThrows(IllegalStateException.class, () -> StateLock.takeExisting(root));
    }
    StateLock.take(root, false).close();
    Files.delete(root.resolve("agent.lock"));
    Files.createDirectory(root.resolve("agent.lock"));
    assertThrows(Refusal.class, () -> StateLock.takeExisting(root));
  }

  @Test
  void shouldLeaveNoMoreThanTheHolderInAFileForTheOwnerAlone() throws Exception {
    final Path file = root.resolve("agent.lock");
    StateLock.take(root, false).close();
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    Files.writeString(file, "1".repeat(40) + "\n");
    try (StateLock _ = StateLock.take(root, false)) {
      assertEquals(ProcessHandle.current().pid() + "\nwritten\n", Files.readString(file));
    }
  }

  @Test
  void shouldRefuseAFileThatIsNotItsOwnAndLeaveItAsItIs() throws Exception {
    final Path precious = Files.writeString(root.resolve("precious"), "precious");
    final Path file = root.resolve("agent.lock");
    Files.createSymbolicLink(file, precious);
    assertNotTheLock(file);
    Files.delete(file);
    Files.createSymbolicLink(file, root.resolve("none"));
    assertNotTheLock(file);
    Files.delete(file);
    Files.createLink(file, precious);
    assertNotTheLock(file);
    Files.delete(file);
    Files.createDirectory(file);
    assertNotTheLock(file);
    assertEquals("precious", Files.readString(precious));
    assertFalse(Files.exists(root.resolve("none")));
  }

  private void assertNotTheLock(Path file) {
    final Refusal refusal = assertThrows(Refusal.class, () -> StateLock.take(root, false));
    assertEquals(
        "state-dir: " + file + ": it is not the lock file of an agent: remove or rename it",
        refusal.getMessage());
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
  }

  @Test
  void shouldSayWhatIsWrongWithADirectoryThatIsNone() throws Exception {
    final Path file = Files.writeString(root.resolve("file"), "");
    final UncheckedIOException failure =
        assertThrows(UncheckedIOException.class, () -> StateLock.take(file, false));
    assertEquals("state directory " + file + ": a file is in its place", failure.getMessage());
  }

  static final class Holder {
    private Holder() {}

    public static void main(String[] arguments) throws Exception {
      StateLock.take(Path.of(arguments[0]), false);
      System.out.print('.');
      System.out.flush();
      Thread.sleep(60_000);
    }
  }
}
