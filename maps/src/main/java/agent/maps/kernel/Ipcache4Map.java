package agent.maps.kernel;

import agent.bindings.bpf.MapFlag;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;

/**
 * Typed access to the map {@code ipcache4}, which maps IPv4 prefixes to identities. An address is a
 * number whose first octet is the most significant. Methods return 0 or a negative errno. Not
 * thread-safe.
 */
public final class Ipcache4Map {
  private final BpfMap map;
  private final EntryBuffer entry;
  private final Ipcache4KeyFlyweight key = new Ipcache4KeyFlyweight();
  private final IpcacheEntryFlyweight value = new IpcacheEntryFlyweight();

  public Ipcache4Map(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
    key.wrap(entry.key(), 0);
    value.wrap(entry.value(), 0);
  }

  public BpfMap map() {
    return map;
  }

  /** Writes one prefix; flags are bits of {@link agent.maps.layout.IpcacheFlag}. */
  public int upsert(int address, int prefixLength, int identity, int endpointId, int flags) {
    key.prefixLength(prefixLength).address(address);
    value.identity(identity).endpointId(endpointId).flags(flags);
    return map.update(entry, MapFlag.ANY);
  }

  /**
   * Looks up the longest matching prefix of at most this length, as the programs do; see {@link
   * #found()}.
   */
  public int lookup(int address, int prefixLength) {
    key.prefixLength(prefixLength).address(address);
    return map.lookup(entry);
  }

  /** Returns the value that the last lookup found; valid until the next operation. */
  public IpcacheEntryFlyweight found() {
    return value;
  }
}
