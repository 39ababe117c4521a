package agent.datapath.manager.spec;

import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyFlag;

/**
 * One entry of an endpoint's policy map ({@code maps/policy_map.h}). Two entries with the same
 * {@link #key()} are the same entry with another verdict.
 *
 * @param identity the peer's security identity; 0 is any
 * @param direction seen from the endpoint
 * @param protocol the IP protocol number; 0 with prefix length 40
 * @param port destination port, or the ICMP message type; the bits past the prefix are 0
 * @param prefixLength 40 (identity), 48 (and protocol), 64 (and port), 49 to 63 (and a port prefix)
 * @param flags bits of {@link PolicyFlag}; 0 allows
 * @param proxyPort where a redirected flow goes, or 0
 */
public record PolicyMapEntry(
    int identity,
    PolicyDirection direction,
    int protocol,
    int port,
    int prefixLength,
    int flags,
    int proxyPort) {

  /** Prefix length of an entry for any protocol. */
  public static final int PREFIX_IDENTITY = 40;

  /** Prefix length of an entry for any port of a protocol. */
  public static final int PREFIX_PROTOCOL = 48;

  /** Prefix length of an entry for one port. */
  public static final int PREFIX_PORT = 64;

  /** What makes an entry the same one in the map. */
  public record Key(
      int identity, PolicyDirection direction, int protocol, int port, int prefixLength) {}

  /** Checks that the prefix length agrees with protocol and port. */
  public PolicyMapEntry {
    final int portBits = prefixLength - PREFIX_PROTOCOL;
    final boolean isGood =
        switch (prefixLength) {
          case PREFIX_IDENTITY -> protocol == 0 && port == 0;
          case PREFIX_PROTOCOL -> port == 0;
          default -> portBits > 0 && portBits <= 16 && (port & (0xffff >>> portBits)) == 0;
        };
    if (!isGood
        || protocol < 0
        || protocol > 255
        || port < 0
        || port > 65535
        || proxyPort < 0
        || proxyPort > 65535) {
      throw new IllegalArgumentException(
          "policy entry: protocol %d port %d prefix length %d proxy port %d"
              .formatted(protocol, port, prefixLength, proxyPort));
    }
  }

  /** An entry that allows a peer everything in a direction. */
  public static PolicyMapEntry allowAll(int identity, PolicyDirection direction) {
    return new PolicyMapEntry(identity, direction, 0, 0, PREFIX_IDENTITY, 0, 0);
  }

  /** An entry that allows a peer one port. */
  public static PolicyMapEntry allow(
      int identity, PolicyDirection direction, int protocol, int port) {
    return new PolicyMapEntry(identity, direction, protocol, port, PREFIX_PORT, 0, 0);
  }

  /** The same key with the verdict to deny. */
  public PolicyMapEntry denied() {
    return new PolicyMapEntry(
        identity, direction, protocol, port, prefixLength, flags | PolicyFlag.DENY.number(), 0);
  }

  /** The key. */
  public Key key() {
    return new Key(identity, direction, protocol, port, prefixLength);
  }

  /** Whether it forbids. */
  public boolean isDeny() {
    return (flags & PolicyFlag.DENY.number()) != 0;
  }
}
