package agent.maps.kernel;

import agent.maps.layout.Fragment4KeyFlyweight;
import agent.maps.layout.Fragment6KeyFlyweight;
import agent.maps.layout.FragmentEntryFlyweight;

/**
 * Ports of fragmented datagrams of both families, which programs write and the agent only reads.
 * Results are 0 or a negative errno; one thread uses it.
 */
public final class FragmentMap {
  private final BpfMap map4;
  private final BpfMap map6;
  private final EntryBuffer entry4;
  private final EntryBuffer entry6;
  private final Fragment4KeyFlyweight key4 = new Fragment4KeyFlyweight();
  private final Fragment6KeyFlyweight key6 = new Fragment6KeyFlyweight();
  private final FragmentEntryFlyweight value = new FragmentEntryFlyweight();

  public FragmentMap(BpfMap map4, BpfMap map6) {
    this.map4 = map4;
    this.map6 = map6;
    entry4 = new EntryBuffer(map4);
    entry6 = new EntryBuffer(map6);
    key4.wrap(entry4.key(), 0);
    key6.wrap(entry6.key(), 0);
  }

  /** Finds the ports of an IPv4 datagram into {@link #found()}. */
  public int find4(int source, int destination, int id, int protocol) {
    key4.clear().sourceAddress(source).destinationAddress(destination).id(id).protocol(protocol);
    value.wrap(entry4.value(), 0);
    return map4.lookup(entry4);
  }

  /** Finds the ports of an IPv6 datagram into {@link #found()}. */
  public int find6(
      long sourceHigh,
      long sourceLow,
      long destinationHigh,
      long destinationLow,
      int id,
      int protocol) {
    key6.clear().sourceAddress(sourceHigh, sourceLow);
    key6.destinationAddress(destinationHigh, destinationLow).id(id).protocol(protocol);
    value.wrap(entry6.value(), 0);
    return map6.lookup(entry6);
  }

  /** What the last find found, until the next one. */
  public FragmentEntryFlyweight found() {
    return value;
  }
}
