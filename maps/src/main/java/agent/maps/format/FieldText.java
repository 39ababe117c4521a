package agent.maps.format;

/** Formats fields that occur in several maps. */
final class FieldText {
  private static final String HEX = "0123456789abcdef";
  private static final int GROUPS = 8;
  private static final long IPV4_MAPPED = 0xffff;

  private FieldText() {}

  static void ipv4(StringBuilder out, int address) {
    out.append(address >>> 24)
        .append('.')
        .append(address >>> 16 & 0xff)
        .append('.')
        .append(address >>> 8 & 0xff)
        .append('.')
        .append(address & 0xff);
  }

  /**
   * Appends the text form of RFC 5952: the longest run of zero groups, the first of equal runs,
   * becomes {@code ::}.
   */
  static void ipv6(StringBuilder out, long high, long low) {
    int runStart = -1;
    int runLength = 1;
    for (int i = 0; i < GROUPS; ) {
      int end = i;
      while (end < GROUPS && group(high, low, end) == 0) {
        end++;
      }
      if (end - i > runLength) {
        runStart = i;
        runLength = end - i;
      }
      i = Math.max(end, i + 1);
    }
    for (int i = 0; i < GROUPS; i++) {
      if (i == runStart) {
        out.append("::");
        i += runLength - 1;
      } else {
        if (i > 0 && i != runStart + runLength) {
          out.append(':');
        }
        out.append(Integer.toHexString(group(high, low, i)));
      }
    }
  }

  /** Appends an address, an IPv4-mapped one as IPv4, with a port: {@code [2001:db8::1]:80}. */
  static void end(StringBuilder out, long high, long low, int port) {
    if (high == 0 && low >>> Integer.SIZE == IPV4_MAPPED) {
      ipv4(out, (int) low);
    } else {
      ipv6(out.append('['), high, low);
      out.append(']');
    }
    out.append(':').append(port);
  }

  private static int group(long high, long low, int index) {
    final long half = index < 4 ? high : low;
    return (int) (half >>> 48 - (index & 3) * 16) & 0xffff;
  }

  static void mac(StringBuilder out, long mac) {
    for (int shift = 40; shift >= 0; shift -= 8) {
      final int octet = (int) (mac >>> shift) & 0xff;
      out.append(HEX.charAt(octet >>> 4)).append(HEX.charAt(octet & 0xf));
      if (shift > 0) {
        out.append(':');
      }
    }
  }

  static void unsigned(StringBuilder out, int number) {
    out.append(Integer.toUnsignedLong(number));
  }

  static void protocol(StringBuilder out, int protocol) {
    switch (protocol) {
      case 1 -> out.append("ICMP");
      case 6 -> out.append("TCP");
      case 17 -> out.append("UDP");
      case 58 -> out.append("ICMPv6");
      case 132 -> out.append("SCTP");
      default -> out.append("protocol ").append(protocol);
    }
  }

  static boolean icmp(int protocol) {
    return protocol == 1 || protocol == 58;
  }

  /**
   * Appends the name of a constant in lower case: {@code POLICY_DENIED} as {@code policy-denied}.
   */
  static void constant(StringBuilder out, String name) {
    for (int i = 0; i < name.length(); i++) {
      final char c = name.charAt(i);
      out.append(c == '_' ? '-' : Character.toLowerCase(c));
    }
  }
}
