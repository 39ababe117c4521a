package agent.state;

import agent.types.IoFailure;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Changes of files that are made durable together. All contents are synced before the first name
 * changes; names change in the order of the changes; then each folder is synced once. Contents are
 * synced at the same time, and folders, too: what is synced meanwhile shares a commit of the file
 * system's journal, so that a group takes about as long as one change. A change that fails leaves
 * its file as it was and the others their way. For one thread.
 */
final class FileGroup {
  private static final Logger LOGGER = LogManager.getLogger(FileGroup.class);

  private final List<FileChange> changes = new ArrayList<>();
  private final Map<FolderFiles, FileChannel> folders = new LinkedHashMap<>();
  private final List<FileChange> renamed = new ArrayList<>();
  private final Executor syncing;

  /**
   * Creates a group without changes.
   *
   * @param syncing runs syncs, several at the same time
   */
  FileGroup(Executor syncing) {
    this.syncing = syncing;
  }

  /** A step of a change. */
  private interface Step {
    void of(FileChange change) throws IOException;
  }

  /** Makes one change alone, and ends it: throws its failure. */
  static void makeAlone(FileChange change) {
    final FileGroup group = new FileGroup(Runnable::run);
    group.add(change);
    group.commit();
    change.finish();
  }

  /** Returns whether a change of this file waits for {@link #commit}. */
  boolean changes(FolderFiles files, String name) {
    for (final FileChange change : changes) {
      if (change.files() == files && change.name().equals(name)) {
        return true;
      }
    }
    return false;
  }

  /** Begins a change, which {@link #commit} makes; one that cannot begin has failed. */
  void add(FileChange change) {
    changes.add(change);
    attempt(
        change,
        begun -> {
          // Opened first, so that no missing descriptor can prevent the sync after the commit.
          if (begun.isOfNames() && !folders.containsKey(begun.files())) {
            folders.put(begun.files(), begun.files().open());
          }
          begun.begin();
        });
  }

  /** Makes all changes durable, or has them fail. */
  void commit() {
    try {
      together(
          changes.stream().filter(FileChange::isOfContent).toList(),
          change -> attempt(change, FileChange::sync));
      changes.forEach(change -> attempt(change, this::name));
      together(
          folders.keySet().stream().filter(this::hasRenamed).toList(),
          files -> sync(files, folders.get(files)));
    } finally {
      changes.forEach(FileChange::end);
      folders.values().forEach(FileGroup::close);
      changes.clear();
      renamed.clear();
      folders.clear();
    }
  }

  private void name(FileChange change) throws IOException {
    if (change.commit()) {
      renamed.add(change);
    }
  }

  private <T> void together(List<T> all, Consumer<T> sync) {
    if (all.size() == 1) {
      sync.accept(all.getFirst());
    } else {
      CompletableFuture.allOf(
              all.stream()
                  .map(one -> CompletableFuture.runAsync(() -> sync.accept(one), syncing))
                  .toArray(CompletableFuture<?>[]::new))
          .join();
    }
  }

  private boolean hasRenamed(FolderFiles files) {
    return renamed.stream().anyMatch(change -> change.files() == files);
  }

  private void sync(FolderFiles files, FileChannel directory) {
    try {
      files.sync(directory);
    } catch (IOException e) {
      for (final FileChange change : renamed.reversed()) {
        if (change.files() == files) {
          change.undo(e);
          change.fail(e);
        }
      }
    }
  }

  private static void attempt(FileChange change, Step step) {
    if (!change.hasFailed()) {
      try {
        step.of(change);
      } catch (IOException e) {
        change.fail(e);
      } catch (RuntimeException e) {
        change.fail(new IOException(e.getMessage(), e)); // the others are made nevertheless
      }
    }
  }

  private static void close(FileChannel directory) {
    try {
      directory.close();
    } catch (IOException e) {
      LOGGER.warn("a state folder cannot be closed: {}", IoFailure.reason(e));
    }
  }
}
