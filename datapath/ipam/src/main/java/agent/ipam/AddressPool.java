package agent.ipam;

import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.List;

/**
 * A named set of prefixes that addresses of workloads come from.
 *
 * @param name the name, for example {@code default}
 * @param cidrs the prefixes of both families, in the order in which they are used
 */
public record AddressPool(String name, List<Prefix> cidrs) {
  /** The pool that is used where a request names none. */
  public static final String DEFAULT = "default";

  /** Copies the list. */
  public AddressPool {
    cidrs = List.copyOf(cidrs);
  }

  /** Returns the prefixes of one family. */
  public List<Prefix> cidrs(boolean ipv4) {
    return cidrs.stream().filter(cidr -> cidr.isIpv4() == ipv4).toList();
  }

  /** Returns whether the address lies in one of the prefixes. */
  public boolean contains(IpAddress address) {
    return cidrs.stream().anyMatch(cidr -> cidr.contains(address));
  }
}
