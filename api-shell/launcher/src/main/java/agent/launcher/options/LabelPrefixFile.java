package agent.launcher.options;

import agent.types.IoFailure;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/**
 * Reads the file of {@code --label-prefix-file}, JSON or YAML: {@code {"version": 1,
 * "valid-prefixes": [{"prefix": "app", "source": "k8s", "invert": false}]}}. An entry with {@code
 * invert} leaves labels out; the source may be left out.
 */
public final class LabelPrefixFile {
  private static final int MOST_BYTES = 1 << 20;
  private static final int VERSION = 1;
  private static final Set<String> FIELDS = Set.of("version", "valid-prefixes");
  private static final Set<String> ENTRY_FIELDS = Set.of("prefix", "source", "invert");

  private LabelPrefixFile() {}

  /**
   * Reads the prefixes in the form of {@code --labels}.
   *
   * @param file the file
   * @return {@code [!][source:]prefix} for each entry
   * @throws OptionException naming the option, the file and the entry
   */
  public static List<String> read(Path file) {
    try {
      if (Files.size(file) > MOST_BYTES) {
        throw refused(file, "larger than " + MOST_BYTES + " bytes");
      }
      final String text = Files.readString(file, StandardCharsets.UTF_8);
      return prefixes(file, new Load(LoadSettings.builder().build()).loadFromString(text));
    } catch (IOException e) {
      throw refused(file, "cannot be read: " + IoFailure.reason(e));
    } catch (YamlEngineException e) {
      throw refused(file, "neither JSON nor YAML");
    }
  }

  private static List<String> prefixes(Path file, Object document) {
    final Map<?, ?> fields = mapping(file, "the document", document, FIELDS);
    if (!Integer.valueOf(VERSION).equals(fields.get("version"))) {
      throw refused(file, "version: must be " + VERSION);
    }
    if (!(fields.get("valid-prefixes") instanceof List<?> entries)) {
      throw refused(file, "valid-prefixes: must be a list");
    }
    final List<String> prefixes = new ArrayList<>();
    for (final Object entry : entries) {
      final String where = "valid-prefixes[" + prefixes.size() + "]";
      prefixes.add(prefix(file, where, mapping(file, where, entry, ENTRY_FIELDS)));
    }
    return prefixes;
  }

  private static String prefix(Path file, String where, Map<?, ?> entry) {
    final Object prefix = entry.get("prefix");
    final Object source = entry.get("source");
    final Object invert = entry.get("invert");
    if (!(prefix instanceof String name) || name.isEmpty()) {
      throw refused(file, where + ".prefix: must be a string that is not empty");
    }
    if (source != null && !(source instanceof String)) {
      throw refused(file, where + ".source: must be a string");
    }
    if (invert != null && !(invert instanceof Boolean)) {
      throw refused(file, where + ".invert: must be true or false");
    }
    return (Boolean.TRUE.equals(invert) ? "!" : "")
        + (source == null || source.equals("") ? "" : source + ":")
        + name;
  }

  private static Map<?, ?> mapping(Path file, String where, Object value, Set<String> known) {
    if (!(value instanceof Map<?, ?> map)) {
      throw refused(file, where + ": must be a mapping");
    }
    for (final Object name : map.keySet()) {
      if (!known.contains(name)) {
        throw refused(file, where + ": '" + name + "' is an unknown field");
      }
    }
    return map;
  }

  private static OptionException refused(Path file, String why) {
    return new OptionException("--label-prefix-file " + file + ": " + why);
  }
}
