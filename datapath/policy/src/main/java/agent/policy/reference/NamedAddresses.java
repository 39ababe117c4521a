package agent.policy.reference;

import agent.identity.CidrIdentityAllocator;
import agent.identity.Identity;
import agent.identity.Label;
import agent.identity.LabelSet;
import agent.policy.rule.NamedSelector;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/**
 * The addresses that names have, each with its identity: addresses that the same selectors by names
 * select have one in common, so that a further address of a name changes no policy. An address that
 * a CIDR of a rule covers has the identity of a CIDR of one address, for rules may mean it alone;
 * so has that of a service whose name can be no label.
 *
 * <p>A selector that rules no longer use says nothing of an identity. So an address keeps its
 * identity then, if other selectors select it, until {@link #settle} gives it the one that it would
 * have had.
 */
public final class NamedAddresses {
  /**
   * What addresses have in common.
   *
   * @param selectors the selectors by names that select them
   * @param range all addresses of the family, or the one address where it has its own identity
   */
  private record Key(Set<NamedSelector<?>> selectors, Prefix range) {
    LabelSet labels() {
      if (range.isSingleAddress()) {
        return LabelSet.ofCidr(range);
      }
      final List<Label> names = selectors.stream().map(NamedSelector::label).toList();
      return LabelSet.ofNames(names, range.isIpv4());
    }
  }

  /** The addresses with the same key. */
  private static final class Group {
    private final Key key;
    private final int identity;
    private int addresses;

    Group(Key key, int identity) {
      this.key = key;
      this.identity = identity;
    }
  }

  /** Hears which identities a selector gains and loses. */
  public interface Listener {
    /** The selector has addresses with this identity from now on. */
    void onGained(NamedSelector<?> selector, int identity);

    /** The selector has no address with this identity any more. */
    void onLost(NamedSelector<?> selector, int identity);

    /** An address is about to have another identity, or none. */
    void onMoving(Prefix address);
  }

  /** Addresses that selectors gain and lose together. */
  static final class Moves {
    private final Map<Prefix, Map<NamedSelector<?>, Boolean>> moves = new LinkedHashMap<>();

    /** A selector selects the address from now on. */
    void gain(Prefix address, NamedSelector<?> selector) {
      of(address).put(selector, true);
    }

    /** A selector does not select the address any more. */
    void lose(Prefix address, NamedSelector<?> selector) {
      of(address).put(selector, false);
    }

    private Map<NamedSelector<?>, Boolean> of(Prefix address) {
      return moves.computeIfAbsent(address, first -> new HashMap<>());
    }
  }

  private final CidrIdentityAllocator allocator;
  private final Listener listener;
  private final Map<Key, Group> groups = new HashMap<>();
  private final TreeMap<Prefix, Group> held = new TreeMap<>();
  private final Set<NamedSelector<?>> used = new HashSet<>();
  private final CoveringCidrs cidrs = new CoveringCidrs();

  /** Groups that have lost their last address. */
  private final Set<Group> left = new LinkedHashSet<>();

  /** Addresses whose group may not be that of what rules use now. */
  private final Set<Prefix> outdated = new LinkedHashSet<>();

  /** Selectors that the groups of these addresses may have, and rules no longer use. */
  private final Set<NamedSelector<?>> dropped = new HashSet<>();

  /** The groups that addresses had before the last moves. */
  private final Map<Prefix, Group> before = new HashMap<>();

  /** Creates names without addresses; the listener hears of each prefix whose identity changes. */
  public NamedAddresses(CidrIdentityAllocator allocator, Listener listener) {
    this.allocator = allocator;
    this.listener = listener;
  }

  /** Returns the identity of an address; 0 where no selector selects it. */
  int identityOf(Prefix address) {
    final Group group = held.get(address);
    return group == null ? 0 : group.identity;
  }

  /** Returns all addresses. */
  Set<Prefix> all() {
    return Collections.unmodifiableSet(held.keySet());
  }

  /** Adds the CIDRs of a rule, and the addresses that they cover to the moves. */
  void use(Collection<Prefix> named, Moves moves) {
    cidrs.add(named).forEach(cidr -> within(cidr).forEach(moves::of));
  }

  /** Ends the use of the CIDRs of a rule. */
  void drop(Collection<Prefix> named) {
    cidrs.remove(named).forEach(cidr -> outdated.addAll(within(cidr)));
  }

  /** In the order of prefixes, those that one covers follow it directly. */
  private Set<Prefix> within(Prefix cidr) {
    return held.subMap(cidr, true, Prefix.of(cidr.last()), true).keySet();
  }

  /** Adds a selector, and the addresses that it selects to the moves. */
  void use(NamedSelector<?> selector, Set<Prefix> selected, Moves moves) {
    used.add(selector);
    if (outdated.isEmpty()) {
      dropped.clear();
    }
    if (dropped.remove(selector)) {
      for (final Prefix address : outdated) { // as of its earlier use, it may select others
        if (held.get(address).key.selectors.contains(selector)) {
          moves.lose(address, selector);
        }
      }
    }
    selected.forEach(address -> moves.gain(address, selector));
  }

  /** Ends the use of a selector. */
  void drop(NamedSelector<?> selector, Set<Prefix> selected) {
    used.remove(selector);
    dropped.add(selector);
    for (final Prefix address : selected) {
      final Group group = held.get(address);
      if (group != null && group.key.selectors.contains(selector)) {
        if (Collections.disjoint(group.key.selectors, used)) {
          move(address, null);
        } else {
          outdated.add(address);
        }
      }
    }
  }

  /** Returns whether {@link #settle} has something to do. */
  public boolean isOutdated() {
    return !outdated.isEmpty();
  }

  /**
   * Restores to addresses the identity that they would have had without what rules no longer use.
   *
   * @param most so many addresses
   * @throws Refusal EXHAUSTED where an identity is missing; nothing has changed
   */
  public void settle(int most) {
    final Moves moves = new Moves();
    outdated.stream().limit(most).forEach(moves::of);
    apply(moves, Map.of());
  }

  /**
   * Adds addresses to selectors and removes others, all or none. What they do not need any more
   * stays until {@link #release}.
   *
   * @param former the numbers that addresses had in the previous run, which they keep; no other
   *     address is given one of them
   * @throws Refusal EXHAUSTED where an address can have no identity
   */
  void apply(Moves moves, Map<Prefix, Integer> former) {
    before.clear();
    final Map<Prefix, Key> keys = new LinkedHashMap<>();
    moves.moves.forEach((address, change) -> keys.put(address, keyOf(address, change)));
    final List<Group> created = create(keys, former);
    for (final Group group : created) {
      group.key.selectors.forEach(selector -> listener.onGained(selector, group.identity));
    }
    keys.forEach(
        (address, key) -> {
          before.put(address, held.get(address));
          move(address, key == null ? null : groups.get(key));
        });
  }

  /** Undoes the last moves; no reference was given back meanwhile. */
  public void revert() {
    before.forEach(this::move);
    before.values().removeIf(Objects::isNull);
    outdated.addAll(before.keySet()); // some may have been before
    before.clear();
  }

  /** Returns null where no selector selects the address. */
  private Key keyOf(Prefix address, Map<NamedSelector<?>, Boolean> change) {
    final Group group = held.get(address);
    final Set<NamedSelector<?>> selectors = new HashSet<>();
    if (group != null) {
      selectors.addAll(group.key.selectors);
      selectors.retainAll(used);
    }
    change.forEach(
        (selector, isGained) -> {
          if (isGained) {
            selectors.add(selector);
          } else {
            selectors.remove(selector);
          }
        });
    if (selectors.isEmpty()) {
      return null;
    }
    if (cidrs.cover(address) || !haveLabels(selectors)) {
      return new Key(selectors, address);
    }
    return new Key(selectors, address.isIpv4() ? Prefix.ALL_IPV4 : Prefix.ALL_IPV6);
  }

  private static boolean haveLabels(Set<NamedSelector<?>> selectors) {
    for (final NamedSelector<?> selector : selectors) {
      if (!selector.hasLabel()) {
        return false;
      }
    }
    return true;
  }

  private List<Group> create(Map<Prefix, Key> keys, Map<Prefix, Integer> former) {
    final Set<Key> missing = new LinkedHashSet<>();
    for (final Key key : keys.values()) {
      if (key != null && !groups.containsKey(key)) {
        missing.add(key);
      }
    }
    if (missing.isEmpty()) {
      return List.of();
    }
    final List<Group> created = new ArrayList<>();
    formerNumbers(keys, former).forEach((key, number) -> restore(key, number, created));
    final List<Integer> reserved = reserve(former);
    try {
      for (final Key key : missing) {
        if (!groups.containsKey(key)) {
          create(key, allocator.acquire(key.labels()), created);
        }
      }
    } catch (Refusal refusal) {
      created.forEach(this::discard);
      throw refusal;
    } finally {
      reserved.forEach(allocator::release);
    }
    return created;
  }

  /** Returns the lowest number that addresses of a group had and no others, for each group. */
  private static Map<Key, Integer> formerNumbers(
      Map<Prefix, Key> keys, Map<Prefix, Integer> former) {
    final TreeMap<Integer, Set<Key>> owners = new TreeMap<>();
    keys.forEach(
        (address, key) -> {
          final Integer number = former.get(address);
          if (number != null) {
            owners.computeIfAbsent(number, first -> new HashSet<>()).add(key);
          }
        });
    final Map<Key, Integer> numbers = new LinkedHashMap<>();
    owners.forEach(
        (number, of) -> {
          if (of.size() == 1) {
            numbers.putIfAbsent(of.iterator().next(), number);
          }
        });
    return numbers;
  }

  private void restore(Key key, int number, List<Group> created) {
    try {
      create(key, allocator.restore(number, key.labels()), created);
    } catch (Refusal conflict) {
      // It is that of a CIDR of a rule by now: a new number serves as well.
    }
  }

  /** Acquires references to all other numbers of the previous run, to be released again. */
  private List<Integer> reserve(Map<Prefix, Integer> former) {
    final List<Integer> reserved = new ArrayList<>();
    former.forEach(
        (prefix, number) -> {
          if (allocator.find(number).isEmpty()) {
            try {
              reserved.add(allocator.restore(number, prefix).id());
            } catch (Refusal conflict) {
              // The address has another number by now.
            }
          }
        });
    return reserved;
  }

  private void create(Key key, Identity identity, List<Group> created) {
    final Group group = new Group(key, identity.id());
    groups.put(key, group);
    created.add(group);
  }

  private void discard(Group group) {
    groups.remove(group.key);
    allocator.release(group.identity);
  }

  private void move(Prefix address, Group after) {
    final Group now = held.get(address);
    outdated.remove(address);
    if (now == after) {
      return;
    }
    listener.onMoving(address);
    if (now != null && --now.addresses == 0) {
      left.add(now);
    }
    if (after == null) {
      held.remove(address);
    } else {
      held.put(address, after);
      after.addresses++;
      left.remove(after);
    }
  }

  /** Releases the references of what no address has any more. */
  public void release() {
    before.clear();
    for (final Group group : left) {
      groups.remove(group.key);
      for (final NamedSelector<?> selector : group.key.selectors) {
        if (!isSelected(group, selector)) {
          listener.onLost(selector, group.identity);
        }
      }
      allocator.release(group.identity);
    }
    left.clear();
  }

  /** Whether the address of the group is in another one with the same identity and selector. */
  private boolean isSelected(Group group, NamedSelector<?> selector) {
    final Group now = held.get(group.key.range);
    return now != null && now.identity == group.identity && now.key.selectors.contains(selector);
  }
}
