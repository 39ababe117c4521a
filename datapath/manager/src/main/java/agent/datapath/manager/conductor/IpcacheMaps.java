package agent.datapath.manager.conductor;

import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.ComparedTables;
import agent.datapath.guard.KernelFaults;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy;
import agent.datapath.spec.IpcacheSource;
import agent.maps.kernel.BpfMap;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.IpcacheFlag;
import agent.reconcile.Batch;
import agent.reconcile.BpfTargetMap;
import agent.reconcile.DesiredTable;
import agent.reconcile.MapFaults;
import agent.reconcile.TableChanges;
import agent.reconcile.TargetMap;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The desired entries of the ipcache maps of both families, by source, which the conductor's
 * reconciler realizes.
 */
public final class IpcacheMaps implements IpcacheProxy {
  private static final int SOURCES = IpcacheSource.values().length;

  /** Invalidates verdicts. */
  public interface Verdicts {
    /** Invalidates all verdicts with this endpoint as a side. */
    void raise(int endpointId);

    /** Invalidates all verdicts with a side of this shard of the outside. */
    void raiseShard(int shard);

    /** Invalidates all verdicts. */
    void raiseAll();
  }

  private final DatapathConductor conductor;
  private final NodePrefixes node = new NodePrefixes();
  private final TargetMap map4;
  private final TargetMap map6;
  private final DesiredTable table4;
  private final DesiredTable table6;
  private final Check comparison;

  private final UnsafeBuffer key4 = new UnsafeBuffer(new byte[Ipcache4KeyFlyweight.LENGTH]);
  private final UnsafeBuffer key6 = new UnsafeBuffer(new byte[Ipcache6KeyFlyweight.LENGTH]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[IpcacheEntryFlyweight.LENGTH]);
  private final Ipcache4KeyFlyweight writer4 = new Ipcache4KeyFlyweight().wrap(key4, 0);
  private final Ipcache6KeyFlyweight writer6 = new Ipcache6KeyFlyweight().wrap(key6, 0);
  private final IpcacheEntryFlyweight writer = new IpcacheEntryFlyweight().wrap(value, 0);

  /** Creates the desired entries of two open maps. */
  public IpcacheMaps(
      DatapathConductor conductor,
      VerdictGenerations generations,
      BpfMap ipcache4,
      BpfMap ipcache6,
      KernelFaults faults,
      Repairs repairs) {
    this(
        conductor,
        generations,
        new BpfTargetMap(ipcache4),
        new BpfTargetMap(ipcache6),
        faults,
        repairs);
  }

  /** Creates the desired entries of two maps. */
  public IpcacheMaps(
      DatapathConductor conductor,
      Verdicts verdicts,
      TargetMap map4,
      TargetMap map6,
      MapFaults faults,
      Repairs repairs) {
    this.conductor = conductor;
    this.map4 = map4;
    this.map6 = map6;
    table4 = table(map4, new IpcacheRealization(true, node, verdicts), faults);
    table6 = table(map6, new IpcacheRealization(false, node, verdicts), faults);
    comparison = new ComparedTables("ipcache", List.of(table4, table6), repairs);
  }

  /** No prefix refers to another one: both maps have one rank. */
  private DesiredTable table(TargetMap map, IpcacheRealization realization, MapFaults faults) {
    return conductor.reconciler().add(new DesiredTable(map, SOURCES, 0, realization, faults));
  }

  /** Returns the comparison of the maps with the kernel. */
  public Check guard() {
    return comparison;
  }

  @Override
  public CompletableFuture<List<IpcacheEntry>> read() {
    return conductor.submit(this::onRead);
  }

  @Override
  public CompletableFuture<Void> apply(Collection<IpcacheChange> changes) {
    return conductor.changeAddresses(new ListedChanges(List.copyOf(changes), false));
  }

  @Override
  public CompletableFuture<Void> synchronize(Collection<IpcacheChange> changes) {
    return conductor.changeAddresses(new ListedChanges(List.copyOf(changes), true));
  }

  /** The changes of one call, which are applied in slices. */
  private final class ListedChanges implements TableChanges {
    private final List<IpcacheChange> changes;
    private final boolean isWhole;
    private int next;

    ListedChanges(List<IpcacheChange> changes, boolean isWhole) {
      this.changes = changes;
      this.isWhole = isWhole;
    }

    @Override
    public boolean apply(Batch batch, int limit) {
      final int end = Math.min(changes.size(), next + limit);
      while (next < end) {
        change(batch, changes.get(next++));
      }
      if (next == changes.size() && isWhole) {
        synchronize(batch, table4);
        synchronize(batch, table6);
      }
      return next < changes.size();
    }

    private void synchronize(Batch batch, DesiredTable table) {
      for (int source = 0; source < SOURCES; source++) {
        batch.complete(table, source);
      }
      batch.compare(table);
    }
  }

  private void change(Batch batch, IpcacheChange change) {
    final IpcacheEntry before = change.before();
    final IpcacheEntry after = change.after();
    final DesiredTable table = change.prefix().isIpv4() ? table4 : table6;
    final MutableDirectBuffer key = key(change.prefix());
    if (before != null && (after == null || before.source() != after.source())) {
      batch.remove(table, before.source().ordinal(), before.endpointId(), key);
      if (before.source() == IpcacheSource.NODE && node.remove(before.prefix())) {
        batch.review(table);
      }
    }
    if (after != null) {
      writer
          .identity(after.identity())
          .endpointId(after.endpointId())
          .flags(after.isHost() ? IpcacheFlag.HOST.number() : 0);
      batch.put(table, after.source().ordinal(), after.endpointId(), key, value);
      if (after.source() == IpcacheSource.NODE
          && !after.prefix().isSingleAddress()
          && node.put(after)) {
        batch.review(table);
      }
    }
  }

  private MutableDirectBuffer key(Prefix prefix) {
    final IpAddress address = prefix.address();
    if (prefix.isIpv4()) {
      writer4.prefixLength(prefix.length()).address((int) address.low());
      return key4;
    }
    writer6.prefixLength(prefix.length()).address(address.high(), address.low());
    return key6;
  }

  /** The first reading takes the entries over as those of the previous run. */
  private List<IpcacheEntry> onRead() {
    conductor.reconciler().adopt(table4);
    conductor.reconciler().adopt(table6);
    final List<IpcacheEntry> entries = new ArrayList<>();
    final Ipcache4KeyFlyweight read4 = new Ipcache4KeyFlyweight();
    final Ipcache6KeyFlyweight read6 = new Ipcache6KeyFlyweight();
    final IpcacheEntryFlyweight read = new IpcacheEntryFlyweight();
    map4.forEach(
        (key, found) -> {
          read4.wrap(key, 0);
          final IpAddress address = IpAddress.ofIpv4(read4.address());
          entries.add(entry(Prefix.of(address, read4.prefixLength()), read.wrap(found, 0)));
        });
    map6.forEach(
        (key, found) -> {
          read6.wrap(key, 0);
          final IpAddress address = IpAddress.ofIpv6(read6.addressHigh(), read6.addressLow());
          entries.add(entry(Prefix.of(address, read6.prefixLength()), read.wrap(found, 0)));
        });
    return entries;
  }

  private static IpcacheEntry entry(Prefix prefix, IpcacheEntryFlyweight found) {
    return new IpcacheEntry(
        prefix,
        found.identity(),
        found.endpointId(),
        (found.flags() & IpcacheFlag.HOST.number()) != 0);
  }
}
