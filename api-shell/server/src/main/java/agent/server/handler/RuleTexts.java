package agent.server.handler;

import agent.policy.rule.RuleCount;
import agent.policy.spec.RuleSpec;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.StreamWriteFeature;
import tools.jackson.databind.ObjectWriter;
import tools.jackson.databind.json.JsonMapper;

/**
 * Writes rules as a JSON array in a JSON string. The answer to each change has all rules, and most
 * are those of the answer before: texts of short rules are kept until an answer has others.
 * Thread-safe.
 */
final class RuleTexts {
  /** A longer text is not kept, and that of a rule with more characters is written in pieces. */
  static final int LONGEST_KEPT = 4096;

  /** The characters of all texts that are kept. */
  private static final int MOST_KEPT = 1 << 20;

  private final ObjectWriter writer;
  private volatile Map<RuleSpec, String> kept = Map.of();

  RuleTexts(JsonMapper mapper) {
    writer = mapper.writer().without(StreamWriteFeature.AUTO_CLOSE_TARGET);
  }

  /** Writes the string at the place of a value. */
  void write(JsonGenerator json, List<RuleSpec> rules) {
    final Map<RuleSpec, String> before = kept;
    final Map<RuleSpec, String> now = new IdentityHashMap<>();
    int room = MOST_KEPT;
    boolean isNew = false;
    try (JsonInString string = new JsonInString(json)) {
      String separator = "[";
      for (final RuleSpec rule : rules) {
        string.escaped(separator);
        separator = ",";
        String text = before.get(rule);
        if (text == null) {
          text = written(rule, string);
          isNew |= text != null;
        } else {
          string.escaped(text);
        }
        if (text != null && text.length() <= room) {
          room -= text.length();
          now.put(rule, text);
        }
      }
      string.escaped(rules.isEmpty() ? "[]" : "]");
    }
    if (isNew || rules.isEmpty()) {
      kept = now;
    }
  }

  /** Writes a rule, and returns its text with its escapes; null where it is long. */
  private String written(RuleSpec rule, JsonInString string) {
    if (RuleCount.of(rule).characters() > LONGEST_KEPT) {
      writer.writeValue(string, RuleCodec.encode(rule));
      return null;
    }
    final String text = JsonInString.escape(writer.writeValueAsString(RuleCodec.encode(rule)));
    string.escaped(text);
    return text.length() <= LONGEST_KEPT ? text : null;
  }
}
