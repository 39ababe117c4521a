package agent.l7proxy;

import agent.types.IpAddress;
import java.util.Arrays;

/** A host with or without a port: a name, an IPv4 address or an IPv6 address in brackets. */
final class Authority {
  private static final int MOST_PORT_DIGITS = 5;
  private static final boolean[] NAME = characters("._~!$&'()*+,;=%-", 'z', 'Z');
  private static final boolean[] BRACKETED = characters(":.", 'f', 'F');

  private Authority() {}

  private static boolean[] characters(String others, int lastSmall, int lastLarge) {
    final boolean[] allowed = new boolean[128];
    others.chars().forEach(c -> allowed[c] = true);
    Arrays.fill(allowed, '0', '9' + 1, true);
    Arrays.fill(allowed, 'a', lastSmall + 1, true);
    Arrays.fill(allowed, 'A', lastLarge + 1, true);
    return allowed;
  }

  /** Returns an address and a port as one text. */
  static String of(IpAddress address, int port) {
    return (address.isIpv6() ? "[" + address + "]" : address.toString()) + ":" + port;
  }

  /** Returns the index after the host; -1 where the text is not a host and a port. */
  static int endOfHost(String text) {
    final boolean isBracketed = text.startsWith("[");
    int end = span(text, isBracketed ? 1 : 0, isBracketed ? BRACKETED : NAME);
    if (isBracketed) {
      if (end == 1 || end == text.length() || text.charAt(end) != ']') {
        return -1;
      }
      end++;
    }
    return end == text.length() || isPort(text, end) ? end : -1;
  }

  private static int span(String text, int from, boolean[] allowed) {
    int i = from;
    while (i < text.length() && text.charAt(i) < allowed.length && allowed[text.charAt(i)]) {
      i++;
    }
    return i;
  }

  /** A colon and at most five digits, or none. */
  private static boolean isPort(String text, int from) {
    if (text.charAt(from) != ':' || text.length() - from - 1 > MOST_PORT_DIGITS) {
      return false;
    }
    for (int i = from + 1; i < text.length(); i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return false;
      }
    }
    return true;
  }
}
