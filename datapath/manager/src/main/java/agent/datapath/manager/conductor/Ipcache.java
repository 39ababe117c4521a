package agent.datapath.manager.conductor;

import agent.bindings.Errno;
import agent.datapath.manager.spec.IpcacheEntry;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.Ipcache4Map;
import agent.maps.kernel.Ipcache6Map;
import agent.maps.kernel.MapCursor;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.IpcacheFlag;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** The two ipcache maps and what is in them; each change tells whether there was one. */
final class Ipcache {
  private final Ipcache4Map map4;
  private final Ipcache6Map map6;
  private final Map<Prefix, IpcacheEntry> entries = new HashMap<>();

  /** Reads what the kernel has: after a restart, what was there before. */
  Ipcache(BpfMap ipcache4, BpfMap ipcache6) {
    map4 = new Ipcache4Map(ipcache4);
    map6 = new Ipcache6Map(ipcache6);
    final Ipcache4KeyFlyweight key4 = new Ipcache4KeyFlyweight();
    final Ipcache6KeyFlyweight key6 = new Ipcache6KeyFlyweight();
    read(
        ipcache4,
        cursor -> {
          key4.wrap(cursor.key(), 0);
          return Prefix.of(IpAddress.ofIpv4(key4.address()), key4.prefixLength());
        });
    read(
        ipcache6,
        cursor -> {
          key6.wrap(cursor.key(), 0);
          return Prefix.of(
              IpAddress.ofIpv6(key6.addressHigh(), key6.addressLow()), key6.prefixLength());
        });
  }

  /** Writes an entry; false where it is there already. */
  boolean upsert(IpcacheEntry entry) {
    if (entry.equals(entries.get(entry.prefix()))) {
      return false;
    }
    final Prefix prefix = entry.prefix();
    final int flags = entry.isHost() ? IpcacheFlag.HOST.number() : 0;
    if (prefix.isIpv4()) {
      final int result =
          map4.upsert(
              (int) prefix.address().low(),
              prefix.length(),
              entry.identity(),
              entry.endpointId(),
              flags);
      if (result < 0) {
        throw map4.failure("update", result);
      }
    } else {
      final int result =
          map6.upsert(
              prefix.address().high(),
              prefix.address().low(),
              prefix.length(),
              entry.identity(),
              entry.endpointId(),
              flags);
      if (result < 0) {
        throw map6.failure("update", result);
      }
    }
    entries.put(prefix, entry);
    return true;
  }

  /** Removes a prefix; false where it is not there. */
  boolean remove(Prefix prefix) {
    if (!entries.containsKey(prefix)) {
      return false;
    }
    if (prefix.isIpv4()) {
      final int result = map4.delete((int) prefix.address().low(), prefix.length());
      if (result < 0 && result != -Errno.ENOENT) {
        throw map4.failure("delete", result);
      }
    } else {
      final int result =
          map6.delete(prefix.address().high(), prefix.address().low(), prefix.length());
      if (result < 0 && result != -Errno.ENOENT) {
        throw map6.failure("delete", result);
      }
    }
    entries.remove(prefix);
    return true;
  }

  /** What a prefix stands for, or null. */
  IpcacheEntry get(Prefix prefix) {
    return entries.get(prefix);
  }

  /** Everything that is there, as a copy. */
  List<IpcacheEntry> snapshot() {
    return List.copyOf(entries.values());
  }

  /** The prefixes of one endpoint. */
  List<Prefix> prefixesOf(int endpointId) {
    final List<Prefix> prefixes = new ArrayList<>();
    for (final IpcacheEntry entry : entries.values()) {
      if (entry.endpointId() == endpointId) {
        prefixes.add(entry.prefix());
      }
    }
    return prefixes;
  }

  private void read(BpfMap map, Function<MapCursor, Prefix> prefixOf) {
    final IpcacheEntryFlyweight value = new IpcacheEntryFlyweight();
    try (MapCursor cursor = new MapCursor()) {
      final int opened = cursor.open(map);
      if (opened < 0) {
        throw map.failure("walk", "all", opened);
      }
      while (cursor.next()) {
        value.wrap(cursor.value(), 0);
        final Prefix prefix = prefixOf.apply(cursor);
        entries.put(
            prefix,
            new IpcacheEntry(
                prefix,
                value.identity(),
                value.endpointId(),
                (value.flags() & IpcacheFlag.HOST.number()) != 0));
      }
      if (cursor.error() < 0) {
        throw map.failure("walk", "all", cursor.error());
      }
    }
  }
}
