package agent.datapath.programs.load;

import static java.nio.ByteOrder.BIG_ENDIAN;

import agent.bindings.bpf.MapDescription;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.MapCursor;
import agent.maps.layout.EndpointOption;
import org.agrona.DirectBuffer;

/**
 * The map {@code endpoints} of the releases up to 0.3.0. Its entries have the values that programs
 * read of other endpoints than their own: interface, identity, MAC addresses and audit mode. They
 * are carried over, so that the first program of this release delivers to endpoints that have none
 * yet; the programs of those releases have the other values, and go on with their own map.
 */
final class FormerEndpoints {
  private static final int VALUE_BYTES = 24;
  private static final int IFINDEX_OFFSET = 0;
  private static final int IDENTITY_OFFSET = IFINDEX_OFFSET + Integer.BYTES;
  private static final int MAC_OFFSET = IDENTITY_OFFSET + Integer.BYTES;
  private static final int HOST_MAC_OFFSET = MAC_OFFSET + 6;
  private static final int FLAGS_OFFSET = HOST_MAC_OFFSET + 6;
  private static final int FLAG_POLICY_AUDIT = 1;

  private FormerEndpoints() {}

  /** Returns whether a pinned map {@code endpoints} has the former layout. */
  static boolean isLayoutOf(MapDescription found) {
    return found.valueSize() == VALUE_BYTES;
  }

  /**
   * Copies the entries of all endpoints.
   *
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  static void copy(BpfMap from, BpfMap to) {
    final EndpointMap endpoints = new EndpointMap(to);
    try (MapCursor cursor = new MapCursor()) {
      final int opened = cursor.open(from);
      if (opened < 0) {
        throw from.failure("walk", "all", opened);
      }
      while (cursor.next()) {
        copy(cursor.key().getInt(0), cursor.value(), endpoints);
      }
      if (cursor.error() < 0) {
        throw from.failure("walk", "all", cursor.error());
      }
    }
  }

  private static void copy(int id, DirectBuffer value, EndpointMap endpoints) {
    if (value.getInt(IFINDEX_OFFSET) == 0) {
      return;
    }
    final boolean isAudit = (value.getInt(FLAGS_OFFSET) & FLAG_POLICY_AUDIT) != 0;
    endpoints
        .edit(id)
        .ifindex(value.getInt(IFINDEX_OFFSET))
        .identity(value.getInt(IDENTITY_OFFSET))
        .mac(value.getLong(MAC_OFFSET, BIG_ENDIAN) >>> Short.SIZE)
        .hostMac(value.getLong(HOST_MAC_OFFSET, BIG_ENDIAN) >>> Short.SIZE)
        .options(
            EndpointOption.CONNTRACK.number()
                | (isAudit ? EndpointOption.POLICY_AUDIT_MODE.number() : 0))
        .policyId(id);
    final int result = endpoints.put();
    if (result < 0) {
      throw endpoints.failure("carry over", result);
    }
  }
}
