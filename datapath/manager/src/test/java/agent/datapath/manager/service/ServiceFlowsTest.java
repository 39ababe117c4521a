package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.maps.layout.BackendState;
import agent.types.IpAddress;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ServiceFlowsTest {
  private static final IpAddress FRONTEND = IpAddress.parse("10.96.0.1");
  private static final IpAddress ONE = IpAddress.parse("10.1.0.1");
  private static final IpAddress TWO = IpAddress.parse("10.1.0.2");

  private static Backend backend(IpAddress address, int port, BackendState state) {
    return new Backend(address, port, state, 1);
  }

  private static Backend active(IpAddress address) {
    return backend(address, 80, BackendState.ACTIVE);
  }

  private static ServiceEntries service(Backend... backends) {
    return at(FRONTEND, 80, List.of(6), backends);
  }

  private static ServiceEntries at(
      IpAddress address, int port, List<Integer> protocols, Backend... backends) {
    return new ServiceEntries(1, address, port, protocols, 0, List.of(backends));
  }

  @Test
  void shouldConcernFlowsToAFrontendThatIsNew() {
    assertEquals(Set.of(FRONTEND), ServiceFlows.concerned(null, service(active(ONE))));
    final ServiceEntries former = service(active(ONE));
    assertEquals(Set.of(TWO), ServiceFlows.concerned(former, at(TWO, 80, List.of(6), active(ONE))));
    assertEquals(
        Set.of(FRONTEND),
        ServiceFlows.concerned(former, at(FRONTEND, 81, List.of(6), active(ONE))));
    assertEquals(
        Set.of(FRONTEND),
        ServiceFlows.concerned(former, at(FRONTEND, 80, List.of(6, 17), active(ONE))));
  }

  @Test
  void shouldConcernFlowsToBackendsThatTheServiceHasLost() {
    final ServiceEntries former = service(active(ONE), active(TWO));
    assertEquals(Set.of(TWO), ServiceFlows.concerned(former, service(active(ONE))));
    assertEquals(Set.of(ONE, TWO), ServiceFlows.concerned(former, null));
    assertEquals(
        Set.of(TWO),
        ServiceFlows.concerned(
            former, service(active(ONE), backend(TWO, 81, BackendState.ACTIVE))));
    for (final BackendState gone : List.of(BackendState.QUARANTINED, BackendState.MAINTENANCE)) {
      assertEquals(
          Set.of(ONE),
          ServiceFlows.concerned(former, service(active(TWO), backend(ONE, 80, gone))));
      assertEquals(
          Set.of(), ServiceFlows.concerned(service(backend(ONE, 80, gone)), null), "it has none");
    }
  }

  @Test
  void shouldConcernNoOtherFlow() {
    final ServiceEntries former = service(active(ONE));
    assertEquals(Set.of(), ServiceFlows.concerned(former, former));
    assertEquals(Set.of(), ServiceFlows.concerned(former, service(active(ONE), active(TWO))));
    assertEquals(
        Set.of(),
        ServiceFlows.concerned(former, service(backend(ONE, 80, BackendState.TERMINATING))));
    assertEquals(
        Set.of(ONE),
        ServiceFlows.concerned(service(backend(ONE, 80, BackendState.TERMINATING)), service()));
    assertEquals(Set.of(), ServiceFlows.concerned(service(), null));
  }
}
