package agent.node;

import agent.bindings.net.Icmpv6Socket;
import agent.bindings.net.PacketSocket;
import agent.types.IpAddress;
import agent.types.MacAddress;
import java.nio.ByteBuffer;

/**
 * Sends ARP requests (RFC 826) and neighbour solicitations (RFC 4861, section 4.3) as frames from
 * the gateway, and receives ARP replies to it by a packet socket, and neighbour advertisements by
 * an ICMPv6 socket. What a firewall of the node drops in its input is not received.
 */
final class RawAddressProbes implements AddressProbes {
  private static final int ETHERTYPE_IPV4 = 0x0800;
  private static final int ETHERTYPE_ARP = 0x0806;
  private static final int ETHERTYPE_IPV6 = 0x86dd;
  private static final int MAC_BYTES = 6;
  private static final int ETHERNET_BYTES = 2 * MAC_BYTES + 2;

  // RFC 826, with Ethernet and IPv4 addresses
  private static final int ARP_ETHERNET = 1;
  private static final int ARP_REQUEST = 1;
  private static final int ARP_REPLY = 2;
  private static final int ARP_OPERATION_OFFSET = ETHERNET_BYTES + 6;
  private static final int ARP_SENDER_OFFSET = ARP_OPERATION_OFFSET + 2 + MAC_BYTES;
  private static final int ARP_TARGET_OFFSET = ARP_SENDER_OFFSET + 4 + MAC_BYTES;
  private static final int ARP_FRAME_BYTES = ARP_TARGET_OFFSET + 4;

  // RFC 4861, sections 4.3, 4.4 and 4.6.1
  private static final int SOLICITATION = 135;
  private static final int ADVERTISEMENT = 136;
  private static final int OPTION_SOURCE_MAC = 1;
  private static final int HOP_LIMIT = 255;
  private static final int ND_BYTES = 32;
  private static final int ND_TARGET_OFFSET = 8;
  private static final int ND_ADVERTISEMENT_BYTES = ND_TARGET_OFFSET + 16;

  private static final int ICMPV6 = 58;
  private static final int IPV6_BYTES = 40;
  private static final int IPV6_SOURCE_OFFSET = ETHERNET_BYTES + 8;
  private static final int ICMPV6_OFFSET = ETHERNET_BYTES + IPV6_BYTES;
  private static final int CHECKSUM_OFFSET = ICMPV6_OFFSET + 2;
  private static final int ND_FRAME_BYTES = ICMPV6_OFFSET + ND_BYTES;

  // linux/bpf_common.h: load an absolute half-word or word, compare with a constant, return
  private static final int LOAD_HALF_WORD = 0x28;
  private static final int LOAD_WORD = 0x20;
  private static final int JUMP_IF_EQUAL = 0x15;
  private static final int RETURN = 0x06;

  private final PacketSocket packets;
  private final Icmpv6Socket advertisements;
  private final IpAddress gateway4;
  private final IpAddress gateway6;

  /**
   * Opens the sockets in the network namespace of the calling thread.
   *
   * @param addressing a family that is disabled is not asked for
   */
  RawAddressProbes(NodeAddressing addressing) {
    gateway4 = addressing.ipv4().gateway();
    gateway6 = addressing.ipv6().gateway();
    packets = PacketSocket.open(ETHERTYPE_ARP, repliesTo(gateway4));
    try {
      advertisements = gateway6 == null ? null : Icmpv6Socket.open(ADVERTISEMENT);
    } catch (RuntimeException failure) {
      packets.close();
      throw failure;
    }
  }

  /** Accepts ARP replies to an address; none without one. */
  private static long[] repliesTo(IpAddress address) {
    final int wanted = address == null ? 0 : (int) address.low();
    return new long[] {
      PacketSocket.instruction(LOAD_HALF_WORD, 0, 0, ARP_OPERATION_OFFSET),
      PacketSocket.instruction(JUMP_IF_EQUAL, 0, 3, address == null ? 0 : ARP_REPLY),
      PacketSocket.instruction(LOAD_WORD, 0, 0, ARP_TARGET_OFFSET),
      PacketSocket.instruction(JUMP_IF_EQUAL, 0, 1, wanted),
      PacketSocket.instruction(RETURN, 0, 0, ARP_FRAME_BYTES),
      PacketSocket.instruction(RETURN, 0, 0, 0)
    };
  }

  @Override
  public boolean ask(int deviceIndex, MacAddress hostMac, MacAddress mac, IpAddress address) {
    final IpAddress gateway = address.isIpv4() ? gateway4 : gateway6;
    if (gateway == null) {
      return false;
    }
    final ByteBuffer frame = packets.toSend().clear();
    put(frame, mac.bits());
    put(frame, hostMac.bits());
    return address.isIpv4()
        ? askByArp(frame, deviceIndex, hostMac, address)
        : askByNd(frame, deviceIndex, hostMac, address);
  }

  private static void put(ByteBuffer frame, long mac) {
    frame.putShort((short) (mac >>> Integer.SIZE)).putInt((int) mac);
  }

  private boolean askByArp(
      ByteBuffer frame, int deviceIndex, MacAddress hostMac, IpAddress address) {
    frame
        .putShort((short) ETHERTYPE_ARP)
        .putShort((short) ARP_ETHERNET)
        .putShort((short) ETHERTYPE_IPV4)
        .put((byte) MAC_BYTES)
        .put((byte) 4)
        .putShort((short) ARP_REQUEST);
    put(frame, hostMac.bits());
    frame.putInt((int) gateway4.low());
    put(frame, 0);
    frame.putInt((int) address.low());
    return packets.send(deviceIndex, ETHERTYPE_ARP, ARP_FRAME_BYTES);
  }

  private boolean askByNd(
      ByteBuffer frame, int deviceIndex, MacAddress hostMac, IpAddress address) {
    frame
        .putShort((short) ETHERTYPE_IPV6)
        .putInt(6 << 28)
        .putShort((short) ND_BYTES)
        .put((byte) ICMPV6)
        .put((byte) HOP_LIMIT)
        .putLong(gateway6.high())
        .putLong(gateway6.low())
        .putLong(address.high())
        .putLong(address.low())
        .put((byte) SOLICITATION)
        .put((byte) 0)
        .putShort((short) 0)
        .putInt(0)
        .putLong(address.high())
        .putLong(address.low())
        .put((byte) OPTION_SOURCE_MAC)
        .put((byte) 1);
    put(frame, hostMac.bits());
    frame.putShort(CHECKSUM_OFFSET, checksum(frame));
    return packets.send(deviceIndex, ETHERTYPE_IPV6, ND_FRAME_BYTES);
  }

  /** The checksum of RFC 4443, section 2.3, of addresses, length, protocol and message. */
  private static short checksum(ByteBuffer frame) {
    int sum = ND_BYTES + ICMPV6;
    for (int i = IPV6_SOURCE_OFFSET; i < ND_FRAME_BYTES; i += 2) {
      sum += frame.getShort(i) & 0xffff;
    }
    sum = (sum & 0xffff) + (sum >>> 16);
    sum = (sum & 0xffff) + (sum >>> 16);
    return (short) ~sum;
  }

  @Override
  public int receive(Handler handler, int limit) {
    return receiveReplies(handler, limit) + receiveAdvertisements(handler, limit);
  }

  private int receiveReplies(Handler handler, int limit) {
    int count = 0;
    while (count < limit) {
      final int length = packets.receive();
      if (length < 0) {
        break;
      }
      count++;
      if (length >= ARP_FRAME_BYTES) {
        final long sender = packets.received().getInt(ARP_SENDER_OFFSET) & 0xffffffffL;
        handler.onAnswer(packets.receivedBy(), true, 0, sender);
      }
    }
    return count;
  }

  private int receiveAdvertisements(Handler handler, int limit) {
    int count = 0;
    while (advertisements != null && count < limit) {
      final int length = advertisements.receive();
      if (length < 0) {
        break;
      }
      count++;
      if (length >= ND_ADVERTISEMENT_BYTES) {
        final ByteBuffer message = advertisements.received();
        handler.onAnswer(
            advertisements.receivedBy(),
            false,
            message.getLong(ND_TARGET_OFFSET),
            message.getLong(ND_TARGET_OFFSET + Long.BYTES));
      }
    }
    return count;
  }

  @Override
  public void close() {
    packets.close();
    if (advertisements != null) {
      advertisements.close();
    }
  }
}
