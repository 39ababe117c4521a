package agent.node.netlink;

import agent.bindings.net.NetlinkAttributeFlyweight;
import agent.bindings.net.NetlinkException;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkRequest;
import agent.types.IpAddress;
import java.util.Optional;

/**
 * An address of a device in RTM_NEWADDR and RTM_DELADDR messages ({@code struct ifaddrmsg} and
 * IFA_* of {@code linux/if_addr.h}).
 *
 * @param address the node's own address
 * @param prefixLength the prefix length of the network on the device; on a point-to-point device
 *     the length of the address, where the network is the peer's
 * @param deviceIndex the index of the device that has the address
 * @param flags IFA_F_*
 * @param broadcast its IPv4 broadcast address, or null
 */
public record AddressMessage(
    IpAddress address, int prefixLength, int deviceIndex, int flags, IpAddress broadcast) {
  /** An address was added or changed. */
  public static final int RTM_NEWADDR = 20;

  /** An address was removed. */
  public static final int RTM_DELADDR = 21;

  /** No duplicate address detection (RFC 4862 section 5.4). */
  public static final int IFA_F_NODAD = 0x02;

  private static final int RTM_GETADDR = 22;

  // struct ifaddrmsg: family 1, prefix length 1, flags 1, scope 1, index 4
  private static final int FAMILY_OFFSET = 0;
  private static final int PREFIX_LENGTH_OFFSET = 1;
  private static final int FLAGS_OFFSET = 2;
  private static final int INDEX_OFFSET = 4;
  private static final int HEADER_LENGTH = 8;

  private static final int RT_SCOPE_UNIVERSE = 0;
  private static final int IFA_ADDRESS = 1;
  private static final int IFA_LOCAL = 2;
  private static final int IFA_BROADCAST = 4;
  private static final int IFA_FLAGS = 8;

  /**
   * Decodes an answer or an event.
   *
   * @return the address, or empty for a message of another type or family
   * @throws NetlinkException where the message is malformed
   */
  public static Optional<AddressMessage> decode(NetlinkMessageFlyweight message) {
    final int family = message.getByte(FAMILY_OFFSET);
    if (message.type() != RTM_NEWADDR && message.type() != RTM_DELADDR
        || !AttributeValues.isIp(family)) {
      return Optional.empty();
    }
    int flags = message.getByte(FLAGS_OFFSET);
    IpAddress local = null;
    IpAddress address = null;
    IpAddress broadcast = null;
    final NetlinkAttributeFlyweight attributes = message.attributes(HEADER_LENGTH);
    while (attributes.next()) {
      switch (attributes.type()) {
        case IFA_ADDRESS -> address = AttributeValues.address(family, attributes);
        case IFA_LOCAL -> local = AttributeValues.address(family, attributes);
        case IFA_BROADCAST -> broadcast = AttributeValues.address(family, attributes);
        case IFA_FLAGS -> flags = attributes.getInt();
        default -> {}
      }
    }
    // IFA_ADDRESS is the peer's address on a point-to-point device, elsewhere the node's own
    // (if_addr.h).
    final IpAddress own = local == null ? address : local;
    if (own == null) {
      throw NetlinkException.malformed("address without IFA_LOCAL and IFA_ADDRESS");
    }
    final int length = AttributeValues.prefixLength(own, message.getByte(PREFIX_LENGTH_OFFSET));
    final boolean hasPeer = address != null && !address.equals(own);
    return Optional.of(
        new AddressMessage(
            own,
            hasPeer ? own.bitLength() : length,
            message.getInt(INDEX_OFFSET),
            flags,
            broadcast));
  }

  static NetlinkRequest list() {
    return new NetlinkRequest("addresses: list", RTM_GETADDR, NetlinkRequest.NLM_F_DUMP)
        .putInt(AttributeValues.AF_UNSPEC)
        .putInt(0);
  }

  /** Returns a request that adds this address; EEXIST where the device has it. */
  public NetlinkRequest addRequest() {
    return request(
        "add", RTM_NEWADDR, NetlinkRequest.NLM_F_CREATE | NetlinkRequest.NLM_F_EXCL, flags);
  }

  /**
   * Returns a request that removes this address; EADDRNOTAVAIL where the device does not have it.
   */
  public NetlinkRequest deleteRequest() {
    return request("delete", RTM_DELADDR, 0, 0);
  }

  private NetlinkRequest request(String what, int type, int requestFlags, int addressFlags) {
    return new NetlinkRequest(
            "address " + address + "/" + prefixLength + " of link " + deviceIndex + ": " + what,
            type,
            requestFlags)
        .putByte(AttributeValues.family(address))
        .putByte(prefixLength)
        .putByte(addressFlags)
        .putByte(RT_SCOPE_UNIVERSE)
        .putInt(deviceIndex)
        .attribute(IFA_LOCAL, address.toBytes())
        .attribute(IFA_ADDRESS, address.toBytes());
  }
}
