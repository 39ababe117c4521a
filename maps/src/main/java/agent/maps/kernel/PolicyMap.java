package agent.maps.kernel;

import agent.bindings.MapFlag;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyKeyFlyweight;

/** One endpoint's policy. Results are 0 or a negative errno; one thread uses it. */
public final class PolicyMap {
  /** Prefix length of a key for any protocol. */
  public static final int PREFIX_IDENTITY = 40;

  /** Prefix length of a key for one protocol and any port. */
  public static final int PREFIX_PROTOCOL = 48;

  /** Prefix length of a key for one port; less, down to 49, stands for a range. */
  public static final int PREFIX_PORT = 64;

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

  /** Writes one entry; flags are of {@link agent.maps.layout.PolicyFlag}. */
  public int upsert(
      int identity,
      int direction,
      int protocol,
      int port,
      int prefixLength,
      int flags,
      int proxyPort) {
    key(identity, direction, protocol, port, prefixLength);
    value.clear().flags(flags).proxyPort(proxyPort);
    return map.update(entry, MapFlag.ANY);
  }

  public int delete(int identity, int direction, int protocol, int port, int prefixLength) {
    key(identity, direction, protocol, port, prefixLength);
    return map.delete(entry);
  }

  /** Finds the entry with the longest prefix, as the program does; see {@link #found()}. */
  public int lookup(int identity, int direction, int protocol, int port, int prefixLength) {
    key(identity, direction, protocol, port, prefixLength);
    return map.lookup(entry);
  }

  /** What the last lookup found, until the next operation. */
  public PolicyEntryFlyweight found() {
    return value;
  }

  /** What failed, naming the entry of the last operation. */
  public BpfMapException failure(String operation, int result) {
    return map.failure(operation, entry, result);
  }

  private void key(int identity, int direction, int protocol, int port, int prefixLength) {
    key.prefixLength(prefixLength).identity(identity).direction(direction);
    key.protocol(protocol).port(port);
  }
}
