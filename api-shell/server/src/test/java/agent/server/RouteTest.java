package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.WireFormat;
import agent.types.Refusal;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** Holds the route table and the OpenAPI document against each other. */
@SuppressWarnings("unchecked")
class RouteTest {
  private static Map<String, Object> document;

  @BeforeAll
  static void load() throws Exception {
    try (InputStream in = WireFormat.class.getResourceAsStream("/openapi.yaml")) {
      document =
          (Map<String, Object>) new Load(LoadSettings.builder().build()).loadFromInputStream(in);
    }
  }

  private static Map<String, Map<String, Object>> operations() {
    final Map<String, Map<String, Object>> operations = new TreeMap<>();
    ((Map<String, Map<String, Object>>) document.get("paths"))
        .forEach(
            (path, item) ->
                item.forEach(
                    (verb, operation) -> {
                      if (!verb.equals("parameters")) {
                        operations.put(
                            verb.toUpperCase(Locale.ROOT) + " " + path,
                            (Map<String, Object>) operation);
                      }
                    }));
    return operations;
  }

  private static List<Map<String, Object>> parameters(Map<String, Object> operation) {
    final Map<String, Map<String, Object>> shared =
        (Map<String, Map<String, Object>>)
            ((Map<String, Object>) document.get("components")).get("parameters");
    final List<Map<String, Object>> parameters = new ArrayList<>();
    for (final Object parameter : (List<?>) operation.getOrDefault("parameters", List.of())) {
      final String reference = (String) ((Map<String, Object>) parameter).get("$ref");
      parameters.add(shared.get(reference.substring("#/components/parameters/".length())));
    }
    return parameters;
  }

  @Test
  void shouldServeWhatTheDocumentDescribesAndNothingElse() {
    final Map<String, String> documented = new TreeMap<>();
    operations()
        .forEach(
            (call, operation) -> {
              final TreeSet<String> query = new TreeSet<>();
              for (final Map<String, Object> parameter : parameters(operation)) {
                if (parameter.get("in").equals("query")) {
                  query.add((String) parameter.get("name"));
                }
              }
              documented.put(call, operation.get("operationId") + " " + query);
            });
    final Map<String, String> served = new TreeMap<>();
    for (final Route route : Route.values()) {
      served.put(
          route.verb() + " " + route.path(),
          route.operationId() + " " + new TreeSet<>(route.queryParameters()));
    }
    assertEquals(documented, served);
  }

  @Test
  void shouldUseOnlyStatusCodesThatTheDocumentNames() {
    final Map<String, Map<String, Object>> operations = operations();
    for (final Route route : Route.values()) {
      final Map<String, Object> responses =
          (Map<String, Object>) operations.get(route.verb() + " " + route.path()).get("responses");
      for (final Refusal.Kind kind : kindsOf(route)) {
        final int status = route.statusOf(kind);
        assertTrue(
            responses.containsKey(Integer.toString(status)),
            route + " answers " + status + " for " + kind + ", the document has " + responses);
      }
    }
  }

  /** The kinds of refusals that the facade behind a route has. */
  private static List<Refusal.Kind> kindsOf(Route route) {
    return switch (route) {
      case PUT_ENDPOINT, PATCH_ENDPOINT ->
          List.of(
              Refusal.Kind.INVALID,
              Refusal.Kind.CONFLICT,
              Refusal.Kind.EXHAUSTED,
              Refusal.Kind.DISABLED,
              Refusal.Kind.UNAVAILABLE);
      case PUT_POLICY, PUT_SERVICE -> List.of(Refusal.Kind.INVALID, Refusal.Kind.CONFLICT);
      case DELETE_POLICY, DELETE_SERVICE ->
          List.of(Refusal.Kind.INVALID, Refusal.Kind.NOT_FOUND, Refusal.Kind.CONFLICT);
      case ALLOCATE_ADDRESS ->
          List.of(Refusal.Kind.INVALID, Refusal.Kind.EXHAUSTED, Refusal.Kind.DISABLED);
      case ALLOCATE_THIS_ADDRESS ->
          List.of(Refusal.Kind.INVALID, Refusal.Kind.CONFLICT, Refusal.Kind.DISABLED);
      case RELEASE_ADDRESS ->
          List.of(Refusal.Kind.INVALID, Refusal.Kind.CONFLICT, Refusal.Kind.NOT_FOUND);
      case PATCH_PREFILTER, DELETE_PREFILTER ->
          List.of(
              Refusal.Kind.INVALID,
              Refusal.Kind.STALE,
              Refusal.Kind.DISABLED,
              Refusal.Kind.EXHAUSTED);
      case LIST_IDENTITIES, GET_IDENTITY ->
          List.of(Refusal.Kind.INVALID, Refusal.Kind.NOT_FOUND, Refusal.Kind.UNAVAILABLE);
      default -> List.of(Refusal.Kind.INVALID, Refusal.Kind.NOT_FOUND);
    };
  }

  @Test
  void shouldMapRefusalsAsTheDecisionsSay() {
    assertEquals(461, Route.PATCH_PREFILTER.statusOf(Refusal.Kind.INVALID));
    assertEquals(413, Route.PUT_POLICY.statusOf(Refusal.Kind.OVER_LIMIT));
    assertEquals(413, Route.PATCH_PREFILTER.statusOf(Refusal.Kind.OVER_LIMIT));
    assertEquals(409, Route.DELETE_PREFILTER.statusOf(Refusal.Kind.STALE));
    assertEquals(501, Route.GET_PREFILTER.statusOf(Refusal.Kind.DISABLED));
    assertEquals(502, Route.ALLOCATE_ADDRESS.statusOf(Refusal.Kind.EXHAUSTED));
    assertEquals(501, Route.ALLOCATE_ADDRESS.statusOf(Refusal.Kind.DISABLED));
    assertEquals(500, Route.PUT_ENDPOINT.statusOf(Refusal.Kind.EXHAUSTED));
    assertEquals(409, Route.PUT_ENDPOINT.statusOf(Refusal.Kind.CONFLICT));
    assertEquals(520, Route.GET_IDENTITY.statusOf(Refusal.Kind.UNAVAILABLE));
    assertEquals(503, Route.PUT_POLICY.statusOf(Refusal.Kind.UNAVAILABLE));
    assertEquals(400, Route.PUT_POLICY.statusOf(Refusal.Kind.INVALID));
  }

  @Test
  void shouldTellWhichPartOfAServiceIsRefused() {
    assertEquals(460, invalid(Route.PUT_SERVICE, "frontend-address.port"));
    assertEquals(461, invalid(Route.PUT_SERVICE, "backend-addresses[1].ip"));
    assertEquals(400, invalid(Route.PUT_SERVICE, "id"));
    assertEquals(400, invalid(Route.PUT_ENDPOINT, "frontend-address"));
    assertEquals(461, invalid(Route.PATCH_PREFILTER, "frontend-address"));
    assertEquals(
        404, Route.GET_SERVICE.statusOf(Refusal.notFound("frontend-address", "is not there")));
  }

  private static int invalid(Route route, String field) {
    return route.statusOf(Refusal.invalid(field, "is not valid"));
  }

  @Test
  void shouldNeverLimitTheRateOfWhatWatchesTheAgent() {
    for (final Route route : Route.values()) {
      assertEquals(
          route != Route.GET_HEALTHZ && route != Route.GET_METRICS, route.isLimited(), "" + route);
    }
  }
}
