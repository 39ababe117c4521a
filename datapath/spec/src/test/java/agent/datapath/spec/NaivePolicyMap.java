package agent.datapath.spec;

import agent.maps.layout.PolicyDirection;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A policy map as the programs read it, written entry by entry in the order of the agent. */
final class NaivePolicyMap {
  private final Map<PolicyEntry.Key, PolicyEntry> entries = new HashMap<>();

  /** What a program asks for a packet. */
  record Question(int identity, PolicyDirection direction, int protocol, int port) {}

  NaivePolicyMap(Collection<PolicyEntry> content) {
    content.forEach(entry -> entries.put(entry.key(), entry));
  }

  Map<PolicyEntry.Key, PolicyEntry> entries() {
    return entries;
  }

  boolean allows(Question question) {
    return isAllowed(longest(question.identity(), question), longest(0, question));
  }

  static boolean isAllowed(PolicyEntry ofOne, PolicyEntry ofAny) {
    final boolean isDenied = ofOne != null && ofOne.isDeny() || ofAny != null && ofAny.isDeny();
    return !isDenied && (ofOne != null || ofAny != null);
  }

  /** Returns the entry of an identity with the longest prefix, or null. */
  PolicyEntry longest(int identity, Question question) {
    for (int length = 64; length >= 48; length--) {
      final int port = question.port() >>> 64 - length << 64 - length;
      final PolicyEntry entry =
          entries.get(
              new PolicyEntry.Key(
                  identity, question.direction(), question.protocol(), port, length));
      if (entry != null) {
        return entry;
      }
    }
    return entries.get(new PolicyEntry.Key(identity, question.direction(), 0, 0, 40));
  }

  /** Returns whether a deny covers all that an entry is for. */
  static boolean isBelow(PolicyEntry entry, PolicyEntry deny) {
    final int open = 64 - deny.prefixLength();
    return (deny.identity() == 0 || deny.identity() == entry.identity())
        && deny.direction() == entry.direction()
        && deny.prefixLength() <= entry.prefixLength()
        && bits(deny) >>> open == bits(entry) >>> open;
  }

  private static int bits(PolicyEntry entry) {
    return entry.protocol() << 16 | entry.port();
  }

  /** Writes one part of a change: insert denies and allows, delete allows and denies. */
  void write(PolicyDelta delta, Runnable afterEach) {
    put(delta.upserts(), true, afterEach);
    put(delta.upserts(), false, afterEach);
    remove(delta.deletes(), false, afterEach);
    remove(delta.deletes(), true, afterEach);
  }

  private void put(List<PolicyEntry> upserts, boolean isDeny, Runnable afterEach) {
    for (final PolicyEntry entry : upserts) {
      if (entry.isDeny() == isDeny) {
        entries.put(entry.key(), entry);
        afterEach.run();
      }
    }
  }

  private void remove(List<PolicyEntry> deletes, boolean isDeny, Runnable afterEach) {
    for (final PolicyEntry entry : deletes) {
      if (entry.isDeny() == isDeny) {
        entries.remove(entry.key());
        afterEach.run();
      }
    }
  }
}
