package agent.policy.resolve;

import agent.maps.layout.PolicyDirection;
import agent.policy.rule.PortMatch;
import agent.policy.rule.RequestRules;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.stream.IntStream;
import org.agrona.collections.IntHashSet;

/**
 * Rules of requests of an endpoint with the identities of the peers that they are for. Immutable;
 * {@link #covers} does not allocate.
 */
public final class RequestSection {
  private static final int PORT_LENGTH = 64;

  private final PolicyDirection direction;
  private final int[] peers;
  private final List<PortMatch> matches;
  private final RequestRules rules;

  /**
   * Creates a section.
   *
   * @param direction seen from the endpoint
   * @param peers the identities; null for every peer
   * @param matches protocols and ports, each with a prefix of the port
   * @param rules the rules
   */
  public RequestSection(
      PolicyDirection direction,
      Collection<Integer> peers,
      List<PortMatch> matches,
      RequestRules rules) {
    this.direction = direction;
    this.peers =
        peers == null ? null : peers.stream().mapToInt(Integer::intValue).sorted().toArray();
    this.matches = matches;
    this.rules = rules;
  }

  /** Returns the direction, seen from the endpoint. */
  public PolicyDirection direction() {
    return direction;
  }

  /** Returns the identities of the peers in order; null for every peer. */
  List<Integer> peers() {
    return peers == null ? null : IntStream.of(peers).boxed().toList();
  }

  List<PortMatch> matches() {
    return matches;
  }

  /** Returns the rules of requests. */
  public RequestRules rules() {
    return rules;
  }

  /** Returns the same section, with some peers as another one has them. */
  RequestSection with(RequestSection other, IntHashSet changed) {
    return peers == null
        ? this
        : new RequestSection(direction, other.merged(peers, changed), matches, rules);
  }

  private List<Integer> merged(int[] before, IntHashSet changed) {
    return IntStream.concat(
            IntStream.of(before).filter(peer -> !changed.contains(peer)),
            IntStream.of(peers).filter(changed::contains))
        .boxed()
        .toList();
  }

  /** Returns whether the rules are for a peer and a port. */
  public boolean covers(PolicyDirection asked, int peer, int protocol, int port) {
    return direction == asked
        && hasPort(protocol, port)
        && (peers == null || Arrays.binarySearch(peers, peer) >= 0);
  }

  private boolean hasPort(int protocol, int port) {
    for (int i = 0; i < matches.size(); i++) {
      final PortMatch match = matches.get(i);
      if (match.protocol() == protocol
          && (port ^ match.port()) >>> PORT_LENGTH - match.prefixLength() == 0) {
        return true;
      }
    }
    return false;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof RequestSection that
        && direction == that.direction
        && Arrays.equals(peers, that.peers)
        && matches.equals(that.matches)
        && rules.equals(that.rules);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(peers) + matches.hashCode();
  }
}
