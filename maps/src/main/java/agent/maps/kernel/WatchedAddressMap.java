package agent.maps.kernel;

import agent.bindings.bpf.MapFlag;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.agrona.DirectBuffer;

/**
 * The map {@code watched_addresses}: how many flows the sweeps have found to each of its addresses.
 * The thread of the sweeps writes, and another one removes what that has not added; it has no
 * mirror. An address is that of IPv6, or the mapped one of IPv4.
 */
public final class WatchedAddressMap {
  private final BpfMap map;
  private final EntryBuffer entry;
  private final Set<Address> asked = new HashSet<>();

  private record Address(long high, long low) {}

  public WatchedAddressMap(BpfMap map) {
    this.map = map;
    entry = new EntryBuffer(map);
  }

  /**
   * Adds an address, to which no flow was found.
   *
   * @throws BpfMapException where the kernel refuses
   */
  public synchronized void add(long high, long low) {
    asked.add(new Address(high, low));
    key(high, low);
    entry.value().putInt(0, 0);
    checked("update", map.update(entry, MapFlag.ANY));
  }

  /**
   * Removes an address and returns how many flows to it were found.
   *
   * @throws BpfMapException where the kernel refuses, or does not have the address
   */
  public synchronized int take(long high, long low) {
    asked.remove(new Address(high, low));
    key(high, low);
    checked("lookup", map.lookup(entry));
    final int flows = entry.value().getInt(0);
    checked("delete", map.delete(entry));
    return flows;
  }

  /**
   * Removes all addresses, which a former run has left.
   *
   * @throws BpfMapException where the kernel refuses
   */
  public synchronized void clear() {
    asked.clear();
    final List<byte[]> left = new ArrayList<>();
    map.forEachEntry(
        cursor -> {
          final byte[] key = new byte[map.keySize()];
          cursor.key().getBytes(0, key);
          left.add(key);
        });
    for (final byte[] key : left) {
      entry.key().putBytes(0, key);
      checked("delete", map.delete(entry));
    }
  }

  /** Returns the map. */
  public BpfMap map() {
    return map;
  }

  /**
   * Removes an address, unless it was added and not yet taken.
   *
   * @param address at the start of the buffer
   * @return whether it was removed
   */
  public synchronized boolean removeUnlessAsked(DirectBuffer address) {
    final long high = address.getLong(0, ByteOrder.BIG_ENDIAN);
    final long low = address.getLong(Long.BYTES, ByteOrder.BIG_ENDIAN);
    if (asked.contains(new Address(high, low))) {
      return false;
    }
    key(high, low);
    return map.delete(entry) == 0;
  }

  private void checked(String operation, int result) {
    if (result < 0) {
      throw map.failure(operation, entry, result);
    }
  }

  private void key(long high, long low) {
    entry.key().putLong(0, high, ByteOrder.BIG_ENDIAN);
    entry.key().putLong(Long.BYTES, low, ByteOrder.BIG_ENDIAN);
  }
}
