package agent.domain;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RemovedEndpointsTest {
  private static EndpointSnapshot endpoint(int id, EndpointState state) {
    return new EndpointSnapshot(
        id, state, null, null, null, null, null, null, null, null, null, null, null, null, null,
        null, null, null);
  }

  @Test
  void shouldTellEveryOwnerOfTheEndAndOfNoOtherState() {
    final List<Integer> names = new ArrayList<>();
    final List<Integer> counters = new ArrayList<>();
    final RemovedEndpoints removed = new RemovedEndpoints(names::add, counters::add);
    for (final EndpointState state : EndpointState.values()) {
      removed.accept(endpoint(state.ordinal(), state));
    }
    final List<Integer> wanted = List.of(EndpointState.DISCONNECTED.ordinal());
    assertEquals(wanted, names);
    assertEquals(wanted, counters);
  }
}
