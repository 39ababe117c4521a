package agent.cli.command;

import agent.cli.grammar.UsageException;
import agent.cli.output.AnswerPrinter;
import agent.cli.output.Tree;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import tools.jackson.core.JacksonException;

/**
 * Rules as people write them: an array of rules, one rule, the answer of {@code GET /policy}, or
 * documents with {@code apiVersion}, {@code kind}, {@code metadata} and {@code spec} or {@code
 * specs}; as JSON, or as YAML with several documents.
 */
final class PolicyDocuments {
  /** Labels that say which document a rule is from. */
  private static final String LABEL_SOURCE = "orch";

  private static final String LABEL_PREFIX = "io.agent.orch.policy.";

  private static final int MOST_CHARACTERS = 64 << 20;
  private static final int MOST_ALIASES = 50;

  /**
   * A rule and where it stands.
   *
   * @param place path in its document; empty for a document that is one rule
   * @param value the rule, an object unless the document is wrong
   */
  record PlacedRule(String place, Object value) {}

  private final List<PlacedRule> rules = new ArrayList<>();
  private final List<String> warnings = new ArrayList<>();
  private int documents;

  private PolicyDocuments() {}

  /**
   * Reads a text.
   *
   * @param name of the file, for messages
   * @throws UsageException where it is neither JSON nor YAML
   */
  static PolicyDocuments read(String name, String text) {
    final List<Object> values = isJson(text) ? List.of(json(name, text)) : yaml(name, text);
    final PolicyDocuments all = new PolicyDocuments();
    for (final Object value : values) {
      all.documents++;
      all.add(values.size() > 1 ? "document " + all.documents + ": " : "", value);
    }
    return all;
  }

  /** Returns the rules in their order. */
  List<PlacedRule> rules() {
    return rules;
  }

  /** Returns what is lost or not done, one sentence each. */
  List<String> warnings() {
    return warnings;
  }

  private static boolean isJson(String text) {
    final String start = text.stripLeading();
    return start.startsWith("[") || start.startsWith("{");
  }

  private static Object json(String name, String text) {
    try {
      return AnswerPrinter.written(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    } catch (JacksonException e) {
      throw new UsageException(
          "%s: line %d, column %d: %s"
              .formatted(
                  name,
                  e.getLocation().getLineNr(),
                  e.getLocation().getColumnNr(),
                  e.getOriginalMessage().lines().findFirst().orElse("not JSON")));
    }
  }

  private static List<Object> yaml(String name, String text) {
    final LoadSettings settings =
        LoadSettings.builder()
            .setLabel(name)
            .setCodePointLimit(MOST_CHARACTERS)
            .setMaxAliasesForCollections(MOST_ALIASES)
            .build();
    final List<Object> values = new ArrayList<>();
    try {
      for (final Object value : new Load(settings).loadAllFromString(text)) {
        if (value != null) {
          values.add(plain(value));
        }
      }
    } catch (YamlEngineException e) {
      throw new UsageException(name + ": not YAML: " + e.getMessage().replace('\n', ' '));
    }
    return values;
  }

  /** Names of members are texts, numbers what was written. */
  private static Object plain(Object value) {
    return switch (value) {
      case Map<?, ?> members -> {
        final Map<String, Object> copy = new LinkedHashMap<>();
        members.forEach((name, member) -> copy.put(String.valueOf(name), plain(member)));
        yield copy;
      }
      case List<?> elements -> {
        final List<Object> copy = new ArrayList<>();
        elements.forEach(element -> copy.add(plain(element)));
        yield copy;
      }
      case Number number -> new Tree.Numeral(number.toString());
      case null, default -> value;
    };
  }

  private void add(String document, Object value) {
    if (value instanceof List<?> elements) {
      addEach(document, elements);
    } else if (Tree.at(value, "kind") instanceof String kind && kind.endsWith("List")) {
      Tree.list(value, "items").forEach(item -> add(document, item));
    } else if (Tree.at(value, "spec") != null || Tree.at(value, "specs") != null) {
      addWrapped(document, value);
    } else if (Tree.at(value, "policy") instanceof String text) {
      add(document, json("policy", text));
    } else {
      rules.add(new PlacedRule(document, value));
    }
  }

  private void addEach(String document, List<?> elements) {
    for (int i = 0; i < elements.size(); i++) {
      final Object element = elements.get(i);
      if (Tree.at(element, "spec") != null || Tree.at(element, "specs") != null) {
        addWrapped(document + "[" + i + "].", element);
      } else {
        rules.add(new PlacedRule(document + "[" + i + "]", element));
      }
    }
  }

  private void addWrapped(String document, Object wrapper) {
    final List<Object> labels = labels(wrapper);
    if (Tree.at(wrapper, "spec") != null) {
      rules.add(new PlacedRule(document + "spec", labelled(Tree.at(wrapper, "spec"), labels)));
    }
    final List<?> several = Tree.list(wrapper, "specs");
    for (int i = 0; i < several.size(); i++) {
      rules.add(new PlacedRule(document + "specs[" + i + "]", labelled(several.get(i), labels)));
    }
    final String namespace = Tree.text(wrapper, "metadata", "namespace");
    if (namespace != null) {
      warnings.add(
          "%smetadata.namespace '%s' is kept as a label of the rules; it does not narrow their endpointSelector"
              .formatted(document, namespace));
    }
  }

  /** Labels that name the document, and the document's own. */
  private static List<Object> labels(Object wrapper) {
    final List<Object> labels = new ArrayList<>();
    addLabel(labels, LABEL_PREFIX + "derived-from", Tree.text(wrapper, "kind"));
    for (final String part : List.of("name", "namespace", "uid")) {
      addLabel(labels, LABEL_PREFIX + part, Tree.text(wrapper, "metadata", part));
    }
    Tree.members(wrapper, "metadata", "labels")
        .forEach((key, value) -> addLabel(labels, key, value == null ? "" : value.toString()));
    return labels;
  }

  private static void addLabel(List<Object> labels, String key, String value) {
    if (value != null) {
      final Map<String, Object> label = new LinkedHashMap<>();
      label.put("key", key);
      label.put("source", LABEL_SOURCE);
      label.put("value", value);
      labels.add(label);
    }
  }

  private static Object labelled(Object rule, List<Object> labels) {
    if (!(rule instanceof Map<?, ?>) || labels.isEmpty()) {
      return rule;
    }
    final Map<String, Object> copy = new LinkedHashMap<>(Tree.members(rule));
    final List<Object> all = new ArrayList<>(Tree.list(rule, "labels"));
    all.addAll(labels);
    copy.put("labels", all);
    return copy;
  }
}
