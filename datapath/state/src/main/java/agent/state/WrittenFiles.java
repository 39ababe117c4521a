package agent.state;

import agent.types.IoFailure;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The names of the files that a folder of state files has, as empty files {@code
 * written/<folder>.<name>}: what is missing there was removed by others, and is not empty. All are
 * links to few files, since a file system makes a link in a fraction of the time of a file.
 *
 * <p>A name is added after its file is committed, and removed before its file is, so that no crash
 * leaves a name without a file. A crash may leave a file without a name, as do releases that had no
 * names: the next start adds it. Names wait for no disk: after a loss of power a few may be
 * missing. Thread-safe for different names.
 */
final class WrittenFiles {
  /** The folder of the names. */
  static final String FOLDER = "written";

  /** Begins the name of a folder of which names may be missing. */
  static final String INCOMPLETE = "incomplete.";

  private static final Logger LOGGER = LogManager.getLogger(WrittenFiles.class);

  private final boolean isKept;
  private final Path folder;
  private final String prefix;
  private final Path incomplete;
  private final Set<String> names = new ConcurrentSkipListSet<>();
  private volatile boolean isFailing;

  /** A name whose file the next ones are links to, if it is still there; null before the first. */
  private volatile Path linked;

  /**
   * Reads the names of one folder, which may have none.
   *
   * @param directory the state directory
   * @param ofFolder the name of the folder
   * @throws OperationException where they cannot be read
   */
  WrittenFiles(Path directory, String ofFolder) {
    isKept = true;
    folder = directory.resolve(FOLDER);
    prefix = ofFolder + ".";
    incomplete = folder.resolve(INCOMPLETE + ofFolder);
    try {
      createFolder(directory);
      try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, prefix + "*")) {
        for (final Path file : files) {
          names.add(file.getFileName().toString().substring(prefix.length()));
        }
      } catch (DirectoryIteratorException e) {
        throw e.getCause();
      }
    } catch (IOException e) {
      throw failure(folder, "read", e);
    }
  }

  private WrittenFiles() {
    isKept = false;
    folder = Path.of(FOLDER);
    prefix = "";
    incomplete = folder.resolve(INCOMPLETE);
  }

  /** Creates the folder of all names where it is missing. */
  static void createFolder(Path directory) throws IOException {
    Files.createDirectories(
        directory.resolve(FOLDER),
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
  }

  /**
   * Removes the names of all folders: a former release ran last, which has removed files alone.
   *
   * @throws OperationException where they cannot be removed
   */
  static void forget(Path directory) {
    final Path all = directory.resolve(FOLDER);
    if (Files.isDirectory(all, LinkOption.NOFOLLOW_LINKS)) {
      try (DirectoryStream<Path> files = Files.newDirectoryStream(all)) {
        for (final Path file : files) {
          Files.delete(file);
        }
      } catch (DirectoryIteratorException e) {
        throw failure(all, "cleared", e.getCause());
      } catch (IOException e) {
        throw failure(all, "cleared", e);
      }
    }
  }

  private static OperationException failure(Path folder, String participle, IOException cause) {
    return new OperationException(
        "state folder %s cannot be %s: %s".formatted(folder, participle, IoFailure.reason(cause)),
        cause);
  }

  /** Returns names that are not kept: no file of a folder is missed. */
  static WrittenFiles none() {
    return new WrittenFiles();
  }

  /** Returns the path of a name, for messages. */
  Path path(String name) {
    return folder.resolve(prefix + name);
  }

  /** Returns whether a file of this name was written and not removed. */
  boolean has(String name) {
    return names.contains(name);
  }

  /** Returns the names, sorted. */
  List<String> names() {
    return List.copyOf(names);
  }

  /** Returns whether the folder of all names is gone. */
  static boolean areGone(Path directory) {
    return !Files.isDirectory(directory.resolve(FOLDER), LinkOption.NOFOLLOW_LINKS);
  }

  /** Writes the names again, whose folder others have removed. */
  void restore() {
    if (isKept) {
      final List<String> all = names();
      try {
        createFolder(folder.getParent());
        for (final String name : all) {
          link(path(name));
        }
        LOGGER.warn("{}*: {} names were removed; written again", path(""), all.size());
      } catch (IOException e) {
        LOGGER.warn(
            "state folder {} was removed and cannot be written: {}", folder, IoFailure.reason(e));
      }
    }
  }

  /** Adds a name after its file is written; where that fails, the file has no name. */
  void add(String name) {
    if (isKept && !names.contains(name)) {
      try {
        link(path(name));
        names.add(name);
        isFailing = false;
      } catch (IOException e) {
        if (!isFailing) {
          isFailing = true;
          LOGGER.warn(
              "{} cannot be written: the loss of its file would not be detected: {}",
              path(name),
              IoFailure.reason(e));
        }
      }
    }
  }

  private void link(Path file) throws IOException {
    final Path to = linked;
    if (to != null) {
      try {
        Files.createLink(file, to);
        return;
      } catch (FileAlreadyExistsException present) {
        return;
      } catch (IOException | UnsupportedOperationException removedOrFull) {
        // it is removed, or has all the links that the file system allows: a new one follows
      }
    }
    create(file);
    linked = file;
  }

  static void create(Path file) throws IOException {
    if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
      Files.newByteChannel(
              file,
              Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))
          .close();
    }
  }

  /**
   * Removes a name before its file is removed.
   *
   * @throws IOException where that failed; the file must not be removed
   */
  void remove(String name) throws IOException {
    if (names.contains(name)) {
      Files.deleteIfExists(path(name));
      names.remove(name);
    }
  }

  /** Returns whether names were lost, so that files may be missing that have none. */
  boolean isIncomplete() {
    return isKept && Files.exists(incomplete, LinkOption.NOFOLLOW_LINKS);
  }

  /** Ends {@link #isIncomplete}: the names that others know are added. */
  void complete() {
    if (isKept) {
      try {
        Files.deleteIfExists(incomplete);
      } catch (IOException e) {
        LOGGER.warn("{} cannot be removed: {}", incomplete, IoFailure.reason(e));
      }
    }
  }

  /** Returns the names of files that others have removed. */
  List<String> missing(Path of, String suffix) {
    final Set<String> present = new TreeSet<>();
    final List<String> before = names();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(of, "*" + suffix)) {
      for (final Path file : files) {
        final String name = file.getFileName().toString();
        present.add(name.substring(0, name.length() - suffix.length()));
      }
    } catch (IOException | DirectoryIteratorException e) {
      return before;
    }
    final List<String> missing = new ArrayList<>();
    for (final String name : before) {
      if (!present.contains(name)
          && !Files.exists(of.resolve(name + suffix), LinkOption.NOFOLLOW_LINKS)
          && names.contains(name)) {
        missing.add(name);
      }
    }
    return missing;
  }
}
