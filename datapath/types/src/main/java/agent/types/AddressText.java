package agent.types;

/** The text forms of addresses: RFC 4291 section 2.2 read strictly, RFC 5952 written. */
final class AddressText {
  private static final int GROUPS = 8;
  private static final int LONGEST = 45;

  private AddressText() {}

  /** Returns the address, or null where the text is not an address. */
  static IpAddress read(String text) {
    if (text.length() > LONGEST) {
      return null;
    }
    if (text.indexOf(':') < 0) {
      final long bits = readIpv4(text, 0, text.length());
      return bits < 0 ? null : IpAddress.ofIpv4((int) bits);
    }
    return readIpv6(text);
  }

  /** 32 bits, or -1. */
  private static long readIpv4(String text, int from, int to) {
    long bits = 0;
    int at = from;
    for (int octet = 0; octet < 4; octet++) {
      if (octet > 0 && (at >= to || text.charAt(at++) != '.')) {
        return -1;
      }
      final int start = at;
      int value = 0;
      while (at < to && at - start < 3 && isDigit(text.charAt(at))) {
        value = value * 10 + text.charAt(at++) - '0';
      }
      final boolean leadingZero = at - start > 1 && text.charAt(start) == '0';
      if (at == start || leadingZero || value > 255) {
        return -1;
      }
      bits = bits << 8 | value;
    }
    return at == to ? bits : -1;
  }

  private static IpAddress readIpv6(String text) {
    final int[] groups = new int[GROUPS];
    int count = 0;
    int gap = -1;
    int at = 0;
    final int end = text.length();
    if (text.startsWith("::")) {
      gap = 0;
      at = 2;
    }
    while (at < end) {
      if (count == GROUPS) {
        return null;
      }
      final int next = endOfGroup(text, at);
      if (next < end && text.charAt(next) == '.') {
        final long bits = count > GROUPS - 2 ? -1 : readIpv4(text, at, end);
        if (bits < 0) {
          return null;
        }
        groups[count++] = (int) (bits >>> 16);
        groups[count++] = (int) (bits & 0xffff);
        break;
      }
      if (next == at || next - at > 4) {
        return null;
      }
      groups[count++] = Integer.parseInt(text, at, next, 16);
      at = next;
      if (at == end) {
        break;
      }
      if (text.charAt(at) != ':' || at + 1 == end) {
        return null;
      }
      at++;
      if (text.charAt(at) == ':') {
        if (gap >= 0) {
          return null;
        }
        gap = count;
        at++;
      }
    }
    return assemble(groups, count, gap);
  }

  private static int endOfGroup(String text, int from) {
    int at = from;
    while (at < text.length() && isHex(text.charAt(at))) {
      at++;
    }
    return at;
  }

  private static IpAddress assemble(int[] groups, int count, int gap) {
    if (gap < 0 ? count != GROUPS : count >= GROUPS) {
      return null;
    }
    final int[] all = new int[GROUPS];
    final int head = gap < 0 ? GROUPS : gap;
    System.arraycopy(groups, 0, all, 0, Math.min(head, count));
    if (gap >= 0) {
      System.arraycopy(groups, gap, all, GROUPS - (count - gap), count - gap);
    }
    return IpAddress.ofIpv6(join(all, 0), join(all, 4));
  }

  private static long join(int[] groups, int from) {
    long value = 0;
    for (int i = from; i < from + 4; i++) {
      value = value << 16 | groups[i];
    }
    return value;
  }

  static String write(IpAddress address) {
    final StringBuilder text = new StringBuilder(LONGEST);
    if (address.isIpv4()) {
      writeIpv4(text, (int) address.low());
    } else if (address.high() == 0 && address.low() >>> 32 == 0xffff) {
      writeIpv4(text.append("::ffff:"), (int) address.low());
    } else {
      writeIpv6(text, address);
    }
    return text.toString();
  }

  private static void writeIpv4(StringBuilder text, int bits) {
    text.append(bits >>> 24).append('.').append(bits >>> 16 & 0xff).append('.');
    text.append(bits >>> 8 & 0xff).append('.').append(bits & 0xff);
  }

  private static void writeIpv6(StringBuilder text, IpAddress address) {
    final int[] groups = new int[GROUPS];
    for (int i = 0; i < GROUPS; i++) {
      groups[i] = (int) ((i < 4 ? address.high() : address.low()) >>> 48 - 16 * (i & 3)) & 0xffff;
    }
    int gap = -1;
    int gapLength = 1; // a single zero group is written out
    for (int i = 0; i < GROUPS; i++) {
      int run = 0;
      while (i + run < GROUPS && groups[i + run] == 0) {
        run++;
      }
      if (run > gapLength) {
        gap = i;
        gapLength = run;
      }
    }
    for (int i = 0; i < GROUPS; i++) {
      if (i == gap) {
        text.append("::");
        i += gapLength - 1;
        continue;
      }
      if (i > 0 && text.charAt(text.length() - 1) != ':') {
        text.append(':');
      }
      text.append(Integer.toHexString(groups[i]));
    }
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static boolean isHex(char c) {
    return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F';
  }
}
