package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.policy.repository.PolicyState;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.KeptTexts;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What was written before changes nothing of what is written. */
class PolicyCodecTest {
  private final PolicyCodec codec = new PolicyCodec();

  private static RuleSpec rule(String description) {
    return new RuleSpec(SelectorSpec.ALL, null, List.of(), null, null, null, description);
  }

  private static byte[] written(PolicyCodec by, PolicyState state) throws Exception {
    final List<ByteBuffer> parts = DocumentWriter.write(state, by::write);
    final ByteBuffer all =
        ByteBuffer.allocate(parts.stream().mapToInt(ByteBuffer::remaining).sum());
    parts.forEach(all::put);
    return all.array();
  }

  private void check(List<RuleSpec> rules) throws Exception {
    final PolicyState state =
        new PolicyState(7, List.copyOf(rules), List.of(new PolicyState.CidrIdentity("::/0", 9)));
    final byte[] document = written(codec, state);
    assertEquals(ByteBuffer.wrap(written(new PolicyCodec(), state)), ByteBuffer.wrap(document));
    assertEquals(state, DocumentReader.read(ByteBuffer.wrap(document), codec::read));
  }

  @Test
  void shouldWriteTheRulesOfEachChange() throws Exception {
    final Random random = new Random(20261130);
    final List<RuleSpec> rules = new ArrayList<>();
    check(rules);
    for (int i = 0; i < 200; i++) {
      final String text = "\"\\ \u20ac \ud83d\ude00 \ud800 \u0001" + i;
      rules.add(rule(i % 17 == 3 ? text + "x".repeat(KeptTexts.LONGEST) : text));
      if (random.nextInt(4) == 0) {
        rules.remove(random.nextInt(rules.size()));
      }
      if (random.nextInt(8) == 0) {
        Collections.shuffle(rules, random);
        rules.add(rules.getFirst());
      }
      check(rules);
    }
    check(List.of());
    check(rules);
  }
}
