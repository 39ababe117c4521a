package agent.endpoint;

import static agent.endpoint.state.EndpointState.DISCONNECTED;
import static agent.endpoint.state.EndpointState.DISCONNECTING;
import static agent.endpoint.state.EndpointState.INVALID;
import static agent.endpoint.state.EndpointState.NOT_READY;
import static agent.endpoint.state.EndpointState.READY;
import static agent.endpoint.state.EndpointState.REGENERATING;
import static agent.endpoint.state.EndpointState.RESTORING;
import static agent.endpoint.state.EndpointState.WAITING_FOR_IDENTITY;
import static agent.endpoint.state.EndpointState.WAITING_TO_REGENERATE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointState;
import agent.endpoint.state.EndpointTransitions;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class EndpointTransitionsTest {
  /**
   * The table of decisions.md, section 4, with the transitions for changes of labels and
   * configuration.
   */
  private static final Map<EndpointState, Set<EndpointState>> WRITTEN =
      Map.of(
          WAITING_FOR_IDENTITY, Set.of(READY, WAITING_TO_REGENERATE, DISCONNECTING),
          WAITING_TO_REGENERATE, Set.of(REGENERATING, WAITING_FOR_IDENTITY, DISCONNECTING),
          REGENERATING, Set.of(READY, NOT_READY, DISCONNECTING),
          READY, Set.of(WAITING_FOR_IDENTITY, WAITING_TO_REGENERATE, DISCONNECTING),
          NOT_READY, Set.of(WAITING_TO_REGENERATE, WAITING_FOR_IDENTITY, DISCONNECTING),
          RESTORING, Set.of(WAITING_FOR_IDENTITY, WAITING_TO_REGENERATE, INVALID, DISCONNECTING),
          INVALID, Set.of(DISCONNECTING),
          DISCONNECTING, Set.of(DISCONNECTED),
          DISCONNECTED, Set.of());

  @Test
  void shouldAllowOnlyTheTransitionsOfTheTable() {
    for (final EndpointState from : EndpointState.values()) {
      for (final EndpointState to : EndpointState.values()) {
        assertEquals(
            WRITTEN.get(from).contains(to),
            EndpointTransitions.allows(from, to),
            from + " -> " + to);
      }
    }
  }

  @Test
  void shouldStartWaitingOrRestoring() {
    final Set<EndpointState> starts = EnumSet.noneOf(EndpointState.class);
    Arrays.stream(EndpointState.values())
        .filter(EndpointTransitions::allowsStart)
        .forEach(starts::add);
    assertEquals(EnumSet.of(WAITING_FOR_IDENTITY, RESTORING), starts);
  }

  @Test
  void shouldLetEveryStateButTheLastTwoBeDeleted() {
    for (final EndpointState from : EndpointState.values()) {
      final boolean over = from == DISCONNECTING || from == DISCONNECTED;
      if (over) {
        assertFalse(EndpointTransitions.allows(from, DISCONNECTING));
      } else {
        assertTrue(EndpointTransitions.allows(from, DISCONNECTING));
      }
    }
  }
}
