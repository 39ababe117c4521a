package agent.datapath.manager.conductor;

import agent.bindings.Errno;
import agent.datapath.manager.spec.PolicyMapDelta;
import agent.datapath.manager.spec.PolicyMapEntry;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.PolicyMap;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyKeyFlyweight;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes changes of policy maps: denies in, allows in, allows out, denies out. Where a write fails,
 * what would allow more is left undone, and what allows less is still done. It allocates nothing
 * unless a write fails.
 */
final class PolicyWriter {
  private final MapCursor cursor = new MapCursor();
  private final PolicyKeyFlyweight key = new PolicyKeyFlyweight();
  private final PolicyEntryFlyweight value = new PolicyEntryFlyweight();
  private BpfMapException failure;

  /** Writes a change. */
  void apply(PolicyMap map, PolicyMapDelta delta) {
    failure = null;
    upsert(map, delta.upserts(), true);
    if (failure == null) {
      upsert(map, delta.upserts(), false);
    }
    delete(map, delta.deletes(), false);
    if (failure == null) {
      delete(map, delta.deletes(), true);
    }
    if (failure != null) {
      throw failure;
    }
  }

  /**
   * What has to change for the map to hold these entries and nothing else. What was refused before
   * is forgotten: only what is wanted now may be tried again.
   */
  PolicyMapDelta difference(PolicyMap map, Collection<PolicyMapEntry> desired) {
    map.map().forgetRefused();
    final Map<PolicyMapEntry.Key, PolicyMapEntry> there = read(map);
    final List<PolicyMapEntry> upserts = new ArrayList<>();
    for (final PolicyMapEntry entry : desired) {
      if (!entry.equals(there.remove(entry.key()))) {
        upserts.add(entry);
      }
    }
    return new PolicyMapDelta(upserts, List.copyOf(there.values()));
  }

  private Map<PolicyMapEntry.Key, PolicyMapEntry> read(PolicyMap map) {
    final Map<PolicyMapEntry.Key, PolicyMapEntry> entries = new HashMap<>();
    final int opened = cursor.open(map.map());
    if (opened < 0) {
      throw map.map().failure("walk", "all", opened);
    }
    while (cursor.next()) {
      key.wrap(cursor.key(), 0);
      value.wrap(cursor.value(), 0);
      final PolicyMapEntry entry =
          new PolicyMapEntry(
              key.identity(),
              PolicyDirection.values()[key.direction()],
              key.protocol(),
              key.port(),
              key.prefixLength(),
              value.flags(),
              value.proxyPort());
      entries.put(entry.key(), entry);
    }
    cursor.close();
    if (cursor.error() < 0) {
      throw map.map().failure("walk", "all", cursor.error());
    }
    return entries;
  }

  private void upsert(PolicyMap map, List<PolicyMapEntry> entries, boolean isDeny) {
    for (int i = 0; i < entries.size(); i++) {
      final PolicyMapEntry entry = entries.get(i);
      if (entry.isDeny() == isDeny) {
        final int result =
            map.upsert(
                entry.identity(),
                entry.direction().number(),
                entry.protocol(),
                entry.port(),
                entry.prefixLength(),
                entry.flags(),
                entry.proxyPort());
        if (result < 0 && failure == null) {
          failure = map.failure("update", result);
        }
      }
    }
  }

  private void delete(PolicyMap map, List<PolicyMapEntry> entries, boolean isDeny) {
    for (int i = 0; i < entries.size(); i++) {
      final PolicyMapEntry entry = entries.get(i);
      if (entry.isDeny() == isDeny) {
        final int result =
            map.delete(
                entry.identity(),
                entry.direction().number(),
                entry.protocol(),
                entry.port(),
                entry.prefixLength());
        if (result < 0 && result != -Errno.ENOENT && failure == null) {
          failure = map.failure("delete", result);
        }
      }
    }
  }
}
