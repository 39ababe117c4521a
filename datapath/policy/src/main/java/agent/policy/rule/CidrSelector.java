package agent.policy.rule;

import agent.identity.Identity;
import agent.identity.ReservedIdentity;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Selects the identities of all CIDRs within the prefix, except those within an exception. Every
 * prefix and exception has an identity of its own, so that the longest prefix match of the ipcache
 * separates an exception from the rest. Endpoints and nodes are never selected.
 *
 * @param prefix the CIDR
 * @param except the exceptions, in order
 */
public record CidrSelector(Prefix prefix, List<Prefix> except) implements PeerSelector {
  /** Sorts the exceptions. */
  public CidrSelector {
    except = except.stream().distinct().sorted().toList();
  }

  @Override
  public boolean selects(Identity identity) {
    return prefixOf(identity)
        .filter(prefix::covers)
        .filter(own -> except.stream().noneMatch(hole -> hole.covers(own)))
        .isPresent();
  }

  /**
   * Returns the prefix that an identity stands for, where it stands for a CIDR or the world. What
   * names have in common stands for the world of its family: an address of names that a CIDR of a
   * rule covers has the identity of a CIDR ({@code NamedAddresses}).
   */
  public static Optional<Prefix> prefixOf(Identity identity) {
    if (identity.id() == ReservedIdentity.WORLD_IPV4.id()) {
      return Optional.of(Prefix.ALL_IPV4);
    }
    if (identity.id() == ReservedIdentity.WORLD_IPV6.id()) {
      return Optional.of(Prefix.ALL_IPV6);
    }
    return identity.outside();
  }

  /** Returns the prefixes that need an identity. */
  List<Prefix> prefixes() {
    final List<Prefix> all = new ArrayList<>(except);
    all.add(prefix);
    return all;
  }

  @Override
  public String text() {
    return except.isEmpty() ? prefix.toString() : prefix + " except " + except;
  }
}
