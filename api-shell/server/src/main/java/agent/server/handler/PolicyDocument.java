package agent.server.handler;

import agent.contract.WireFormat;
import agent.endpoint.PolicyService;
import agent.policy.repository.PolicySnapshot;
import agent.server.Answer;
import agent.server.AnswerBudget;
import java.util.List;
import tools.jackson.core.JsonGenerator;

/** Writes rules with their revision; how many characters of rules at one time is bounded. */
final class PolicyDocument {
  private static final int MOST_CHARACTERS = 64 << 20;
  private static final int MANY_CHARACTERS = 1 << 20;

  private final AnswerBudget budget = new AnswerBudget(MOST_CHARACTERS, MANY_CHARACTERS);
  private final PolicyService policy;
  private final RuleTexts texts = new RuleTexts(WireFormat.strictMapper());

  PolicyDocument(PolicyService policy) {
    this.policy = policy;
  }

  /**
   * Answers with rules. Many of them are read again when the answer is written, so that an answer
   * that waits for its client does not keep rules that were replaced since.
   *
   * @param labels of the rules
   */
  Answer answer(PolicySnapshot result, List<String> labels) {
    return answer(result, labels, List.of());
  }

  /** The same with warnings about what was imported. */
  Answer answer(PolicySnapshot result, List<String> labels, List<String> warnings) {
    final long characters = result.characters();
    return budget.isLarge(characters)
        ? Answer.streamed(json -> write(json, characters, labels, warnings))
        : Answer.streamed(json -> write(json, result, warnings));
  }

  /** Writes all rules as the value of a property. */
  void writeProperty(JsonGenerator json, String name) throws InterruptedException {
    final long characters = policy.get(List.of()).characters();
    json.writeName(name);
    write(json, characters, List.of(), List.of());
  }

  private void write(
      JsonGenerator json, long characters, List<String> labels, List<String> warnings)
      throws InterruptedException {
    try (AnswerBudget.Share _ = budget.isLarge(characters) ? budget.take(characters) : null) {
      write(json, policy.get(labels), warnings);
    }
  }

  private void write(JsonGenerator json, PolicySnapshot snapshot, List<String> warnings) {
    json.writeStartObject();
    json.writeName("policy");
    texts.write(json, snapshot.rules());
    json.writeNumberProperty("revision", snapshot.revision());
    if (!warnings.isEmpty()) {
      json.writePOJOProperty("warnings", warnings);
    }
    json.writeEndObject();
  }
}
