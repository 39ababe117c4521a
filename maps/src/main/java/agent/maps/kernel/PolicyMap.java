package agent.maps.kernel;

import agent.bindings.bpf.MapFlag;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyKeyFlyweight;

/**
 * Typed access to the policy map of one endpoint. Methods return 0 or a negative errno. Not
 * thread-safe.
 */
public final class PolicyMap {
  private final BpfMap map;
  private final EntryBuffer entry;
  private final PolicyKeyFlyweight key = new PolicyKeyFlyweight();
  private final PolicyEntryFlyweight value = new PolicyEntryFlyweight();

  public PolicyMap(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
    key.wrap(entry.key(), 0);
    value.wrap(entry.value(), 0);
  }

  public BpfMap map() {
    return map;
  }

  /**
   * Writes one entry. Ports are in host byte order; prefix lengths are those of {@link
   * agent.maps.layout.PolicyPrefix}; flags are bits of {@link agent.maps.layout.PolicyFlag}.
   */
  public int upsert(
      int identity,
      int direction,
      int protocol,
      int port,
      int prefixLength,
      int flags,
      int redirect) {
    key(identity, direction, protocol, port, prefixLength);
    value.clear().flags(flags).redirect(redirect);
    return map.update(entry, MapFlag.ANY);
  }

  public int delete(int identity, int direction, int protocol, int port, int prefixLength) {
    key(identity, direction, protocol, port, prefixLength);
    return map.delete(entry);
  }

  /**
   * Looks up the entry with the longest matching prefix, as the programs do; see {@link #found()}.
   */
  public int lookup(int identity, int direction, int protocol, int port, int prefixLength) {
    key(identity, direction, protocol, port, prefixLength);
    return map.lookup(entry);
  }

  /** Returns the value that the last lookup found; valid until the next operation. */
  public PolicyEntryFlyweight found() {
    return value;
  }

  private void key(int identity, int direction, int protocol, int port, int prefixLength) {
    key.prefixLength(prefixLength).identity(identity).direction(direction);
    key.protocol(protocol).port(port);
  }
}
