package agent.datapath.manager.spec;

import agent.types.Prefix;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Reads and writes the ipcache maps of the kernel. Only the module {@code datapath/ipcache}, which
 * owns their content, uses it. Threads, order and failures are those of {@link
 * EndpointAttachmentProxy}.
 */
public interface IpcacheProxy {
  /** Reads all entries of the kernel. */
  CompletableFuture<List<IpcacheEntry>> read();

  /**
   * Writes changes in the given order. Raises the generations of the endpoints before and after
   * each change, and once the generation of addresses outside this node; an empty list raises none.
   * Skips the remaining changes after a failed write.
   */
  CompletableFuture<Void> apply(Collection<IpcacheChange> changes);

  /**
   * The change of one ipcache entry.
   *
   * @param before the entry that the kernel holds for the prefix, or null for none
   * @param after the desired entry for the same prefix, or null for none
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
