package agent.launcher.options;

import agent.types.IoFailure;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.api.lowlevel.Parse;
import org.snakeyaml.engine.v2.events.CollectionEndEvent;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * Reads options from a YAML file: one mapping from option names to values, lists or mappings.
 *
 * <p>A message names the line and what is wrong with it, never the text: the file may be one that
 * the caller is not allowed to read.
 */
final class OptionFile {
  private static final int MOST_BYTES = 1 << 20;
  private static final int DEEPEST = 8;

  private final Path file;

  private OptionFile(Path file) {
    this.file = file;
  }

  static Map<String, List<String>> read(Path file) {
    return new OptionFile(file).options();
  }

  private Map<String, List<String>> options() {
    final Optional<Node> document = document(text());
    if (document.isEmpty() || isEmpty(document.get())) {
      return Map.of();
    }
    if (!(document.get() instanceof MappingNode mapping)) {
      throw refused("not a mapping from options to values");
    }
    final Map<String, List<String>> given = new LinkedHashMap<>();
    for (final NodeTuple entry : mapping.getValue()) {
      final Node key = entry.getKeyNode();
      final AgentOption option =
          key instanceof ScalarNode name ? OptionTable.byName(name.getValue()) : null;
      if (option == null) {
        throw refused(key, "unknown option");
      }
      if (given.put(option.name(), texts(option, entry.getValueNode())) != null) {
        throw refused(key, "--" + option.name() + ": duplicate option");
      }
    }
    return given;
  }

  private String text() {
    try {
      if (Files.exists(file) && !Files.isRegularFile(file)) {
        throw refused("cannot be read: not a regular file");
      }
      try (InputStream in = Files.newInputStream(file)) {
        final byte[] bytes = in.readNBytes(MOST_BYTES + 1);
        if (bytes.length > MOST_BYTES) {
          throw refused("cannot be read: larger than " + MOST_BYTES + " bytes");
        }
        return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      }
    } catch (IOException e) {
      throw refused("cannot be read: " + IoFailure.reason(e));
    }
  }

  private Optional<Node> document(String text) {
    final LoadSettings settings = LoadSettings.builder().setUseMarks(true).build();
    try {
      refuseDeepNesting(new Parse(settings).parseString(text));
      return new Compose(settings).composeString(text);
    } catch (MarkedYamlEngineException e) {
      throw refused(line(e.getProblemMark().or(e::getContextMark)) + "not YAML");
    } catch (YamlEngineException e) {
      throw refused("not YAML");
    }
  }

  /** The parser of YAML calls itself for each level. */
  private void refuseDeepNesting(Iterable<Event> events) {
    int depth = 0;
    for (final Event event : events) {
      if (event instanceof CollectionStartEvent && ++depth > DEEPEST) {
        throw refused(line(event.getStartMark()) + "nested too deeply");
      } else if (event instanceof CollectionEndEvent) {
        depth--;
      }
    }
  }

  private List<String> texts(AgentOption option, Node value) {
    final List<String> texts = new ArrayList<>();
    switch (value) {
      case SequenceNode list when option.type().isCollected() ->
          list.getValue().forEach(element -> texts.add(scalar(option, element)));
      case MappingNode map when option.type() == OptionType.MAP ->
          map.getValue()
              .forEach(
                  entry ->
                      texts.add(
                          scalar(option, entry.getKeyNode())
                              + "="
                              + scalar(option, entry.getValueNode())));
      default -> texts.add(scalar(option, value));
    }
    return texts;
  }

  private String scalar(AgentOption option, Node value) {
    if (value instanceof ScalarNode scalar) {
      return isEmpty(value) ? "" : scalar.getValue();
    }
    throw new OptionException(
        "--%s: not a %s in --config %s%s"
            .formatted(
                option.name(),
                option.type().label(),
                file,
                value.getStartMark().map(mark -> ", line " + (mark.getLine() + 1)).orElse("")));
  }

  private static boolean isEmpty(Node value) {
    return value.getTag().equals(Tag.NULL);
  }

  private OptionException refused(Node at, String why) {
    return refused(line(at.getStartMark()) + why);
  }

  private OptionException refused(String why) {
    return new OptionException("--config " + file + ": " + why);
  }

  private static String line(Optional<Mark> mark) {
    return mark.map(found -> "line " + (found.getLine() + 1) + ": ").orElse("");
  }
}
