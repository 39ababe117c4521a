package agent.datapath.programs.scenario;

import java.util.Arrays;
import java.util.HexFormat;

/**
 * The headers of an untagged IP packet, read byte by byte from the RFCs; shares no code with the
 * programs.
 *
 * @param offset where the layer 4 header begins
 * @param end where the IP packet ends in the frame
 * @param isLater whether it is a fragment without the layer 4 header
 * @param isFirst whether fragments without that header follow
 * @param fragmentId the identification, 0 where it is no fragment
 */
record NaiveHeaders(
    byte[] frame,
    boolean isIpv4,
    String source,
    String destination,
    int hopLimit,
    int protocol,
    int offset,
    int end,
    boolean isLater,
    boolean isFirst,
    int fragmentId) {
  private static final int ETHERNET_BYTES = 14;

  /** Returns the headers, or null where the frame is no complete IP packet. */
  static NaiveHeaders of(byte[] frame) {
    final int etherType = number(frame, 12, 2);
    final NaiveHeaders headers =
        etherType == 0x0800
            ? ipv4(frame, ETHERNET_BYTES, true)
            : etherType == 0x86dd ? ipv6(frame, ETHERNET_BYTES, true) : null;
    return headers == null || !headers.isLater() && !headers.hasLayer4() ? null : headers;
  }

  /** Returns the headers of the packet that this ICMP error quotes, or null. */
  NaiveHeaders quoted() {
    return isIpv4 ? ipv4(frame, offset + 8, false) : ipv6(frame, offset + 8, false);
  }

  private static NaiveHeaders ipv4(byte[] frame, int at, boolean isWhole) {
    if (at + 20 > frame.length || frame[at] >> 4 != 4) {
      return null;
    }
    final int header = (frame[at] & 15) * 4;
    final int total = number(frame, at + 2, 2);
    if (header < 20 || isWhole && (total < header || at + total > frame.length)) {
      return null;
    }
    final int fragment = number(frame, at + 6, 2);
    final boolean isLater = (fragment & 0x1fff) != 0;
    final boolean isFirst = !isLater && (fragment & 0x2000) != 0;
    return new NaiveHeaders(
        frame,
        true,
        hex(frame, at + 12, 4),
        hex(frame, at + 16, 4),
        frame[at + 8] & 0xff,
        frame[at + 9] & 0xff,
        at + header,
        isWhole ? at + total : frame.length,
        isLater,
        isFirst,
        isLater || isFirst ? number(frame, at + 4, 2) : 0);
  }

  private static NaiveHeaders ipv6(byte[] frame, int at, boolean isWhole) {
    if (at + 40 > frame.length || (frame[at] >> 4 & 15) != 6) {
      return null;
    }
    final int end = isWhole ? at + 40 + number(frame, at + 4, 2) : frame.length;
    int offset = at + 40;
    int protocol = frame[at + 6] & 0xff;
    boolean isLater = false;
    boolean isFirst = false;
    int id = 0;
    if (end > frame.length) {
      return null;
    }
    while (!isLater && isExtension(protocol)) {
      if (offset + 8 > end) {
        return null;
      }
      final int length = frame[offset + 1] & 0xff;
      final int bytes = protocol == 44 ? 8 : protocol == 51 ? (length + 2) * 4 : (length + 1) * 8;
      if (protocol == 44) {
        final int fragment = number(frame, offset + 2, 2);
        isLater = (fragment & 0xfff8) != 0;
        isFirst = !isLater && (fragment & 1) != 0;
        id = number(frame, offset + 4, 4);
      }
      protocol = frame[offset] & 0xff;
      offset += bytes;
    }
    return new NaiveHeaders(
        frame,
        false,
        hex(frame, at + 8, 16),
        hex(frame, at + 24, 16),
        frame[at + 7] & 0xff,
        protocol,
        offset,
        end,
        isLater,
        isFirst,
        id);
  }

  private static boolean isExtension(int protocol) {
    return protocol == 0 || protocol == 43 || protocol == 44 || protocol == 51 || protocol == 60;
  }

  private boolean hasLayer4() {
    final int bytes = end - offset;
    return switch (protocol) {
      case 6 ->
          bytes >= 20
              && (frame[offset + 12] >> 4 & 15) >= 5
              && (frame[offset + 12] >> 4 & 15) * 4 <= bytes;
      case 17, 1, 58 -> bytes >= 8;
      case 132 -> bytes >= 12;
      default -> bytes >= 0;
    };
  }

  boolean isIcmp() {
    return protocol == (isIpv4 ? 1 : 58);
  }

  /** The ICMP message type. */
  int type() {
    return frame[offset] & 0xff;
  }

  boolean isError() {
    final int type = type();
    return isIcmp() && (isIpv4 ? type == 3 || type == 11 || type == 12 : type >= 1 && type <= 4);
  }

  /** Whether it is an echo request or reply with identifier 0. */
  boolean isEchoOfNumberZero() {
    final boolean isEcho = isIpv4 ? type() == 0 || type() == 8 : type() == 128 || type() == 129;
    return isIcmp() && isEcho && number(frame, offset + 4, 2) == 0;
  }

  /**
   * Whether it is a message of neighbour discovery, or another one that is valid on a link only.
   */
  boolean isLinkControl() {
    return protocol == 58 && !isIpv4 && (type() >= 130 && type() <= 137 || type() == 143);
  }

  int sourcePort() {
    return number(frame, offset, 2);
  }

  int destinationPort() {
    return number(frame, offset + 2, 2);
  }

  /** Returns the tuple of a packet with ports, or of an echo. */
  String tuple() {
    return offset + 8 > frame.length
        ? null
        : protocol
            + " "
            + source
            + " "
            + destination
            + " "
            + (isIcmp() ? number(frame, offset + 4, 2) : number(frame, offset, 4));
  }

  /** Returns the tuple of the packets of the other direction. */
  String reversed() {
    return offset + 8 > frame.length
        ? null
        : protocol
            + " "
            + destination
            + " "
            + source
            + " "
            + (isIcmp() ? number(frame, offset + 4, 2) : destinationPort() << 16 | sourcePort());
  }

  /** Returns what all fragments of the packet have in common. */
  String datagram() {
    return protocol + " " + source + " " + destination + " " + fragmentId;
  }

  private static int number(byte[] frame, int offset, int bytes) {
    int number = 0;
    for (int i = 0; i < bytes; i++) {
      number = number << 8 | frame[offset + i] & 0xff;
    }
    return number;
  }

  private static String hex(byte[] frame, int offset, int bytes) {
    return HexFormat.of().formatHex(Arrays.copyOfRange(frame, offset, offset + bytes));
  }
}
