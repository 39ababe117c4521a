package agent.testkit;

import java.io.ByteArrayOutputStream;
import java.net.InetAddress;

/**
 * Entry points of the packet builders: {@code ipv4("10.0.0.1", "10.0.0.2").tcp(31337,
 * 80).syn().bytes()}.
 */
public final class Packets {
  /** The default Ethernet source. */
  public static final String SOURCE_MAC = "02:00:00:00:00:01";

  /** The default Ethernet destination. */
  public static final String DESTINATION_MAC = "02:00:00:00:00:02";

  static final int ETHERTYPE_IPV4 = 0x0800;
  static final int ETHERTYPE_ARP = 0x0806;
  static final int ETHERTYPE_IPV6 = 0x86dd;
  static final int ETHERTYPE_VLAN = 0x8100;
  static final int ETHERTYPE_SERVICE_VLAN = 0x88a8;

  private Packets() {}

  /** Returns an IPv4 packet. */
  public static IpPacket ipv4(String source, String destination) {
    return new IpPacket(false, address(source, 4), address(destination, 4));
  }

  /** Returns an IPv6 packet. */
  public static IpPacket ipv6(String source, String destination) {
    return new IpPacket(true, address(source, 16), address(destination, 16));
  }

  /** Returns a frame of any EtherType. */
  public static byte[] frame(
      String destinationMac, String sourceMac, int etherType, byte[] payload) {
    final ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(mac(destinationMac));
    out.writeBytes(mac(sourceMac));
    put16(out, etherType);
    out.writeBytes(payload);
    return out.toByteArray();
  }

  /** Returns an ARP request, broadcast. */
  public static byte[] arpRequest(String senderMac, String senderAddress, String targetAddress) {
    return frame(
        "ff:ff:ff:ff:ff:ff",
        senderMac,
        ETHERTYPE_ARP,
        arp(1, senderMac, senderAddress, "00:00:00:00:00:00", targetAddress));
  }

  /** Returns an ARP reply. */
  public static byte[] arpReply(
      String senderMac, String senderAddress, String targetMac, String targetAddress) {
    return frame(
        targetMac,
        senderMac,
        ETHERTYPE_ARP,
        arp(2, senderMac, senderAddress, targetMac, targetAddress));
  }

  /**
   * Returns a neighbour solicitation to the target's solicited-node group (RFC 4861, section 4.3).
   */
  public static IpPacket neighbourSolicitation(
      String senderMac, String senderAddress, String targetAddress) {
    final byte[] target = address(targetAddress, 16);
    final byte[] group = address("ff02::1:ff00:0", 16);
    System.arraycopy(target, 13, group, 13, 3);
    final ByteArrayOutputStream body = new ByteArrayOutputStream();
    put32(body, 0);
    body.writeBytes(target);
    final boolean probesForDuplicates = "::".equals(senderAddress);
    if (!probesForDuplicates) {
      body.write(1); // source link-layer address, one unit of eight bytes
      body.write(1);
      body.writeBytes(mac(senderMac));
    }
    return new IpPacket(true, address(senderAddress, 16), group)
        .from(senderMac)
        .to("33:33:ff:%02x:%02x:%02x".formatted(group[13], group[14], group[15]))
        .ttl(255)
        .icmp(135, 0, body.toByteArray());
  }

  /** Returns a solicited neighbour advertisement with the target's link-layer address. */
  public static IpPacket neighbourAdvertisement(
      String senderMac, String senderAddress, String destination) {
    final ByteArrayOutputStream body = new ByteArrayOutputStream();
    put32(body, 0x60000000);
    body.writeBytes(address(senderAddress, 16));
    body.write(2);
    body.write(1);
    body.writeBytes(mac(senderMac));
    return ipv6(senderAddress, destination)
        .from(senderMac)
        .ttl(255)
        .icmp(136, 0, body.toByteArray());
  }

  /** Returns the bytes of a numeric address; no name service is queried. */
  public static byte[] address(String text, int length) {
    final byte[] bytes = bytes(InetAddress.ofLiteral(text).getAddress(), text);
    if (bytes.length != length) {
      throw new IllegalArgumentException(text + " does not have " + length + " bytes");
    }
    return bytes;
  }

  /** The platform takes an IPv4-mapped address for one of IPv4. */
  private static byte[] bytes(byte[] read, String text) {
    if (read.length != 4 || text.indexOf(':') < 0) {
      return read;
    }
    final byte[] mapped = new byte[16];
    mapped[10] = -1;
    mapped[11] = -1;
    System.arraycopy(read, 0, mapped, 12, read.length);
    return mapped;
  }

  /** Returns the six bytes of {@code aa:bb:cc:dd:ee:ff}. */
  public static byte[] mac(String text) {
    final String[] parts = text.split(":");
    if (parts.length != 6) {
      throw new IllegalArgumentException(text + " is not a MAC address");
    }
    final byte[] bytes = new byte[6];
    for (int i = 0; i < 6; i++) {
      bytes[i] = (byte) Integer.parseInt(parts[i], 16);
    }
    return bytes;
  }

  static void put16(ByteArrayOutputStream out, int value) {
    out.write(value >>> 8);
    out.write(value);
  }

  static void put32(ByteArrayOutputStream out, int value) {
    put16(out, value >>> 16);
    put16(out, value);
  }

  private static byte[] arp(
      int operation,
      String senderMac,
      String senderAddress,
      String targetMac,
      String targetAddress) {
    final ByteArrayOutputStream out = new ByteArrayOutputStream();
    put16(out, 1);
    put16(out, ETHERTYPE_IPV4);
    out.write(6);
    out.write(4);
    put16(out, operation);
    out.writeBytes(mac(senderMac));
    out.writeBytes(address(senderAddress, 4));
    out.writeBytes(mac(targetMac));
    out.writeBytes(address(targetAddress, 4));
    return out.toByteArray();
  }
}
