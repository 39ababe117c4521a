package agent.ipcache;

import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.IpcacheProxy.IpcacheChange;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The desired ipcache entries by source, and the entries last written to the kernel. Only their
 * difference is written. Not thread-safe.
 */
final class IpcacheTable {
  /** The entries of each source, the one with the highest precedence last. */
  private final Map<IpcacheSource, Map<Prefix, IpcacheEntry>> desired =
      new EnumMap<>(IpcacheSource.class);

  private final Map<Prefix, IpcacheEntry> realized = new HashMap<>();

  /** The entries of the node that are wider than one address: few. */
  private final Map<Prefix, IpcacheEntry> wide = new TreeMap<>();

  IpcacheTable() {
    for (final IpcacheSource source : IpcacheSource.values()) {
      desired.put(source, new HashMap<>());
    }
  }

  /** Adds or replaces the entry of a source. */
  void put(IpcacheSource source, IpcacheEntry entry) {
    desired.get(source).put(entry.prefix(), entry);
    if (source == IpcacheSource.NODE && !entry.prefix().isSingleAddress()) {
      wide.put(entry.prefix(), entry);
    }
  }

  /** Removes the entry of a source for a prefix. */
  void remove(IpcacheSource source, Prefix prefix) {
    if (source == IpcacheSource.NODE) {
      wide.remove(prefix);
    }
    desired.get(source).remove(prefix);
  }

  /** Returns whether a source has an entry for a prefix. */
  boolean has(IpcacheSource source, Prefix prefix) {
    return desired.get(source).containsKey(prefix);
  }

  /** Returns the prefixes of a source, sorted. */
  Set<Prefix> prefixes(IpcacheSource source) {
    return new TreeSet<>(desired.get(source).keySet());
  }

  /** Returns the prefixes of a source that another prefix covers. */
  List<Prefix> below(IpcacheSource source, Prefix cover) {
    return desired.get(source).keySet().stream().filter(cover::covers).toList();
  }

  /** Returns the desired entry of the kernel, or null. */
  private IpcacheEntry winner(Prefix prefix) {
    IpcacheSource strongest = null;
    IpcacheEntry found = null;
    for (final IpcacheSource source : desired.keySet()) {
      final IpcacheEntry entry = desired.get(source).get(prefix);
      if (entry != null) {
        strongest = source;
        found = entry;
      }
    }
    return strongest == IpcacheSource.OUTSIDE ? ofNode(found) : found;
  }

  /**
   * Returns the entry of a prefix outside as one of the node where the node has a wider prefix: the
   * kernel finds the longest prefix only.
   */
  private IpcacheEntry ofNode(IpcacheEntry cidr) {
    IpcacheEntry cover = null;
    for (final IpcacheEntry entry : wide.values()) {
      if (entry.prefix().covers(cidr.prefix())
          && (cover == null || entry.prefix().length() > cover.prefix().length())) {
        cover = entry;
      }
    }
    return cover == null
        ? cidr
        : new IpcacheEntry(cidr.prefix(), cover.identity(), 0, cover.isHost());
  }

  /** Replaces the known entries of the kernel. */
  void realized(Collection<IpcacheEntry> entries) {
    realized.clear();
    entries.forEach(entry -> realized.put(entry.prefix(), entry));
  }

  /**
   * Returns the changes to write for these prefixes and records them as written: upserts before
   * deletes.
   */
  List<IpcacheChange> takeChanges(Collection<Prefix> prefixes) {
    final List<IpcacheChange> changes = new ArrayList<>();
    final List<IpcacheChange> deletes = new ArrayList<>();
    for (final Prefix prefix : prefixes) {
      final IpcacheEntry before = realized.get(prefix);
      final IpcacheEntry after = winner(prefix);
      if (after == null && before != null) {
        realized.remove(prefix);
        deletes.add(new IpcacheChange(before, null));
      } else if (after != null && !after.equals(before)) {
        realized.put(prefix, after);
        changes.add(new IpcacheChange(before, after));
      }
    }
    changes.addAll(deletes);
    return changes;
  }

  /** Returns the changes of all prefixes, as {@link #takeChanges(Collection)} does. */
  List<IpcacheChange> takeAllChanges() {
    final Set<Prefix> all = new TreeSet<>(realized.keySet());
    desired.values().forEach(entries -> all.addAll(entries.keySet()));
    return takeChanges(all);
  }
}
