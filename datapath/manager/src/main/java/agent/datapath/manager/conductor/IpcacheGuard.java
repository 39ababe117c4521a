package agent.datapath.manager.conductor;

import agent.conductor.Repairs;
import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.GuardedMap;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.guard.MapRounds;
import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.IpcacheProxy.IpcacheChange;
import agent.maps.kernel.BpfMap;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.IpcacheFlag;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.List;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Compares the ipcache maps with the entries that {@code datapath/ipcache} wants: what it has read
 * and then changed. It compares its whole table with what it reads, at the start and after a failed
 * write; between a failed write and the next reading nothing is compared. For the conductor's
 * thread.
 */
public final class IpcacheGuard implements Check {
  private final VerdictGenerations generations;
  private final KernelFaults faults;
  private final GuardedMap[] tables;
  private final MapRounds rounds;
  private final UnsafeBuffer key4 = new UnsafeBuffer(new byte[Ipcache4KeyFlyweight.LENGTH]);
  private final UnsafeBuffer key6 = new UnsafeBuffer(new byte[Ipcache6KeyFlyweight.LENGTH]);
  private final UnsafeBuffer valueBuffer = new UnsafeBuffer(new byte[IpcacheEntryFlyweight.LENGTH]);
  private final Ipcache4KeyFlyweight writer4 = new Ipcache4KeyFlyweight().wrap(key4, 0);
  private final Ipcache6KeyFlyweight writer6 = new Ipcache6KeyFlyweight().wrap(key6, 0);
  private final IpcacheEntryFlyweight value = new IpcacheEntryFlyweight().wrap(valueBuffer, 0);
  private boolean isKnown;

  IpcacheGuard(
      VerdictGenerations generations,
      BpfMap ipcache4,
      BpfMap ipcache6,
      KernelFaults faults,
      Repairs repairs) {
    this.generations = generations;
    this.faults = faults;
    tables =
        new GuardedMap[] {
          new GuardedMap(0, null, "map " + ipcache4.name(), ipcache4),
          new GuardedMap(0, null, "map " + ipcache6.name(), ipcache6)
        };
    rounds = new MapRounds(faults, repairs, List.of(tables));
  }

  /**
   * Adopts what the maps hold where nothing is known: the changes that follow make it what the
   * owner of the ipcache wants.
   */
  void onRead(List<IpcacheEntry> held) {
    if (isKnown) {
      return;
    }
    for (final GuardedMap table : tables) {
      table.desired().clear();
    }
    held.forEach(this::put);
    isKnown = true;
  }

  /** Changes the desired entry of a prefix. */
  void change(IpcacheChange change) {
    if (change.after() == null) {
      tableOf(change.prefix()).desired().remove(encode(change.prefix()));
    } else {
      put(change.after());
    }
  }

  private void put(IpcacheEntry entry) {
    final DirectBuffer key = encode(entry.prefix());
    value
        .identity(entry.identity())
        .endpointId(entry.endpointId())
        .flags(entry.isHost() ? IpcacheFlag.HOST.number() : 0);
    tableOf(entry.prefix()).desired().put(key, valueBuffer);
  }

  private GuardedMap tableOf(Prefix prefix) {
    return tables[prefix.isIpv4() ? 0 : 1];
  }

  private DirectBuffer encode(Prefix prefix) {
    final IpAddress address = prefix.address();
    if (prefix.isIpv4()) {
      writer4.prefixLength(prefix.length()).address((int) address.low());
      return key4;
    }
    writer6.prefixLength(prefix.length()).address(address.high(), address.low());
    return key6;
  }

  /** Stops the comparison until the maps are read again. */
  void uncertain() {
    isKnown = false;
    rounds.abandon();
    for (final GuardedMap table : tables) {
      table.clearFault(faults);
    }
  }

  @Override
  public Progress step(long nowNs) {
    final Progress progress = isKnown ? rounds.step() : Progress.DONE;
    if (progress == Progress.REPAIRED) {
      generations.raiseAll();
    }
    return progress;
  }

  @Override
  public void close() {
    rounds.abandon();
  }

  @Override
  public String toString() {
    return "ipcache";
  }
}
