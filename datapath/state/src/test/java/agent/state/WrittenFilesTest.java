package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Names that are links to one file, whatever becomes of it. */
class WrittenFilesTest {
  @TempDir private Path directory;
  private WrittenFiles names;

  @BeforeEach
  void read() {
    names = new WrittenFiles(directory, "services");
  }

  private int links(String name) throws IOException {
    return (int) Files.getAttribute(names.path(name), "unix:nlink");
  }

  private List<String> stored() {
    return new WrittenFiles(directory, "services").names();
  }

  @Test
  void shouldLinkNamesToOneFile() throws IOException {
    for (int id = 1; id <= 5; id++) {
      names.add(Integer.toString(id));
    }
    assertEquals(5, links("1"));
    assertEquals("rw-------", PosixFilePermissions.toString(permissions("5")));
    assertEquals(List.of("1", "2", "3", "4", "5"), stored());
    names.remove("1");
    assertEquals(4, links("5"));
    assertEquals(List.of("2", "3", "4", "5"), stored());
  }

  private Set<PosixFilePermission> permissions(String name) throws IOException {
    return Files.getPosixFilePermissions(names.path(name));
  }

  @Test
  void shouldAddNamesWhenTheFileOfThoseBeforeIsGone() throws IOException {
    names.add("1");
    names.remove("1");
    names.add("2");
    names.add("3");
    assertEquals(2, links("3"));
    Files.delete(names.path("2"));
    Files.createDirectory(names.path("2"));
    names.add("4");
    assertTrue(Files.isRegularFile(names.path("4")));
    assertEquals(List.of("2", "3", "4"), stored());
  }

  @Test
  void shouldKeepWhatIsInTheNamesPlace() throws IOException {
    names.add("1");
    Files.writeString(names.path("2"), "x");
    names.add("2");
    assertEquals("x", Files.readString(names.path("2")));
    assertTrue(names.has("2"));
    assertFalse(names.has("3"));
  }

  @Test
  void shouldWriteAllNamesAgainWhereTheirFolderWasRemoved() throws IOException {
    names.add("1");
    names.add("2");
    Files.delete(names.path("1"));
    Files.delete(names.path("2"));
    Files.delete(directory.resolve(WrittenFiles.FOLDER));
    names.restore();
    names.add("3");
    assertEquals(3, links("1"));
    assertEquals(List.of("1", "2", "3"), stored());
  }
}
