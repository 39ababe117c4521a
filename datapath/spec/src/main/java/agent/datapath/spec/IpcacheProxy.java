package agent.datapath.spec;

import agent.types.Prefix;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Reads the ipcache maps of the kernel, and changes the entries that they are to hold. Only the
 * module {@code datapath/ipcache}, which owns their content, uses it. Threads, order and failures
 * are those of {@link EndpointAttachmentProxy}; changes follow the calls of {@link PolicyMapProxy}
 * that were made before them. An entry that the kernel refuses is retried, and the call fails; so
 * does the next call that has the same entry, until the kernel holds it.
 */
public interface IpcacheProxy {
  /** Reads all entries of the kernel. */
  CompletableFuture<List<IpcacheEntry>> read();

  /**
   * Changes desired entries, of each {@link IpcacheEntry#source()} beside those of the others, and
   * writes the differences in this order, deletions last. Raises the generations of the endpoints
   * before and after each difference, and those of the addresses outside this node.
   *
   * @return completes when the kernel holds the entries
   */
  CompletableFuture<Void> apply(Collection<IpcacheChange> changes);

  /**
   * Changes desired entries as {@link #apply} does, and then compares both maps with all of them.
   * Entries of the previous run that no source has put until then are deleted.
   */
  CompletableFuture<Void> synchronize(Collection<IpcacheChange> changes);

  /**
   * The change of one ipcache entry.
   *
   * @param before the former entry of its source; null where it has none, or one that is replaced
   * @param after the new entry of its source, for the same prefix; null for none
   */
  record IpcacheChange(IpcacheEntry before, IpcacheEntry after) {
    /** Checks that at least one entry is given, and that both have the same prefix. */
    public IpcacheChange {
      if (before == null && after == null
          || before != null && after != null && !before.prefix().equals(after.prefix())) {
        throw new IllegalArgumentException("ipcache change from " + before + " to " + after);
      }
    }

    /** Returns the prefix of the entries. */
    public Prefix prefix() {
      return before == null ? after.prefix() : before.prefix();
    }
  }
}
