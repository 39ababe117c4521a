package agent.server.handler;

import agent.policy.rule.RuleCount;
import agent.policy.spec.RuleSpec;
import agent.types.KeptTexts;
import java.util.List;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.StreamWriteFeature;
import tools.jackson.databind.ObjectWriter;
import tools.jackson.databind.json.JsonMapper;

/**
 * Writes rules as a JSON array in a JSON string. The answer to each change has all rules, and most
 * are those of the answer before. Thread-safe.
 */
final class RuleTexts {
  private final ObjectWriter writer;
  private final KeptTexts<RuleSpec> texts = RuleCount.texts(this::text);

  RuleTexts(JsonMapper mapper) {
    writer = mapper.writer().without(StreamWriteFeature.AUTO_CLOSE_TARGET);
  }

  /** Writes the string at the place of a value. */
  void write(JsonGenerator json, List<RuleSpec> rules) {
    try (JsonInString string = new JsonInString(json)) {
      final String[] separator = {"["};
      texts.forEach(
          rules,
          (rule, text) -> {
            string.escaped(separator[0]);
            separator[0] = ",";
            if (text == null) {
              writer.writeValue(string, RuleCodec.encode(rule));
            } else {
              string.escaped(text);
            }
          });
      string.escaped(rules.isEmpty() ? "[]" : "]");
    }
  }

  private String text(RuleSpec rule) {
    return JsonInString.escape(writer.writeValueAsString(RuleCodec.encode(rule)));
  }
}
