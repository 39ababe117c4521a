package agent.policy;

/**
 * One entry of an endpoint's policy map ({@code maps/policy_map.h}): a key and whether it denies.
 *
 * @param identity the peer's identity; 0 is any
 * @param direction seen from the endpoint
 * @param protocol the IP protocol number; 0 with prefix length 40
 * @param port the port, or the ICMP message type, in host order; bits past the prefix are 0
 * @param prefixLength 40 (identity), 48 (and protocol), 49 to 64 (and a prefix of the port)
 * @param deny whether it forbids
 */
public record PolicyEntry(
    int identity, Direction direction, int protocol, int port, int prefixLength, boolean deny)
    implements Comparable<PolicyEntry> {
  /** What makes an entry the same one in the map. */
  public record Key(int identity, Direction direction, int protocol, int port, int prefixLength) {}

  /** Everything in one direction. */
  public static PolicyEntry allowAll(Direction direction) {
    return new PolicyEntry(0, direction, 0, 0, PortMatch.ANY_PROTOCOL, false);
  }

  static PolicyEntry of(int identity, Direction direction, PortMatch match, boolean deny) {
    return new PolicyEntry(
        identity, direction, match.protocol(), match.port(), match.prefixLength(), deny);
  }

  /** The key. */
  public Key key() {
    return new Key(identity, direction, protocol, port, prefixLength);
  }

  @Override
  public int compareTo(PolicyEntry other) {
    int order = direction.compareTo(other.direction);
    order = order != 0 ? order : Integer.compare(identity, other.identity);
    order = order != 0 ? order : Integer.compare(protocol, other.protocol);
    order = order != 0 ? order : Integer.compare(port, other.port);
    order = order != 0 ? order : Integer.compare(prefixLength, other.prefixLength);
    return order != 0 ? order : Boolean.compare(deny, other.deny);
  }
}
