package agent.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import tools.jackson.databind.annotation.JsonDeserialize;

/** Holds the schemas of the OpenAPI document and the records against each other. */
class SchemaTest {
  private static final List<String> FILES =
      List.of(
          "daemon",
          "datapath",
          "debug",
          "endpoint",
          "identity",
          "ipam",
          "node",
          "policy",
          "service",
          "fqdn");

  @Test
  void shouldDescribeEveryRecordWithEveryFieldAndItsType() throws Exception {
    final Map<String, String> documented = new TreeMap<>();
    for (final String file : FILES) {
      load("src/main/resources/schemas/" + file + ".yaml")
          .forEach((name, schema) -> documented.put(file + "." + name, describe(file, schema)));
    }
    final Map<String, String> coded = new TreeMap<>();
    for (final Class<?> type : records()) {
      coded.put(nameOf(type), describe(type));
    }
    assertEquals(lines(documented), lines(coded));
    assertTrue(coded.size() > 80, "only " + coded.size() + " records were found");
  }

  private static String lines(Map<String, String> described) {
    final StringBuilder text = new StringBuilder();
    described.forEach((name, fields) -> text.append(name).append(fields).append('\n'));
    return text.toString();
  }

  private static List<Class<?>> records() throws IOException, URISyntaxException {
    final Path root =
        Path.of(WireFormat.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    try (Stream<Path> files = Files.walk(root)) {
      return files
          .map(file -> root.relativize(file).toString())
          .filter(name -> name.endsWith(".class") && !name.contains("-info"))
          .<Class<?>>map(name -> classOf(name.replace('/', '.').replaceAll("\\.class$", "")))
          .filter(Class::isRecord)
          .toList();
    }
  }

  private static Class<?> classOf(String name) {
    try {
      return Class.forName(name);
    } catch (ClassNotFoundException e) {
      throw new AssertionError(e);
    }
  }

  private static String nameOf(Class<?> type) {
    return type.getName().substring("agent.contract.".length()).replace('$', '.');
  }

  private static String describe(Class<?> type) {
    final StringBuilder text = new StringBuilder();
    final Map<String, String> fields = new TreeMap<>();
    for (final RecordComponent component : type.getRecordComponents()) {
      final JsonProperty property = component.getAccessor().getAnnotation(JsonProperty.class);
      fields.put(
          property.value(),
          (isReadAsText(component) ? "string or integer" : describe(component.getGenericType()))
              + (property.required() ? " required" : ""));
    }
    fields.forEach((name, field) -> text.append("\n  ").append(name).append(": ").append(field));
    return text.toString();
  }

  /** Text that may be written as a number. */
  private static boolean isReadAsText(RecordComponent component) {
    return component.getType() == String.class
        && component.getAccessor().isAnnotationPresent(JsonDeserialize.class);
  }

  private static String describe(Type type) {
    if (type instanceof ParameterizedType generic) {
      final Type[] arguments = generic.getActualTypeArguments();
      return generic.getRawType() == List.class
          ? "array of " + describe(arguments[0])
          : "map to " + describe(arguments[1]);
    }
    final Class<?> plain = (Class<?>) type;
    if (plain == Object.class) {
      return "any";
    }
    return switch (plain.getSimpleName()) {
      case "String" -> "string";
      case "Integer" -> "integer int32";
      case "Long" -> "integer int64";
      case "Double" -> "number";
      case "Boolean" -> "boolean";
      default -> nameOf(plain);
    };
  }

  @SuppressWarnings("unchecked")
  private static String describe(String file, Object schema) {
    final Map<String, Object> object = (Map<String, Object>) schema;
    assertEquals(false, object.get("additionalProperties"));
    final List<String> required = (List<String>) object.getOrDefault("required", List.of());
    final Map<String, Object> properties = (Map<String, Object>) object.get("properties");
    assertTrue(properties.keySet().containsAll(required), required + " are not all properties");
    final StringBuilder text = new StringBuilder();
    for (final String name : new TreeSet<>(properties.keySet())) {
      text.append("\n  ").append(name).append(": ").append(typeOf(file, properties.get(name)));
      text.append(required.contains(name) ? " required" : "");
    }
    return text.toString();
  }

  @SuppressWarnings("unchecked")
  private static String typeOf(String file, Object schema) {
    final Map<String, Object> object = (Map<String, Object>) schema;
    if (object.containsKey("oneOf")) {
      return "string or integer";
    }
    final String reference = (String) object.get("$ref");
    if (reference != null) {
      final String[] parts = reference.split("#/");
      return (parts[0].isEmpty() ? file : parts[0].replace(".yaml", "")) + "." + parts[1];
    }
    if (!object.containsKey("type")) {
      return "any";
    }
    return switch ((String) object.get("type")) {
      case "array" -> "array of " + typeOf(file, object.get("items"));
      case "object" -> "map to " + typeOf(file, object.get("additionalProperties"));
      case "integer" -> "integer " + object.get("format");
      default -> (String) object.get("type");
    };
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> load(String file) throws IOException {
    try (InputStream in = Files.newInputStream(Path.of(file))) {
      return (Map<String, Object>)
          new Load(LoadSettings.builder().setLabel(file).build()).loadFromInputStream(in);
    }
  }
}
