package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is synced to the disk, in which order, and what the folder holds at that moment. */
class DurabilityTest {
  @TempDir private Path folder;
  private final List<String> steps = new ArrayList<>();
  private FolderFiles files;
  private String failing = "";

  /** Records each sync with the content of the folder; fails where the test asks for it. */
  private final class RecordingFiles extends FolderFiles {
    RecordingFiles() {
      super(folder);
    }

    @Override
    void sync(Path synced, FileChannel channel) throws IOException {
      final String what = synced.equals(folder) ? "folder" : synced.getFileName().toString();
      steps.add("sync " + what + " of " + content());
      if (what.equals(failing)) {
        throw new IOException("Input/output error");
      }
      super.sync(synced, channel);
    }
  }

  @BeforeEach
  void open() {
    files = new RecordingFiles();
  }

  private String content() {
    try (Stream<Path> all = Files.list(folder)) {
      return all.sorted()
          .map(file -> file.getFileName() + "=" + text(file))
          .collect(Collectors.joining(" "));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void replace(String... parts) throws IOException {
    final ByteBuffer[] content =
        Stream.of(parts).map(StandardCharsets.UTF_8::encode).toArray(ByteBuffer[]::new);
    make(files.replacement("a.json", content, () -> steps.add("before commit of " + content())));
  }

  private static void make(FileChange change) throws IOException {
    try {
      FileGroup.makeAlone(change);
    } catch (UncheckedIOException failure) {
      throw failure.getCause();
    }
  }

  private void remove() throws IOException {
    make(files.removal("a.json", () -> {}));
  }

  private void rename() throws IOException {
    make(files.renaming("a.json", "b.json", () -> {}));
  }

  @Test
  void shouldSyncTheContentBeforeTheCommitAndTheFolderAfterIt() throws Exception {
    replace("o", "ld");
    assertEquals(
        List.of(
            "sync a.json.new of a.json.new=old",
            "before commit of a.json.new=old",
            "sync folder of a.json=old"),
        steps);
    steps.clear();
    replace("new");
    assertEquals(
        List.of(
            "sync a.json.new of a.json=old a.json.new=new",
            "before commit of a.json=old a.json.new=new",
            "sync folder of a.json=new a.json.previous=old"),
        steps);
    assertEquals("a.json=new", content());
  }

  @Test
  void shouldSyncTheFolderAfterARemovalAndNotWhereThereIsNothingToRemove() throws Exception {
    replace("old");
    steps.clear();
    remove();
    assertEquals(List.of("sync folder of "), steps);
    remove();
    assertEquals(1, steps.size());
  }

  @Test
  void shouldSyncTheFolderAfterANameChangesAndKeepTheNameWhereThatFails() throws Exception {
    replace("old");
    steps.clear();
    failing = "folder";
    assertThrows(IOException.class, this::rename);
    assertEquals("a.json=old", content());
    failing = "";
    steps.clear();
    rename();
    assertEquals(List.of("sync folder of b.json=old"), steps);
  }

  @Test
  void shouldSyncTheFileAndTheFolderOfAProbeOfTheLengthThatFailed() throws Exception {
    final String zeros = "\0".repeat(70);
    files.probe(".json", zeros.length());
    assertEquals(
        List.of(
            "sync probe.json.new of probe.json.new=" + zeros,
            "sync folder of probe.json.new=" + zeros),
        steps);
    assertEquals("", content());
    for (final String each : List.of("probe.json.new", "folder")) {
      failing = each;
      assertThrows(IOException.class, () -> files.probe(".json", 1), each);
      assertEquals("", content(), each);
    }
  }

  @Test
  void shouldLeaveTheFileAsItWasAndNoTemporaryOneWhereASyncFails() throws Exception {
    for (final String each : List.of("a.json.new", "folder")) {
      failing = each;
      assertThrows(IOException.class, () -> replace("first"), each);
      assertEquals("", content(), each);
    }
    failing = "";
    replace("old");
    for (final String each : List.of("a.json.new", "folder")) {
      failing = each;
      assertThrows(IOException.class, () -> replace("new"), each);
      assertEquals("a.json=old", content(), each);
    }
    assertThrows(IOException.class, this::remove, "the removal is not durable");
  }

  /**
   * Both are reported: that the change is refused, and that the file has its content nevertheless.
   */
  @Test
  void shouldTellThatARefusedChangeCouldNotBeUndone() throws Exception {
    replace("old");
    final FolderFiles damaged =
        new FolderFiles(folder) {
          @Override
          void sync(Path synced, FileChannel channel) throws IOException {
            if (synced.equals(folder)) {
              Files.delete(folder.resolve("a.json.previous"));
              throw new IOException("Input/output error");
            }
          }
        };
    final IOException failure =
        assertThrows(
            IOException.class,
            () ->
                make(
                    damaged.replacement(
                        "a.json",
                        new ByteBuffer[] {StandardCharsets.UTF_8.encode("new")},
                        () -> {})));
    assertEquals("Input/output error", failure.getMessage());
    assertEquals(1, failure.getSuppressed().length);
    assertEquals("a.json=new", content());
  }

  @Test
  void shouldLeaveTheFileAsItWasWhereTheStepBeforeTheCommitFails() throws Exception {
    replace("old");
    final IOException failure = new IOException("refused");
    assertSame(
        failure,
        assertThrows(
            IOException.class,
            () ->
                make(
                    files.replacement(
                        "a.json",
                        new ByteBuffer[] {StandardCharsets.UTF_8.encode("new")},
                        () -> {
                          throw failure;
                        }))));
    assertEquals("a.json=old", content());
  }

  /** Size and times, too, so that a file that is read after a crash has its length. */
  @Test
  void shouldForceContentAndMetadata() throws Exception {
    final ForcedChannel channel = new ForcedChannel();
    new FolderFiles(folder).sync(folder, channel);
    assertEquals(List.of(true), channel.forced);
  }

  /** Records the calls of {@code force}; nothing else is called. */
  private static final class ForcedChannel extends FileChannel {
    private final List<Boolean> forced = new ArrayList<>();

    @Override
    public void force(boolean metadata) {
      forced.add(metadata);
    }

    @Override
    public int read(ByteBuffer target) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) {
      throw new UnsupportedOperationException();
    }

    @Override
    public int write(ByteBuffer source) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long position() {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileChannel position(long newPosition) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long size() {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileChannel truncate(long size) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long transferFrom(ReadableByteChannel source, long position, long count) {
      throw new UnsupportedOperationException();
    }

    @Override
    public int read(ByteBuffer target, long position) {
      throw new UnsupportedOperationException();
    }

    @Override
    public int write(ByteBuffer source, long position) {
      throw new UnsupportedOperationException();
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long position, long size) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileLock lock(long position, long size, boolean shared) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileLock tryLock(long position, long size, boolean shared) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected void implCloseChannel() {
      // nothing is open
    }
  }
}
