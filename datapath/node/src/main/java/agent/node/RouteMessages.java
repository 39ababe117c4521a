package agent.node;

import agent.types.IpAddress;
import agent.types.MacAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The rtnetlink(7) messages that lead packets to a workload, in the machine's byte order.
 *
 * <pre>
 *   nlmsghdr: length 4 | type 2 | flags 2 | sequence 4 | port 4, then the message, then
 *   rtattr:   length 2 | type 2 | value, padded to 4
 * </pre>
 */
final class RouteMessages {
  private static final int LONGEST = 128;
  private static final int RTM_NEWLINK = 16;
  private static final int RTM_NEWROUTE = 24;
  private static final int RTM_NEWNEIGH = 28;
  private static final int NLM_F_REQUEST_AND_ACK = 0x5;
  private static final int NLM_F_REPLACE = 0x100;
  private static final int NLM_F_EXCL = 0x200;
  private static final int NLM_F_CREATE = 0x400;

  private static final int AF_INET = 2;
  private static final int AF_INET6 = 10;
  private static final int IFF_UP = 1;
  private static final int RT_TABLE_MAIN = 254;
  private static final int RT_SCOPE_UNIVERSE = 0;
  private static final int RT_SCOPE_LINK = 253;
  private static final int RTN_UNICAST = 1;
  private static final int RTA_DST = 1;
  private static final int RTA_OIF = 4;
  private static final int RTA_PREFSRC = 7;
  private static final int NUD_PERMANENT = 0x80;
  private static final int NDA_DST = 1;
  private static final int NDA_LLADDR = 2;
  private static final int NDA_PROTOCOL = 12;
  private static final int SIZE_OF_MAC = 6;

  private final ByteBuffer buffer = ByteBuffer.allocate(LONGEST).order(ByteOrder.nativeOrder());

  private RouteMessages(int type, int flags) {
    buffer.putInt(0).putShort((short) type).putShort((short) (NLM_F_REQUEST_AND_ACK | flags));
    buffer.putInt(1).putInt(0);
  }

  /** Switches a device on. */
  static ByteBuffer up(int ifindex) {
    final RouteMessages message = new RouteMessages(RTM_NEWLINK, 0);
    message.buffer.putInt(0).putInt(ifindex).putInt(IFF_UP).putInt(IFF_UP);
    return message.end();
  }

  /**
   * Adds the route to one address; there must be none.
   *
   * @param source the node's own address towards it, or null
   */
  static ByteBuffer route(IpAddress address, int ifindex, IpAddress source, int protocol) {
    final RouteMessages message = new RouteMessages(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
    message.buffer.put((byte) family(address)).put((byte) address.bitLength());
    message.buffer.putShort((short) 0).put((byte) RT_TABLE_MAIN).put((byte) protocol);
    message.buffer.put((byte) (address.isIpv4() ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE));
    message.buffer.put((byte) RTN_UNICAST).putInt(0);
    message.attribute(RTA_DST, address.toBytes()).attribute(RTA_OIF, ifindex);
    return source == null ? message.end() : message.attribute(RTA_PREFSRC, source.toBytes()).end();
  }

  /** Says for good which hardware address an address has. */
  static ByteBuffer neighbour(IpAddress address, int ifindex, MacAddress mac, int protocol) {
    final RouteMessages message = new RouteMessages(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE);
    message.buffer.putInt(family(address)).putInt(ifindex);
    message.buffer.putShort((short) NUD_PERMANENT).putShort((short) 0);
    return message
        .attribute(NDA_DST, address.toBytes())
        .attribute(NDA_LLADDR, bytes(mac))
        .attribute(NDA_PROTOCOL, new byte[] {(byte) protocol})
        .end();
  }

  private RouteMessages attribute(int type, int value) {
    final ByteBuffer bytes = ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.nativeOrder());
    return attribute(type, bytes.putInt(value).array());
  }

  private RouteMessages attribute(int type, byte[] value) {
    buffer.putShort((short) (Integer.BYTES + value.length)).putShort((short) type).put(value);
    while (buffer.position() % Integer.BYTES != 0) {
      buffer.put((byte) 0);
    }
    return this;
  }

  private ByteBuffer end() {
    return buffer.flip().putInt(0, buffer.limit());
  }

  private static int family(IpAddress address) {
    return address.isIpv4() ? AF_INET : AF_INET6;
  }

  private static byte[] bytes(MacAddress mac) {
    final byte[] bytes = new byte[SIZE_OF_MAC];
    for (int i = 0; i < SIZE_OF_MAC; i++) {
      bytes[i] = (byte) (mac.bits() >>> Byte.SIZE * (SIZE_OF_MAC - 1 - i));
    }
    return bytes;
  }
}
