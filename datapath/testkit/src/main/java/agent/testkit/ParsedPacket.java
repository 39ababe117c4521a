package agent.testkit;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The fields of a frame. Absent fields are 0, empty or null: a frame that is not IP has no
 * addresses, a fragment other than the first has no ports.
 */
public record ParsedPacket(
    String destinationMac,
    String sourceMac,
    List<Integer> vlans,
    int etherType,
    String source,
    String destination,
    int ttl,
    int protocol,
    int fragmentOffsetBytes,
    boolean moreFragments,
    int sourcePort,
    int destinationPort,
    int tcpFlags,
    int icmpType,
    int icmpCode,
    byte[] payload,
    boolean checksumsAreRight) {

  /** Parses a frame with complete headers. */
  public static ParsedPacket of(byte[] frame) {
    return new Reader(frame).read();
  }

  private static final class Reader {
    private final byte[] frame;
    private int at = 12;
    private int protocol;
    private int fragmentOffset;
    private boolean moreFragments;
    private int end;
    private boolean headerChecksumIsRight = true;

    Reader(byte[] frame) {
      this.frame = frame;
      end = frame.length;
    }

    ParsedPacket read() {
      final List<Integer> vlans = new ArrayList<>();
      int etherType = int16(at);
      while (etherType == Packets.ETHERTYPE_VLAN || etherType == Packets.ETHERTYPE_SERVICE_VLAN) {
        vlans.add(int16(at + 2) & 0xfff);
        at += 4;
        etherType = int16(at);
      }
      at += 2;
      final int ip = at;
      if (etherType == Packets.ETHERTYPE_IPV4) {
        readIpv4();
        return rest(vlans, etherType, slice(ip + 12, 4), slice(ip + 16, 4), frame[ip + 8] & 0xff);
      }
      if (etherType == Packets.ETHERTYPE_IPV6) {
        readIpv6();
        return rest(vlans, etherType, slice(ip + 8, 16), slice(ip + 24, 16), frame[ip + 7] & 0xff);
      }
      return new ParsedPacket(
          mac(0),
          mac(6),
          vlans,
          etherType,
          null,
          null,
          0,
          0,
          0,
          false,
          0,
          0,
          0,
          0,
          0,
          slice(at, end - at),
          true);
    }

    private void readIpv4() {
      final int headerLength = (frame[at] & 15) * 4;
      headerChecksumIsRight = Checksums.fold(Checksums.sum(frame, at, headerLength)) == 0;
      end = at + int16(at + 2);
      fragmentOffset = (int16(at + 6) & 0x1fff) * 8;
      moreFragments = (int16(at + 6) & 0x2000) != 0;
      protocol = frame[at + 9] & 0xff;
      at += headerLength;
    }

    private void readIpv6() {
      end = at + 40 + int16(at + 4);
      protocol = frame[at + 6] & 0xff;
      at += 40;
      while (protocol == IpPacket.HOP_BY_HOP
          || protocol == IpPacket.ROUTING
          || protocol == IpPacket.FRAGMENT
          || protocol == IpPacket.AUTHENTICATION
          || protocol == IpPacket.DESTINATION_OPTIONS) {
        final int next = frame[at] & 0xff;
        if (protocol == IpPacket.FRAGMENT) {
          fragmentOffset = int16(at + 2) & 0xfff8;
          moreFragments = (int16(at + 2) & 1) != 0;
          at += 8;
        } else if (protocol == IpPacket.AUTHENTICATION) {
          at += ((frame[at + 1] & 0xff) + 2) * 4;
        } else {
          at += ((frame[at + 1] & 0xff) + 1) * 8;
        }
        protocol = next;
      }
    }

    private ParsedPacket rest(
        List<Integer> vlans, int etherType, byte[] source, byte[] destination, int ttl) {
      final boolean hasPorts =
          fragmentOffset == 0 && (protocol == 6 || protocol == 17 || protocol == 132);
      final boolean hasIcmp = fragmentOffset == 0 && (protocol == 1 || protocol == 58);
      final int header = headerLength();
      return new ParsedPacket(
          mac(0),
          mac(6),
          vlans,
          etherType,
          text(source),
          text(destination),
          ttl,
          protocol,
          fragmentOffset,
          moreFragments,
          hasPorts ? int16(at) : 0,
          hasPorts ? int16(at + 2) : 0,
          hasPorts && protocol == 6 ? frame[at + 13] & 0xff : 0,
          hasIcmp ? frame[at] & 0xff : 0,
          hasIcmp ? frame[at + 1] & 0xff : 0,
          slice(at + header, end - at - header),
          headerChecksumIsRight && layer4ChecksumIsRight(source, destination));
    }

    private int headerLength() {
      if (fragmentOffset > 0) {
        return 0;
      }
      return switch (protocol) {
        case 6 -> (frame[at + 12] >>> 4 & 15) * 4;
        case 17 -> 8;
        case 132 -> 12;
        case 1, 58 -> 4;
        default -> 0;
      };
    }

    private boolean layer4ChecksumIsRight(byte[] source, byte[] destination) {
      if (fragmentOffset > 0 || moreFragments) {
        return true; // covers the whole datagram: one fragment cannot show it
      }
      final int length = end - at;
      return switch (protocol) {
        case 1 -> Checksums.fold(Checksums.sum(frame, at, length)) == 0;
        case 6, 17, 58 ->
            Checksums.fold(
                    Checksums.pseudoHeader(source, destination, protocol, length)
                        + Checksums.sum(frame, at, length))
                == 0;
        default -> true;
      };
    }

    private int int16(int offset) {
      return (frame[offset] & 0xff) << 8 | frame[offset + 1] & 0xff;
    }

    private byte[] slice(int offset, int length) {
      return Arrays.copyOfRange(frame, offset, offset + length);
    }

    private String mac(int offset) {
      return "%02x:%02x:%02x:%02x:%02x:%02x"
          .formatted(
              frame[offset],
              frame[offset + 1],
              frame[offset + 2],
              frame[offset + 3],
              frame[offset + 4],
              frame[offset + 5]);
    }

    private static String text(byte[] address) {
      try {
        return InetAddress.getByAddress(address).getHostAddress();
      } catch (UnknownHostException impossible) {
        throw new IllegalStateException(impossible);
      }
    }
  }
}
