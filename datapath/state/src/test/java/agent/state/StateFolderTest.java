package agent.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
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
  private StateFolder<Note> folder;

  record Note(int number, String text, List<String> words) {}

  private static final class NoteCodec implements Codec<Note> {
    @Override
    public void write(DocumentWriter out, Note note) {
      out.beginObject();
      out.member("number", note.number(), DocumentWriter::integer);
      out.member("text", note.text(), DocumentWriter::text);
      out.member("words", note.words(), DocumentWriter::texts);
      out.endObject();
    }

    @Override
    public Note read(DocumentReader in) throws DamagedStateException {
      in.beginObject();
      final Note note =
          new Note(
              in.member("number", DocumentReader::integer),
              in.member("text", DocumentReader::text),
              in.member("words", DocumentReader::texts));
      in.endObject();
      return note;
    }
  }

  /** Writes a single string; an empty one as null. */
  private static final class TextCodec implements Codec<String> {
    @Override
    public void write(DocumentWriter out, String text) {
      out.beginObject();
      out.memberOrNull("text", text.isEmpty() ? null : text, DocumentWriter::text);
      out.endObject();
    }

    @Override
    public String read(DocumentReader in) throws DamagedStateException {
      in.beginObject();
      final String text = in.member("text", DocumentReader::text);
      in.endObject();
      return text;
    }
  }

  @BeforeEach
  void openFolder() {
    path = root.resolve("notes");
    folder = StateFolder.open(path, "note", new NoteCodec());
  }

  @Test
  void shouldReadWhatItWrote() {
    folder.write("first", NOTE);
    folder.write("second", new Note(8, "", List.of()));
    assertEquals(Optional.of(NOTE), folder.read("first"));
    assertEquals(List.of("first", "second"), folder.names());
    folder.remove("first");
    assertEquals(Optional.empty(), folder.read("first"));
    assertEquals(List.of("second"), folder.names());
    folder.remove("first");
  }

  @Test
  void shouldRestrictFilesAndFolderToTheOwner() throws IOException {
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
    final StateFolder<Note> again = StateFolder.open(path, "note", new NoteCodec());
    assertEquals(List.of("first.json"), entries());
    assertEquals(9, again.read("first").orElseThrow().number());
  }

  @Test
  void shouldSetAsideAFileCutAtAnyLength() throws IOException {
    folder.write("first", NOTE);
    final byte[] whole = Files.readAllBytes(path.resolve("first.json"));
    for (int length = 0; length < whole.length; length++) {
      Files.write(path.resolve("cut.json"), Arrays.copyOf(whole, length));
      assertEquals(Optional.empty(), folder.read("cut"), "cut at " + length);
      assertFalse(Files.exists(path.resolve("cut.json")));
    }
    assertTrue(Files.exists(path.resolve("cut.json.corrupt-" + whole.length)));
    assertEquals(Optional.of(NOTE), folder.read("first"));
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
      if (folder.read("bad").isPresent()) {
        unharmed++;
      }
    }
    assertEquals(1, unharmed, "only the final line feed may change");
  }

  @Test
  void shouldKeepADamagedFileAsItWas() throws IOException {
    final byte[] rubbish = {1, 2, 3, '\n', 4};
    Files.write(path.resolve("bad.json"), rubbish);
    assertEquals(Optional.empty(), folder.read("bad"));
    assertArrayEquals(rubbish, Files.readAllBytes(path.resolve("bad.json.corrupt-1")));
    assertEquals(List.of(), folder.names());
  }

  @Test
  void shouldSetAsideAnotherKindAndAnotherShape() {
    StateFolder.open(path, "letter", new NoteCodec()).write("kind", NOTE);
    assertEquals(Optional.empty(), folder.read("kind"));
    StateFolder.open(path, "note", new TextCodec()).write("shape", "a");
    assertEquals(Optional.empty(), folder.read("shape"));
    assertEquals(List.of("kind.json.corrupt-1", "shape.json.corrupt-1"), entries());
  }

  @Test
  void shouldSetAsideADocumentWithNullWhereAValueIsNeeded() {
    final StateFolder<String> texts = StateFolder.open(path, "note", new TextCodec());
    texts.write("none", "");
    assertEquals(Optional.empty(), texts.read("none"));
    assertEquals(List.of("none.json.corrupt-1"), entries());
  }

  @Test
  void shouldSetAsideAFileThatIsTooLongToBeRead() throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(path.resolve("long.json").toFile(), "rw")) {
      file.setLength(1L << 32);
    }
    assertEquals(Optional.empty(), folder.read("long"));
    assertEquals(List.of("long.json.corrupt-1"), entries());
  }

  @Test
  void shouldFailAndKeepThePreviousDocumentWhereTheFolderIsGone() throws IOException {
    Files.delete(path);
    final UncheckedIOException failure =
        assertThrows(UncheckedIOException.class, () -> folder.write("first", NOTE));
    assertTrue(failure.getMessage().contains("first.json: write"), failure.getMessage());
  }

  @Test
  void shouldSurviveTheDeathOfItsWriterAtAnyMoment() throws Exception {
    for (int round = 0; round < 5; round++) {
      final Process writer = ChildJvm.start(RepeatingWriter.class, path.toString());
      try {
        assertEquals('.', writer.getInputStream().read());
        Thread.sleep(20 + round * 7L);
      } finally {
        writer.destroyForcibly().waitFor();
      }
      final StateFolder<Note> after = StateFolder.open(path, "note", new NoteCodec());
      assertTrue(after.read("repeated").isPresent(), "round " + round);
      assertEquals(List.of("repeated.json"), entries());
    }
  }

  private List<String> entries() {
    try (var files = Files.list(path)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static final class RepeatingWriter {
    private RepeatingWriter() {}

    public static void main(String[] arguments) {
      final StateFolder<Note> folder =
          StateFolder.open(Path.of(arguments[0]), "note", new NoteCodec());
      for (int i = 0; ; i++) {
        folder.write("repeated", new Note(i, "x".repeat(i % 5000), List.of()));
        if (i == 0) {
          System.out.print('.');
          System.out.flush();
        }
      }
    }
  }
}
