package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.EndpointOption;
import agent.maps.layout.EventType;
import java.util.Set;
import org.junit.jupiter.api.Test;

class EntryOptionsTest {
  private static final int CONNTRACK = EndpointOption.CONNTRACK.number();
  private static final int DROP = EndpointOption.DROP_NOTIFICATION.number();
  private static final int TRACE = EndpointOption.TRACE_NOTIFICATION.number();
  private static final int VERDICT = EndpointOption.POLICY_VERDICT_NOTIFICATION.number();
  private static final int HOST_ROUTING = EndpointOption.HOST_ROUTING.number();
  private static final int SERVICES = EndpointOption.SERVICES.number();
  private static final int CAPTURE = EndpointOption.CAPTURE.number();
  private static final int ALL = CONNTRACK | DROP | TRACE | VERDICT;

  @Test
  void shouldLeaveOutNotificationsWithoutASubscriber() {
    final EntryOptions options = new EntryOptions(Set.of(EventType.TRACE), false);
    assertEquals(CONNTRACK | TRACE, options.written(ALL));
    assertTrue(options.listen(true, false));
    assertEquals(ALL, options.written(ALL));
    assertEquals(CONNTRACK, options.written(CONNTRACK), "it does not notify");
    assertFalse(options.listen(true, false));
    assertTrue(options.listen(false, false));
    assertEquals(CONNTRACK | TRACE, options.written(ALL));
  }

  @Test
  void shouldAddTheOptionsOfTheNode() {
    final EntryOptions options = new EntryOptions(Set.of(), true);
    assertEquals(CONNTRACK | HOST_ROUTING, options.written(CONNTRACK));
    assertFalse(options.bypassStack(true));
    assertTrue(options.serve(true));
    assertFalse(options.serve(true));
    assertTrue(options.listen(true, true));
    assertEquals(CONNTRACK | HOST_ROUTING | SERVICES | CAPTURE, options.written(CONNTRACK));
    assertTrue(options.bypassStack(false));
    assertTrue(options.serve(false));
    assertEquals(CONNTRACK | CAPTURE, options.written(CONNTRACK));
    assertTrue(options.listen(true, false));
    assertEquals(CONNTRACK, options.written(CONNTRACK));
  }

  /** An entry of a previous run may have them, while no service is restored yet. */
  @Test
  void shouldKeepServicesAlone() {
    final EntryOptions options = new EntryOptions(Set.of(), false);
    options.keepServices(CONNTRACK | HOST_ROUTING | SERVICES | CAPTURE);
    options.keepServices(0);
    assertEquals(SERVICES, options.written(0));
  }

  @Test
  void shouldTellWhichOptionsChangeTheWayOfFlows() {
    for (final int option : new int[] {DROP, TRACE, VERDICT, HOST_ROUTING}) {
      assertTrue(EntryOptions.isOtherWay(CONNTRACK, CONNTRACK | option));
      assertTrue(EntryOptions.isOtherWay(ALL | HOST_ROUTING, (ALL | HOST_ROUTING) & ~option));
    }
    for (final int option : new int[] {CONNTRACK, SERVICES, CAPTURE, 0}) {
      assertFalse(EntryOptions.isOtherWay(DROP, DROP | option));
    }
  }
}
