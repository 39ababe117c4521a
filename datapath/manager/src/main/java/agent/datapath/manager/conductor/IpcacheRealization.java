package agent.datapath.manager.conductor;

import agent.datapath.manager.conductor.IpcacheMaps.Verdicts;
import agent.datapath.programs.load.Shards;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheSource;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.IpcacheFlag;
import agent.reconcile.Realization;
import org.agrona.MutableDirectBuffer;

/**
 * Invalidates the verdicts that depend on ipcache entries of one family which were written: of the
 * endpoints before and after at once, and of the outside at the end of the step, each shard once.
 * What is outside and below a prefix of the node is the node's: the kernel finds the longest prefix
 * only.
 */
final class IpcacheRealization implements Realization {
  private final boolean isIpv4;
  private final NodePrefixes node;
  private final Verdicts verdicts;
  private final long[] changed = new long[Shards.COUNT / Long.SIZE];
  private final Ipcache4KeyFlyweight key4 = new Ipcache4KeyFlyweight();
  private final Ipcache6KeyFlyweight key6 = new Ipcache6KeyFlyweight();
  private final IpcacheEntryFlyweight entry = new IpcacheEntryFlyweight();
  private boolean isAnyChanged;

  IpcacheRealization(boolean isIpv4, NodePrefixes node, Verdicts verdicts) {
    this.isIpv4 = isIpv4;
    this.node = node;
    this.verdicts = verdicts;
  }

  @Override
  public void refine(int source, MutableDirectBuffer key, MutableDirectBuffer value) {
    if (source != IpcacheSource.OUTSIDE.ordinal()) {
      return;
    }
    wrap(key);
    final IpcacheEntry cover = node.longest(isIpv4, high(), low(), length());
    if (cover != null) {
      entry
          .wrap(value, 0)
          .identity(cover.identity())
          .endpointId(0)
          .flags(cover.isHost() ? IpcacheFlag.HOST.number() : 0);
    }
  }

  @Override
  public void onWritten(
      MutableDirectBuffer key, MutableDirectBuffer before, MutableDirectBuffer after) {
    wrap(key);
    final int first = Shards.of(isIpv4 ? low() : high() ^ low());
    final int count = Shards.under((isIpv4 ? Integer.SIZE : 2 * Long.SIZE) - length());
    for (int i = 0; i < count; i++) {
      final int shard = first ^ i;
      changed[shard / Long.SIZE] |= 1L << shard;
    }
    isAnyChanged = true;
    final int endpointBefore = endpoint(before);
    final int endpointAfter = endpoint(after);
    if (endpointBefore != 0) {
      verdicts.raise(endpointBefore);
    }
    if (endpointAfter != 0 && endpointAfter != endpointBefore) {
      verdicts.raise(endpointAfter);
    }
  }

  @Override
  public void onStepEnd() {
    if (!isAnyChanged) {
      return;
    }
    isAnyChanged = false;
    for (int i = 0; i < changed.length; i++) {
      long shards = changed[i];
      changed[i] = 0;
      while (shards != 0) {
        verdicts.raiseShard(i * Long.SIZE + Long.numberOfTrailingZeros(shards));
        shards &= shards - 1;
      }
    }
  }

  @Override
  public void onRepaired() {
    verdicts.raiseAll();
  }

  private int endpoint(MutableDirectBuffer value) {
    return value == null ? 0 : entry.wrap(value, 0).endpointId();
  }

  private void wrap(MutableDirectBuffer key) {
    if (isIpv4) {
      key4.wrap(key, 0);
    } else {
      key6.wrap(key, 0);
    }
  }

  private long high() {
    return isIpv4 ? 0 : key6.addressHigh();
  }

  private long low() {
    return isIpv4 ? key4.address() & 0xffff_ffffL : key6.addressLow();
  }

  private int length() {
    return isIpv4 ? key4.prefixLength() : key6.prefixLength();
  }
}
