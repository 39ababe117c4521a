package agent.state;

/** Makes changes of files: each at once, or several together. */
@FunctionalInterface
interface FileChanges {
  /** Makes each change alone, on the thread of its caller. */
  FileChanges ALONE = FileGroup::makeAlone;

  /**
   * Makes a change and ends it ({@link FileChange#finish}). Within a write that the store commits
   * together with others, the change ends with that, after the return.
   *
   * @throws RuntimeException the failure of the change
   */
  void make(FileChange change);
}
