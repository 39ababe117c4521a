package agent.state;

import agent.node.NodeStore.NodeRecord;
import agent.types.AlreadyInUseException;
import agent.types.Leftover;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The files that agents left in a state directory, locked while this is open. Files that no release
 * has written there are not in it, and keep their folders. Nothing is created.
 */
public final class StateLeftovers implements AutoCloseable {
  /** Folders of every release. */
  private static final List<String> FOLDERS =
      Stream.concat(
              LostNames.FOLDERS.stream(), Stream.of(WrittenFiles.FOLDER, LostNames.UNFINISHED))
          .toList();

  /** Documents, what was kept aside of them, and temporary files ({@link FolderFiles}). */
  private static final Pattern FILE = Pattern.compile("[a-z0-9-]+\\.json[a-z0-9.-]*|probe.*");

  /** The names of documents ({@link WrittenFiles}). */
  private static final Pattern WRITTEN = Pattern.compile("[a-z-]+\\.[a-z0-9-]+");

  private final Path directory;
  private final Optional<StateLock> lock;

  private StateLeftovers(Path directory, Optional<StateLock> lock) {
    this.directory = directory;
    this.lock = lock;
  }

  /**
   * Locks the directory, which need not exist.
   *
   * @throws AlreadyInUseException where an agent has it locked
   */
  public static StateLeftovers open(Path directory) {
    return new StateLeftovers(directory, StateLock.takeExisting(directory));
  }

  /** Returns the stored address ranges of the node, where they can be read. */
  public Optional<NodeRecord> node() {
    try {
      final byte[] file = Files.readAllBytes(directory.resolve("node/node.json"));
      return Optional.of(
          DocumentReader.read(StateFile.decode("node", file), new NodeCodec()::read));
    } catch (IOException | DamagedStateException unreadable) {
      return Optional.empty();
    }
  }

  /**
   * Finds the files and folders, in the order in which they are to be removed.
   *
   * @throws OperationException where a folder cannot be listed
   */
  public List<Leftover> find() {
    final List<Leftover> found = new ArrayList<>();
    for (final String name : FOLDERS) {
      final Path folder = directory.resolve(name);
      for (final Path path : Leftover.paths(folder)) {
        if (path.equals(folder)
            || path.getParent().equals(folder)
                && pattern(name).matcher(path.getFileName().toString()).matches()) {
          found.add(Leftover.of(path));
        }
      }
    }
    for (final Path path : List.of(directory.resolve(StateLock.NAME), directory)) {
      if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
        found.add(Leftover.of(path));
      }
    }
    return found;
  }

  private static Pattern pattern(String folder) {
    return folder.startsWith(WrittenFiles.FOLDER) ? WRITTEN : FILE;
  }

  /** Releases the lock. */
  @Override
  public void close() {
    lock.ifPresent(StateLock::close);
  }
}
