package agent.node.netfilter;

import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * What of one address family is masqueraded.
 *
 * @param sources the addresses of workloads
 * @param own addresses of the node among them, which keep what they are
 * @param excluded the destinations to which workloads send with their own address
 */
public record MasqueradedRange(Prefix sources, List<IpAddress> own, List<Prefix> excluded) {
  /**
   * This host, loopback, the link, multicast and reserved (RFC 1122, RFC 3927, RFC 1112): what the
   * programs leave alone, too (bpf-src/include/lib/masquerade.h).
   */
  private static final List<String> NEVER_IPV4 =
      List.of("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3");

  /** Unspecified, loopback and IPv4-compatible; the link; multicast (RFC 4291). */
  private static final List<String> NEVER_IPV6 = List.of("::/96", "fe80::/10", "ff00::/8");

  public MasqueradedRange {
    own = List.copyOf(own);
    excluded = List.copyOf(excluded);
  }

  /**
   * Returns the range of the addresses of this node's workloads.
   *
   * @param range the addresses of workloads, to which nothing is masqueraded
   * @param addresses addresses of the node
   * @param nativeRouting another prefix to which nothing is masqueraded; null: none
   */
  public static MasqueradedRange of(Prefix range, List<IpAddress> addresses, Prefix nativeRouting) {
    final Set<Prefix> excluded = new TreeSet<>();
    excluded.add(range);
    if (nativeRouting != null) {
      excluded.add(nativeRouting);
    }
    (range.isIpv4() ? NEVER_IPV4 : NEVER_IPV6).forEach(text -> excluded.add(Prefix.parse(text)));
    final List<IpAddress> own = addresses.stream().distinct().filter(range::contains).toList();
    return new MasqueradedRange(range, own, List.copyOf(excluded));
  }
}
