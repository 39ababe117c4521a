package agent.endpoint.state;

import static agent.endpoint.state.EndpointState.DISCONNECTED;
import static agent.endpoint.state.EndpointState.DISCONNECTING;
import static agent.endpoint.state.EndpointState.INVALID;
import static agent.endpoint.state.EndpointState.NOT_READY;
import static agent.endpoint.state.EndpointState.READY;
import static agent.endpoint.state.EndpointState.REGENERATING;
import static agent.endpoint.state.EndpointState.RESTORING;
import static agent.endpoint.state.EndpointState.WAITING_FOR_IDENTITY;
import static agent.endpoint.state.EndpointState.WAITING_TO_REGENERATE;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/**
 * The allowed transitions between states (decisions.md, section 4). In addition, a change of labels
 * returns an endpoint to waiting-for-identity from every state between builds.
 */
public final class EndpointTransitions {
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

  /** Returns whether this may be the first state of an endpoint. */
  public static boolean allowsStart(EndpointState state) {
    return state == WAITING_FOR_IDENTITY || state == RESTORING;
  }

  /** Returns whether the transition is allowed. */
  public static boolean allows(EndpointState from, EndpointState to) {
    return TABLE.get(from).contains(to);
  }
}
