package agent.launcher.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StateFolderTest {
  private static final Note NOTE = new Note(7, "näher", List.of("a", "b"));

  @TempDir private Path root;
  private Path path;
  private StateFolder folder;

  record Note(int number, String text, List<String> words) {}

  record OtherNote(int number, String colour) {}

  @BeforeEach
  void openFolder() {
    path = root.resolve("notes");
    folder = StateFolder.open(path, "note");
  }

  @Test
  void shouldReadWhatItWrote() {
    folder.write("first", NOTE);
    folder.write("second", new Note(8, "", List.of()));
    assertEquals(Optional.of(NOTE), folder.read("first", Note.class));
    assertEquals(List.of("first", "second"), folder.names());
    folder.remove("first");
    assertEquals(Optional.empty(), folder.read("first", Note.class));
    assertEquals(List.of("second"), folder.names());
    folder.remove("first");
  }

  @Test
  void shouldKeepFilesAndFolderFromOthers() throws IOException {
    folder.write("first", NOTE);
    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
    assertEquals(
        "rw-------",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(path.resolve("first.json"))));
  }

  @Test
  void shouldLeaveNothingUnfinishedBehind() throws IOException {
    folder.write("first", NOTE);
    folder.write("first", new Note(9, "x", List.of()));
    Files.writeString(path.resolve("first.json.new"), "half a wri");
    final StateFolder again = StateFolder.open(path, "note");
    assertEquals(List.of("first.json"), entries());
    assertEquals(9, again.read("first", Note.class).orElseThrow().number());
  }

  @Test
  void shouldSetAsideAFileCutAtAnyLength() throws IOException {
    folder.write("first", NOTE);
    final byte[] whole = Files.readAllBytes(path.resolve("first.json"));
    for (int length = 0; length < whole.length; length++) {
      Files.write(path.resolve("cut.json"), Arrays.copyOf(whole, length));
      assertEquals(Optional.empty(), folder.read("cut", Note.class), "cut at " + length);
      assertFalse(Files.exists(path.resolve("cut.json")));
    }
    assertTrue(Files.exists(path.resolve("cut.json.corrupt-" + whole.length)));
    assertEquals(Optional.of(NOTE), folder.read("first", Note.class));
  }

  @Test
  void shouldSetAsideAFileWithAnyByteChanged() throws IOException {
    folder.write("first", NOTE);
    final byte[] whole = Files.readAllBytes(path.resolve("first.json"));
    int unharmed = 0;
    for (int i = 0; i < whole.length; i++) {
      final byte[] changed = whole.clone();
      changed[i] ^= 0x10;
      Files.write(path.resolve("bad.json"), changed);
      if (folder.read("bad", Note.class).isPresent()) {
        unharmed++;
      }
    }
    assertEquals(1, unharmed, "only the closing line feed does not count");
  }

  @Test
  void shouldKeepADamagedFileAsItWas() throws IOException {
    final byte[] rubbish = {1, 2, 3, '\n', 4};
    Files.write(path.resolve("bad.json"), rubbish);
    assertEquals(Optional.empty(), folder.read("bad", Note.class));
    assertArrayEquals(rubbish, Files.readAllBytes(path.resolve("bad.json.corrupt-1")));
    assertEquals(List.of(), folder.names());
  }

  @Test
  void shouldSetAsideAnotherKindAndAnotherShape() {
    StateFolder.open(path, "letter").write("kind", NOTE);
    assertEquals(Optional.empty(), folder.read("kind", Note.class));
    folder.write("shape", NOTE);
    assertEquals(Optional.empty(), folder.read("shape", OtherNote.class));
    assertEquals(List.of("kind.json.corrupt-1", "shape.json.corrupt-1"), entries());
  }

  @Test
  void shouldSetAsideADocumentThatIsNull() {
    folder.write("none", null);
    assertEquals(Optional.empty(), folder.read("none", Note.class));
    assertEquals(List.of("none.json.corrupt-1"), entries());
  }

  @Test
  void shouldFailAndKeepTheFormerDocumentWhereTheFolderIsGone() throws IOException {
    Files.delete(path);
    final UncheckedIOException failure =
        assertThrows(UncheckedIOException.class, () -> folder.write("first", NOTE));
    assertTrue(failure.getMessage().contains("first.json: write"), failure.getMessage());
  }

  @Test
  void shouldSurviveTheDeathOfItsWriterAtAnyMoment() throws Exception {
    for (int round = 0; round < 5; round++) {
      final Process writer = ChildJvm.start(EndlessWriter.class, path.toString());
      try {
        assertEquals('.', writer.getInputStream().read());
        Thread.sleep(20 + round * 7L);
      } finally {
        writer.destroyForcibly().waitFor();
      }
      final StateFolder after = StateFolder.open(path, "note");
      assertTrue(after.read("endless", Note.class).isPresent(), "round " + round);
      assertEquals(List.of("endless.json"), entries());
    }
  }

  private List<String> entries() {
    try (var files = Files.list(path)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static final class EndlessWriter {
    private EndlessWriter() {}

    public static void main(String[] arguments) {
      final StateFolder folder = StateFolder.open(Path.of(arguments[0]), "note");
      for (int i = 0; ; i++) {
        folder.write("endless", new Note(i, "x".repeat(i % 5000), List.of()));
        if (i == 0) {
          System.out.print('.');
          System.out.flush();
        }
      }
    }
  }
}
