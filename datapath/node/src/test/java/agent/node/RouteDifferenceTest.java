package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

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
}
