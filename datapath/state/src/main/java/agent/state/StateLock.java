package agent.state;

import agent.types.AlreadyInUseException;
import agent.types.IoFailure;
import agent.types.Refusal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The exclusive lock of one state directory. The kernel releases it when the process ends, also
 * after a crash. The lock file stays; it contains the process id of the holder, and that the holder
 * keeps the names of its files ({@link WrittenFiles}), which former releases do not.
 */
final class StateLock implements AutoCloseable {
  static final String NAME = "agent.lock";

  private static final String KEEPS_NAMES = "written";

  /**
   * What a former release leaves; no more than this, so that a damaged file is not taken for it.
   */
  private static final Pattern FORMER = Pattern.compile("\\d+");

  private final Path file;
  private final FileChannel channel;
  private final Object key;
  private final boolean isNew;
  private final boolean hasNames;

  private StateLock(Path file, FileChannel channel, boolean isNew, boolean hasNames)
      throws IOException {
    this.file = file;
    this.channel = channel;
    this.isNew = isNew;
    this.hasNames = hasNames;
    key = key(file);
  }

  private static Object key(Path file) throws IOException {
    return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
        .fileKey();
  }

  /** Returns whether there was no lock file. */
  boolean isNew() {
    return isNew;
  }

  /**
   * Returns whether the run before has kept the names of its files, or there was none: where a
   * former release ran last, which leaves its number alone, files may have gone without their
   * names.
   */
  boolean hasNames() {
    return hasNames;
  }

  /** Returns whether the lock file is where it was taken. */
  boolean isInPlace() {
    try {
      return key(file).equals(key);
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Checks the directory, creates it (0700) if it is missing, and locks it. The first run has a
   * folder of names before the lock says that it keeps them.
   *
   * @param directory the state directory
   * @param isInKernel whether the kernel proves a run before
   * @return the lock
   * @throws AlreadyInUseException where another agent holds the lock
   * @throws Refusal INVALID where others own the directory or may write to it, or where a file that
   *     is not the lock file is in its place
   * @throws UncheckedIOException where the directory or the file cannot be created
   */
  static StateLock take(Path directory, boolean isInKernel) {
    final Path file = directory.resolve(NAME);
    try {
      StateDirectory.prepare(directory);
      refuseOtherFile(file);
      final boolean isNew = !Files.exists(file, LinkOption.NOFOLLOW_LINKS);
      final FileChannel channel =
          FileChannel.open(
              file,
              Set.of(
                  StandardOpenOption.CREATE,
                  StandardOpenOption.READ,
                  StandardOpenOption.WRITE,
                  LinkOption.NOFOLLOW_LINKS),
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      if (!isLocked(channel)) {
        final String holder = read(channel).getFirst();
        channel.close();
        throw inUse(directory, holder);
      }
      final boolean hasNames = isNew || !FORMER.matcher(String.join("", read(channel))).matches();
      if (isNew && !isInKernel && !LostNames.hasDocuments(directory)) {
        WrittenFiles.createFolder(directory);
      }
      final byte[] lines =
          (ProcessHandle.current().pid() + "\n" + KEEPS_NAMES + "\n")
              .getBytes(StandardCharsets.US_ASCII);
      channel.write(ByteBuffer.wrap(lines), 0);
      channel.truncate(lines.length);
      return new StateLock(file, channel, isNew, hasNames);
    } catch (IOException e) {
      throw new UncheckedIOException(
          "state directory " + directory + ": " + IoFailure.reason(e), e);
    }
  }

  /**
   * Acquires the lock of a directory that may not exist, and creates and changes nothing.
   *
   * @param directory the state directory
   * @return the lock; empty where there is no lock file
   * @throws AlreadyInUseException where an agent holds the lock
   * @throws Refusal INVALID where a file that is not the lock file is in its place
   * @throws UncheckedIOException where the file cannot be opened
   */
  static Optional<StateLock> takeExisting(Path directory) {
    final Path file = directory.resolve(NAME);
    try {
      refuseOtherFile(file);
      final FileChannel channel =
          FileChannel.open(
              file, StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
      if (!isLocked(channel)) {
        final String holder = read(channel).getFirst();
        channel.close();
        throw inUse(directory, holder);
      }
      return Optional.of(new StateLock(file, channel, false, true));
    } catch (NoSuchFileException missing) {
      return Optional.empty();
    } catch (IOException e) {
      throw new UncheckedIOException(
          "state directory " + directory + ": " + IoFailure.reason(e), e);
    }
  }

  private static AlreadyInUseException inUse(Path directory, String holder) {
    return new AlreadyInUseException(
        "state directory " + directory + " is in use by another agent, process " + holder);
  }

  /**
   * The file is truncated: a symbolic link, a file with a second name, a device or a pipe in its
   * place is not the agent's.
   */
  private static void refuseOtherFile(Path file) throws IOException {
    if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)
        && (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
            || (Integer) Files.getAttribute(file, "unix:nlink", LinkOption.NOFOLLOW_LINKS) != 1)) {
      throw Refusal.invalid(
          "state-dir", file + ": it is not the lock file of an agent: remove or rename it");
    }
  }

  private static boolean isLocked(FileChannel channel) throws IOException {
    try {
      final FileLock lock = channel.tryLock();
      return lock != null;
    } catch (OverlappingFileLockException e) {
      return false;
    }
  }

  private static List<String> read(FileChannel channel) throws IOException {
    final ByteBuffer bytes = ByteBuffer.allocate(32);
    channel.read(bytes, 0);
    return List.of(
        new String(bytes.array(), 0, bytes.position(), StandardCharsets.US_ASCII)
            .strip()
            .split("\n"));
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw new UncheckedIOException(
          "lock of the state directory: close: " + IoFailure.reason(e), e);
    }
  }
}
