package agent.testkit;

import java.util.List;
import java.util.stream.Stream;

/**
 * The special-purpose address registries of IANA (RFC 6890), and the ranges of multicast and of
 * IPv4-compatible addresses.
 */
public final class SpecialAddresses {
  private static final List<Block> IPV4 =
      List.of(
          invalid("0.0.0.0/8", "0.0.0.0", "0.0.0.1", "0.255.255.255"),
          valid("10.0.0.0/8", "10.0.0.0", "10.255.255.255"),
          valid("100.64.0.0/10", "100.64.0.0", "100.127.255.255"),
          invalid("127.0.0.0/8", "127.0.0.0", "127.0.0.1", "127.255.255.255"),
          valid("169.254.0.0/16", "169.254.0.0", "169.254.255.255"),
          valid("172.16.0.0/12", "172.16.0.0", "172.31.255.255"),
          valid("192.0.0.0/24", "192.0.0.0", "192.0.0.255"),
          valid("192.0.0.0/29", "192.0.0.1", "192.0.0.7"),
          valid("192.0.0.8/32", "192.0.0.8"),
          valid("192.0.0.9/32", "192.0.0.9"),
          valid("192.0.0.10/32", "192.0.0.10"),
          valid("192.0.0.170/32", "192.0.0.170"),
          valid("192.0.0.171/32", "192.0.0.171"),
          valid("192.0.2.0/24", "192.0.2.200"),
          valid("192.31.196.0/24", "192.31.196.0", "192.31.196.255"),
          valid("192.52.193.0/24", "192.52.193.0", "192.52.193.255"),
          valid("192.88.99.0/24", "192.88.99.0", "192.88.99.255"),
          valid("192.168.0.0/16", "192.168.0.0", "192.168.255.255"),
          valid("192.175.48.0/24", "192.175.48.0", "192.175.48.255"),
          valid("198.18.0.0/15", "198.18.0.0", "198.19.255.255"),
          valid("198.51.100.0/24", "198.51.100.0", "198.51.100.255"),
          valid("203.0.113.0/24", "203.0.113.0", "203.0.113.255"),
          invalid("224.0.0.0/4", "224.0.0.0", "224.0.0.251", "239.255.255.255"),
          invalid("240.0.0.0/4", "240.0.0.0", "255.255.255.254"),
          invalid("255.255.255.255/32", "255.255.255.255"));

  private static final List<Block> IPV6 =
      List.of(
          invalid("::1/128", "::1"),
          invalid("::/128", "::"),
          invalid("::/96", "::2", "::127.0.0.1", "::ffff:ffff"),
          invalid("::ffff:0:0/96", "::ffff:0.0.0.0", "::ffff:127.0.0.1", "::ffff:255.255.255.255"),
          valid("64:ff9b::/96", "64:ff9b::203.0.113.9", "64:ff9b::10.9.0.5"),
          valid("64:ff9b:1::/48", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"),
          valid("100::/64", "100::", "100::ffff:ffff:ffff:ffff"),
          valid("100:0:0:1::/64", "100:0:0:1::", "100::1:ffff:ffff:ffff:ffff"),
          valid("2001::/23", "2001:1f::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
          valid("2001::/32", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"),
          valid("2001:1::1/128", "2001:1::1"),
          valid("2001:1::2/128", "2001:1::2"),
          valid("2001:1::3/128", "2001:1::3"),
          valid("2001:2::/48", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"),
          valid("2001:3::/32", "2001:3::", "2001:3:ffff:ffff:ffff:ffff:ffff:ffff"),
          valid("2001:4:112::/48", "2001:4:112::", "2001:4:112:ffff:ffff:ffff:ffff:ffff"),
          valid("2001:10::/28", "2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff"),
          valid("2001:20::/28", "2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff"),
          valid("2001:30::/28", "2001:30::", "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff"),
          valid("2001:db8::/32", "2001:db8:ffff::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
          valid("2002::/16", "2002:c000:201::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
          valid("2620:4f:8000::/48", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff"),
          valid("3fff::/20", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
          valid("5f00::/16", "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
          valid("fc00::/7", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
          valid("fe80::/10", "fe80::77", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
          invalid("ff00::/8", "ff00::", "ff02::fb", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));

  private SpecialAddresses() {}

  /**
   * A block of a registry.
   *
   * @param prefix its prefix
   * @param isOfHosts whether its addresses may be those of unicast hosts on the wire
   * @param addresses the ends of the block, and others that a stack gives a meaning
   */
  public record Block(String prefix, boolean isOfHosts, List<String> addresses) {}

  /** Returns the blocks of a family. */
  public static List<Block> blocks(boolean ipv6) {
    return ipv6 ? IPV6 : IPV4;
  }

  /** Returns the addresses of a family that no host has. */
  public static Stream<String> invalid(boolean ipv6) {
    return blocks(ipv6).stream()
        .filter(block -> !block.isOfHosts)
        .flatMap(block -> block.addresses.stream());
  }

  private static Block valid(String prefix, String... addresses) {
    return new Block(prefix, true, List.of(addresses));
  }

  private static Block invalid(String prefix, String... addresses) {
    return new Block(prefix, false, List.of(addresses));
  }
}
