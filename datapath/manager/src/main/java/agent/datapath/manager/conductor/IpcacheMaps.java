package agent.datapath.manager.conductor;

import agent.bindings.Errno;
import agent.conductor.Repairs;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.IpcacheProxy;
import agent.datapath.manager.spec.IpcacheProxy.IpcacheChange;
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
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Reads and writes the ipcache maps of both families on the conductor's thread. */
public final class IpcacheMaps implements IpcacheProxy {
  private final DatapathConductor conductor;
  private final VerdictGenerations generations;
  private final Ipcache4Map map4;
  private final Ipcache6Map map6;
  private final IpcacheGuard guard;

  /** Creates the writer of the two open maps. */
  public IpcacheMaps(
      DatapathConductor conductor,
      VerdictGenerations generations,
      BpfMap ipcache4,
      BpfMap ipcache6,
      KernelFaults faults,
      Repairs repairs) {
    this.conductor = conductor;
    this.generations = generations;
    map4 = new Ipcache4Map(ipcache4);
    map6 = new Ipcache6Map(ipcache6);
    guard = new IpcacheGuard(generations, ipcache4, ipcache6, faults, repairs);
  }

  /** Returns the comparison of the maps with the kernel. */
  public IpcacheGuard guard() {
    return guard;
  }

  @Override
  public CompletableFuture<List<IpcacheEntry>> read() {
    return conductor.submit(this::onRead);
  }

  @Override
  public CompletableFuture<Void> apply(Collection<IpcacheChange> changes) {
    final List<IpcacheChange> copy = List.copyOf(changes);
    return conductor.run(() -> onApply(copy));
  }

  private void onApply(List<IpcacheChange> changes) {
    final List<Prefix> changed = new ArrayList<>(changes.size());
    changes.forEach(guard::change);
    try {
      for (final IpcacheChange change : changes) {
        if (change.after() == null) {
          delete(change.prefix());
        } else {
          upsert(change.after());
        }
        changed.add(change.prefix());
        raiseEndpoints(change);
      }
    } catch (RuntimeException failure) {
      guard.uncertain();
      throw failure;
    } finally {
      generations.raiseOutside(changed);
    }
  }

  /**
   * Invalidates the verdicts of the endpoints that the prefix belongs to before and after the
   * change.
   */
  private void raiseEndpoints(IpcacheChange change) {
    final int before = change.before() == null ? 0 : change.before().endpointId();
    final int after = change.after() == null ? 0 : change.after().endpointId();
    if (before != 0) {
      generations.raise(before);
    }
    if (after != 0 && after != before) {
      generations.raise(after);
    }
  }

  private void upsert(IpcacheEntry entry) {
    final IpAddress address = entry.prefix().address();
    final int length = entry.prefix().length();
    final int flags = entry.isHost() ? IpcacheFlag.HOST.number() : 0;
    if (address.isIpv4()) {
      final int result =
          map4.upsert((int) address.low(), length, entry.identity(), entry.endpointId(), flags);
      if (result < 0) {
        throw map4.failure("update", result);
      }
    } else {
      final int result =
          map6.upsert(
              address.high(), address.low(), length, entry.identity(), entry.endpointId(), flags);
      if (result < 0) {
        throw map6.failure("update", result);
      }
    }
  }

  private void delete(Prefix prefix) {
    final IpAddress address = prefix.address();
    if (address.isIpv4()) {
      final int result = map4.delete((int) address.low(), prefix.length());
      if (result < 0 && result != -Errno.ENOENT) {
        throw map4.failure("delete", result);
      }
    } else {
      final int result = map6.delete(address.high(), address.low(), prefix.length());
      if (result < 0 && result != -Errno.ENOENT) {
        throw map6.failure("delete", result);
      }
    }
  }

  private List<IpcacheEntry> onRead() {
    final List<IpcacheEntry> entries = new ArrayList<>();
    final Ipcache4KeyFlyweight key4 = new Ipcache4KeyFlyweight();
    final Ipcache6KeyFlyweight key6 = new Ipcache6KeyFlyweight();
    read(
        map4.map(),
        cursor -> {
          key4.wrap(cursor.key(), 0);
          return Prefix.of(IpAddress.ofIpv4(key4.address()), key4.prefixLength());
        },
        entries);
    read(
        map6.map(),
        cursor -> {
          key6.wrap(cursor.key(), 0);
          return Prefix.of(
              IpAddress.ofIpv6(key6.addressHigh(), key6.addressLow()), key6.prefixLength());
        },
        entries);
    guard.onRead(entries);
    return entries;
  }

  private static void read(
      BpfMap map, Function<MapCursor, Prefix> prefixOf, List<IpcacheEntry> entries) {
    final IpcacheEntryFlyweight value = new IpcacheEntryFlyweight();
    map.forEachEntry(
        cursor -> {
          value.wrap(cursor.value(), 0);
          entries.add(
              new IpcacheEntry(
                  prefixOf.apply(cursor),
                  value.identity(),
                  value.endpointId(),
                  (value.flags() & IpcacheFlag.HOST.number()) != 0));
        });
  }
}
