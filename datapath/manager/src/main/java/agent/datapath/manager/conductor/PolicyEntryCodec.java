package agent.datapath.manager.conductor;

import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyFlag;
import agent.maps.layout.PolicyKeyFlyweight;
import agent.reconcile.DesiredTable;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** Policy entries as keys and values of policy maps. Reused; for the conductor's thread. */
final class PolicyEntryCodec {
  private static final PolicyDirection[] DIRECTIONS = PolicyDirection.values();

  private final UnsafeBuffer keyBuffer = new UnsafeBuffer(new byte[PolicyKeyFlyweight.LENGTH]);
  private final UnsafeBuffer valueBuffer = new UnsafeBuffer(new byte[PolicyEntryFlyweight.LENGTH]);
  private final PolicyKeyFlyweight key = new PolicyKeyFlyweight();
  private final PolicyEntryFlyweight value = new PolicyEntryFlyweight();

  /** Encodes an entry, until the next call. */
  PolicyEntryCodec encode(PolicyEntry entry) {
    key.wrap(keyBuffer, 0)
        .prefixLength(entry.prefixLength())
        .identity(entry.identity())
        .direction(entry.direction().number())
        .protocol(entry.protocol())
        .port(entry.port());
    value.wrap(valueBuffer, 0).clear().flags(entry.flags()).redirect(entry.verdict().redirect());
    return this;
  }

  /** Returns the key of the encoded entry. */
  DirectBuffer key() {
    return keyBuffer;
  }

  /** Returns the value of the encoded entry. */
  DirectBuffer value() {
    return valueBuffer;
  }

  /** Returns whether the map of a table holds the encoded entry, as far as is known. */
  boolean isHeldIn(DesiredTable table) {
    return table.holds(keyBuffer, valueBuffer);
  }

  /** Returns whether the map of a table holds an entry with the key of the encoded one. */
  boolean isKeyHeldIn(DesiredTable table) {
    return table.holds(keyBuffer);
  }

  /** Returns whether a table desires the encoded entry. */
  boolean isIn(DesiredTable table) {
    return table.wants(keyBuffer, valueBuffer);
  }

  /** Returns whether a table desires an entry with the key of the encoded one. */
  boolean isKeyIn(DesiredTable table) {
    return table.wants(keyBuffer);
  }

  /**
   * Returns an entry of a map, or null where no policy has its key, which another program has
   * written. Where its value is not a valid verdict, the deny flag decides, as in the BPF programs.
   */
  PolicyEntry decode(MutableDirectBuffer keyOf, MutableDirectBuffer valueOf) {
    key.wrap(keyOf, 0);
    value.wrap(valueOf, 0);
    if (key.direction() >= DIRECTIONS.length
        || !PolicyEntry.isWithinPrefix(key.protocol(), key.port(), key.prefixLength())) {
      return null;
    }
    final int flags = value.flags() & ~PolicyFlag.ALLOWS_ALL.number();
    final PolicyVerdict verdict;
    if (PolicyVerdict.isValid(flags, value.redirect())) {
      verdict = new PolicyVerdict(flags, value.redirect());
    } else {
      verdict = isDeny(valueOf) ? PolicyVerdict.DENY : PolicyVerdict.ALLOW;
    }
    return new PolicyEntry(
        key.identity(),
        DIRECTIONS[key.direction()],
        key.protocol(),
        key.port(),
        key.prefixLength(),
        verdict);
  }

  /** Returns an entry that no policy has as text. */
  String foreign(MutableDirectBuffer keyOf) {
    key.wrap(keyOf, 0);
    return "identity %d, direction %d, protocol %d, port %d, prefix length %d is not a policy entry"
        .formatted(key.identity(), key.direction(), key.protocol(), key.port(), key.prefixLength());
  }

  /** Returns whether the value of an entry denies. */
  boolean isDeny(MutableDirectBuffer valueOf) {
    return (value.wrap(valueOf, 0).flags() & PolicyFlag.DENY.number()) != 0;
  }
}
