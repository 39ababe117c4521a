package agent.state;

import agent.datapath.manager.guard.Faults;
import agent.state.FolderFiles.BeforeCommit;
import agent.types.IoFailure;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * A folder of state files of one kind. A file has the old or the new content, whatever fails. One
 * that cannot be read stays where it is, so that the next start finds it, too; the write that
 * replaces it keeps it as {@code *.corrupt-<n>}. While the folder cannot be written, its fault
 * stands; {@link #retry} ends it.
 *
 * <p>Thread-safe for different names; one name has one writer.
 *
 * @param <T> the content of a file
 */
final class StateFolder<T> {
  private static final Logger LOGGER = LogManager.getLogger(StateFolder.class);
  private static final String SUFFIX = ".json";

  private final FolderFiles files;
  private final String kind;
  private final Codec<T> codec;
  private final Faults faults;
  private final Map<String, String> unreadable = new ConcurrentHashMap<>();
  private volatile boolean isFailing;
  private volatile int failedLength;

  /**
   * Opens a folder, creates it if it is missing, and removes temporary files of a previous run.
   *
   * @param files the folder
   * @param kind the kind of the documents, written into each header
   * @param codec writes and reads the documents
   * @param faults has the fault of the folder while it cannot be written
   * @throws OperationException where it cannot be created
   */
  StateFolder(FolderFiles files, String kind, Codec<T> codec, Faults faults) {
    this.files = files;
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

  /** Stores a document as {@link #write(String, Object, BeforeCommit)} does. */
  void write(String name, T document) {
    write(name, document, () -> {});
  }

  /**
   * Stores a document durably.
   *
   * @param name file name without suffix
   * @param document its content
   * @param beforeCommit runs when the content is on the disk, and before the file has it
   * @throws OperationException where it could not be stored; the previous document is unchanged
   */
  void write(String name, T document, BeforeCommit beforeCommit) {
    final ByteBuffer[] parts = encode(name, document);
    final String problem = unreadable.get(name);
    int length = 0;
    for (final ByteBuffer part : parts) {
      length += part.remaining();
    }
    try {
      files.replace(
          name + SUFFIX,
          parts,
          () -> {
            beforeCommit.run();
            if (problem != null) {
              files.keepAside(name + SUFFIX, problem);
            }
          });
    } catch (IOException e) {
      throw failed(length, FolderFiles.failure(path(name), "written", e));
    }
    unreadable.remove(name);
    succeeded();
  }

  private ByteBuffer[] encode(String name, T document) {
    try {
      return StateFile.encode(kind, DocumentWriter.write(document, codec::write));
    } catch (IOException e) {
      throw FolderFiles.failure(path(name), "written", e);
    }
  }

  /**
   * Removes a document durably.
   *
   * @param name file name without suffix; the file need not exist
   * @throws OperationException where it could not be removed
   */
  void remove(String name) {
    try {
      files.delete(name + SUFFIX);
    } catch (IOException e) {
      throw failed(0, FolderFiles.failure(path(name), "removed", e));
    }
    unreadable.remove(name);
    succeeded();
  }

  /**
   * Gives a document another name durably; there is none of that name.
   *
   * @throws OperationException where it could not be renamed; it has its name
   */
  void rename(String name, String to) {
    try {
      files.rename(name + SUFFIX, to + SUFFIX);
    } catch (IOException e) {
      throw failed(0, FolderFiles.failure(path(name), "renamed", e));
    }
    final String problem = unreadable.remove(name);
    if (problem != null) {
      distrust(to, problem);
    }
    succeeded();
  }

  /** Removes a document durably, as a step of another write; keeps one that cannot be read. */
  void delete(String name) throws IOException {
    final String problem = unreadable.get(name);
    if (problem != null) {
      files.keepAside(name + SUFFIX, problem);
    }
    files.delete(name + SUFFIX);
    unreadable.remove(name);
  }

  /**
   * Reads a document.
   *
   * @param name file name without suffix
   * @return the document, or empty where there is none
   * @throws DamagedStateException with the reason, where it cannot be read
   */
  Optional<T> read(String name) throws DamagedStateException {
    try {
      final ByteBuffer document = StateFile.decode(kind, files.read(name + SUFFIX));
      return Optional.of(DocumentReader.read(document, codec::read));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (DamagedStateException e) {
      distrust(name, e.getMessage());
      throw e;
    } catch (IOException e) {
      distrust(name, IoFailure.reason(e));
      throw new DamagedStateException(IoFailure.reason(e));
    }
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
   * Lists the names of the documents, sorted.
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
    return names;
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
