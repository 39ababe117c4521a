package agent.policy;

import java.util.ArrayList;
import java.util.List;

/**
 * What a policy key says about protocol and port: everything (prefix length 40), a protocol (48),
 * or a protocol and a prefix of the port (49 to 64).
 *
 * @param protocol the IP protocol number; 0 for everything
 * @param port the port or ICMP message type, bits past the prefix being 0
 * @param prefixLength 40, or 48 to 64
 */
record PortMatch(int protocol, int port, int prefixLength) implements Comparable<PortMatch> {
  static final int ANY_PROTOCOL = 40;
  static final int ANY_PORT = 48;
  static final int WHOLE_PORT = 64;
  static final PortMatch ALL = new PortMatch(0, 0, ANY_PROTOCOL);

  private static final int HIGHEST = 65535;

  static PortMatch ofProtocol(int protocol) {
    return new PortMatch(protocol, 0, ANY_PORT);
  }

  static PortMatch of(int protocol, int port) {
    return new PortMatch(protocol, port, WHOLE_PORT);
  }

  /** The fewest aligned prefixes that together are the ports from first to last. */
  static List<PortMatch> range(int protocol, int first, int last) {
    final List<PortMatch> matches = new ArrayList<>();
    int from = first;
    while (from <= last) {
      int bits = from == 0 ? 16 : Math.min(16, Integer.numberOfTrailingZeros(from));
      while (from + (1 << bits) - 1 > last) {
        bits--;
      }
      matches.add(new PortMatch(protocol, from, WHOLE_PORT - bits));
      from += 1 << bits;
    }
    return matches;
  }

  /** The next shorter match that covers this one, or null for {@link #ALL}. */
  PortMatch parent() {
    if (prefixLength == ANY_PROTOCOL) {
      return null;
    }
    if (prefixLength == ANY_PORT) {
      return ALL;
    }
    final int length = prefixLength - 1;
    return new PortMatch(protocol, port & HIGHEST << WHOLE_PORT - length & HIGHEST, length);
  }

  @Override
  public int compareTo(PortMatch other) {
    int order = Integer.compare(protocol, other.protocol);
    order = order != 0 ? order : Integer.compare(port, other.port);
    return order != 0 ? order : Integer.compare(prefixLength, other.prefixLength);
  }
}
