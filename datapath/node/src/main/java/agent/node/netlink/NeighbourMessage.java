package agent.node.netlink;

import agent.bindings.net.NetlinkAttributeFlyweight;
import agent.bindings.net.NetlinkException;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkRequest;
import agent.types.IpAddress;
import agent.types.MacAddress;
import java.util.Optional;

/**
 * A neighbour in RTM_NEWNEIGH and RTM_DELNEIGH messages: the hardware address of an address on a
 * link ({@code struct ndmsg} and NDA_* of {@code linux/neighbour.h}).
 *
 * @param address the neighbour's address
 * @param deviceIndex the index of the device of the link
 * @param mac its hardware address, or null where it is unknown or not of 48 bits
 * @param state NUD_*
 * @param protocol the program that added it (RTPROT_*), 0 where the kernel learned it
 */
public record NeighbourMessage(
    IpAddress address, int deviceIndex, MacAddress mac, int state, int protocol) {
  /** A neighbour was added or changed. */
  public static final int RTM_NEWNEIGH = 28;

  /** A neighbour was removed. */
  private static final int RTM_DELNEIGH = 29;

  /** The entry is never verified and never expires (NUD_PERMANENT). */
  public static final int STATE_PERMANENT = 0x80;

  private static final int RTM_GETNEIGH = 30;

  // struct ndmsg: family 1, padding 3, index 4, state 2, flags 1, type 1
  private static final int FAMILY_OFFSET = 0;
  private static final int INDEX_OFFSET = 4;
  private static final int STATE_OFFSET = 8;
  private static final int HEADER_LENGTH = 12;

  private static final int NDA_DST = 1;
  private static final int NDA_LLADDR = 2;
  private static final int NDA_PROTOCOL = 12;

  /**
   * Decodes an answer or an event.
   *
   * @return the neighbour, or empty for a message of another type or family, such as an entry of a
   *     bridge's forwarding table (AF_BRIDGE)
   * @throws NetlinkException where the message is malformed
   */
  public static Optional<NeighbourMessage> decode(NetlinkMessageFlyweight message) {
    final int family = message.getByte(FAMILY_OFFSET);
    if (message.type() != RTM_NEWNEIGH && message.type() != RTM_DELNEIGH
        || !AttributeValues.isIp(family)) {
      return Optional.empty();
    }
    IpAddress address = null;
    MacAddress mac = null;
    int protocol = 0;
    final NetlinkAttributeFlyweight attributes = message.attributes(HEADER_LENGTH);
    while (attributes.next()) {
      switch (attributes.type()) {
        case NDA_DST -> address = AttributeValues.address(family, attributes);
        case NDA_LLADDR -> mac = AttributeValues.mac(attributes);
        case NDA_PROTOCOL -> protocol = attributes.getByte();
        default -> {}
      }
    }
    if (address == null) {
      throw NetlinkException.malformed("neighbour without NDA_DST");
    }
    return Optional.of(
        new NeighbourMessage(
            address, message.getInt(INDEX_OFFSET), mac, message.getShort(STATE_OFFSET), protocol));
  }

  static NetlinkRequest list() {
    return new NetlinkRequest("neighbours: list", RTM_GETNEIGH, NetlinkRequest.NLM_F_DUMP)
        .putInt(AttributeValues.AF_UNSPEC)
        .putInt(0)
        .putInt(0);
  }

  /**
   * Returns a request that adds this neighbour or replaces the one with the same address and
   * device.
   */
  public NetlinkRequest replaceRequest() {
    return request(
            "replace",
            RTM_NEWNEIGH,
            NetlinkRequest.NLM_F_CREATE | NetlinkRequest.NLM_F_REPLACE,
            state)
        .attribute(NDA_LLADDR, mac.toBytes())
        .attribute(NDA_PROTOCOL, new byte[] {(byte) protocol});
  }

  /**
   * Returns a request that removes this neighbour, whichever program added it; ENOENT where it does
   * not exist.
   */
  public NetlinkRequest deleteRequest() {
    return request("delete", RTM_DELNEIGH, 0, 0);
  }

  private NetlinkRequest request(String what, int type, int flags, int newState) {
    return new NetlinkRequest(
            "neighbour " + address + " on link " + deviceIndex + ": " + what, type, flags)
        .putInt(AttributeValues.family(address))
        .putInt(deviceIndex)
        .putShort(newState)
        .putShort(0)
        .attribute(NDA_DST, address.toBytes());
  }
}
