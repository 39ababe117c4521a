package agent.state;

import agent.types.IoFailure;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The files of one folder and the only code that changes them; {@link FileGroup} makes the changes.
 * A file is replaced by one rename, its commit point: before it the new content is on the disk
 * under a temporary name, after it the folder is synced. A replacement that fails at any step
 * leaves the file as it was and no temporary file. Links are never followed.
 */
class FolderFiles {
  private static final Logger LOGGER = LogManager.getLogger(FolderFiles.class);
  private static final String UNFINISHED = ".new";
  private static final String PREVIOUS = ".previous";
  private static final String PROBE = "probe";

  /** A file that is read takes at most this part of the heap: what it says must have room, too. */
  private static final int HEAP_SHARE = 4;

  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY_FOLDER =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  private final Path folder;

  /** A step between the writing of the new content and the commit. */
  @FunctionalInterface
  interface BeforeCommit {
    void run() throws IOException;
  }

  FolderFiles(Path folder) {
    this.folder = folder;
  }

  /** Creates the folder where it is missing, readable for the owner only. */
  void create() throws IOException {
    Files.createDirectories(folder, OWNER_ONLY_FOLDER);
  }

  Path path(String name) {
    return folder.resolve(name);
  }

  @Override
  public String toString() {
    return folder.toString();
  }

  /** Returns a failure that names the file and the cause: what happened to it is a participle. */
  static OperationException failure(Path file, String participle, IOException cause) {
    return new OperationException(
        "state file " + file + " cannot be " + participle + ": " + IoFailure.reason(cause), cause);
  }

  /** Lists the names that end with a suffix. */
  List<String> names(String suffix) throws IOException {
    final List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*" + suffix)) {
      for (final Path file : files) {
        names.add(file.getFileName().toString());
      }
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    names.sort(null);
    return names;
  }

  /** Removes the temporary files that a process left that was killed. */
  void removeLeftovers(String suffix) throws IOException {
    for (final String ending : List.of(UNFINISHED, PREVIOUS)) {
      for (final String name : names(suffix + ending)) {
        if (Files.isDirectory(path(name), LinkOption.NOFOLLOW_LINKS)) {
          moveAside(name, "a directory in the place of a temporary file");
        } else {
          Files.deleteIfExists(path(name));
        }
      }
    }
  }

  /**
   * Reads a whole file.
   *
   * @throws NoSuchFileException where there is nothing of that name
   * @throws DamagedStateException where it is not a regular file or too long
   */
  byte[] read(String name) throws IOException, DamagedStateException {
    final Path file = path(name);
    final BasicFileAttributes found =
        Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    if (!found.isRegularFile()) {
      throw new DamagedStateException(
          found.isDirectory()
              ? "it is a directory, not a file"
              : found.isSymbolicLink() ? "it is a symbolic link, not a file" : "it is not a file");
    }
    final int most = StateFile.MOST_BYTES + StateFile.LONGEST_HEADER_BYTES;
    if (found.size() > most) {
      throw new DamagedStateException(found.size() + " bytes exceed the size of a state file");
    }
    final long room = Runtime.getRuntime().maxMemory() / HEAP_SHARE;
    if (found.size() > room) {
      throw new DamagedStateException(
          found.size()
              + " bytes are too many for the heap of the agent, which has room for "
              + room);
    }
    try (var in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
      return in.readNBytes(most);
    }
  }

  /** Returns whether there is anything of that name. */
  boolean exists(String name) {
    return Files.exists(path(name), LinkOption.NOFOLLOW_LINKS);
  }

  /** Returns when names came or went last; null where the folder is gone. */
  FileTime changed() {
    try {
      return Files.getLastModifiedTime(folder, LinkOption.NOFOLLOW_LINKS);
    } catch (IOException e) {
      return null;
    }
  }

  /** Returns whether two regular files have the same bytes. */
  boolean isSame(String name, String other) throws IOException {
    return Files.isRegularFile(path(other), LinkOption.NOFOLLOW_LINKS)
        && Files.mismatch(path(name), path(other)) < 0;
  }

  /**
   * Returns the replacement of a file, or its creation.
   *
   * @param content from the position of each buffer to its limit
   * @param beforeCommit runs when the new content is on the disk, and before the file changes
   */
  FileChange replacement(String name, ByteBuffer[] content, BeforeCommit beforeCommit) {
    return new Replacement(name, content, beforeCommit);
  }

  /**
   * Returns the removal of a file; one that does not exist is not an error. A directory is moved
   * aside.
   *
   * @param beforeCommit runs before the file is removed, also where there is none
   */
  FileChange removal(String name, BeforeCommit beforeCommit) {
    return new Removal(name, beforeCommit);
  }

  /**
   * Returns the change of the name of a file.
   *
   * @param beforeCommit runs before the name changes
   */
  FileChange renaming(String name, String to, BeforeCommit beforeCommit) {
    return new Renaming(name, to, beforeCommit);
  }

  /**
   * Returns a change that makes durable what a file has, which is written piece by piece.
   *
   * @param isNew whether its name may not be durable yet
   */
  FileChange contentSync(String name, FileChannel channel, boolean isNew) {
    return new ContentSync(name, channel, isNew);
  }

  /** Opens the folder, to sync its names. */
  FileChannel open() throws IOException {
    return FileChannel.open(folder, StandardOpenOption.READ);
  }

  /** Makes the names in the folder durable. */
  void sync(FileChannel directory) throws IOException {
    sync(folder, directory);
  }

  /** The new content is written under a temporary name and takes the place of the file. */
  private final class Replacement extends FileChange {
    private final ByteBuffer[] content;
    private final BeforeCommit beforeCommit;
    private final Path file;
    private final Path unfinished;
    private final Path previous;
    private FileChannel channel;
    private boolean hasPrevious;
    private boolean mayHavePrevious;
    private boolean isMoved;

    private Replacement(String name, ByteBuffer[] content, BeforeCommit beforeCommit) {
      super(FolderFiles.this, name);
      this.content = content;
      this.beforeCommit = beforeCommit;
      file = path(name);
      unfinished = path(name + UNFINISHED);
      previous = path(name + PREVIOUS);
    }

    @Override
    boolean isOfContent() {
      return true;
    }

    @Override
    void begin() throws IOException {
      channel = write(unfinished, content);
    }

    @Override
    void sync() throws IOException {
      FolderFiles.this.sync(unfinished, channel);
    }

    @Override
    boolean commit() throws IOException {
      beforeCommit.run();
      mayHavePrevious = true;
      hasPrevious = keep(file, previous);
      mayHavePrevious = hasPrevious;
      Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
      isMoved = true;
      return true;
    }

    @Override
    void undo(IOException reason) {
      FolderFiles.undo(file, previous, hasPrevious, reason);
    }

    @Override
    void end() {
      if (channel != null) {
        close(channel);
      }
      if (!isMoved) {
        deleteTemporary(unfinished);
      }
      if (mayHavePrevious) {
        deleteTemporary(previous);
      }
    }
  }

  /** A file is removed; what is refused later is not there any more, and removed once more. */
  private final class Removal extends FileChange {
    private final BeforeCommit beforeCommit;

    private Removal(String name, BeforeCommit beforeCommit) {
      super(FolderFiles.this, name);
      this.beforeCommit = beforeCommit;
    }

    @Override
    boolean isOfNames() {
      return exists(name());
    }

    @Override
    boolean commit() throws IOException {
      beforeCommit.run();
      final Path file = path(name());
      if (!exists(name())) {
        return false;
      }
      if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
        moveAside(name(), "it is a directory, not a file");
      } else {
        Files.deleteIfExists(file);
      }
      return true;
    }
  }

  /** A file gets another name; where the folder cannot be synced, it has its former one. */
  private final class Renaming extends FileChange {
    private final String to;
    private final BeforeCommit beforeCommit;

    private Renaming(String name, String to, BeforeCommit beforeCommit) {
      super(FolderFiles.this, name);
      this.to = to;
      this.beforeCommit = beforeCommit;
    }

    @Override
    boolean commit() throws IOException {
      beforeCommit.run();
      Files.move(path(name()), path(to), StandardCopyOption.ATOMIC_MOVE);
      return true;
    }

    @Override
    void undo(IOException reason) {
      FolderFiles.undo(path(name()), path(to), true, reason);
    }
  }

  /** What was added to a file becomes durable. */
  private final class ContentSync extends FileChange {
    private final FileChannel channel;
    private final boolean isNew;

    private ContentSync(String name, FileChannel channel, boolean isNew) {
      super(FolderFiles.this, name);
      this.channel = channel;
      this.isNew = isNew;
    }

    @Override
    boolean isOfContent() {
      return true;
    }

    @Override
    boolean isOfNames() {
      return isNew;
    }

    @Override
    void sync() throws IOException {
      FolderFiles.this.sync(path(name()), channel);
    }

    @Override
    boolean commit() {
      return isNew;
    }
  }

  /**
   * Creates a file that is to be written piece by piece, without waiting for the disk: {@link
   * #contentSync} makes durable what it has, and its name.
   *
   * @throws IOException where it failed, or the file is there
   */
  FileChannel create(String name) throws IOException {
    return FileChannel.open(
        path(name), Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OWNER_ONLY);
  }

  /** Writes a new file, which is not synced, and returns its channel. */
  private static FileChannel write(Path file, ByteBuffer[] content) throws IOException {
    Files.deleteIfExists(file);
    final FileChannel channel =
        FileChannel.open(
            file, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OWNER_ONLY);
    try {
      for (final ByteBuffer part : content) {
        while (part.hasRemaining()) {
          channel.write(part);
        }
      }
      return channel;
    } catch (IOException | RuntimeException e) {
      close(channel);
      throw e;
    }
  }

  private static void close(FileChannel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      LOGGER.warn("a state file cannot be closed: {}", IoFailure.reason(e));
    }
  }

  /** Links the content of a file to a second name; returns false where there is no file. */
  private static boolean keep(Path file, Path second) throws IOException {
    if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
      return false;
    }
    Files.deleteIfExists(second);
    try {
      Files.createLink(second, file);
    } catch (UnsupportedOperationException | FileSystemException noLinks) {
      if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
        throw new IOException("not a file, and it cannot be linked to " + second.getFileName());
      }
      Files.copy(file, second, LinkOption.NOFOLLOW_LINKS, StandardCopyOption.COPY_ATTRIBUTES);
    }
    return true;
  }

  private static void undo(Path file, Path previous, boolean hasPrevious, IOException failure) {
    try {
      if (hasPrevious) {
        Files.move(previous, file, StandardCopyOption.ATOMIC_MOVE);
      } else {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      failure.addSuppressed(e);
      LOGGER.error(
          "state file {} has the content of a rejected change: {}", file, IoFailure.reason(e));
    }
  }

  private static void deleteTemporary(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      LOGGER.warn("temporary file {} cannot be removed: {}", file, IoFailure.reason(e));
    }
  }

  /**
   * Keeps what is in a file's place as {@code *.corrupt-<n>} before it is replaced. The file stays
   * where it is until the replacement is committed; only a directory has to be moved.
   *
   * @param reason why, for the log
   */
  void keepAside(String name, String reason) throws IOException {
    final Path file = path(name);
    if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
      moveAside(name, reason);
    } else {
      final Path aside = freeAside(name);
      if (keep(file, aside)) {
        LOGGER.warn("state file {}: {}; kept as {}", file, reason, aside.getFileName());
      }
    }
  }

  private void moveAside(String name, String reason) throws IOException {
    final Path aside = freeAside(name);
    Files.move(path(name), aside, StandardCopyOption.ATOMIC_MOVE);
    LOGGER.warn("state file {}: {}; kept as {}", path(name), reason, aside.getFileName());
  }

  private Path freeAside(String name) {
    int n = 1;
    Path aside = path(name + ".corrupt-" + n);
    while (Files.exists(aside, LinkOption.NOFOLLOW_LINKS)) {
      aside = path(name + ".corrupt-" + ++n);
    }
    return aside;
  }

  /**
   * Writes and removes a temporary file.
   *
   * @param suffix of the files of this folder
   * @param length how many bytes
   * @throws IOException where a file of that length cannot be written
   */
  void probe(String suffix, int length) throws IOException {
    final Path file = path(PROBE + suffix + UNFINISHED);
    try (FileChannel directory = open();
        FileChannel content = write(file, new ByteBuffer[] {ByteBuffer.allocate(length)})) {
      sync(file, content);
      sync(directory);
    } finally {
      Files.deleteIfExists(file);
    }
  }

  /**
   * Makes the content of a file, or the names in the folder, durable; a test replaces it.
   *
   * @param synced the file or the folder
   */
  void sync(Path synced, FileChannel channel) throws IOException {
    channel.force(true);
  }
}
