package agent.datapath.manager.spec;

import agent.types.Prefix;

/**
 * The change of one ipcache entry.
 *
 * @param before the entry that the kernel holds for the prefix, or null for none
 * @param after the desired entry for the same prefix, or null for none
 */
public record IpcacheChange(IpcacheEntry before, IpcacheEntry after) {
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
