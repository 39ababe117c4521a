package agent.state;

import agent.conductor.Faults;
import agent.state.FolderFiles.BeforeCommit;
import agent.types.IoFailure;
import agent.types.OperationException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * A folder of state files of one kind. A file has the old or the new content, whatever fails. One
 * that cannot be read stays where it is, so that the next start finds it, too; the write that
 * replaces it keeps it as {@code *.corrupt-<n>}. One that others have removed cannot be read, too.
 * While the folder cannot be written, its fault stands; {@link #retry} ends it.
 *
 * <p>Thread-safe for different names; one name has one writer.
 *
 * @param <T> the content of a file
 */
final class StateFolder<T> {
  private static final Logger LOGGER = LogManager.getLogger(StateFolder.class);
  private static final String SUFFIX = ".json";

  /** Two changes of a folder within this time may have the same time. */
  private static final long COARSEST_TIME_MS = 2_500;

  private final FolderFiles files;
  private final String kind;
  private final Codec<T> codec;
  private final Faults faults;
  private final WrittenFiles written;
  private final FileChanges changes;
  private final Map<String, String> unreadable = new ConcurrentHashMap<>();
  private final Set<String> missing = new TreeSet<>(); // of the thread that watches
  private FileTime listed;
  private volatile boolean isFailing;
  private volatile int failedLength;

  /** Opens a folder as the other constructor does, whose files are not missed, nor in groups. */
  StateFolder(FolderFiles files, String kind, Codec<T> codec, Faults faults) {
    this(files, kind, codec, faults, WrittenFiles.none(), FileChanges.ALONE);
  }

  /**
   * Opens a folder, creates it if it is missing, and removes temporary files of a previous run.
   *
   * @param files the folder
   * @param kind the kind of the documents, written into each header
   * @param codec writes and reads the documents
   * @param faults has the fault of the folder while it cannot be written
   * @param written the names of its files
   * @param changes makes the changes of its files
   * @throws OperationException where it cannot be created
   */
  StateFolder(
      FolderFiles files,
      String kind,
      Codec<T> codec,
      Faults faults,
      WrittenFiles written,
      FileChanges changes) {
    this.files = files;
    this.written = written;
    this.changes = changes;
    this.kind = kind;
    this.codec = codec;
    this.faults = faults;
    try {
      files.create();
    } catch (IOException e) {
      throw new OperationException(
          "state folder " + files + " cannot be created: " + IoFailure.reason(e), e);
    }
    try {
      files.removeLeftovers(SUFFIX);
    } catch (IOException e) {
      failed(0, "temporary files in " + files + " cannot be removed: " + IoFailure.reason(e));
    }
  }

  /** Returns the path of a document. */
  Path path(String name) {
    return files.path(name + SUFFIX);
  }

  /** Returns the files of the folder. */
  FolderFiles files() {
    return files;
  }

  /** Returns the parts of a document that is written piece by piece. */
  ByteBuffer[] encoded(String name, T document) {
    return encode(name, document);
  }

  /** Reads a part of a document. */
  T decoded(byte[] part) throws DamagedStateException {
    return DocumentReader.read(StateFile.decode(kind, part), codec::read);
  }

  /** Stores a document as {@link #write(String, Object, BeforeCommit, Runnable)} does. */
  void write(String name, T document) {
    write(name, document, () -> {}, null);
  }

  /**
   * Stores a document durably; within a write of the store's thread, when that is committed.
   *
   * @param name file name without suffix
   * @param document its content
   * @param beforeCommit runs when the content is on the disk, and before the file has it
   * @param afterwards runs when the document is durable; null for nothing
   * @throws OperationException where it could not be stored; the previous document is unchanged
   */
  void write(String name, T document, BeforeCommit beforeCommit, Runnable afterwards) {
    final ByteBuffer[] parts = encode(name, document);
    int bytes = 0;
    for (final ByteBuffer part : parts) {
      bytes += part.remaining();
    }
    final int length = bytes;
    changes.make(
        files
            .replacement(
                name + SUFFIX,
                parts,
                () -> {
                  beforeCommit.run();
                  final String problem = unreadable.get(name);
                  if (problem != null) {
                    files.keepAside(name + SUFFIX, problem);
                  }
                })
            .then(
                () -> {
                  written.add(name);
                  unreadable.remove(name);
                  succeeded();
                },
                failure -> failed(length, FolderFiles.failure(path(name), "written", failure)))
            .afterwards(afterwards));
  }

  private ByteBuffer[] encode(String name, T document) {
    try {
      return StateFile.encode(kind, DocumentWriter.write(document, codec::write));
    } catch (IOException e) {
      throw FolderFiles.failure(path(name), "written", e);
    }
  }

  /** Removes a document as {@link #remove(String, Runnable)} does. */
  void remove(String name) {
    remove(name, () -> {});
  }

  /**
   * Removes a document durably; within a write of the store's thread, when that is committed.
   *
   * @param name file name without suffix; the file need not exist
   * @param whenRemoved runs when the removal is durable
   * @throws OperationException where it could not be removed
   */
  void remove(String name, Runnable whenRemoved) {
    changes.make(
        files
            .removal(name + SUFFIX, () -> written.remove(name))
            .then(
                () -> {
                  unreadable.remove(name);
                  succeeded();
                  whenRemoved.run();
                },
                failure -> failed(0, FolderFiles.failure(path(name), "removed", failure))));
  }

  /**
   * Renames a document durably; there is not one of that name. One that is missing is missed under
   * the other name then.
   *
   * @throws OperationException where it could not be renamed; it has its name
   */
  void rename(String name, String to) {
    final Function<IOException, RuntimeException> refused =
        failure -> {
          written.add(name);
          return failed(0, FolderFiles.failure(path(name), "renamed", failure));
        };
    if (unreadable.containsKey(name) && !files.exists(name + SUFFIX)) {
      try {
        written.remove(name);
      } catch (IOException e) {
        throw refused.apply(e);
      }
      renamed(name, to);
    } else {
      changes.make(
          files
              .renaming(name + SUFFIX, to + SUFFIX, () -> written.remove(name))
              .then(() -> renamed(name, to), refused));
    }
  }

  private void renamed(String name, String to) {
    written.add(to);
    final String problem = unreadable.remove(name);
    if (problem != null) {
      distrust(to, problem);
    }
    succeeded();
  }

  /** Removes a document durably, as a step of another write; keeps one that cannot be read. */
  void delete(String name) throws IOException {
    make(
        files.removal(
            name + SUFFIX,
            () -> {
              final String problem = unreadable.get(name);
              if (problem != null) {
                files.keepAside(name + SUFFIX, problem);
              }
              written.remove(name);
            }));
    unreadable.remove(name);
  }

  /**
   * Makes durable what was added to a document that is written piece by piece.
   *
   * @param isNew whether its name may not be durable yet
   */
  void sync(String name, FileChannel channel, boolean isNew) throws IOException {
    make(files.contentSync(name + SUFFIX, channel, isNew));
  }

  private void make(FileChange change) throws IOException {
    try {
      changes.make(change);
    } catch (UncheckedIOException failed) {
      throw failed.getCause();
    }
  }

  /**
   * Reads a document.
   *
   * @param name file name without suffix
   * @return the document, or empty where there is none
   * @throws DamagedStateException with the reason, where it cannot be read, or others removed it
   */
  Optional<T> read(String name) throws DamagedStateException {
    try {
      final ByteBuffer document = StateFile.decode(kind, files.read(name + SUFFIX));
      final T read = DocumentReader.read(document, codec::read);
      written.add(name);
      return Optional.of(read);
    } catch (NoSuchFileException e) {
      if (!written.has(name)) {
        return Optional.empty();
      }
      final String removed = missing(name);
      distrust(name, removed);
      throw new DamagedStateException(removed);
    } catch (DamagedStateException e) {
      distrust(name, e.getMessage());
      throw e;
    } catch (IOException e) {
      distrust(name, IoFailure.reason(e));
      throw new DamagedStateException(IoFailure.reason(e));
    }
  }

  private String missing(String name) {
    return "it is missing, but %s lists it".formatted(written.path(name));
  }

  /** Counts a document as missing that others know of; returns why it cannot be read. */
  String miss(String name) {
    written.add(name);
    final String reason = missing(name);
    distrust(name, reason);
    return reason;
  }

  /** Returns how to give up a document that cannot be read, as the rest of a sentence. */
  String moveAway(String name) {
    return "move it and %s away".formatted(written.path(name));
  }

  /** Returns the names of the files. */
  WrittenFiles written() {
    return written;
  }

  /**
   * Looks for documents that others have removed since the folder was opened, and for those that
   * are back: their faults stand until then, or until they are written or removed. For one thread.
   */
  void watch() {
    if (!isChanged()) {
      return;
    }
    final List<String> gone = written.missing(files.path(""), SUFFIX);
    gone.removeIf(unreadable::containsKey);
    for (final String name : gone) {
      if (missing.add(name)) {
        final String message =
            ("state file %s was removed. Its content remains in force until the agent stops."
                    + " Restore the file, or change its object, which writes it again")
                .formatted(path(name));
        LOGGER.error("{}", message);
        faults.failed(path(name).toString(), message);
      }
    }
    for (final String name : List.copyOf(missing)) {
      if (!gone.contains(name)) {
        missing.remove(name);
        faults.clear(path(name).toString());
      }
    }
  }

  /** Returns whether names may have come or gone since the last call. */
  private boolean isChanged() {
    final FileTime changed = files.changed();
    final boolean isSame =
        changed != null
            && changed.equals(listed)
            && System.currentTimeMillis() - changed.toMillis() > COARSEST_TIME_MS;
    listed = changed;
    return !isSame;
  }

  /** Records that a document cannot be used: who replaces it keeps it. */
  void distrust(String name, String reason) {
    unreadable.put(name, reason);
  }

  /** Returns whether two documents are there, can be read and have the same bytes. */
  boolean isSame(String name, String other) {
    try {
      return files.isSame(name + SUFFIX, other + SUFFIX);
    } catch (IOException e) {
      return false;
    }
  }

  /** Returns the bytes of a file as far as they can be read; none where they cannot. */
  byte[] raw(String name) {
    try {
      return files.read(name + SUFFIX);
    } catch (IOException | DamagedStateException e) {
      return new byte[0];
    }
  }

  /**
   * Lists the names of the documents, sorted, also of those that others have removed.
   *
   * @return file names without suffix
   * @throws OperationException where the folder cannot be listed
   */
  List<String> names() {
    final List<String> names = new ArrayList<>();
    try {
      for (final String name : files.names(SUFFIX)) {
        names.add(name.substring(0, name.length() - SUFFIX.length()));
      }
    } catch (IOException e) {
      throw new OperationException(
          "state folder " + files + " cannot be listed: " + IoFailure.reason(e), e);
    }
    names.addAll(written.names());
    return names.stream().distinct().sorted().toList();
  }

  /** Returns whether the last write failed, and no later one or {@link #retry} succeeded. */
  boolean isFailing() {
    return isFailing;
  }

  /** Tries to write where the last write failed: the fault ends when it succeeds. */
  void retry() {
    if (isFailing) {
      try {
        files.probe(SUFFIX, failedLength);
        LOGGER.info("state folder {} can be written again", files);
        succeeded();
      } catch (IOException e) {
        failed(
            failedLength, "state folder " + files + " cannot be written: " + IoFailure.reason(e));
      }
    }
  }

  private OperationException failed(int length, OperationException failure) {
    failed(length, failure.getMessage());
    return failure;
  }

  private void failed(int length, String message) {
    if (!isFailing) {
      LOGGER.error("{}", message);
    }
    failedLength = length;
    isFailing = true;
    faults.failed(files.toString(), message);
  }

  private void succeeded() {
    if (isFailing) {
      isFailing = false;
      faults.clear(files.toString());
    }
  }

  @Override
  public String toString() {
    return files.toString();
  }
}
