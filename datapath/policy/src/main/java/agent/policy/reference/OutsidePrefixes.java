package agent.policy.reference;

import agent.identity.Identity;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The identities that prefixes outside are to have in the ipcache: those of the CIDRs of rules, and
 * those of the addresses of names, which come first. Tells what has changed since it was asked.
 */
public final class OutsidePrefixes {
  private final NamedAddresses names;
  private final Map<Prefix, Integer> cidrs = new HashMap<>();

  /** CIDRs that share a number with another one, as they did in the previous run. */
  private final Map<Prefix, Integer> kept = new HashMap<>();

  /** Prefixes that may have changed, each with the identity that was last given to the caller. */
  private final Map<Prefix, Integer> touched = new LinkedHashMap<>();

  private final Set<Integer> newIdentities = new TreeSet<>();

  /** Creates a set of prefixes, in which the addresses of these names come first. */
  public OutsidePrefixes(NamedAddresses names) {
    this.names = names;
  }

  /** Returns 0 where it has none. */
  private int identityOf(Prefix prefix) {
    final int named = names.identityOf(prefix);
    return named != 0 ? named : cidrs.getOrDefault(prefix, kept.getOrDefault(prefix, 0));
  }

  /** Records that the identity of a prefix is about to change. */
  public void touch(Prefix prefix) {
    touched.computeIfAbsent(prefix, this::identityOf);
  }

  /** Adds the prefix of an identity that is one of a CIDR. */
  public void onAdded(Identity identity) {
    if (identity.isLocal()) {
      newIdentities.add(identity.id());
      identity
          .cidr()
          .ifPresent(
              prefix -> {
                touch(prefix);
                cidrs.put(prefix, identity.id());
              });
    }
  }

  /** Removes the prefix of an identity that is one of a CIDR. */
  public void onRemoved(Identity identity) {
    newIdentities.remove(identity.id());
    identity
        .cidr()
        .ifPresent(
            prefix -> {
              touch(prefix);
              cidrs.remove(prefix);
            });
    for (final Map.Entry<Prefix, Integer> entry : List.copyOf(kept.entrySet())) {
      if (entry.getValue() == identity.id()) {
        touch(entry.getKey());
        kept.remove(entry.getKey());
      }
    }
  }

  /** Makes a prefix share the identity of a CIDR while there is such an identity. */
  public void keep(Prefix prefix, int identity) {
    touch(prefix);
    kept.put(prefix, identity);
  }

  /** Returns all of them. */
  public Map<Prefix, Integer> all() {
    final Map<Prefix, Integer> all = new TreeMap<>(kept);
    all.putAll(cidrs);
    names.all().forEach(address -> all.put(address, names.identityOf(address)));
    return all;
  }

  /** Returns what has changed since the last call. */
  public OutsideChanges take() {
    final Map<Prefix, Integer> added = new LinkedHashMap<>();
    final List<Prefix> removed = new ArrayList<>();
    touched.forEach(
        (prefix, before) -> {
          final int now = identityOf(prefix);
          if (now == 0 && before != 0) {
            removed.add(prefix);
          } else if (now != before) {
            added.put(prefix, now);
          }
        });
    final var changes = new OutsideChanges(added, removed, Set.copyOf(newIdentities));
    touched.clear();
    newIdentities.clear();
    return changes;
  }
}
