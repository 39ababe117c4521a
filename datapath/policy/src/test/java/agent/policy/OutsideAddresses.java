package agent.policy;

import agent.identity.ReservedIdentity;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Addresses outside, and their identities by the entries of an ipcache. */
final class OutsideAddresses {
  private OutsideAddresses() {}

  static Set<IpAddress> addresses(String... texts) {
    return Arrays.stream(texts)
        .map(IpAddress::parse)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Returns the prefixes that have an identity. */
  static Stream<String> prefixesOf(PolicyEngine engine, int identity) {
    return engine.outsidePrefixes().entrySet().stream()
        .filter(entry -> entry.getValue() == identity)
        .map(entry -> entry.getKey().toString());
  }

  /** Returns the identity of the longest ipcache prefix that contains the address, or the world. */
  static int identityOf(Map<Prefix, Integer> ipcache, IpAddress address) {
    return ipcache.entrySet().stream()
        .filter(entry -> entry.getKey().contains(address))
        .max(Comparator.comparingInt(entry -> entry.getKey().length()))
        .map(Map.Entry::getValue)
        .orElse(ReservedIdentity.world(address.isIpv4()).id());
  }
}
