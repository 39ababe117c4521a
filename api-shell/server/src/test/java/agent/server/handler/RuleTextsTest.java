package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.WireFormat;
import agent.contract.policy.RuleModel;
import agent.policy.spec.RuleSpec;
import agent.types.KeptTexts;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** Whatever answers came before, an answer has the texts of its own rules. */
class RuleTextsTest {
  private static final JsonMapper MAPPER = WireFormat.strictMapper();

  private final RuleTexts texts = new RuleTexts(MAPPER);

  private static RuleSpec rule(String description) {
    final String document =
        "[{\"endpointSelector\":{\"matchLabels\":{\"a\":\"\\\"\\\\\"}},\"description\":%s}]"
            .formatted(MAPPER.writeValueAsString(description));
    final List<RuleModel> models =
        MAPPER.readValue(document, new TypeReference<List<RuleModel>>() {});
    return RuleCodec.decode(models).getFirst();
  }

  private String write(List<RuleSpec> rules) {
    final ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (JsonGenerator json = MAPPER.createGenerator(out)) {
      texts.write(json, rules);
    }
    return out.toString(StandardCharsets.UTF_8);
  }

  private void check(List<RuleSpec> rules) {
    assertEquals(
        MAPPER.writeValueAsString(rules.stream().map(RuleCodec::encode).toList()),
        MAPPER.readTree(write(rules)).asString());
  }

  @Test
  void shouldWriteTheRulesOfEachAnswer() {
    final List<RuleSpec> rules = new ArrayList<>();
    check(rules);
    for (int i = 0; i < 9; i++) {
      rules.add(rule("rule \ud83d\ude00 \"" + i + "\\"));
      check(rules);
    }
    Collections.reverse(rules);
    check(rules);
    rules.set(4, rule("another"));
    rules.removeFirst();
    check(rules);
    check(rules.subList(2, 5));
    check(rules);
    check(List.of());
    check(rules);
    check(List.of(rules.getFirst(), rules.getFirst(), rules.getLast()));
  }

  @Test
  void shouldWriteLongRulesBetweenShortOnes() {
    final List<RuleSpec> rules = new ArrayList<>();
    for (final int length : new int[] {1, KeptTexts.LONGEST, 9, 100_000, 2}) {
      rules.add(rule("x\"\u20ac".repeat(length)));
      rules.add(rule("x".repeat(length)));
    }
    check(rules);
    check(rules.reversed());
  }

  @Test
  void shouldWriteMoreRulesThanItKeeps() {
    final List<RuleSpec> rules = new ArrayList<>();
    for (int i = 0; i < 700; i++) {
      rules.add(rule("%d %s".formatted(i, "x".repeat(3000))));
    }
    check(rules);
    check(rules.reversed());
  }

  /** Labels of a rule that count how often they are read. */
  private static final class ReadLabels extends AbstractList<RuleSpec.LabelSpec> {
    private int reads;

    @Override
    public RuleSpec.LabelSpec get(int index) {
      reads++;
      return new RuleSpec.LabelSpec("key", null, null);
    }

    @Override
    public int size() {
      return 1;
    }
  }

  @Test
  void shouldEncodeAShortRuleOnceForAnswersThatFollowEachOther() {
    final ReadLabels labels = new ReadLabels();
    final RuleSpec first = new RuleSpec(null, null, null, null, null, labels, null);
    final List<RuleSpec> rules = new ArrayList<>(List.of(first));
    write(rules);
    final int reads = labels.reads;
    assertTrue(reads > 0);
    for (int i = 0; i < 3; i++) {
      rules.add(rule("n" + i));
      write(rules);
    }
    assertEquals(reads, labels.reads);
    write(List.of());
    write(rules);
    assertEquals(2 * reads, labels.reads, "what an answer does not have is not kept");
  }
}
