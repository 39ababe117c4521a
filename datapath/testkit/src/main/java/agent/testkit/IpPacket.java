package agent.testkit;

import static agent.testkit.Packets.put16;
import static agent.testkit.Packets.put32;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A builder of IPv4 and IPv6 packets in Ethernet frames, with correct checksums. */
public final class IpPacket {
  /** IPv6 extension headers, by protocol number. */
  public static final int HOP_BY_HOP = 0;

  public static final int ROUTING = 43;
  public static final int FRAGMENT = 44;
  public static final int AUTHENTICATION = 51;
  public static final int DESTINATION_OPTIONS = 60;

  private final boolean isIpv6;
  private final byte[] source;
  private final byte[] destination;
  private String sourceMac = Packets.SOURCE_MAC;
  private String destinationMac = Packets.DESTINATION_MAC;
  private final List<int[]> vlans = new ArrayList<>();
  private final List<int[]> extensions = new ArrayList<>();
  private byte[] options = {};
  private int ttl = 64;
  private int id = 1;
  private int trafficClass;
  private boolean isFragment;
  private int fragmentOffsetBytes;
  private boolean moreFragments;
  private boolean mayNotBeSplit;
  private Layer4 layer4 = new Layer4.Raw(59);
  private byte[] payload = {};

  IpPacket(boolean isIpv6, byte[] source, byte[] destination) {
    this.isIpv6 = isIpv6;
    this.source = source;
    this.destination = destination;
  }

  public IpPacket from(String mac) {
    sourceMac = mac;
    return this;
  }

  public IpPacket to(String mac) {
    destinationMac = mac;
    return this;
  }

  /** Adds a VLAN tag, outermost first. */
  public IpPacket vlan(int vlanId) {
    vlans.add(new int[] {Packets.ETHERTYPE_VLAN, vlanId});
    return this;
  }

  /** Adds a service tag (802.1ad), outermost first. */
  public IpPacket serviceVlan(int vlanId) {
    vlans.add(new int[] {Packets.ETHERTYPE_SERVICE_VLAN, vlanId});
    return this;
  }

  /** Sets the time to live, or the hop limit. */
  public IpPacket ttl(int value) {
    ttl = value;
    return this;
  }

  /** Sets the traffic class, or the type of service. */
  public IpPacket trafficClass(int value) {
    trafficClass = value;
    return this;
  }

  /** Sets the identification, which all fragments of a packet have in common. */
  public IpPacket id(int value) {
    id = value;
    return this;
  }

  /** Forbids routers to split the packet: DF of IPv4, which has no counterpart in IPv6. */
  public IpPacket mayNotBeSplit() {
    mayNotBeSplit = true;
    return this;
  }

  /** Sets IPv4 options, padded to a multiple of four bytes. */
  public IpPacket options(int... bytes) {
    options = new byte[(bytes.length + 3) / 4 * 4];
    for (int i = 0; i < bytes.length; i++) {
      options[i] = (byte) bytes[i];
    }
    return this;
  }

  /** Adds an IPv6 extension header of the given size in units of eight bytes. */
  public IpPacket extension(int protocol, int units) {
    extensions.add(new int[] {protocol, units});
    return this;
  }

  /**
   * Marks the packet as a fragment. Its content is the layer 4 header and the payload for offset 0,
   * and only the payload for another offset.
   */
  public IpPacket fragment(int offsetBytes, boolean more) {
    isFragment = true;
    fragmentOffsetBytes = offsetBytes;
    moreFragments = more;
    return this;
  }

  /** Sets TCP without flags; {@link #syn()}, {@link #ack()} and others add them. */
  public IpPacket tcp(int sourcePort, int destinationPort) {
    layer4 = new Layer4.Tcp(sourcePort, destinationPort);
    return this;
  }

  public IpPacket syn() {
    return flag(Layer4.Tcp.SYN);
  }

  public IpPacket ack() {
    return flag(Layer4.Tcp.ACK);
  }

  public IpPacket fin() {
    return flag(Layer4.Tcp.FIN);
  }

  public IpPacket rst() {
    return flag(Layer4.Tcp.RST);
  }

  /** Sets the sequence number of TCP, 1000 by default. */
  public IpPacket sequence(int number) {
    ((Layer4.Tcp) layer4).sequence = number;
    return this;
  }

  /** Sets ACK with an acknowledgement number, 2000 by default. */
  public IpPacket ack(int number) {
    ((Layer4.Tcp) layer4).acknowledged = number;
    return ack();
  }

  /** Sets the window of TCP, 65,535 by default. */
  public IpPacket window(int bytes) {
    ((Layer4.Tcp) layer4).window = bytes;
    return this;
  }

  public IpPacket udp(int sourcePort, int destinationPort) {
    layer4 = new Layer4.Udp(sourcePort, destinationPort);
    return this;
  }

  public IpPacket sctp(int sourcePort, int destinationPort) {
    layer4 = new Layer4.Sctp(sourcePort, destinationPort);
    return this;
  }

  /** Sets another protocol; the payload follows the IP header. */
  public IpPacket protocol(int number) {
    layer4 = new Layer4.Raw(number);
    return this;
  }

  public IpPacket echoRequest(int identifier, int sequence) {
    return icmp(isIpv6 ? 128 : 8, 0, echo(identifier, sequence));
  }

  public IpPacket echoReply(int identifier, int sequence) {
    return icmp(isIpv6 ? 129 : 0, 0, echo(identifier, sequence));
  }

  /** Sets ICMP or ICMPv6; the body begins after type, code and checksum. */
  public IpPacket icmp(int type, int code, byte[] body) {
    layer4 = new Layer4.Icmp(isIpv6, type, code);
    payload = body;
    return this;
  }

  /** Sets an ICMP error that quotes the IP header and the first bytes of a packet. */
  public IpPacket icmpError(int type, int code, IpPacket about) {
    return icmpError(type, code, about, isIpv6 ? 1232 : about.ipHeaderLength() + 8);
  }

  /** Sets an ICMP error that quotes at most so many bytes of a packet. */
  public IpPacket icmpError(int type, int code, IpPacket about, int quoted) {
    final byte[] original = about.ipBytes();
    final int embedded = Math.min(original.length, quoted);
    final byte[] body = new byte[4 + embedded];
    System.arraycopy(original, 0, body, 4, embedded);
    return icmp(type, code, body);
  }

  public IpPacket payload(String text) {
    return payload(text.getBytes(StandardCharsets.UTF_8));
  }

  public IpPacket payload(byte[] bytes) {
    payload = bytes.clone();
    return this;
  }

  /** Sets a payload of this length with ascending byte values. */
  public IpPacket payloadOf(int length) {
    payload = new byte[length];
    for (int i = 0; i < length; i++) {
      payload[i] = (byte) i;
    }
    return this;
  }

  /** Returns the whole frame. */
  public byte[] bytes() {
    return frame(ipBytes());
  }

  /**
   * Returns the packet as fragments whose IP payload is at most so many bytes (a multiple of
   * eight).
   */
  public List<byte[]> fragments(int fragmentBytes) {
    final byte[] whole = layer4.bytes(source, destination, payload);
    final List<byte[]> frames = new ArrayList<>();
    for (int offset = 0; offset < whole.length; offset += fragmentBytes) {
      final int end = Math.min(whole.length, offset + fragmentBytes);
      final boolean more = end < whole.length;
      frames.add(frame(ip(Arrays.copyOfRange(whole, offset, end), true, offset, more)));
    }
    return frames;
  }

  private IpPacket flag(int flag) {
    if (!(layer4 instanceof Layer4.Tcp tcp)) {
      throw new IllegalStateException("a TCP flag without tcp(source, destination)");
    }
    tcp.flags |= flag;
    return this;
  }

  private static byte[] echo(int identifier, int sequence) {
    return new byte[] {
      (byte) (identifier >>> 8), (byte) identifier, (byte) (sequence >>> 8), (byte) sequence
    };
  }

  private byte[] frame(byte[] ip) {
    final ByteArrayOutputStream inner = new ByteArrayOutputStream();
    final int inside = isIpv6 ? Packets.ETHERTYPE_IPV6 : Packets.ETHERTYPE_IPV4;
    for (int i = 0; i < vlans.size(); i++) {
      put16(inner, vlans.get(i)[1]);
      put16(inner, i + 1 < vlans.size() ? vlans.get(i + 1)[0] : inside);
    }
    inner.writeBytes(ip);
    final int outside = vlans.isEmpty() ? inside : vlans.getFirst()[0];
    return Packets.frame(destinationMac, sourceMac, outside, inner.toByteArray());
  }

  private byte[] ipBytes() {
    final byte[] content =
        isFragment && fragmentOffsetBytes > 0
            ? payload
            : layer4.bytes(source, destination, payload);
    return ip(content, isFragment, fragmentOffsetBytes, moreFragments);
  }

  private int ipHeaderLength() {
    return isIpv6 ? 40 : 20 + options.length;
  }

  private byte[] ip(byte[] content, boolean fragment, int offset, boolean more) {
    return isIpv6 ? ipv6(content, fragment, offset, more) : ipv4(content, offset, more);
  }

  private byte[] ipv4(byte[] content, int offset, boolean more) {
    final ByteArrayOutputStream out = new ByteArrayOutputStream();
    final int headerLength = ipHeaderLength();
    out.write(0x40 | headerLength / 4);
    out.write(trafficClass);
    put16(out, headerLength + content.length);
    put16(out, id);
    put16(out, (mayNotBeSplit ? 0x4000 : 0) | (more ? 0x2000 : 0) | offset / 8);
    out.write(ttl);
    out.write(layer4.protocol());
    put16(out, 0);
    out.writeBytes(source);
    out.writeBytes(destination);
    out.writeBytes(options);
    final byte[] header = out.toByteArray();
    final int checksum = Checksums.fold(Checksums.sum(header, 0, header.length));
    header[10] = (byte) (checksum >>> 8);
    header[11] = (byte) checksum;
    final byte[] packet = Arrays.copyOf(header, header.length + content.length);
    System.arraycopy(content, 0, packet, header.length, content.length);
    return packet;
  }

  private byte[] ipv6(byte[] content, boolean fragment, int offset, boolean more) {
    final List<int[]> chain = new ArrayList<>(extensions);
    if (fragment) {
      chain.add(new int[] {FRAGMENT, 1});
    }
    final ByteArrayOutputStream body = new ByteArrayOutputStream();
    for (int i = 0; i < chain.size(); i++) {
      final int next = i + 1 < chain.size() ? chain.get(i + 1)[0] : layer4.protocol();
      body.write(next);
      if (chain.get(i)[0] == FRAGMENT) {
        body.write(0);
        put16(body, fragment ? offset & 0xfff8 | (more ? 1 : 0) : 0);
        put32(body, id);
      } else {
        final int units = chain.get(i)[1];
        // The authentication header (RFC 4302) counts words, and not the first two.
        body.write(chain.get(i)[0] == AUTHENTICATION ? units * 2 - 2 : units - 1);
        body.write(1); // PadN over the rest of the header
        body.write(units * 8 - 4);
        body.writeBytes(new byte[units * 8 - 4]);
      }
    }
    body.writeBytes(content);
    final ByteArrayOutputStream out = new ByteArrayOutputStream();
    put32(out, 6 << 28 | trafficClass << 20);
    put16(out, body.size());
    out.write(chain.isEmpty() ? layer4.protocol() : chain.getFirst()[0]);
    out.write(ttl);
    out.writeBytes(source);
    out.writeBytes(destination);
    out.writeBytes(body.toByteArray());
    return out.toByteArray();
  }
}
