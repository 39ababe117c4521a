package agent.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/**
 * The document in one file: complete, without a reference to another one, and with a meaning for
 * each part.
 */
@SuppressWarnings("unchecked")
class OpenApiDocumentTest {
  private static final Set<String> VERBS = Set.of("get", "put", "post", "patch", "delete");

  /** Statuses that any operation may answer with. */
  private static final Set<String> ANY =
      Set.of("400", "404", "405", "413", "415", "429", "500", "503");

  /** Further statuses that the decisions on the contract ask for (decisions.md, section 2). */
  private static final Map<String, Set<String>> DECIDED =
      Map.ofEntries(
          Map.entry("get /healthz", Set.of("200")),
          Map.entry("get /health", Set.of("200")),
          Map.entry("get /config", Set.of("200")),
          Map.entry("get /metrics/", Set.of("200")),
          Map.entry("get /map", Set.of("200")),
          Map.entry("get /map/{name}", Set.of("200", "404")),
          Map.entry("get /endpoint", Set.of("200", "404")),
          Map.entry("delete /endpoint", Set.of("200", "202", "404", "409")),
          Map.entry("get /endpoint/{id}", Set.of("200", "404")),
          Map.entry("put /endpoint/{id}", Set.of("201", "409")),
          Map.entry("patch /endpoint/{id}", Set.of("200", "404", "409")),
          Map.entry("delete /endpoint/{id}", Set.of("200", "202", "404", "409")),
          Map.entry("get /endpoint/{id}/config", Set.of("200", "404")),
          Map.entry("patch /endpoint/{id}/config", Set.of("200", "404", "409")),
          Map.entry("get /endpoint/{id}/labels", Set.of("200", "404")),
          Map.entry("patch /endpoint/{id}/labels", Set.of("200", "404", "409")),
          Map.entry("get /endpoint/{id}/log", Set.of("200", "404")),
          Map.entry("get /endpoint/{id}/healthz", Set.of("200", "404")),
          Map.entry("get /identity", Set.of("200", "404", "520", "521")),
          Map.entry("get /identity/{id}", Set.of("200", "404", "520", "521")),
          Map.entry("get /identity/endpoints", Set.of("200", "404")),
          Map.entry("post /ipam", Set.of("201", "501", "502")),
          Map.entry("post /ipam/{ip}", Set.of("200", "409", "501")),
          Map.entry("delete /ipam/{ip}", Set.of("200", "404", "409")),
          Map.entry("get /policy", Set.of("200", "404")),
          Map.entry("put /policy", Set.of("200", "409")),
          Map.entry("delete /policy", Set.of("200", "404", "409")),
          Map.entry("get /policy/selectors", Set.of("200")),
          Map.entry("put /service/{id}", Set.of("200", "201", "409", "460", "461")),
          Map.entry("delete /service/{id}", Set.of("200", "404", "409")),
          Map.entry("get /prefilter", Set.of("200")),
          Map.entry("patch /prefilter", Set.of("200", "409", "461", "501")),
          Map.entry("delete /prefilter", Set.of("200", "409", "461", "501")));

  /** Names of properties whose texts are values of a set. */
  private static final Pattern SET_OF_VALUES =
      Pattern.compile(
          "state|level|code|mode|.*[-a-z](-m|M)ode|protocol|operator|family|verdict|location|type"
              + "|.*-type|policy-enforcement|policy-enabled|desired-action|bpf|overallHealth"
              + "|congestionControl|tunnel-protocol|acceleration|algorithm|.*Entities");

  private static Map<String, Object> document;

  @BeforeAll
  static void load() throws IOException {
    try (InputStream in = WireFormat.class.getResourceAsStream("/openapi.yaml")) {
      document =
          (Map<String, Object>) new Load(LoadSettings.builder().build()).loadFromInputStream(in);
    }
  }

  private static Map<String, Object> child(Map<String, Object> parent, String... names) {
    Map<String, Object> found = parent;
    for (final String name : names) {
      found = (Map<String, Object>) found.getOrDefault(name, Map.of());
    }
    return found;
  }

  private static void forEachOperation(BiConsumer<String, Map<String, Object>> action) {
    child(document, "paths")
        .forEach(
            (path, item) ->
                ((Map<String, Object>) item)
                    .forEach(
                        (verb, operation) -> {
                          if (VERBS.contains(verb)) {
                            action.accept(verb + " " + path, (Map<String, Object>) operation);
                          }
                        }));
  }

  @Test
  void shouldDescribeEveryOperationWithEveryStatus() {
    final List<String> wrong = new ArrayList<>();
    final Set<Object> ids = new HashSet<>();
    forEachOperation(
        (name, operation) -> {
          if (!(operation.get("summary") instanceof String summary) || summary.isBlank()) {
            wrong.add(name + " has no summary");
          }
          if (!ids.add(operation.get("operationId"))) {
            wrong.add(name + " has the operationId of another one");
          }
          final Map<String, Object> responses = child(operation, "responses");
          final Set<String> missing = new TreeSet<>(ANY);
          missing.addAll(DECIDED.getOrDefault(name, Set.of()));
          missing.removeAll(responses.keySet());
          if (!missing.isEmpty()) {
            wrong.add(name + " does not list " + missing);
          }
          responses.forEach(
              (status, response) -> {
                if (!(resolved(response).get("description") instanceof String text)
                    || text.isBlank()) {
                  wrong.add(name + " " + status + " has no description");
                }
              });
          if (responses.keySet().stream().noneMatch(status -> status.startsWith("2"))) {
            wrong.add(name + " never succeeds");
          }
        });
    assertEquals(List.of(), wrong);
    final Set<String> undocumented = new TreeSet<>(DECIDED.keySet());
    forEachOperation((name, operation) -> undocumented.remove(name));
    assertEquals(Set.of(), undocumented);
  }

  @Test
  void shouldDescribeEveryParameterAndResponse() {
    final List<String> wrong = new ArrayList<>();
    for (final String kind : List.of("parameters", "responses")) {
      child(document, "components", kind)
          .forEach(
              (name, part) -> {
                if (!(((Map<String, Object>) part).get("description") instanceof String text)
                    || text.isBlank()) {
                  wrong.add(kind + "." + name);
                }
              });
    }
    assertEquals(List.of(), wrong);
  }

  @Test
  void shouldSayWhatEverySchemaAndPropertyMeans() {
    final List<String> wrong = new ArrayList<>();
    forEachProperty(
        (name, property) -> {
          if (!(property.get("description") instanceof String text) || text.isBlank()) {
            wrong.add(name);
          }
        });
    child(document, "components", "schemas")
        .forEach(
            (name, schema) -> {
              if (!(((Map<String, Object>) schema).get("description") instanceof String)) {
                wrong.add(name);
              }
            });
    assertEquals("", String.join("\n", wrong));
  }

  @Test
  void shouldListTheValuesOfEverySetOfValues() {
    final List<String> wrong = new ArrayList<>();
    forEachProperty(
        (name, property) -> {
          final Map<String, Object> text =
              "array".equals(property.get("type")) ? child(property, "items") : property;
          if ("string".equals(text.get("type"))
              && SET_OF_VALUES.matcher(name.substring(name.lastIndexOf('.') + 1)).matches()
              && !text.containsKey("enum")
              && !text.containsKey("pattern")) {
            wrong.add(name);
          }
        });
    assertEquals(List.of(), wrong);
  }

  private static void forEachProperty(BiConsumer<String, Map<String, Object>> action) {
    child(document, "components", "schemas")
        .forEach(
            (name, schema) ->
                child((Map<String, Object>) schema, "properties")
                    .forEach(
                        (property, value) ->
                            action.accept(name + "." + property, (Map<String, Object>) value)));
  }

  @Test
  void shouldShowAnExampleOfEveryBody() {
    final Set<String> bodies = new TreeSet<>();
    forEachOperation((name, operation) -> references(operation).forEach(bodies::add));
    final List<String> wrong = new ArrayList<>();
    for (final String body : bodies) {
      final String[] path = body.substring("#/".length()).split("/");
      if (path[1].equals("schemas")
          && !path[2].contains(".")
          && !child(document, path).containsKey("examples")) {
        wrong.add(body);
      }
    }
    assertEquals(List.of(), wrong);
    assertTrue(bodies.size() > 30, "bodies found: " + bodies);
  }

  @Test
  void shouldReferOnlyToPartsOfItself() {
    final Set<String> all = new TreeSet<>(references(document));
    all.removeIf(
        reference ->
            reference.startsWith("#/")
                && !child(document, reference.substring(2).split("/")).isEmpty());
    assertEquals(Set.of(), all);
  }

  private static Map<String, Object> resolved(Object object) {
    final Map<String, Object> map = (Map<String, Object>) object;
    return map.get("$ref") instanceof String reference
        ? child(document, reference.substring("#/".length()).split("/"))
        : map;
  }

  private static List<String> references(Object part) {
    final List<String> found = new ArrayList<>();
    switch (part) {
      case Map<?, ?> map ->
          map.forEach(
              (key, value) -> {
                if (key.equals("$ref") && value instanceof String reference) {
                  found.add(reference);
                } else if (!key.equals("examples")) {
                  found.addAll(references(value));
                }
              });
      case List<?> list -> list.forEach(element -> found.addAll(references(element)));
      case null, default -> {
        // a value
      }
    }
    return found;
  }
}
