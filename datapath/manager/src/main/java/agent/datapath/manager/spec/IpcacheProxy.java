package agent.datapath.manager.spec;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Reads and writes the ipcache maps of the kernel. Only the module {@code datapath/ipcache}, which
 * owns their content, uses it. Threads, order and failures are those of {@link EndpointProxy}.
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
}
