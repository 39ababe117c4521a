package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which handler serves a request, and on which thread. */
@Timeout(60)
class RouteTableTest {
  private static final ApiHandler HANDLER = request -> Answer.ok();

  private static void assertRefused(
      int status, Map<String, String> headers, RouteTable table, String method, String... path) {
    final HttpRefusal refusal =
        assertThrows(HttpRefusal.class, () -> table.find(method, List.of(path)));
    assertEquals(status, refusal.status(), refusal.getMessage());
    assertEquals(headers, refusal.headers());
  }

  @Test
  void shouldFindEveryRouteWithItsParameter() {
    final Map<Route, ApiHandler> handlers = TestServer.withNames(Map.of(Route.GET_MAP, HANDLER));
    final RouteTable table = RouteTable.of(handlers);
    for (final Route route : Route.values()) {
      final List<String> segments =
          List.of(route.path().substring(1).replaceAll("\\{[a-z]+}", "value").split("/", -1));
      final RouteTable.Match match = table.find(route.verb().name(), segments);
      assertEquals(route, match.route());
      assertSame(handlers.get(route), match.handler());
      assertEquals(
          route.path().contains("{")
              ? Map.of(route.path().replaceAll(".*\\{|}.*", ""), "value")
              : Map.of(),
          match.pathParameters());
    }
  }

  @Test
  void shouldFindTheServedReadsByTheirWholePath() {
    final Map<Route, ApiHandler> handlers = TestServer.withNames(Map.of());
    final RouteTable table = RouteTable.of(handlers);
    for (final Route route : Route.values()) {
      final RouteTable.Match match = table.read(route.path());
      if (route.verb() == Verb.GET) {
        assertEquals(new RouteTable.Match(route, handlers.get(route), Map.of()), match);
      } else {
        assertTrue(match == null || match.route() != route, route::path);
      }
    }
    assertNull(table.read("/ipam"), "it has no read");
    assertNull(table.read("/none"));
    final RouteTable starting = RouteTable.starting(added -> added.putAll(handlers));
    assertEquals(Route.GET_HEALTHZ, starting.read("/healthz").route());
    assertNull(starting.read("/policy"), "it is not served");
  }

  @Test
  void shouldFindAPathWithoutTheSlashAtItsEnd() {
    final RouteTable table = RouteTable.of(TestServer.withNames(Map.of()));
    assertEquals(Route.GET_METRICS, table.find("GET", List.of("metrics")).route());
    assertEquals(Route.GET_METRICS, table.find("GET", List.of("metrics", "")).route());
    assertRefused(404, Map.of(), table, "GET", "cluster");
  }

  @Test
  void shouldSayWhatIsAllowedWhereTheMethodIsNot() {
    final RouteTable table = RouteTable.of(TestServer.withNames(Map.of()));
    assertRefused(405, Map.of("Allow", "GET, DELETE"), table, "PUT", "endpoint");
    assertRefused(405, Map.of("Allow", "GET"), table, "BREW", "map");
    assertRefused(404, Map.of(), table, "GET", "map", "");
    assertRefused(404, Map.of(), table, "GET", "map", "a", "b");
    assertRefused(404, Map.of(), table, "GET", "");
    assertRefused(404, Map.of(), table, "BREW", "none");
  }

  @Test
  void shouldServeStatusAndMetricsAloneWhileStarting() {
    final RouteTable table =
        RouteTable.starting(handlers -> handlers.putAll(TestServer.withNames(Map.of())));
    for (final Route route : Route.values()) {
      final List<String> segments = List.of(route.path().substring(1).split("/", -1));
      if (route == Route.GET_HEALTHZ || route == Route.GET_METRICS) {
        assertEquals(route, table.find("GET", segments).route());
      } else {
        assertRefused(
            503,
            Map.of("Retry-After", "1"),
            table,
            route.verb().name(),
            segments.toArray(String[]::new));
      }
    }
  }

  @Test
  void shouldServeTheHandlersOfAllGroups() {
    final Map<Route, ApiHandler> handlers = new EnumMap<>(TestServer.withNames(Map.of()));
    final ApiHandler map = handlers.remove(Route.GET_MAP);
    final RouteTable table =
        RouteTable.of(added -> added.putAll(handlers), added -> added.put(Route.GET_MAP, map));
    assertSame(map, table.find("GET", List.of("map", "x")).handler());
    assertSame(handlers.get(Route.GET_POLICY), table.find("GET", List.of("policy")).handler());
  }

  @Test
  void shouldNeedAHandlerForEveryRoute() {
    final Map<Route, ApiHandler> handlers = new EnumMap<>(TestServer.withNames(Map.of()));
    handlers.remove(Route.GET_MAP);
    assertEquals(
        "no handler for GET_MAP",
        assertThrows(IllegalArgumentException.class, () -> RouteTable.of(handlers)).getMessage());
    assertThrows(
        IllegalArgumentException.class, () -> RouteTable.of(added -> added.putAll(handlers)));
  }

  /** Only what reads memory may run where it holds up the other clients of its I/O thread. */
  @Test
  void shouldServeOnlyTheStatusWithoutABodyOnTheIoThread() throws IOException {
    final Map<Route, ApiHandler> handlers = new EnumMap<>(Route.class);
    for (final Route route : Route.values()) {
      handlers.put(route, request -> Answer.ok(Thread.currentThread().getName()));
    }
    try (TestServer server = TestServer.start(handlers)) {
      for (final Route route : Route.values()) {
        final String path = route.path().replaceAll("\\{[a-z]+}", "7");
        final String answer = server.exchange(TestServer.request(route.verb().name(), path, ""));
        assertEquals(route == Route.GET_HEALTHZ, answer.contains("\"api-io-"), route + answer);
      }
      final String withBody = server.exchange(TestServer.request("GET", "/healthz", "{}"));
      assertTrue(withBody.startsWith("HTTP/1.1 200 "), withBody);
      assertEquals(-1, withBody.indexOf("\"api-io-"), "a body may have to be waited for");
    }
  }
}
