package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.node.netlink.NeighbourMessage;
import agent.node.netlink.RouteMessage;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.util.List;
import org.junit.jupiter.api.Test;

class RouteDifferenceTest {
  private static final IpAddress ADDRESS = IpAddress.parse("10.1.0.9");
  private static final IpAddress ADDRESS6 = IpAddress.parse("f00d::9");
  private static final IpAddress GATEWAY = IpAddress.parse("10.1.0.1");
  private static final MacAddress MAC = MacAddress.parse("02:00:00:00:00:01");
  private static final RouteMessage ROUTE = RouteDifference.wantedRoute(ADDRESS, 5, GATEWAY);
  private static final NeighbourMessage NEIGHBOUR =
      RouteDifference.wantedNeighbour(ADDRESS, 5, MAC);

  private static RouteMessage with(RouteMessage route, int protocol, int table, int type) {
    return new RouteMessage(
        route.destination(),
        route.deviceIndex(),
        route.gateway(),
        route.source(),
        protocol,
        table,
        type,
        route.priority());
  }

  private static RouteDifference routes(List<RouteMessage> wanted, RouteMessage... real) {
    return RouteDifference.between(wanted, List.of(), List.of(real), List.of());
  }

  private static RouteDifference neighbours(
      List<NeighbourMessage> wanted, NeighbourMessage... real) {
    return RouteDifference.between(List.of(), wanted, List.of(), List.of(real));
  }

  private static void assertNothing(RouteDifference difference) {
    assertEquals(new RouteDifference(List.of(), List.of(), List.of(), List.of()), difference);
  }

  @Test
  void shouldFindNoneWhereAllIsAsWanted() {
    final RouteMessage wanted6 = RouteDifference.wantedRoute(ADDRESS6, 5, null);
    final RouteMessage real6 =
        new RouteMessage(Prefix.of(ADDRESS6), 5, null, null, 169, 254, 1, 1024);
    assertNothing(
        RouteDifference.between(
            List.of(ROUTE, wanted6),
            List.of(NEIGHBOUR),
            List.of(ROUTE, real6),
            List.of(NEIGHBOUR)));
  }

  @Test
  void shouldAddMissingRoutesAndRemoveThoseThatAreNotDesired() {
    final RouteMessage stale = RouteDifference.wantedRoute(ADDRESS6, 5, null);
    final RouteDifference difference = routes(List.of(ROUTE), stale);
    assertEquals(List.of(ROUTE), difference.routesToAdd());
    assertEquals(List.of(stale), difference.routesToRemove());
  }

  @Test
  void shouldReplaceARouteThatDiffers() {
    for (final RouteMessage real :
        List.of(
            RouteDifference.wantedRoute(ADDRESS, 6, GATEWAY),
            RouteDifference.wantedRoute(ADDRESS, 5, null))) {
      final RouteDifference difference = routes(List.of(ROUTE), real);
      assertEquals(List.of(ROUTE), difference.routesToAdd());
      assertEquals(List.of(real), difference.routesToRemove());
    }
  }

  @Test
  void shouldNeverRemoveRoutesOfOtherPrograms() {
    assertNothing(routes(List.of(), with(ROUTE, 4, 254, 1)));
    assertNothing(routes(List.of(), with(ROUTE, 169, 77, 1)));
    assertNothing(routes(List.of(), with(ROUTE, 169, 254, 6)));
    assertNothing(
        routes(
            List.of(),
            new RouteMessage(Prefix.parse("10.1.0.0/24"), 5, null, null, 169, 254, 1, 0)));
    assertNothing(neighbours(List.of(), new NeighbourMessage(ADDRESS, 5, MAC, 0x80, 0)));
  }

  @Test
  void shouldAddARouteBesideTheSameOneOfAnotherProgram() {
    final RouteDifference difference = routes(List.of(ROUTE), with(ROUTE, 4, 254, 1));
    assertEquals(List.of(ROUTE), difference.routesToAdd());
    assertEquals(List.of(), difference.routesToRemove());
  }

  @Test
  void shouldReplaceANeighbourThatIsNotAsWanted() {
    for (final NeighbourMessage real :
        List.of(
            new NeighbourMessage(ADDRESS, 5, MacAddress.of(7), 0x80, 169),
            new NeighbourMessage(ADDRESS, 5, null, 0x20, 0),
            new NeighbourMessage(ADDRESS, 5, MAC, 0x02, 169),
            new NeighbourMessage(ADDRESS, 5, MAC, 0x80, 4))) {
      final RouteDifference difference = neighbours(List.of(NEIGHBOUR), real);
      assertEquals(List.of(NEIGHBOUR), difference.neighboursToReplace());
      assertEquals(List.of(), difference.neighboursToRemove());
    }
  }

  @Test
  void shouldRemoveANeighbourOnAnotherLink() {
    final NeighbourMessage other = RouteDifference.wantedNeighbour(ADDRESS, 6, MAC);
    final RouteDifference difference = neighbours(List.of(NEIGHBOUR), other);
    assertEquals(List.of(NEIGHBOUR), difference.neighboursToReplace());
    assertEquals(List.of(other), difference.neighboursToRemove());
  }

  /** What is logged and counted where routes of a workload were changed by another program. */
  @Test
  void shouldCountAndNameWhatDiffers() {
    final RouteMessage moved = RouteDifference.wantedRoute(ADDRESS, 6, GATEWAY);
    final RouteMessage missing = RouteDifference.wantedRoute(ADDRESS6, 5, null);
    final NeighbourMessage elsewhere = RouteDifference.wantedNeighbour(ADDRESS, 6, MAC);
    final RouteDifference difference =
        RouteDifference.between(
            List.of(ROUTE, missing), List.of(NEIGHBOUR), List.of(moved), List.of(elsewhere));
    assertEquals(5, difference.size());
    assertFalse(difference.isEmpty());
    assertEquals(
        "10.1.0.9/32 was different, f00d::9/128 was missing, "
            + "neighbour 10.1.0.9 was missing or different, "
            + "neighbour 10.1.0.9 was on another interface",
        difference.toString());
  }

  @Test
  void shouldBeEmptyWhereNothingDiffers() {
    final RouteDifference difference = routes(List.of(ROUTE), ROUTE);
    assertTrue(difference.isEmpty());
    assertEquals(0, difference.size());
    assertEquals("", difference.toString());
    assertEquals(1, routes(List.of(ROUTE)).size());
    assertEquals("10.1.0.9/32 was missing", routes(List.of(ROUTE)).toString());
  }

  /** A route through no device, such as one to several next hops, is not the agent's. */
  @Test
  void shouldNotOwnARouteWithoutADevice() {
    assertFalse(RouteDifference.isOwn(RouteDifference.wantedRoute(ADDRESS, 0, null)));
    assertTrue(RouteDifference.isOwn(RouteDifference.wantedRoute(ADDRESS, 1, null)));
  }

  @Test
  void shouldWantARouteWithASourceAndANeighbourThatStays() {
    assertEquals(new RouteMessage(Prefix.of(ADDRESS), 5, null, GATEWAY, 169, 254, 1, 0), ROUTE);
    assertEquals(
        new NeighbourMessage(ADDRESS, 5, MAC, NeighbourMessage.STATE_PERMANENT, 169), NEIGHBOUR);
    assertEquals(0x80, NeighbourMessage.STATE_PERMANENT, "NUD_PERMANENT");
  }
}
