package agent.benchmarks;

import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * A deny list with the distribution of published ones: half single hosts (/32, /128), a quarter
 * small blocks (/28, /64), a quarter networks (/24, /48), spread evenly; the seed is fixed.
 */
final class PrefixList {
  private static final int[] LENGTHS4 = {32, 32, 28, 24};
  private static final int[] LENGTHS6 = {128, 128, 64, 48};

  private final Random random = new Random(20261120);
  private final List<Prefix> prefixes = new ArrayList<>();
  private final Set<Prefix> known = new HashSet<>();
  private final boolean ipv6;

  PrefixList(boolean ipv6, int count) {
    this.ipv6 = ipv6;
    final int[] lengths = lengths();
    while (prefixes.size() < count) {
      final Prefix prefix = Prefix.of(address(), lengths[prefixes.size() % lengths.length]);
      if (known.add(prefix)) {
        prefixes.add(prefix);
      }
    }
  }

  List<Prefix> prefixes() {
    return prefixes;
  }

  /** Returns an address that no prefix covers. */
  IpAddress outside() {
    while (true) {
      final IpAddress address = address();
      if (!covers(address)) {
        return address;
      }
    }
  }

  /** Returns an address that a prefix of the list covers. */
  IpAddress inside() {
    final Prefix prefix = prefixes.get(random.nextInt(prefixes.size()));
    if (!ipv6) {
      final int hostBits = prefix.length() == 32 ? 0 : random.nextInt() >>> prefix.length();
      return IpAddress.ofIpv4((int) prefix.address().low() | hostBits);
    }
    final long low = prefix.length() == 128 ? prefix.address().low() : random.nextLong();
    return IpAddress.ofIpv6(prefix.address().high(), low);
  }

  private boolean covers(IpAddress address) {
    for (final int length : lengths()) {
      if (known.contains(Prefix.of(address, length))) {
        return true;
      }
    }
    return false;
  }

  private int[] lengths() {
    return ipv6 ? LENGTHS6 : LENGTHS4;
  }

  /** Returns a random unicast address: 1.0.0.0 to 223.255.255.255, or 2000::/3. */
  private IpAddress address() {
    if (ipv6) {
      return IpAddress.ofIpv6(random.nextLong() >>> 3 | 1L << 61, random.nextLong());
    }
    return IpAddress.ofIpv4((1 + random.nextInt(223)) << 24 | random.nextInt(1 << 24));
  }
}
