package agent.maps.kernel;

import agent.bindings.bpf.MapFlag;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;

/**
 * Changes the maps {@code ipcache4} and {@code ipcache6} as other tools do, one prefix at a time:
 * the agent writes them in batches. An IPv4 address is a number whose first octet is the most
 * significant, an IPv6 address its upper and lower 64 bits. Methods return 0 or a negative errno.
 */
public final class IpcacheEdits {
  private final BpfMap map4;
  private final BpfMap map6;
  private final EntryBuffer entry4;
  private final EntryBuffer entry6;
  private final Ipcache4KeyFlyweight key4 = new Ipcache4KeyFlyweight();
  private final Ipcache6KeyFlyweight key6 = new Ipcache6KeyFlyweight();
  private final IpcacheEntryFlyweight value = new IpcacheEntryFlyweight();

  /** Creates the access to these maps. */
  public IpcacheEdits(BpfMap ipcache4, BpfMap ipcache6) {
    map4 = ipcache4;
    map6 = ipcache6;
    entry4 = new EntryBuffer(map4);
    entry6 = new EntryBuffer(map6);
    key4.wrap(entry4.key(), 0);
    key6.wrap(entry6.key(), 0);
  }

  /** Writes one IPv4 prefix; flags are bits of {@link agent.maps.layout.IpcacheFlag}. */
  public int upsert(int address, int prefixLength, int identity, int endpointId, int flags) {
    key4.prefixLength(prefixLength).address(address);
    value.wrap(entry4.value(), 0).identity(identity).endpointId(endpointId).flags(flags);
    return map4.update(entry4, MapFlag.ANY);
  }

  /** Writes one IPv6 prefix, as the other one does. */
  public int upsert(
      long addressHigh,
      long addressLow,
      int prefixLength,
      int identity,
      int endpointId,
      int flags) {
    key6.prefixLength(prefixLength).address(addressHigh, addressLow);
    value.wrap(entry6.value(), 0).identity(identity).endpointId(endpointId).flags(flags);
    return map6.update(entry6, MapFlag.ANY);
  }

  /** Deletes one IPv4 prefix. */
  public int delete(int address, int prefixLength) {
    key4.prefixLength(prefixLength).address(address);
    return map4.delete(entry4);
  }

  /** Deletes one IPv6 prefix. */
  public int delete(long addressHigh, long addressLow, int prefixLength) {
    key6.prefixLength(prefixLength).address(addressHigh, addressLow);
    return map6.delete(entry6);
  }
}
