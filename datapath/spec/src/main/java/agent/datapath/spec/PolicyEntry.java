package agent.datapath.spec;

import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyFlag;
import agent.maps.layout.PolicyPrefix;
import agent.maps.layout.RedirectKind;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;

/**
 * One entry of an endpoint's policy map ({@code maps/policy_map.h}). Two entries with the same
 * {@link #key()} are the same map entry; they differ in the verdict only. Ordered by direction,
 * identity, protocol, port, prefix length and verdict.
 *
 * @param identity the peer's security identity; 0 matches any identity
 * @param direction seen from the endpoint
 * @param protocol the IP protocol number; 0 where the prefix length is {@link
 *     PolicyPrefix#IDENTITY}
 * @param port destination port or ICMP message type, in host order; the bits past the prefix are 0
 * @param prefixLength a length of {@link PolicyPrefix}, or 49 to 63 for a prefix of the port
 * @param verdict the verdict on a matching packet
 */
public record PolicyEntry(
    int identity,
    PolicyDirection direction,
    int protocol,
    int port,
    int prefixLength,
    PolicyVerdict verdict)
    implements Comparable<PolicyEntry> {
  private static final int PROTOCOL_MAX = 255;
  private static final int PORT_MAX = 65535;

  /** The key of the map entry; the parameters are those of {@link PolicyEntry}. */
  public record Key(
      int identity, PolicyDirection direction, int protocol, int port, int prefixLength) {}

  /**
   * Checks that the prefix length agrees with protocol and port.
   *
   * @throws IllegalArgumentException where it does not, or where a value is out of range
   */
  public PolicyEntry {
    if (direction == null
        || verdict == null
        || protocol < 0
        || protocol > PROTOCOL_MAX
        || port < 0
        || port > PORT_MAX
        || !isWithinPrefix(protocol, port, prefixLength)) {
      throw new IllegalArgumentException(
          "policy entry: identity %d %s protocol %d port %d prefix length %d verdict %s"
              .formatted(identity, direction, protocol, port, prefixLength, verdict));
    }
  }

  /** Returns whether protocol and port have no bits beyond the prefix, which ends at a part. */
  public static boolean isWithinPrefix(int protocol, int port, int prefixLength) {
    if (prefixLength == PolicyPrefix.IDENTITY) {
      return protocol == 0 && port == 0;
    }
    final int portBits = prefixLength - PolicyPrefix.PROTOCOL;
    return portBits >= 0
        && prefixLength <= PolicyPrefix.PORT
        && (port & PORT_MAX >>> portBits) == 0;
  }

  /** Returns an entry that allows all packets of a peer in a direction. */
  public static PolicyEntry allowAll(int identity, PolicyDirection direction) {
    return new PolicyEntry(identity, direction, 0, 0, PolicyPrefix.IDENTITY, PolicyVerdict.ALLOW);
  }

  /** Returns an entry that allows one port to a peer. */
  public static PolicyEntry allow(int identity, PolicyDirection direction, int protocol, int port) {
    return new PolicyEntry(
        identity, direction, protocol, port, PolicyPrefix.PORT, PolicyVerdict.ALLOW);
  }

  /** Returns the kinds of proxies that entries send flows to. */
  public static Set<RedirectKind> redirects(Collection<PolicyEntry> entries) {
    Set<RedirectKind> kinds = Set.of();
    for (final PolicyEntry entry : entries) {
      if (entry.verdict().isRedirect()) {
        kinds = kinds.isEmpty() ? EnumSet.noneOf(RedirectKind.class) : kinds;
        kinds.add(
            entry.verdict().redirect() == RedirectKind.DNS.number()
                ? RedirectKind.DNS
                : RedirectKind.HTTP);
      }
    }
    return Set.copyOf(kinds);
  }

  /** Returns the key of the map entry. */
  public Key key() {
    return new Key(identity, direction, protocol, port, prefixLength);
  }

  /**
   * Returns the flags of the map entry: those of the verdict, and {@link PolicyFlag#ALLOWS_ALL}
   * where this entry allows everything in its direction.
   */
  public int flags() {
    final boolean allowsAll =
        identity == 0 && prefixLength == PolicyPrefix.IDENTITY && !verdict.isDeny();
    return verdict.flags() | (allowsAll ? PolicyFlag.ALLOWS_ALL.number() : 0);
  }

  /** Returns whether the verdict is a deny. */
  public boolean isDeny() {
    return verdict.isDeny();
  }

  @Override
  public int compareTo(PolicyEntry other) {
    int order = direction.compareTo(other.direction);
    order = order != 0 ? order : Integer.compare(identity, other.identity);
    order = order != 0 ? order : Integer.compare(protocol, other.protocol);
    order = order != 0 ? order : Integer.compare(port, other.port);
    order = order != 0 ? order : Integer.compare(prefixLength, other.prefixLength);
    return order != 0 ? order : verdict.compareTo(other.verdict);
  }
}
