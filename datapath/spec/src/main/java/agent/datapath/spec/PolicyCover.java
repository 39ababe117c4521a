package agent.datapath.spec;

import agent.maps.layout.PolicyPrefix;
import java.util.Collection;
import org.agrona.collections.LongHashSet;

/**
 * The keys of the allows and of the denies of one content of a policy map. A region is a key
 * without its identity: a direction with everything, a protocol, or a prefix of its ports, which
 * regions with a longer prefix may be part of. In a map without an allow below a deny a packet is
 * allowed where an allow of its identity or of any identity covers it, and no deny of either does:
 * which prefix is the longest does not matter.
 *
 * <pre>
 *  61            30 29  28       24 23      16 15          0
 * +----------------+---+-----------+----------+-------------+
 * |    identity    |dir|length - 40| protocol |    port     |
 * +----------------+---+-----------+----------+-------------+
 * </pre>
 */
final class PolicyCover {
  /** No region: what is above a whole direction. */
  static final int NONE = -1;

  static final int ANY_IDENTITY = 0;

  private static final int IDENTITY_SHIFT = 30;
  private static final int DIRECTION_SHIFT = 29;
  private static final int LENGTH_SHIFT = 24;
  private static final int LENGTH_MASK = 31;
  private static final int PROTOCOL_SHIFT = 16;
  private static final int PROTOCOL_MASK = 0xFF;
  private static final int PORT_MASK = 0xFFFF;
  private static final int PROTOCOL_LENGTH = PolicyPrefix.PROTOCOL - PolicyPrefix.IDENTITY;
  private static final int PORT_LENGTH = PolicyPrefix.PORT - PolicyPrefix.IDENTITY;

  private final LongHashSet allows = new LongHashSet();
  private final LongHashSet denies = new LongHashSet();
  private int allowsIn;

  PolicyCover(Collection<PolicyEntry> entries) {
    for (final PolicyEntry entry : entries) {
      (entry.isDeny() ? denies : allows).add(key(entry));
      allowsIn |= entry.isDeny() ? 0 : 1 << entry.direction().number();
    }
  }

  static int region(PolicyEntry entry) {
    return entry.direction().number() << DIRECTION_SHIFT
        | entry.prefixLength() - PolicyPrefix.IDENTITY << LENGTH_SHIFT
        | entry.protocol() << PROTOCOL_SHIFT
        | entry.port();
  }

  static long key(int identity, int region) {
    return Integer.toUnsignedLong(identity) << IDENTITY_SHIFT | region;
  }

  static long key(PolicyEntry entry) {
    return key(entry.identity(), region(entry));
  }

  /** Returns the region that is one bit of the port, or a protocol, wider; or {@link #NONE}. */
  static int parent(int region) {
    if (length(region) == 0) {
      return NONE;
    }
    final int length = length(region) - 1;
    final int direction = region & 1 << DIRECTION_SHIFT;
    if (length < PROTOCOL_LENGTH) {
      return direction;
    }
    final int portMask = PORT_MASK << PORT_LENGTH - length & PORT_MASK;
    return direction
        | length << LENGTH_SHIFT
        | region & PROTOCOL_MASK << PROTOCOL_SHIFT
        | region & portMask;
  }

  static int length(int region) {
    return region >>> LENGTH_SHIFT & LENGTH_MASK;
  }

  /** Returns the place of the first protocol and port of a region in the order of all. */
  static int first(int region) {
    return region >>> DIRECTION_SHIFT << PORT_LENGTH | region & (1 << PORT_LENGTH) - 1;
  }

  /** Returns the place of the last protocol and port of a region. */
  static int last(int region) {
    return first(region) + (1 << PORT_LENGTH - length(region)) - 1;
  }

  /** Returns the directions in which anything is allowed, as bits by their numbers. */
  int allowsIn() {
    return allowsIn;
  }

  boolean isAllow(long key) {
    return allows.contains(key);
  }

  boolean isDeny(long key) {
    return denies.contains(key);
  }

  /** Returns whether one allow of an identity or of any identity covers a whole region. */
  boolean allows(int identity, int region) {
    return covers(allows, identity, region);
  }

  /** Returns whether one deny of an identity or of any identity covers a whole region. */
  boolean denies(int identity, int region) {
    return covers(denies, identity, region);
  }

  private static boolean covers(LongHashSet keys, int identity, int region) {
    if (keys.isEmpty()) {
      return false;
    }
    for (int wider = region; wider != NONE; wider = parent(wider)) {
      if (keys.contains(key(identity, wider)) || keys.contains(key(ANY_IDENTITY, wider))) {
        return true;
      }
    }
    return false;
  }
}
