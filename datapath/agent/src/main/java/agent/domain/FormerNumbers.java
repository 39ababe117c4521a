package agent.domain;

import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy;
import agent.identity.Identity;
import agent.types.Prefix;
import java.util.HashMap;
import java.util.Map;

/** The identities of single addresses in the ipcache of the kernel, from the previous run. */
final class FormerNumbers {
  private FormerNumbers() {}

  /** Reads them: those of names keep them, so that no address has the number of another one. */
  static Map<Prefix, Integer> read(IpcacheProxy ipcache) {
    final Map<Prefix, Integer> numbers = new HashMap<>();
    for (final IpcacheEntry entry : ipcache.read().join()) {
      if (entry.identity() >= Identity.LOCAL_MIN && entry.prefix().isSingleAddress()) {
        numbers.put(entry.prefix(), entry.identity());
      }
    }
    return numbers;
  }
}
