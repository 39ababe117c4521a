package agent.state;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * A folder of state files of one kind. A file is replaced atomically: the new content is written to
 * a temporary file, synced and renamed, and the folder is synced, so that after a crash the file
 * has the old or the new content. A file that cannot be read is renamed to {@code *.corrupt-<n>};
 * other files are not affected.
 *
 * <p>Thread-safe for different names; one name has one writer.
 *
 * @param <T> the content of a file
 */
final class StateFolder<T> {
  private static final Logger LOGGER = LogManager.getLogger(StateFolder.class);
  private static final String SUFFIX = ".json";
  private static final String UNFINISHED = ".new";
  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY_FOLDER =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  private final Path folder;
  private final String kind;
  private final Codec<T> codec;

  private StateFolder(Path folder, String kind, Codec<T> codec) {
    this.folder = folder;
    this.kind = kind;
    this.codec = codec;
  }

  /**
   * Opens a folder, creates it if it is missing, and removes temporary files of a previous run.
   *
   * @param <T> the content of a file
   * @param folder the path of the folder
   * @param kind the kind of the documents, written into each header
   * @param codec writes and reads the documents
   * @return the folder
   * @throws UncheckedIOException where it cannot be created or listed
   */
  static <T> StateFolder<T> open(Path folder, String kind, Codec<T> codec) {
    try {
      Files.createDirectories(folder, OWNER_ONLY_FOLDER);
      try (DirectoryStream<Path> unfinished =
          Files.newDirectoryStream(folder, "*" + SUFFIX + UNFINISHED)) {
        for (final Path file : unfinished) {
          Files.delete(file);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("state folder " + folder + ": " + e.getMessage(), e);
    }
    return new StateFolder<>(folder, kind, codec);
  }

  /**
   * Stores a document durably.
   *
   * @param name file name without suffix
   * @param document its content
   * @throws UncheckedIOException where it could not be stored; the previous document is unchanged
   */
  void write(String name, T document) {
    final Path file = file(name);
    final Path unfinished = folder.resolve(name + SUFFIX + UNFINISHED);
    try {
      final ByteBuffer[] parts =
          StateFile.encode(kind, DocumentWriter.write(document, codec::write));
      Files.deleteIfExists(unfinished);
      try (FileChannel channel =
          FileChannel.open(
              unfinished,
              Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
              OWNER_ONLY)) {
        while (parts[parts.length - 1].hasRemaining()) {
          channel.write(parts);
        }
        channel.force(true);
      }
      Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
      sync();
    } catch (IOException e) {
      throw new UncheckedIOException("state file " + file + ": write: " + e, e);
    }
  }

  /**
   * Removes a document durably.
   *
   * @param name file name without suffix; the file need not exist
   * @throws UncheckedIOException where it could not be removed
   */
  void remove(String name) {
    try {
      if (Files.deleteIfExists(file(name))) {
        sync();
      }
    } catch (IOException e) {
      throw new UncheckedIOException("state file " + file(name) + ": remove: " + e, e);
    }
  }

  /**
   * Reads a document. Renames a damaged one and logs its name.
   *
   * @param name file name without suffix
   * @return the document, or empty where it is missing or damaged
   */
  Optional<T> read(String name) {
    final Path file = file(name);
    try {
      final ByteBuffer document = StateFile.decode(kind, bytes(file));
      return Optional.of(DocumentReader.read(document, codec::read));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (DamagedStateException e) {
      setAside(name, e.getMessage());
      return Optional.empty();
    } catch (IOException e) {
      throw new UncheckedIOException("state file " + file + ": read: " + e, e);
    }
  }

  private static byte[] bytes(Path file) throws IOException, DamagedStateException {
    final long length = Files.size(file);
    if (length > StateFile.MOST_BYTES + StateFile.LONGEST_HEADER_BYTES) {
      throw new DamagedStateException(length + " bytes exceed the size of a state file");
    }
    return Files.readAllBytes(file);
  }

  /**
   * Lists the names of the documents, sorted.
   *
   * @return file names without suffix
   */
  List<String> names() {
    final List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*" + SUFFIX)) {
      for (final Path file : files) {
        final String name = file.getFileName().toString();
        names.add(name.substring(0, name.length() - SUFFIX.length()));
      }
    } catch (IOException e) {
      throw new UncheckedIOException("state folder " + folder + ": list: " + e, e);
    }
    Collections.sort(names);
    return names;
  }

  /**
   * Renames a document to {@code *.corrupt-<n>}, so that it is no longer used but not lost.
   *
   * @param name file name without suffix
   * @param reason the reason, for the log
   */
  void setAside(String name, String reason) {
    final Path file = file(name);
    int n = 1;
    Path aside = folder.resolve(name + SUFFIX + ".corrupt-" + n);
    while (Files.exists(aside)) {
      aside = folder.resolve(name + SUFFIX + ".corrupt-" + ++n);
    }
    try {
      Files.move(file, aside, StandardCopyOption.ATOMIC_MOVE);
      sync();
    } catch (IOException e) {
      throw new UncheckedIOException("state file " + file + ": set aside: " + e, e);
    }
    LOGGER.warn("state file {}: {}; set aside as {}", file, reason, aside.getFileName());
  }

  @Override
  public String toString() {
    return folder.toString();
  }

  private Path file(String name) {
    return folder.resolve(name + SUFFIX);
  }

  private void sync() throws IOException {
    try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }
}
