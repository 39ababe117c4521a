package agent.launcher.state;

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
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * A folder of state files of one kind. A file is replaced as a whole: written aside, synced,
 * renamed, and the folder synced, so that after a crash it is the old one or the new one. A file
 * that cannot be read is set aside under another name, and the rest is not affected.
 *
 * <p>Thread-safe for different names; one name has one writer.
 */
public final class StateFolder {
  private static final Logger LOGGER = LogManager.getLogger(StateFolder.class);
  private static final String SUFFIX = ".json";
  private static final String UNFINISHED = ".new";
  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY_FOLDER =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  private final Path folder;
  private final String kind;
  private final JsonMapper json = StateJson.mapper();

  private StateFolder(Path folder, String kind) {
    this.folder = folder;
    this.kind = kind;
  }

  /**
   * Opens a folder, creates it where it is missing, and removes what a crash left unfinished.
   *
   * @param folder where the files are
   * @param kind what they hold, written into each
   * @return the folder
   * @throws UncheckedIOException where it cannot be created or listed
   */
  public static StateFolder open(Path folder, String kind) {
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
    return new StateFolder(folder, kind);
  }

  /**
   * Stores a document; when this returns it survives a crash.
   *
   * @param name file name without suffix
   * @param document a record that Jackson writes
   * @throws UncheckedIOException where it could not be stored; the former one is still there
   */
  public void write(String name, Object document) {
    final Path file = file(name);
    final Path unfinished = folder.resolve(name + SUFFIX + UNFINISHED);
    try {
      final ByteBuffer bytes =
          ByteBuffer.wrap(StateFile.encode(kind, json.writeValueAsBytes(document)));
      Files.deleteIfExists(unfinished);
      try (FileChannel channel =
          FileChannel.open(
              unfinished,
              Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
              OWNER_ONLY)) {
        while (bytes.hasRemaining()) {
          channel.write(bytes);
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
   * Removes a document; when this returns the removal survives a crash.
   *
   * @param name file name without suffix; that there is none is no failure
   * @throws UncheckedIOException where it could not be removed
   */
  public void remove(String name) {
    try {
      if (Files.deleteIfExists(file(name))) {
        sync();
      }
    } catch (IOException e) {
      throw new UncheckedIOException("state file " + file(name) + ": remove: " + e, e);
    }
  }

  /**
   * Reads a document. A damaged one is set aside and named in the log.
   *
   * @param <T> its type
   * @param name file name without suffix
   * @param type its type
   * @return the document, or nothing where there is none that can be used
   */
  public <T> Optional<T> read(String name, Class<T> type) {
    final Path file = file(name);
    try {
      final T document = json.readValue(StateFile.decode(kind, Files.readAllBytes(file)), type);
      if (document == null) {
        throw new DamagedStateException("holds null");
      }
      return Optional.of(document);
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (DamagedStateException e) {
      setAside(name, e.getMessage());
    } catch (JacksonException e) {
      setAside(name, e.getOriginalMessage());
    } catch (IOException e) {
      throw new UncheckedIOException("state file " + file + ": read: " + e, e);
    }
    return Optional.empty();
  }

  /**
   * Names of the documents, sorted.
   *
   * @return file names without suffix
   */
  public List<String> names() {
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
   * Takes a document out of use without losing it.
   *
   * @param name file name without suffix
   * @param reason why, for the log
   */
  public void setAside(String name, String reason) {
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

  private Path file(String name) {
    return folder.resolve(name + SUFFIX);
  }

  private void sync() throws IOException {
    try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }
}
