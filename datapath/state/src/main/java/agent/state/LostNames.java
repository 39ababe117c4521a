package agent.state;

import agent.types.IoFailure;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * What a start does where the folder of the names of files is gone although a run before it is
 * proved, by the lock, by other files or by the kernel: each document that a run may have had and
 * that is not there counts as missing, and of documents with a number those that the kernel knows
 * ({@link WrittenFiles#isIncomplete}). Too few documents close; none at all would open.
 */
final class LostNames {
  /** The folder of the names until it is whole. */
  static final String UNFINISHED = "written.new";

  /** Folders of documents. */
  static final List<String> FOLDERS =
      List.of(
          "endpoints",
          "policy",
          "ipam",
          "node",
          "prefilter",
          "configuration",
          "services",
          "service-batches",
          "names");

  private static final Logger LOGGER = LogManager.getLogger(LostNames.class);

  /** What restricts traffic; missed where the kernel alone proves a run. */
  private static final List<String> GUARDING =
      List.of("policy/rules", "prefilter/list", "configuration/daemon");

  private static final List<String> OTHERS = List.of("names/cache", "ipam/leases", "node/node");
  private static final List<String> NUMBERED = List.of("endpoints", "services");

  private LostNames() {}

  /** Returns whether there is a document. */
  static boolean hasDocuments(Path directory) {
    for (final String folder : FOLDERS) {
      try (DirectoryStream<Path> files =
          Files.newDirectoryStream(directory.resolve(folder), "*.json")) {
        if (files.iterator().hasNext()) {
          return true;
        }
      } catch (IOException | DirectoryIteratorException none) {
        continue;
      }
    }
    return false;
  }

  /**
   * Writes the folder of the names where it is gone and a run is proved.
   *
   * @throws OperationException where it cannot be written
   */
  static void restore(Path directory, StateLock lock) {
    if (!WrittenFiles.areGone(directory)) {
      return;
    }
    final List<String> missed = new ArrayList<>(GUARDING);
    if (!lock.isNew() || hasDocuments(directory)) {
      missed.addAll(OTHERS);
    }
    missed.removeIf(
        name -> Files.exists(directory.resolve(name + ".json"), LinkOption.NOFOLLOW_LINKS));
    missed.removeIf(
        name ->
            name.equals("policy/rules")
                && Files.exists(
                    directory.resolve("policy/rules-copy.json"), LinkOption.NOFOLLOW_LINKS));
    final Path folder = directory.resolve(UNFINISHED);
    try {
      create(folder, missed);
      Files.move(folder, directory.resolve(WrittenFiles.FOLDER), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException | DirectoryIteratorException e) {
      final IOException cause = e instanceof IOException io ? io : (IOException) e.getCause();
      throw new OperationException(
          "state folder %s cannot be written: %s".formatted(folder, IoFailure.reason(cause)), e);
    }
    LOGGER.error(
        "state directory {}: the list of its files ({}) was removed after a previous run: missing"
            + " files count as damaged: {}",
        directory,
        WrittenFiles.FOLDER,
        missed);
  }

  private static void create(Path folder, List<String> missed) throws IOException {
    Files.createDirectories(
        folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (final Path file : files) {
        Files.delete(file); // of a start that did not end
      }
    }
    for (final String name : missed) {
      WrittenFiles.create(folder.resolve(name.replace('/', '.')));
    }
    for (final String name : NUMBERED) {
      WrittenFiles.create(folder.resolve(WrittenFiles.INCOMPLETE + name));
    }
  }
}
