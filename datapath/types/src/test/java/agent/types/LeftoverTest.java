package agent.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LeftoverTest {
  @TempDir private Path directory;

  @Test
  void shouldRemoveAFileAndALinkButNotWhereItLeads() throws IOException {
    final Path file = Files.createFile(directory.resolve("file"));
    final Path folder = Files.createDirectory(directory.resolve("folder"));
    final Path link = Files.createSymbolicLink(directory.resolve("link"), folder);
    assertEquals("file " + file, Leftover.of(file).text());
    assertEquals("file " + link, Leftover.of(link).text());
    Leftover.of(link).removal().remove();
    assertFalse(Files.exists(link, java.nio.file.LinkOption.NOFOLLOW_LINKS));
    assertTrue(Files.exists(folder));
    Leftover.of(file).removal().remove();
    Leftover.of(file).removal().remove(); // gone already
    assertFalse(Files.exists(file));
  }

  @Test
  void shouldRemoveAFolderOnlyWhereItIsEmpty() throws IOException {
    final Path folder = Files.createDirectory(directory.resolve("folder"));
    final Path inside = Files.createFile(folder.resolve("of-another-program"));
    final Leftover leftover = Leftover.of(folder);
    assertEquals("folder " + folder, leftover.text());
    assertThrows(DirectoryNotEmptyException.class, leftover.removal()::remove);
    assertTrue(Files.exists(inside));
    Files.delete(inside);
    leftover.removal().remove();
    assertFalse(Files.exists(folder));
  }

  @Test
  void shouldListTheInnermostFirst() throws IOException {
    final Path folder = Files.createDirectory(directory.resolve("a"));
    final Path inner = Files.createDirectory(folder.resolve("b"));
    final Path second = Files.createFile(inner.resolve("2"));
    final Path first = Files.createFile(inner.resolve("1"));
    final Path last = Files.createFile(folder.resolve("c"));
    assertEquals(List.of(first, second, inner, last, folder), Leftover.paths(folder));
    assertEquals(List.of(), Leftover.paths(directory.resolve("missing")));
  }
}
