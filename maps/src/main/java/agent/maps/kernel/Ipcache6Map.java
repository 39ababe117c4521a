package agent.maps.kernel;

import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;

/**
 * Typed access to the map {@code ipcache6}, which maps IPv6 prefixes to identities. An address is
 * given as its upper and lower 64 bits. Methods return 0 or a negative errno. Not thread-safe.
 */
public final class Ipcache6Map {
  private final BpfMap map;
  private final EntryBuffer entry;
  private final Ipcache6KeyFlyweight key = new Ipcache6KeyFlyweight();
  private final IpcacheEntryFlyweight value = new IpcacheEntryFlyweight();

  public Ipcache6Map(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
    key.wrap(entry.key(), 0);
    value.wrap(entry.value(), 0);
  }

  /**
   * Looks up the longest matching prefix of at most this length, as the programs do; see {@link
   * #found()}.
   */
  public int lookup(long addressHigh, long addressLow, int prefixLength) {
    key.prefixLength(prefixLength).address(addressHigh, addressLow);
    return map.lookup(entry);
  }

  /** Returns the value that the last lookup found; valid until the next operation. */
  public IpcacheEntryFlyweight found() {
    return value;
  }
}
