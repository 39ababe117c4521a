package agent.testkit.api;

import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.dialect.Dialects;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Holds answers against the OpenAPI document: its status, content type and body must be those of
 * the operation. A library that the agent does not use validates the bodies.
 */
public final class DocumentedAnswers {
  /** The profiling API is for debugging, in the formats of the JVM, and not in the document. */
  private static final String PROFILING = "/debug/pprof/";

  private static final String DOCUMENT = "https://agent.internal/openapi.json";
  private static final JsonMapper JSON = new JsonMapper();
  private static final OpenApiDocument OPEN_API = OpenApiDocument.shipped();
  private static final Map<Object, Schema> SCHEMAS = new ConcurrentHashMap<>();
  private static final AtomicInteger COMPILED = new AtomicInteger();

  /** Statuses of calls for which there is no operation. */
  private static final Set<Integer> NO_OPERATION = Set.of(400, 404, 405, 413, 429, 503);

  private static final SchemaRegistry REGISTRY =
      SchemaRegistry.withDefaultDialect(
          Dialects.getOpenApi31(),
          registry ->
              registry
                  .schemas(Map.of(DOCUMENT, JSON.writeValueAsString(OPEN_API.root())))
                  .schemaRegistryConfig(
                      SchemaRegistryConfig.builder().formatAssertionsEnabled(true).build()));

  private DocumentedAnswers() {}

  /**
   * Fails where the document does not describe an answer.
   *
   * @param method HTTP method of the request
   * @param target path and query of the request
   * @param status status code of the answer
   * @param contentType its content type, or null
   * @param body its body, empty where there is none
   */
  public static void check(
      String method, String target, int status, String contentType, String body) {
    if (target.startsWith(PROFILING)) {
      return;
    }
    final String wrong = difference(method, target, status, contentType, body);
    if (wrong != null) {
      throw new AssertionError(
          "%s %s: the OpenAPI document does not describe the answer %d: %s%n%s"
              .formatted(method, target, status, wrong, shortened(body)));
    }
  }

  private static String shortened(String body) {
    return body.length() <= 2_000 ? body : body.substring(0, 2_000) + " …";
  }

  /** Returns what the document does not say, or null. */
  private static String difference(
      String method, String target, int status, String contentType, String body) {
    final String template = OPEN_API.template(target.split("\\?", 2)[0]);
    final Map<String, Object> responses =
        template == null ? null : OPEN_API.responses(method, template);
    if (responses == null) {
      return NO_OPERATION.contains(status)
          ? mismatch(Map.of("type", "string"), body)
          : "there is no operation for it";
    }
    final Object described = responses.get(Integer.toString(status));
    if (described == null) {
      return "the operation has " + responses.keySet();
    }
    final Object content = OPEN_API.resolved(described).get("content");
    if (content == null) {
      return body.isEmpty() ? null : "no body is expected";
    }
    final Map<?, ?> mediaTypes = (Map<?, ?>) content;
    final Object mediaType = mediaTypes.get(mediaType(contentType));
    if (mediaType == null) {
      return "content type '" + contentType + "' is not one of " + mediaTypes.keySet();
    }
    return mediaType(contentType).equals("application/json")
        ? mismatch(((Map<?, ?>) mediaType).get("schema"), body)
        : body.isEmpty() ? "the body is empty" : null;
  }

  private static String mediaType(String contentType) {
    return contentType == null ? "" : contentType.split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
  }

  private static String mismatch(Object schema, String body) {
    final JsonNode value;
    try {
      value = JSON.readTree(body);
    } catch (JacksonException e) {
      return "the body is not JSON: " + e.getOriginalMessage();
    }
    final List<Error> errors = errors(schema, value);
    return errors.isEmpty() ? null : errors.toString();
  }

  /**
   * Validates a value.
   *
   * @param schema a schema of the document
   * @param value the value
   * @return what is wrong with it
   */
  public static List<Error> errors(Object schema, JsonNode value) {
    return SCHEMAS.computeIfAbsent(schema, DocumentedAnswers::compiled).validate(value);
  }

  /** References are those of the document, not of the part of it that is compiled alone. */
  private static Schema compiled(Object schema) {
    final String text =
        JSON.writeValueAsString(schema).replace("\"$ref\":\"#/", "\"$ref\":\"" + DOCUMENT + "#/");
    return REGISTRY.getSchema(
        SchemaLocation.of("https://agent.internal/part" + COMPILED.incrementAndGet() + ".json"),
        JSON.readTree(text));
  }
}
