package agent.maps.kernel;

import agent.bindings.Errno;
import agent.bindings.bpf.MapFlag;
import agent.maps.layout.Conntrack6KeyFlyweight;
import agent.maps.layout.ConntrackEntryFlyweight;

/**
 * IPv6 flows, one entry for both directions. Programs write them; the agent finds and deletes.
 * Results are 0 or a negative errno; one thread uses it.
 */
public final class Conntrack6Map {
  private final BpfMap map;
  private final EntryBuffer entry;
  private final Conntrack6KeyFlyweight key = new Conntrack6KeyFlyweight();
  private final ConntrackEntryFlyweight value = new ConntrackEntryFlyweight();

  public Conntrack6Map(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
    key.wrap(entry.key(), 0);
    value.wrap(entry.value(), 0);
  }

  public BpfMap map() {
    return map;
  }

  /**
   * Finds the flow of a packet in either direction, into {@link #foundKey()} and {@link #found()}.
   * Both orders of the key are tried, so that the canonical order stays the program's matter.
   */
  public int find(
      long sourceHigh,
      long sourceLow,
      int sourcePort,
      long destinationHigh,
      long destinationLow,
      int destinationPort,
      int protocol) {
    key.clear().protocol(protocol);
    key.lowAddress(sourceHigh, sourceLow)
        .lowPort(sourcePort)
        .highAddress(destinationHigh, destinationLow)
        .highPort(destinationPort);
    final int result = map.lookup(entry);
    if (result != -Errno.ENOENT) {
      return result;
    }
    key.lowAddress(destinationHigh, destinationLow)
        .lowPort(destinationPort)
        .highAddress(sourceHigh, sourceLow)
        .highPort(sourcePort);
    return map.lookup(entry);
  }

  /** Deletes the flow of the last {@link #find}. */
  public int deleteFound() {
    return map.delete(entry);
  }

  /** Writes {@link #foundKey()} and {@link #found()}, which the caller has filled. */
  public int put() {
    return map.update(entry, MapFlag.ANY);
  }

  /** The key of the last operation, writable for {@link #put()}. */
  public Conntrack6KeyFlyweight foundKey() {
    return key;
  }

  /** The value of the last operation, writable for {@link #put()}. */
  public ConntrackEntryFlyweight found() {
    return value;
  }
}
