package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U16;
import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U64;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Load-time constants that are equal in all programs of this node, in {@code .rodata}. {@code
 * struct node_config} in {@code config/node_config.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      tcp_syn_lifetime_ns                      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                  tcp_established_lifetime_ns                  |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                    tcp_closing_lifetime_ns                    |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        any_lifetime_ns                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        world_identity4                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        world_identity6                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            gateway4                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            gateway6                           |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             node4                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             node6                             |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |  enable_ipv4  |  enable_ipv6  |      fragments_per_second     |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          tcp_capacity                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          any_capacity                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                       flow_share_percent                      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                       events_per_second                       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |         payload_bytes         | native4_length| native6_length|
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            native4                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            native6                            |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          nat46_range                          |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |       socket_port_first       |         socket_ports          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |  enable_nat46 |  port_shares  |            reserved           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      flows_lost_until_ns                      |
 * |                                                               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class NodeConfigFlyweight {
  public static final int TCP_SYN_LIFETIME_NS_OFFSET = 0;
  public static final int TCP_ESTABLISHED_LIFETIME_NS_OFFSET =
      TCP_SYN_LIFETIME_NS_OFFSET + SIZE_OF_LONG;
  public static final int TCP_CLOSING_LIFETIME_NS_OFFSET =
      TCP_ESTABLISHED_LIFETIME_NS_OFFSET + SIZE_OF_LONG;
  public static final int ANY_LIFETIME_NS_OFFSET = TCP_CLOSING_LIFETIME_NS_OFFSET + SIZE_OF_LONG;
  public static final int WORLD_IDENTITY4_OFFSET = ANY_LIFETIME_NS_OFFSET + SIZE_OF_LONG;
  public static final int WORLD_IDENTITY6_OFFSET = WORLD_IDENTITY4_OFFSET + SIZE_OF_INT;
  public static final int GATEWAY4_OFFSET = WORLD_IDENTITY6_OFFSET + SIZE_OF_INT;
  public static final int GATEWAY6_OFFSET = GATEWAY4_OFFSET + 4;
  public static final int NODE4_OFFSET = GATEWAY6_OFFSET + 16;
  public static final int NODE6_OFFSET = NODE4_OFFSET + 4;
  public static final int ENABLE_IPV4_OFFSET = NODE6_OFFSET + 16;
  public static final int ENABLE_IPV6_OFFSET = ENABLE_IPV4_OFFSET + SIZE_OF_BYTE;
  public static final int FRAGMENTS_PER_SECOND_OFFSET = ENABLE_IPV6_OFFSET + SIZE_OF_BYTE;
  public static final int TCP_CAPACITY_OFFSET = FRAGMENTS_PER_SECOND_OFFSET + SIZE_OF_SHORT;
  public static final int ANY_CAPACITY_OFFSET = TCP_CAPACITY_OFFSET + SIZE_OF_INT;
  public static final int FLOW_SHARE_PERCENT_OFFSET = ANY_CAPACITY_OFFSET + SIZE_OF_INT;
  public static final int EVENTS_PER_SECOND_OFFSET = FLOW_SHARE_PERCENT_OFFSET + SIZE_OF_INT;
  public static final int PAYLOAD_BYTES_OFFSET = EVENTS_PER_SECOND_OFFSET + SIZE_OF_INT;
  public static final int NATIVE4_LENGTH_OFFSET = PAYLOAD_BYTES_OFFSET + SIZE_OF_SHORT;
  public static final int NATIVE6_LENGTH_OFFSET = NATIVE4_LENGTH_OFFSET + SIZE_OF_BYTE;
  public static final int NATIVE4_OFFSET = NATIVE6_LENGTH_OFFSET + SIZE_OF_BYTE;
  public static final int NATIVE6_OFFSET = NATIVE4_OFFSET + 4;
  public static final int NAT46_RANGE_OFFSET = NATIVE6_OFFSET + 16;
  public static final int SOCKET_PORT_FIRST_OFFSET = NAT46_RANGE_OFFSET + 16;
  public static final int SOCKET_PORTS_OFFSET = SOCKET_PORT_FIRST_OFFSET + SIZE_OF_SHORT;
  public static final int ENABLE_NAT46_OFFSET = SOCKET_PORTS_OFFSET + SIZE_OF_SHORT;
  public static final int PORT_SHARES_OFFSET = ENABLE_NAT46_OFFSET + SIZE_OF_BYTE;
  public static final int RESERVED_OFFSET = PORT_SHARES_OFFSET + SIZE_OF_BYTE;
  public static final int FLOWS_LOST_UNTIL_NS_OFFSET = RESERVED_OFFSET + 6;
  public static final int LENGTH = FLOWS_LOST_UNTIL_NS_OFFSET + SIZE_OF_LONG;

  public static final StructSpec STRUCT =
      StructSpec.named("node_config", LENGTH)
          .scalar("tcp_syn_lifetime_ns", TCP_SYN_LIFETIME_NS_OFFSET, U64)
          .scalar("tcp_established_lifetime_ns", TCP_ESTABLISHED_LIFETIME_NS_OFFSET, U64)
          .scalar("tcp_closing_lifetime_ns", TCP_CLOSING_LIFETIME_NS_OFFSET, U64)
          .scalar("any_lifetime_ns", ANY_LIFETIME_NS_OFFSET, U64)
          .scalar("world_identity4", WORLD_IDENTITY4_OFFSET, U32)
          .scalar("world_identity6", WORLD_IDENTITY6_OFFSET, U32)
          .bytes("gateway4", GATEWAY4_OFFSET, 4)
          .bytes("gateway6", GATEWAY6_OFFSET, 16)
          .bytes("node4", NODE4_OFFSET, 4)
          .bytes("node6", NODE6_OFFSET, 16)
          .scalar("enable_ipv4", ENABLE_IPV4_OFFSET, U8)
          .scalar("enable_ipv6", ENABLE_IPV6_OFFSET, U8)
          .scalar("fragments_per_second", FRAGMENTS_PER_SECOND_OFFSET, U16)
          .scalar("tcp_capacity", TCP_CAPACITY_OFFSET, U32)
          .scalar("any_capacity", ANY_CAPACITY_OFFSET, U32)
          .scalar("flow_share_percent", FLOW_SHARE_PERCENT_OFFSET, U32)
          .scalar("events_per_second", EVENTS_PER_SECOND_OFFSET, U32)
          .scalar("payload_bytes", PAYLOAD_BYTES_OFFSET, U16)
          .scalar("native4_length", NATIVE4_LENGTH_OFFSET, U8)
          .scalar("native6_length", NATIVE6_LENGTH_OFFSET, U8)
          .bytes("native4", NATIVE4_OFFSET, 4)
          .bytes("native6", NATIVE6_OFFSET, 16)
          .bytes("nat46_range", NAT46_RANGE_OFFSET, 16)
          .scalar("socket_port_first", SOCKET_PORT_FIRST_OFFSET, U16)
          .scalar("socket_ports", SOCKET_PORTS_OFFSET, U16)
          .scalar("enable_nat46", ENABLE_NAT46_OFFSET, U8)
          .scalar("port_shares", PORT_SHARES_OFFSET, U8)
          .bytes("reserved", RESERVED_OFFSET, 6)
          .scalar("flows_lost_until_ns", FLOWS_LOST_UNTIL_NS_OFFSET, U64)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public NodeConfigFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public NodeConfigFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code tcp_syn_lifetime_ns}. */
  public long tcpSynLifetimeNs() {
    return buffer.getLong(offset + TCP_SYN_LIFETIME_NS_OFFSET);
  }

  /** Sets {@code tcp_syn_lifetime_ns}. */
  public NodeConfigFlyweight tcpSynLifetimeNs(long value) {
    buffer.putLong(offset + TCP_SYN_LIFETIME_NS_OFFSET, value);
    return this;
  }

  /** Returns {@code tcp_established_lifetime_ns}. */
  public long tcpEstablishedLifetimeNs() {
    return buffer.getLong(offset + TCP_ESTABLISHED_LIFETIME_NS_OFFSET);
  }

  /** Sets {@code tcp_established_lifetime_ns}. */
  public NodeConfigFlyweight tcpEstablishedLifetimeNs(long value) {
    buffer.putLong(offset + TCP_ESTABLISHED_LIFETIME_NS_OFFSET, value);
    return this;
  }

  /** Returns {@code tcp_closing_lifetime_ns}. */
  public long tcpClosingLifetimeNs() {
    return buffer.getLong(offset + TCP_CLOSING_LIFETIME_NS_OFFSET);
  }

  /** Sets {@code tcp_closing_lifetime_ns}. */
  public NodeConfigFlyweight tcpClosingLifetimeNs(long value) {
    buffer.putLong(offset + TCP_CLOSING_LIFETIME_NS_OFFSET, value);
    return this;
  }

  /** Returns {@code any_lifetime_ns}, for UDP, ICMP and other protocols. */
  public long anyLifetimeNs() {
    return buffer.getLong(offset + ANY_LIFETIME_NS_OFFSET);
  }

  /** Sets {@code any_lifetime_ns}, for UDP, ICMP and other protocols. */
  public NodeConfigFlyweight anyLifetimeNs(long value) {
    buffer.putLong(offset + ANY_LIFETIME_NS_OFFSET, value);
    return this;
  }

  /** Returns {@code world_identity4}. */
  public int worldIdentity4() {
    return buffer.getInt(offset + WORLD_IDENTITY4_OFFSET);
  }

  /** Sets {@code world_identity4}. */
  public NodeConfigFlyweight worldIdentity4(int value) {
    buffer.putInt(offset + WORLD_IDENTITY4_OFFSET, value);
    return this;
  }

  /** Returns {@code world_identity6}. */
  public int worldIdentity6() {
    return buffer.getInt(offset + WORLD_IDENTITY6_OFFSET);
  }

  /** Sets {@code world_identity6}. */
  public NodeConfigFlyweight worldIdentity6(int value) {
    buffer.putInt(offset + WORLD_IDENTITY6_OFFSET, value);
    return this;
  }

  /** Returns {@code gateway4} as a number, first octet most significant. */
  public int gateway4() {
    return buffer.getInt(offset + GATEWAY4_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code gateway4} as a number, first octet most significant. */
  public NodeConfigFlyweight gateway4(int value) {
    buffer.putInt(offset + GATEWAY4_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code gateway6}. */
  public long gateway6High() {
    return buffer.getLong(offset + GATEWAY6_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code gateway6}. */
  public long gateway6Low() {
    return buffer.getLong(offset + GATEWAY6_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code gateway6}. */
  public NodeConfigFlyweight gateway6(long high, long low) {
    buffer.putLong(offset + GATEWAY6_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + GATEWAY6_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code node4} as a number, first octet most significant. */
  public int node4() {
    return buffer.getInt(offset + NODE4_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code node4} as a number, first octet most significant. */
  public NodeConfigFlyweight node4(int value) {
    buffer.putInt(offset + NODE4_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code node6}. */
  public long node6High() {
    return buffer.getLong(offset + NODE6_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code node6}. */
  public long node6Low() {
    return buffer.getLong(offset + NODE6_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code node6}. */
  public NodeConfigFlyweight node6(long high, long low) {
    buffer.putLong(offset + NODE6_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + NODE6_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code enable_ipv4}, 0 or 1. */
  public int enableIpv4() {
    return buffer.getByte(offset + ENABLE_IPV4_OFFSET) & 0xff;
  }

  /** Sets {@code enable_ipv4}, 0 or 1. */
  public NodeConfigFlyweight enableIpv4(int value) {
    buffer.putByte(offset + ENABLE_IPV4_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code enable_ipv6}, 0 or 1. */
  public int enableIpv6() {
    return buffer.getByte(offset + ENABLE_IPV6_OFFSET) & 0xff;
  }

  /** Sets {@code enable_ipv6}, 0 or 1. */
  public NodeConfigFlyweight enableIpv6(int value) {
    buffer.putByte(offset + ENABLE_IPV6_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code tcp_capacity}, the entries of a TCP table that can be in use. */
  public int tcpCapacity() {
    return buffer.getInt(offset + TCP_CAPACITY_OFFSET);
  }

  /** Sets {@code tcp_capacity}, the entries of a TCP table that can be in use. */
  public NodeConfigFlyweight tcpCapacity(int value) {
    buffer.putInt(offset + TCP_CAPACITY_OFFSET, value);
    return this;
  }

  /** Returns {@code any_capacity}, the entries of another table that can be in use. */
  public int anyCapacity() {
    return buffer.getInt(offset + ANY_CAPACITY_OFFSET);
  }

  /** Sets {@code any_capacity}, the entries of another table that can be in use. */
  public NodeConfigFlyweight anyCapacity(int value) {
    buffer.putInt(offset + ANY_CAPACITY_OFFSET, value);
    return this;
  }

  /** Returns {@code flow_share_percent} of the free entries of a table. */
  public int flowSharePercent() {
    return buffer.getInt(offset + FLOW_SHARE_PERCENT_OFFSET);
  }

  /** Sets {@code flow_share_percent} of the free entries of a table. */
  public NodeConfigFlyweight flowSharePercent(int value) {
    buffer.putInt(offset + FLOW_SHARE_PERCENT_OFFSET, value);
    return this;
  }

  /** Returns {@code events_per_second} of one endpoint; 0: no limit. */
  public int eventsPerSecond() {
    return buffer.getInt(offset + EVENTS_PER_SECOND_OFFSET);
  }

  /** Sets {@code events_per_second} of one endpoint; 0: no limit. */
  public NodeConfigFlyweight eventsPerSecond(int value) {
    buffer.putInt(offset + EVENTS_PER_SECOND_OFFSET, value);
    return this;
  }

  /** Returns {@code payload_bytes}, the first bytes of a packet in an event. */
  public int payloadBytes() {
    return buffer.getShort(offset + PAYLOAD_BYTES_OFFSET) & 0xffff;
  }

  /** Sets {@code payload_bytes}, the first bytes of a packet in an event. */
  public NodeConfigFlyweight payloadBytes(int value) {
    buffer.putShort(offset + PAYLOAD_BYTES_OFFSET, (short) value);
    return this;
  }

  /** Returns {@code native4_length}, the bits of {@code native4} and 1; 0: none. */
  public int native4Length() {
    return buffer.getByte(offset + NATIVE4_LENGTH_OFFSET) & 0xff;
  }

  /** Sets {@code native4_length}, the bits of {@code native4} and 1; 0: there is no such prefix. */
  public NodeConfigFlyweight native4Length(int value) {
    buffer.putByte(offset + NATIVE4_LENGTH_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code native6_length}, the bits of {@code native6} and 1; 0: none. */
  public int native6Length() {
    return buffer.getByte(offset + NATIVE6_LENGTH_OFFSET) & 0xff;
  }

  /** Sets {@code native6_length}, the bits of {@code native6} and 1; 0: there is no such prefix. */
  public NodeConfigFlyweight native6Length(int value) {
    buffer.putByte(offset + NATIVE6_LENGTH_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code native4}, the prefix to which packets are not masqueraded. */
  public int native4() {
    return buffer.getInt(offset + NATIVE4_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code native4}, the prefix to which packets are not masqueraded. */
  public NodeConfigFlyweight native4(int value) {
    buffer.putInt(offset + NATIVE4_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code native6}. */
  public long native6High() {
    return buffer.getLong(offset + NATIVE6_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code native6}. */
  public long native6Low() {
    return buffer.getLong(offset + NATIVE6_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code native6}, the prefix to which packets are not masqueraded. */
  public NodeConfigFlyweight native6(long high, long low) {
    buffer.putLong(offset + NATIVE6_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + NATIVE6_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code nat46_range}. */
  public long nat46RangeHigh() {
    return buffer.getLong(offset + NAT46_RANGE_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code nat46_range}, of which the last 32 are not compared. */
  public long nat46RangeLow() {
    return buffer.getLong(offset + NAT46_RANGE_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code nat46_range}, whose first 96 bits the addresses have that embed one of IPv4. */
  public NodeConfigFlyweight nat46Range(long high, long low) {
    buffer.putLong(offset + NAT46_RANGE_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + NAT46_RANGE_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code enable_nat46}, 0 or 1. */
  public int enableNat46() {
    return buffer.getByte(offset + ENABLE_NAT46_OFFSET) & 0xff;
  }

  /** Sets {@code enable_nat46}, 0 or 1. */
  public NodeConfigFlyweight enableNat46(int value) {
    buffer.putByte(offset + ENABLE_NAT46_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code fragments_per_second} of one endpoint. */
  public int fragmentsPerSecond() {
    return buffer.getShort(offset + FRAGMENTS_PER_SECOND_OFFSET) & 0xffff;
  }

  /** Sets {@code fragments_per_second} of one endpoint. */
  public NodeConfigFlyweight fragmentsPerSecond(int value) {
    buffer.putShort(offset + FRAGMENTS_PER_SECOND_OFFSET, (short) value);
    return this;
  }

  /** Returns {@code socket_port_first} of the ports that sockets of the node get by themselves. */
  public int socketPortFirst() {
    return buffer.getShort(offset + SOCKET_PORT_FIRST_OFFSET) & 0xffff;
  }

  /** Sets {@code socket_port_first} of the ports that sockets of the node get by themselves. */
  public NodeConfigFlyweight socketPortFirst(int value) {
    buffer.putShort(offset + SOCKET_PORT_FIRST_OFFSET, (short) value);
    return this;
  }

  /** Returns {@code socket_ports}, which masqueraded flows do not get; 0: they may get any. */
  public int socketPorts() {
    return buffer.getShort(offset + SOCKET_PORTS_OFFSET) & 0xffff;
  }

  /** Sets {@code socket_ports}, which masqueraded flows do not get; 0: they may get any. */
  public NodeConfigFlyweight socketPorts(int value) {
    buffer.putShort(offset + SOCKET_PORTS_OFFSET, (short) value);
    return this;
  }

  /** Returns {@code port_shares}: an endpoint may get one of so many ports; 0: any. */
  public int portShares() {
    return buffer.getByte(offset + PORT_SHARES_OFFSET) & 0xff;
  }

  /** Sets {@code port_shares}: an endpoint may get one of so many ports; 0: any. */
  public NodeConfigFlyweight portShares(int value) {
    buffer.putByte(offset + PORT_SHARES_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code flows_lost_until_ns}, CLOCK_MONOTONIC; 0: no table was carried over. */
  public long flowsLostUntilNs() {
    return buffer.getLong(offset + FLOWS_LOST_UNTIL_NS_OFFSET);
  }

  /** Sets {@code flows_lost_until_ns}, CLOCK_MONOTONIC; 0: no table was carried over. */
  public NodeConfigFlyweight flowsLostUntilNs(long value) {
    buffer.putLong(offset + FLOWS_LOST_UNTIL_NS_OFFSET, value);
    return this;
  }
}
