package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who may own the state directory and the path to it, and who may write to them. */
class StateDirectoryTest {
  @TempDir private Path root;
  private Path parent;
  private Path directory;

  @BeforeEach
  void createDirectory() throws IOException {
    parent = Files.createDirectory(root.resolve("parent"));
    directory = Files.createDirectory(parent.resolve("state"));
    mode(0755, parent);
    mode(0700, directory);
  }

  private static void mode(int mode, Path path) throws IOException {
    Files.setAttribute(path, "unix:mode", mode);
  }

  private static String mode(Path path) throws IOException {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
  }

  private static void assertRefused(String message, Path directory) {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> StateDirectory.prepare(directory), directory.toString());
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertEquals("state-dir: " + message, refusal.getMessage());
  }

  @Test
  void shouldCreateWhatIsMissingForTheOwnerAlone() throws Exception {
    final Path below = directory.resolve("a/b");
    StateDirectory.prepare(below);
    assertEquals("rwx------", mode(below));
    assertEquals("rwx------", mode(below.getParent()));
    StateDirectory.prepare(below);
  }

  @Test
  void shouldRefuseADirectoryToWhichOthersMayWrite() throws Exception {
    for (final int mode : new int[] {0720, 0702, 0777}) {
      mode(mode, directory);
      assertRefused(directory + ": writable by other users (mode 0%o)".formatted(mode), directory);
    }
    mode(0755, directory);
    StateDirectory.prepare(directory);
  }

  /** In a directory with the sticky bit only the owner of a file may rename it. */
  @Test
  void shouldTakeTheStickyBitForTheDirectoriesOnThePathAlone() throws Exception {
    mode(0777, parent);
    assertRefused(directory + ": " + parent + ": writable by other users (mode 0777)", directory);
    mode(01777, parent);
    StateDirectory.prepare(directory);
    StateDirectory.prepare(parent.resolve("new/state"));
    mode(01777, directory);
    assertRefused(directory + ": writable by other users (mode 01777)", directory);
    assertFalse(Files.exists(directory.resolve("agent.lock")));
  }

  @Test
  void shouldCheckThePathAsItIsWrittenAndThePathToWhichItsLinksLead() throws Exception {
    final Path link = Files.createSymbolicLink(root.resolve("link"), parent);
    StateDirectory.prepare(link.resolve("state"));
    mode(0777, parent);
    assertRefused(
        link + "/state: " + parent + ": writable by other users (mode 0777)",
        link.resolve("state"));
    assertRefused(
        link + "/new: " + parent + ": writable by other users (mode 0777)", link.resolve("new"));
    final Path open = Files.createDirectory(root.resolve("open"));
    mode(0777, open);
    mode(0755, parent);
    final Path replaceable = Files.createSymbolicLink(open.resolve("link"), parent);
    assertRefused(
        replaceable + "/state: " + open + ": writable by other users (mode 0777)",
        replaceable.resolve("state"));
  }

  /** The sticky bit protects no directory that is the state directory by another name. */
  @Test
  void shouldTellTheStateDirectoryThroughALinkFromTheDirectoriesOnThePath() throws Exception {
    final Path link = Files.createSymbolicLink(root.resolve("link"), directory);
    StateDirectory.prepare(link);
    mode(01777, directory);
    assertRefused(link + ": " + directory + ": writable by other users (mode 01777)", link);
    StateDirectory.prepare(link.resolve("below"));
  }

  @Test
  void shouldSayWhatIsWrongWithALinkThatLeadsNowhere() throws Exception {
    final Path link = Files.createSymbolicLink(root.resolve("link"), root.resolve("none"));
    assertRefused(link + ": it does not exist", link);
    assertRefused(link + "/state: " + link + ": it does not exist", link.resolve("state"));
  }
}
