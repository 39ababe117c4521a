package agent.endpoint;

import static agent.endpoint.EndpointState.DISCONNECTED;
import static agent.endpoint.EndpointState.DISCONNECTING;
import static agent.endpoint.EndpointState.INVALID;
import static agent.endpoint.EndpointState.NOT_READY;
import static agent.endpoint.EndpointState.READY;
import static agent.endpoint.EndpointState.REGENERATING;
import static agent.endpoint.EndpointState.RESTORING;
import static agent.endpoint.EndpointState.WAITING_FOR_IDENTITY;
import static agent.endpoint.EndpointState.WAITING_TO_REGENERATE;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/**
 * Which state may follow which (decisions.md, section 4). Beside what stands there, a change of
 * labels leads back to waiting for an identity from wherever the endpoint is between builds.
 */
final class EndpointTransitions {
  private static final Map<EndpointState, Set<EndpointState>> TABLE = table();

  private EndpointTransitions() {}

  private static Map<EndpointState, Set<EndpointState>> table() {
    final Map<EndpointState, Set<EndpointState>> table = new EnumMap<>(EndpointState.class);
    table.put(WAITING_FOR_IDENTITY, EnumSet.of(READY, WAITING_TO_REGENERATE, DISCONNECTING));
    table.put(WAITING_TO_REGENERATE, EnumSet.of(REGENERATING, WAITING_FOR_IDENTITY, DISCONNECTING));
    table.put(REGENERATING, EnumSet.of(READY, NOT_READY, DISCONNECTING));
    table.put(READY, EnumSet.of(WAITING_FOR_IDENTITY, WAITING_TO_REGENERATE, DISCONNECTING));
    table.put(NOT_READY, EnumSet.of(WAITING_TO_REGENERATE, WAITING_FOR_IDENTITY, DISCONNECTING));
    table.put(
        RESTORING, EnumSet.of(WAITING_FOR_IDENTITY, WAITING_TO_REGENERATE, INVALID, DISCONNECTING));
    table.put(INVALID, EnumSet.of(DISCONNECTING));
    table.put(DISCONNECTING, EnumSet.of(DISCONNECTED));
    table.put(DISCONNECTED, EnumSet.noneOf(EndpointState.class));
    return table;
  }

  /** Whether an endpoint may begin its life in this state. */
  static boolean allowsStart(EndpointState state) {
    return state == WAITING_FOR_IDENTITY || state == RESTORING;
  }

  static boolean allows(EndpointState from, EndpointState to) {
    return TABLE.get(from).contains(to);
  }
}
