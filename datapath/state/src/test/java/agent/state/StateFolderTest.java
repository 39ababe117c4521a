package agent.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.conductor.ModuleHealth;
import agent.testkit.Commands;
import agent.types.OperationException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
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

  private static <T> StateFolder<T> open(Path path, String kind, Codec<T> codec) {
    return new StateFolder<>(new FolderFiles(path), kind, codec, new Faults("fine"));
  }

  @BeforeEach
  void openFolder() {
    path = root.resolve("notes");
    folder = open(path, "note", new NoteCodec());
  }

  @Test
  void shouldReadWhatItWrote() throws Exception {
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
  void shouldLeaveNothingUnfinishedBehind() throws Exception {
    folder.write("first", NOTE);
    folder.write("first", new Note(9, "x", List.of()));
    Files.writeString(path.resolve("first.json.new"), "half a wri");
    final StateFolder<Note> again = open(path, "note", new NoteCodec());
    assertEquals(List.of("first.json"), entries());
    assertEquals(9, again.read("first").orElseThrow().number());
  }

  @Test
  void shouldRemoveLeftoversOfEveryKindAtItsStart() throws IOException {
    folder.write("first", NOTE);
    Files.writeString(path.resolve("first.json.previous"), "the one before");
    Files.writeString(path.resolve("probe.json.new"), "");
    Files.createSymbolicLink(path.resolve("link.json.new"), path.resolve("first.json"));
    Files.createDirectories(path.resolve("folder.json.new/in it"));
    open(path, "note", new NoteCodec());
    assertEquals(List.of("first.json", "folder.json.new.corrupt-1"), entries());
  }

  @Test
  void shouldRefuseAFileCutAtAnyLengthAndLeaveItInItsPlace() throws Exception {
    folder.write("first", NOTE);
    final byte[] whole = Files.readAllBytes(path.resolve("first.json"));
    for (int length = 0; length < whole.length; length++) {
      Files.write(path.resolve("cut.json"), Arrays.copyOf(whole, length));
      assertDamaged("cut");
    }
    assertEquals(List.of("cut.json", "first.json"), entries());
    assertEquals(Optional.of(NOTE), folder.read("first"));
  }

  @Test
  void shouldRefuseAFileWithAnyByteChanged() throws Exception {
    folder.write("first", NOTE);
    final byte[] whole = Files.readAllBytes(path.resolve("first.json"));
    int unharmed = 0;
    for (int i = 0; i < whole.length; i++) {
      final byte[] changed = whole.clone();
      changed[i] ^= 0x10;
      Files.write(path.resolve("bad.json"), changed);
      try {
        folder.read("bad");
        unharmed++;
      } catch (DamagedStateException e) {
        assertFalse(e.getMessage().isEmpty());
      }
    }
    assertEquals(1, unharmed, "only the final line feed may change");
  }

  @Test
  void shouldKeepADamagedFileAsItWasWhenItIsReplaced() throws Exception {
    final byte[] rubbish = {1, 2, 3, '\n', 4};
    Files.write(path.resolve("bad.json"), rubbish);
    assertDamaged("bad");
    assertArrayEquals(rubbish, Files.readAllBytes(path.resolve("bad.json")));
    folder.write("bad", NOTE);
    assertArrayEquals(rubbish, Files.readAllBytes(path.resolve("bad.json.corrupt-1")));
    assertEquals(Optional.of(NOTE), folder.read("bad"));
    folder.write("bad", NOTE);
    assertEquals(List.of("bad.json", "bad.json.corrupt-1"), entries());
  }

  @Test
  void shouldRefuseWhatIsNotAFileAndKeepItWhenItIsReplaced() throws Exception {
    Files.createDirectories(path.resolve("bad.json/in it"));
    assertDamaged("bad", "it is a directory, not a file");
    folder.write("bad", NOTE);
    final Path other = Files.writeString(root.resolve("other"), "of another program");
    Files.createSymbolicLink(path.resolve("link.json"), other);
    assertDamaged("link", "it is a symbolic link, not a file");
    folder.write("link", NOTE);
    Commands.run("mkfifo", path.resolve("fifo.json").toString());
    assertDamaged("fifo", "it is not a file");
    folder.write("fifo", NOTE);
    assertEquals("of another program", Files.readString(other));
    for (final String name : List.of("bad", "link", "fifo")) {
      assertEquals(Optional.of(NOTE), folder.read(name));
      assertTrue(
          Files.exists(path.resolve(name + ".json.corrupt-1"), LinkOption.NOFOLLOW_LINKS), name);
    }
  }

  @Test
  void shouldRefuseAnotherKindAndAnotherShape() {
    open(path, "letter", new NoteCodec()).write("kind", NOTE);
    assertDamaged("kind");
    open(path, "note", new TextCodec()).write("shape", "a");
    assertDamaged("shape");
  }

  @Test
  void shouldTellANewerFormatFromADamagedFile() throws Exception {
    for (final String header :
        List.of("{\"format\":2}", "{\"format\":999999999,\"kind\":\"note\",\"sum\":1}")) {
      Files.writeString(path.resolve("newer.json"), header + "\n{}\n");
      assertTrue(
          assertThrows(DamagedStateException.class, () -> folder.read("newer")).isNewer(), header);
    }
    Files.writeString(path.resolve("newer.json"), "{\"format\":0,\"kind\":\"note\"}\n{}\n");
    assertFalse(assertThrows(DamagedStateException.class, () -> folder.read("newer")).isNewer());
  }

  @Test
  void shouldReadAHeaderOfTheLongestLengthAndNoneThatIsLonger() throws Exception {
    final String header = "{\"format\":2,\"more\":\"%s\"}";
    final int rest = 256 - header.formatted("").length();
    Files.writeString(path.resolve("newer.json"), header.formatted("x".repeat(rest)) + "\n{}\n");
    assertTrue(assertThrows(DamagedStateException.class, () -> folder.read("newer")).isNewer());
    Files.writeString(
        path.resolve("newer.json"), header.formatted("x".repeat(rest + 1)) + "\n{}\n");
    assertDamaged("newer", "no header line in 261 bytes");
  }

  @Test
  void shouldRefuseADocumentWithNullWhereAValueIsNeeded() {
    final StateFolder<String> texts = open(path, "note", new TextCodec());
    texts.write("none", "");
    assertThrows(DamagedStateException.class, () -> texts.read("none"));
  }

  @Test
  void shouldRefuseAFileThatIsTooLongToBeRead() throws IOException {
    final long most = (128L << 20) + 256;
    try (RandomAccessFile file = new RandomAccessFile(path.resolve("long.json").toFile(), "rw")) {
      file.setLength(1L << 32);
      assertDamaged("long", (1L << 32) + " bytes exceed the size of a state file");
      file.setLength(most + 1);
      assertDamaged("long", most + 1 + " bytes exceed the size of a state file");
      file.setLength(most);
      assertDamaged("long", "no header line in " + most + " bytes");
    }
  }

  @Test
  void shouldTellTheSameBytesFromOthers() throws Exception {
    folder.write("a", NOTE);
    folder.write("b", NOTE);
    assertTrue(folder.isSame("a", "b"));
    folder.write("b", new Note(8, "n", List.of()));
    assertFalse(folder.isSame("a", "b"));
    assertFalse(folder.isSame("a", "none"));
    assertFalse(folder.isSame("none", "a"));
    Files.delete(path.resolve("b.json"));
    Files.createDirectory(path.resolve("b.json"));
    assertFalse(folder.isSame("a", "b"));
  }

  @Test
  void shouldSayHowManyBytesAreMissing() throws Exception {
    folder.write("a", NOTE);
    final Path file = path.resolve("a.json");
    final byte[] whole = Files.readAllBytes(file);
    final int header = new String(whole, StandardCharsets.ISO_8859_1).indexOf('\n') + 1;
    final int document = whole.length - header;
    Files.write(file, Arrays.copyOf(whole, whole.length - 3));
    assertEquals(
        "truncated or extended: " + (document - 3) + " bytes, not " + document,
        assertThrows(DamagedStateException.class, () -> folder.read("a")).getMessage());
    Files.write(file, new byte[] {'x', 'y'});
    assertEquals(
        "no header line in 2 bytes",
        assertThrows(DamagedStateException.class, () -> folder.read("a")).getMessage());
  }

  @Test
  void shouldListDocumentsInTheOrderOfTheirNames() throws IOException {
    final List<String> names = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      names.add("n" + (i * 7 % 30 + 10));
      folder.write(names.getLast(), NOTE);
    }
    Files.writeString(path.resolve("n5.txt"), "not a document");
    names.sort(null);
    assertEquals(names, folder.names());
  }

  @Test
  void shouldKeepEveryDamagedFileThatWasReplaced() throws Exception {
    for (int i = 1; i <= 3; i++) {
      Files.writeString(path.resolve("bad.json"), "rubbish " + i);
      assertDamaged("bad", "no header line in 9 bytes");
      folder.write("bad", NOTE);
      assertEquals("rubbish " + i, Files.readString(path.resolve("bad.json.corrupt-" + i)));
    }
    Files.createDirectory(path.resolve("gone.json"));
    folder.remove("gone");
    assertEquals(
        List.of(
            "bad.json",
            "bad.json.corrupt-1",
            "bad.json.corrupt-2",
            "bad.json.corrupt-3",
            "gone.json.corrupt-1"),
        entries());
  }

  private void assertDamaged(String name, String reason) {
    assertEquals(
        reason,
        assertThrows(DamagedStateException.class, () -> folder.read(name), name).getMessage());
  }

  private void assertDamaged(String name) {
    assertThrows(DamagedStateException.class, () -> folder.read(name), name);
  }

  @Test
  void shouldFailWithASentenceWhereTheFolderIsGone() throws IOException {
    Files.delete(path);
    final OperationException failure =
        assertThrows(OperationException.class, () -> folder.write("first", NOTE));
    assertEquals(
        "state file " + path + "/first.json cannot be written: it does not exist",
        failure.getMessage());
  }

  @Test
  void shouldSayThatAFolderCannotBeCreatedOrListed() throws IOException {
    final Path file = Files.writeString(root.resolve("file"), "");
    assertEquals(
        "state folder " + file + " cannot be created: a file is in its place",
        assertThrows(OperationException.class, () -> open(file, "note", new NoteCodec()))
            .getMessage());
    Files.delete(path);
    assertEquals(
        "state folder " + path + " cannot be listed: it does not exist",
        assertThrows(OperationException.class, folder::names).getMessage());
    assertEquals(0, folder.raw("first").length);
    assertEquals(path.toString(), folder.toString());
  }

  /** What is there is enough to start: the fault stands until the folder can be written. */
  @Test
  void shouldOpenWithAFaultWhereLeftoversCannotBeRemoved() throws IOException {
    final boolean[] fails = {true};
    final Faults faults = new Faults("fine");
    final FolderFiles files =
        new FolderFiles(path) {
          @Override
          void removeLeftovers(String suffix) throws IOException {
            throw new IOException("Read-only file system");
          }

          @Override
          void probe(String suffix, int length) throws IOException {
            if (fails[0]) {
              throw new IOException("Read-only file system");
            }
            super.probe(suffix, length);
          }
        };
    final StateFolder<Note> opened = new StateFolder<>(files, "note", new NoteCodec(), faults);
    assertEquals(
        "temporary files in " + path + " cannot be removed: read-only file system",
        faults.read().message());
    assertTrue(opened.isFailing());
    opened.retry();
    assertEquals(
        "state folder " + path + " cannot be written: read-only file system",
        faults.read().message());
    fails[0] = false;
    opened.retry();
    assertFalse(opened.isFailing());
    assertEquals(ModuleHealth.Level.OK, faults.read().level());
  }

  @Test
  void shouldBeFineWithTheNextWriteOrRemovalThatSucceeds() {
    final boolean[] fails = {true};
    final Faults faults = new Faults("fine");
    final FolderFiles files =
        new FolderFiles(path) {
          @Override
          void sync(Path synced, FileChannel channel) throws IOException {
            if (fails[0]) {
              throw new IOException("Input/output error");
            }
            super.sync(synced, channel);
          }
        };
    final StateFolder<Note> failing = new StateFolder<>(files, "note", new NoteCodec(), faults);
    for (final Runnable change :
        List.<Runnable>of(() -> failing.write("first", NOTE), () -> failing.remove("first"))) {
      fails[0] = true;
      assertThrows(OperationException.class, () -> failing.write("second", NOTE));
      assertTrue(failing.isFailing());
      fails[0] = false;
      change.run();
      assertFalse(failing.isFailing());
      assertEquals(ModuleHealth.Level.OK, faults.read().level());
    }
  }

  /** A disk that returns no bytes today may return them tomorrow. */
  @Test
  void shouldKeepAFileThatTheDiskDoesNotReturnWhenItIsReplaced() throws Exception {
    Files.writeString(path.resolve("first.json"), "behind a bad sector");
    final FolderFiles files =
        new FolderFiles(path) {
          @Override
          byte[] read(String name) throws IOException {
            throw new IOException("Input/output error");
          }
        };
    final StateFolder<Note> failing =
        new StateFolder<>(files, "note", new NoteCodec(), new Faults("fine"));
    assertEquals(
        "input/output error",
        assertThrows(DamagedStateException.class, () -> failing.read("first")).getMessage());
    failing.write("first", NOTE);
    assertEquals("behind a bad sector", Files.readString(path.resolve("first.json.corrupt-1")));
  }

  /** A small file can be written where the large one that failed cannot. */
  @Test
  void shouldRetryWithTheLengthThatFailed() {
    final List<Integer> probed = new ArrayList<>();
    final FolderFiles files =
        new FolderFiles(path) {
          @Override
          void sync(Path synced, FileChannel channel) throws IOException {
            throw new IOException("No space left on device");
          }

          @Override
          void probe(String suffix, int length) throws IOException {
            probed.add(length);
            throw new IOException("No space left on device");
          }
        };
    final StateFolder<Note> failing =
        new StateFolder<>(files, "note", new NoteCodec(), new Faults("fine"));
    failing.retry();
    assertEquals(List.of(), probed, "nothing has failed");
    folder.write("first", NOTE);
    assertThrows(OperationException.class, () -> failing.write("first", NOTE));
    failing.retry();
    failing.retry();
    final int length = (int) path.resolve("first.json").toFile().length();
    assertEquals(List.of(length, length), probed);
  }

  /** The commit is undone: the caller hears that the change failed. */
  @Test
  void shouldHaveThePreviousContentWhereTheFolderCannotBeSyncedAfterTheCommit() throws Exception {
    final boolean[] fails = {false};
    final Faults faults = new Faults("fine");
    final FolderFiles files =
        new FolderFiles(path) {
          @Override
          void sync(Path synced, FileChannel channel) throws IOException {
            if (fails[0] && synced.equals(path)) {
              throw new IOException("Input/output error");
            }
            super.sync(synced, channel);
          }
        };
    final StateFolder<Note> failing = new StateFolder<>(files, "note", new NoteCodec(), faults);
    failing.write("first", NOTE);
    fails[0] = true;
    for (final String name : List.of("first", "second")) {
      final OperationException failure =
          assertThrows(
              OperationException.class,
              () -> failing.write(name, new Note(8, "refused", List.of())));
      assertTrue(failure.getMessage().endsWith(": input/output error"), failure.getMessage());
    }
    assertEquals(Optional.of(NOTE), failing.read("first"));
    assertEquals(List.of("first.json"), entries());
    assertEquals(ModuleHealth.Level.STOPPED, faults.read().level());
    failing.retry();
    assertEquals(ModuleHealth.Level.STOPPED, faults.read().level());
    fails[0] = false;
    failing.retry();
    assertEquals(ModuleHealth.Level.OK, faults.read().level());
    assertEquals(List.of("first.json"), entries());
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
      final StateFolder<Note> after = open(path, "note", new NoteCodec());
      assertTrue(after.read("repeated").isPresent(), "round " + round);
      assertEquals(List.of("repeated.json"), entries());
    }
  }

  /** The child fails before it has its answer where a descriptor was needed after the commit. */
  @Test
  void shouldRefuseEveryChangeWithASentenceWhereNoDescriptorIsLeft() throws Exception {
    final Process child = ChildJvm.start(WriterWithoutDescriptors.class, path.toString());
    final List<String> said;
    try (BufferedReader lines = child.inputReader(StandardCharsets.UTF_8)) {
      said = lines.lines().toList();
    } finally {
      child.destroyForcibly().waitFor();
    }
    final String file = "state file " + path + "/first.json cannot be ";
    assertEquals(
        List.of(
            file + "written: too many open files",
            file + "removed: too many open files",
            "STOPPED",
            "written again",
            "OK"),
        said);
    assertEquals(new Note(9, "with descriptors", List.of()), folder.read("first").orElseThrow());
    assertEquals(List.of("first.json"), entries());
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
      final StateFolder<Note> folder = open(Path.of(arguments[0]), "note", new NoteCodec());
      for (int i = 0; ; i++) {
        folder.write("repeated", new Note(i, "x".repeat(i % 5000), List.of()));
        if (i == 0) {
          System.out.print('.');
          System.out.flush();
        }
      }
    }
  }

  /** Writes a file, removes it, and writes it again when descriptors are there. */
  static final class WriterWithoutDescriptors {
    private WriterWithoutDescriptors() {}

    public static void main(String[] arguments) throws IOException {
      final Path path = Path.of(arguments[0]);
      final Faults faults = new Faults("fine");
      final StateFolder<Note> folder =
          new StateFolder<>(new FolderFiles(path), "note", new NoteCodec(), faults);
      loadClasses(path.resolveSibling("gone"));
      folder.write("first", NOTE);
      final List<InputStream> taken = new ArrayList<>();
      try {
        while (true) {
          taken.add(Files.newInputStream(Path.of("/dev/null")));
        }
      } catch (FileSystemException full) {
        System.out.println(refusal(() -> folder.write("first", new Note(8, "", List.of()))));
        System.out.println(refusal(() -> folder.remove("first")));
        System.out.println(faults.read().level());
      }
      for (final InputStream one : taken) {
        one.close();
      }
      folder.write("first", new Note(9, "with descriptors", List.of()));
      System.out.println("written again");
      System.out.println(faults.read().level());
    }

    /** A class that is loaded later would need a descriptor. */
    private static void loadClasses(Path path) throws IOException {
      final Faults faults = new Faults("fine");
      final StateFolder<Note> gone =
          new StateFolder<>(new FolderFiles(path), "note", new NoteCodec(), faults);
      gone.write("first", NOTE);
      gone.remove("first");
      Files.delete(path);
      refusal(() -> gone.write("first", NOTE));
      faults.read();
    }

    private static String refusal(Runnable change) {
      try {
        change.run();
        return "not refused";
      } catch (OperationException e) {
        return e.getMessage();
      }
    }
  }
}
