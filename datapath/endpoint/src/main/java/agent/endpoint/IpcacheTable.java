package agent.endpoint;

import agent.datapath.manager.spec.IpcacheEntry;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What the ipcache is to hold. A prefix may be said by several sources; the strongest one wins, and
 * where it goes the next one comes forward.
 */
final class IpcacheTable {
  /** Who says what a prefix stands for, the weakest first. */
  enum Source {
    /** A CIDR of a rule. */
    CIDR,
    /** An address of the node. */
    HOST,
    /** An address of an endpoint. */
    ENDPOINT
  }

  /** What to write. */
  record Change(List<IpcacheEntry> upserts, List<Prefix> deletes) {}

  private final Map<Prefix, EnumMap<Source, IpcacheEntry>> entries = new HashMap<>();

  /** Says what prefixes stand for. */
  Change put(Source source, Collection<IpcacheEntry> said) {
    final List<IpcacheEntry> upserts = new ArrayList<>();
    for (final IpcacheEntry entry : said) {
      final EnumMap<Source, IpcacheEntry> sources =
          entries.computeIfAbsent(entry.prefix(), prefix -> new EnumMap<>(Source.class));
      final IpcacheEntry before = winner(sources);
      sources.put(source, entry);
      if (!winner(sources).equals(before)) {
        upserts.add(winner(sources));
      }
    }
    return new Change(upserts, List.of());
  }

  /** A source says nothing of these prefixes any more. */
  Change remove(Source source, Collection<Prefix> prefixes) {
    final List<IpcacheEntry> upserts = new ArrayList<>();
    final List<Prefix> deletes = new ArrayList<>();
    for (final Prefix prefix : prefixes) {
      final EnumMap<Source, IpcacheEntry> sources = entries.get(prefix);
      if (sources != null) {
        final IpcacheEntry before = winner(sources);
        sources.remove(source);
        if (sources.isEmpty()) {
          entries.remove(prefix);
          deletes.add(prefix);
        } else if (!winner(sources).equals(before)) {
          upserts.add(winner(sources));
        }
      }
    }
    return new Change(upserts, deletes);
  }

  /** Whether a source says anything of a prefix. */
  boolean has(Source source, Prefix prefix) {
    final EnumMap<Source, IpcacheEntry> sources = entries.get(prefix);
    return sources != null && sources.containsKey(source);
  }

  /** The prefixes of a source. */
  List<Prefix> prefixes(Source source) {
    return entries.entrySet().stream()
        .filter(entry -> entry.getValue().containsKey(source))
        .map(Map.Entry::getKey)
        .sorted()
        .toList();
  }

  /** All of it, by prefix. */
  List<IpcacheEntry> winners() {
    final Map<Prefix, IpcacheEntry> sorted = new TreeMap<>();
    entries.forEach((prefix, sources) -> sorted.put(prefix, winner(sources)));
    return List.copyOf(sorted.values());
  }

  private static IpcacheEntry winner(EnumMap<Source, IpcacheEntry> sources) {
    IpcacheEntry strongest = null;
    for (final IpcacheEntry entry : sources.values()) {
      strongest = entry;
    }
    return strongest;
  }
}
