package agent.domain;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.conductor.HealthBoard.Reading;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointState;
import org.junit.jupiter.api.Test;

class EndpointModuleHealthTest {
  @Test
  void shouldBeOkWithoutEndpointsAndWhileNoneIsNotReady() {
    assertEquals(Reading.ok("0 endpoints"), read(new EndpointList()));
    final EndpointList all = new EndpointList();
    int id = 0;
    for (final EndpointState state : EndpointState.values()) {
      if (state != EndpointState.NOT_READY) {
        all.with(++id, state);
      }
    }
    assertEquals(Reading.ok(id + " endpoints"), read(all));
  }

  @Test
  void shouldNameEachEndpointThatIsNotReady() {
    final EndpointList some =
        new EndpointList()
            .with(3, EndpointState.NOT_READY)
            .with(4, EndpointState.READY)
            .with(9, EndpointState.NOT_READY);
    assertEquals(Reading.degraded("endpoint 3: not-ready; endpoint 9: not-ready"), read(some));
  }

  @Test
  void shouldTellTheWorstHealthWithItsReason() {
    final EndpointList some =
        new EndpointList().with(3, EndpointState.READY, HealthLevel.WARNING, "it has no carrier");
    assertEquals(Reading.degraded("endpoint 3: it has no carrier"), read(some));
    some.with(4, EndpointState.READY, HealthLevel.FAILURE, "its interface is gone");
    assertEquals(
        Reading.stopped("endpoint 4: its interface is gone; endpoint 3: it has no carrier"),
        read(some));
  }

  private static Reading read(EndpointList endpoints) {
    return new EndpointModuleHealth(endpoints).read();
  }
}
