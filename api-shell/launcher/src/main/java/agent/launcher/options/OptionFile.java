package agent.launcher.options;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/** Reads options from a YAML file: one mapping from option names to values, lists or mappings. */
final class OptionFile {
  private OptionFile() {}

  static Map<String, List<String>> read(Path file) {
    final Object document;
    try {
      document =
          new Load(LoadSettings.builder().setLabel(file.toString()).build())
              .loadFromString(Files.readString(file));
    } catch (IOException e) {
      throw new OptionException("--config " + file + ": cannot be read: " + e.getMessage());
    } catch (YamlEngineException e) {
      throw new OptionException("--config " + file + ": not YAML: " + oneLine(e.getMessage()));
    }
    final Map<String, List<String>> given = new LinkedHashMap<>();
    if (document == null) {
      return given;
    }
    if (!(document instanceof Map<?, ?> mapping)) {
      throw new OptionException("--config " + file + ": not a mapping from options to values");
    }
    mapping.forEach(
        (key, value) -> {
          final String name = String.valueOf(key);
          final AgentOption option = OptionTable.byName(name);
          if (option == null) {
            throw new OptionException(name + ": unknown option in --config " + file);
          }
          given.put(name, texts(option, value, file));
        });
    return given;
  }

  private static List<String> texts(AgentOption option, Object value, Path file) {
    final List<String> texts = new ArrayList<>();
    switch (value) {
      case null -> texts.add("");
      case List<?> list when option.type().isCollected() ->
          list.forEach(element -> texts.add(scalar(option, element, file)));
      case Map<?, ?> map when option.type() == OptionType.MAP ->
          map.forEach((k, v) -> texts.add(k + "=" + scalar(option, v, file)));
      default -> texts.add(scalar(option, value, file));
    }
    return texts;
  }

  private static String scalar(AgentOption option, Object value, Path file) {
    if (value instanceof List || value instanceof Map) {
      throw new OptionException(
          "--" + option.name() + ": not a " + option.type().label() + " in --config " + file);
    }
    return String.valueOf(value);
  }

  private static String oneLine(String text) {
    return text.strip().replaceAll("\\s*\\n\\s*", "; ");
  }
}
