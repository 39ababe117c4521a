package agent.state;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.function.Function;

/**
 * A change of one file, made in steps: {@link #begin}, {@link #sync}, {@link #commit}, the sync of
 * the folder, {@link #end}, and then {@link #finish}, once it is durable or has failed.
 */
abstract class FileChange {
  private final FolderFiles files;
  private final String name;
  private Runnable committed = () -> {};
  private Runnable afterwards;
  private Function<IOException, RuntimeException> refusal = UncheckedIOException::new;
  private IOException failure;

  FileChange(FolderFiles files, String name) {
    this.files = files;
    this.name = name;
  }

  final FolderFiles files() {
    return files;
  }

  final String name() {
    return name;
  }

  /**
   * Sets what {@link #finish} does.
   *
   * @param whenCommitted what follows once the change is durable
   * @param refused returns the failure of a change that is not made; null where it is none
   */
  final FileChange then(Runnable whenCommitted, Function<IOException, RuntimeException> refused) {
    committed = whenCommitted;
    refusal = refused;
    return this;
  }

  /** Sets what follows a durable change at length: others are answered before. */
  final FileChange afterwards(Runnable work) {
    afterwards = work;
    return this;
  }

  final boolean hasAfterwards() {
    return afterwards != null;
  }

  /** Returns whether there is content, so that {@link #sync} waits for the disk. */
  boolean isOfContent() {
    return false;
  }

  /** Returns whether names in the folder change, so that it is to be synced. */
  boolean isOfNames() {
    return true;
  }

  /** Writes what needs no place in the folder yet. */
  void begin() throws IOException {
    // nothing by default
  }

  /** Makes durable what is written; another thread than that of the other steps may call. */
  void sync() throws IOException {
    // nothing by default
  }

  /** Puts the change in its place; returns whether names in the folder have changed. */
  abstract boolean commit() throws IOException;

  /** Undoes a committed change whose folder cannot be synced. */
  void undo(IOException reason) {
    // nothing by default
  }

  /** Removes what is temporary. */
  void end() {
    // nothing by default
  }

  final void fail(IOException reason) {
    failure = reason;
  }

  final boolean hasFailed() {
    return failure != null;
  }

  /** Ends the change: runs what follows it, or throws its failure. */
  final void finish() {
    if (failure == null) {
      committed.run();
      if (afterwards != null) {
        afterwards.run();
      }
      return;
    }
    final RuntimeException refused = refusal.apply(failure);
    if (refused != null) {
      throw refused;
    }
  }
}
