package agent.server;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Routes with their handlers; finds the route of a request. Immutable. */
public final class RouteTable {
  private final Map<Route, ApiHandler> handlers;
  private final Map<String, Match> reads = new HashMap<>();
  private final Node root = new Node();

  private RouteTable(Map<Route, ApiHandler> handlers) {
    this.handlers = new EnumMap<>(handlers);
    for (final Route route : Route.values()) {
      Node node = root;
      for (final String segment : route.path().substring(1).split("/", -1)) {
        node = node.child(segment);
      }
      node.routes.put(route.verb(), route);
      if (route.verb() == Verb.GET && this.handlers.containsKey(route)) {
        reads.put(route.path(), new Match(route, this.handlers.get(route), Map.of()));
      }
    }
  }

  /**
   * Returns the table that is served when the datapath is ready.
   *
   * @param handlers a handler for every route
   */
  public static RouteTable of(Map<Route, ApiHandler> handlers) {
    for (final Route route : Route.values()) {
      if (!handlers.containsKey(route)) {
        throw new IllegalArgumentException("no handler for " + route);
      }
    }
    return new RouteTable(handlers);
  }

  /**
   * Returns the table that is served when the datapath is ready.
   *
   * @param groups handlers that together serve every route
   */
  public static RouteTable of(ApiHandler.Group... groups) {
    final Map<Route, ApiHandler> handlers = new EnumMap<>(Route.class);
    for (final ApiHandler.Group group : groups) {
      group.addTo(handlers);
    }
    return of(handlers);
  }

  /**
   * Returns the table that is served while the datapath starts: routes that do not need the
   * datapath have handlers, every other call is answered with 503.
   *
   * @param group handlers, some of which are served while the datapath starts
   */
  public static RouteTable starting(ApiHandler.Group group) {
    final Map<Route, ApiHandler> handlers = new EnumMap<>(Route.class);
    group.addTo(handlers);
    handlers.keySet().removeIf(route -> !route.servedWhileStarting());
    return starting(handlers);
  }

  static RouteTable starting(Map<Route, ApiHandler> handlers) {
    return new RouteTable(handlers);
  }

  /**
   * The route of a request.
   *
   * @param route the route
   * @param handler its handler
   * @param pathParameters path parameters by name
   */
  record Match(Route route, ApiHandler handler, Map<String, String> pathParameters) {}

  /** Returns the served GET route with exactly this path; null where there is none. */
  Match read(String path) {
    return reads.get(path);
  }

  /**
   * Finds the route of a request.
   *
   * @throws HttpRefusal 404, 405 or 503
   */
  Match find(String method, List<String> segments) {
    final Node node = root.find(segments, 0);
    final Verb verb = Verb.of(method);
    final Route route = node == null || verb == null ? null : node.routes.get(verb);
    final ApiHandler handler = route == null ? null : handlers.get(route);
    if (handler != null) {
      return new Match(route, handler, parameters(route, segments));
    }
    if (route != null || handlers.size() < Route.values().length) {
      throw HttpRefusal.withHeader(503, "the agent is starting", "Retry-After", "1");
    }
    if (node == null || node.routes.isEmpty()) {
      throw HttpRefusal.of(404, "path: /" + String.join("/", segments) + " does not exist");
    }
    throw HttpRefusal.withHeader(
        405, "method: " + method + " is not allowed, use " + node.allow(), "Allow", node.allow());
  }

  private static Map<String, String> parameters(Route route, List<String> segments) {
    final String[] template = route.path().substring(1).split("/", -1);
    Map<String, String> parameters = Map.of();
    for (int i = 0; i < template.length; i++) {
      if (isParameter(template[i])) {
        parameters = Map.of(template[i].substring(1, template[i].length() - 1), segments.get(i));
      }
    }
    return parameters;
  }

  private static boolean isParameter(String segment) {
    return segment.startsWith("{");
  }

  private static final class Node {
    private final Map<String, Node> literals = new HashMap<>();
    private final Map<Verb, Route> routes = new EnumMap<>(Verb.class);
    private Node parameter;

    Node child(String segment) {
      if (isParameter(segment)) {
        parameter = parameter == null ? new Node() : parameter;
        return parameter;
      }
      return literals.computeIfAbsent(segment, key -> new Node());
    }

    Node find(List<String> segments, int index) {
      if (index == segments.size()) {
        return routes.isEmpty() && literals.containsKey("") ? literals.get("") : this;
      }
      final String segment = segments.get(index);
      final Node literal = literals.get(segment);
      final Node next = literal != null || segment.isEmpty() ? literal : parameter;
      return next == null ? null : next.find(segments, index + 1);
    }

    String allow() {
      final List<String> names = new ArrayList<>();
      routes.keySet().forEach(verb -> names.add(verb.name()));
      return String.join(", ", names);
    }
  }
}
