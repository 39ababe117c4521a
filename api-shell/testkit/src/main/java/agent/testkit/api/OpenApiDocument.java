package agent.testkit.api;

import agent.contract.WireFormat;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** The OpenAPI document that the agent serves, as maps and lists. */
@SuppressWarnings("unchecked")
public final class OpenApiDocument {
  private static final OpenApiDocument SHIPPED = load();

  private final Map<String, Object> root;

  private OpenApiDocument(Map<String, Object> root) {
    this.root = root;
  }

  /** Returns the document in the jar of the contract. */
  public static OpenApiDocument shipped() {
    return SHIPPED;
  }

  private static OpenApiDocument load() {
    try (InputStream in = WireFormat.class.getResourceAsStream("/openapi.yaml")) {
      return new OpenApiDocument(
          (Map<String, Object>) new Load(LoadSettings.builder().build()).loadFromInputStream(in));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the whole document. */
  public Map<String, Object> root() {
    return root;
  }

  /** Returns the schemas by their names. */
  public Map<String, Object> schemas() {
    return (Map<String, Object>) ((Map<String, Object>) root.get("components")).get("schemas");
  }

  /**
   * Returns the template of a path, or null where the document has none.
   *
   * @param path path as a client sends it, without query
   */
  public String template(String path) {
    final List<String> sent = List.of(path.split("/", -1));
    String found = null;
    for (final String template : paths().keySet()) {
      // A template without parameters is the better one: /identity/endpoints is no /identity/{id}.
      if (matches(List.of(template.split("/", -1)), sent)
          && (found == null || !template.contains("{"))) {
        found = template;
      }
    }
    return found;
  }

  private static boolean matches(List<String> template, List<String> sent) {
    boolean matches = template.size() == sent.size();
    for (int i = 0; matches && i < sent.size(); i++) {
      final String segment = template.get(i);
      matches = segment.startsWith("{") ? !sent.get(i).isEmpty() : segment.equals(sent.get(i));
    }
    return matches;
  }

  /** Returns all operations, as {@code GET /map/{name}}. */
  public Set<String> operations() {
    final Set<String> operations = new TreeSet<>();
    paths()
        .forEach(
            (path, item) ->
                item.keySet().stream()
                    .filter(verb -> !verb.equals("parameters"))
                    .forEach(verb -> operations.add(verb.toUpperCase(Locale.ROOT) + " " + path)));
    return operations;
  }

  /**
   * Returns the responses of an operation by status code, or null where there is no operation.
   *
   * @param method HTTP method
   * @param template template of the path
   */
  public Map<String, Object> responses(String method, String template) {
    final Map<String, Object> operation =
        (Map<String, Object>) paths().get(template).get(method.toLowerCase(Locale.ROOT));
    return operation == null ? null : (Map<String, Object>) operation.get("responses");
  }

  private Map<String, Map<String, Object>> paths() {
    return (Map<String, Map<String, Object>>) root.get("paths");
  }

  /** Returns the object, or what it refers to. */
  public Map<String, Object> resolved(Object object) {
    Map<String, Object> found = (Map<String, Object>) object;
    while (found.get("$ref") instanceof String reference) {
      Object target = root;
      for (final String part : reference.substring("#/".length()).split("/")) {
        target = ((Map<String, Object>) target).get(part.replace("~1", "/").replace("~0", "~"));
      }
      found = (Map<String, Object>) target;
    }
    return found;
  }
}
