package agent.cli.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.command.PolicyDocuments.PlacedRule;
import agent.cli.grammar.UsageException;
import agent.cli.output.JsonTreeWriter;
import agent.cli.output.Tree;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Rules as people write them. */
class PolicyDocumentsTest {
  private static final String RULE =
      "{\"endpointSelector\":{\"matchLabels\":{\"app\":\"web\"}},\"ingress\":[{}]}";

  private static List<PlacedRule> rules(String text) {
    return PolicyDocuments.read("file", text).rules();
  }

  private static String json(List<PlacedRule> rules) {
    return JsonTreeWriter.compact(rules.stream().map(PlacedRule::value).toList());
  }

  private static List<String> places(String text) {
    return rules(text).stream().map(PlacedRule::place).toList();
  }

  @Test
  void shouldTakeAnArrayOneRuleAndTheAnswerOfTheAgent() {
    final String answer =
        "{\"policy\":" + JsonTreeWriter.compact("[" + RULE + "]") + ",\"revision\":3}";
    for (final String text : List.of("[" + RULE + "]", RULE, answer, " \n " + RULE)) {
      assertEquals("[" + RULE + "]", json(rules(text)), text);
    }
    assertEquals(List.of("[0]", "[1]"), places("[" + RULE + "," + RULE + "]"));
    assertEquals(List.of(""), places(RULE));
    assertEquals(List.of(), places("[]"));
  }

  @Test
  void shouldTakeYamlWithSeveralDocuments() {
    final String yaml =
        """
        # the web servers
        - endpointSelector: {matchLabels: {app: web}}
          ingress:
            - {}
        ---
        endpointSelector:
          matchLabels:
            app: web
        ingress: [{}]
        ---
        """;
    assertEquals("[" + RULE + "," + RULE + "]", json(rules(yaml)));
    assertEquals(List.of("document 1: [0]", "document 2: "), places(yaml));
  }

  @Test
  void shouldKeepNumbersAndTruthValuesOfYaml() {
    final Object rule =
        rules("a: 8080\nb: true\nc: '8080'\nd: 1.5\ne: null\nf: no\n").getFirst().value();
    assertEquals(
        "{\"a\":8080,\"b\":true,\"c\":\"8080\",\"d\":1.5,\"e\":null,\"f\":\"no\"}",
        JsonTreeWriter.compact(rule));
  }

  @Test
  void shouldTakeLabelsFromTheMetadataOfADocument() {
    final PolicyDocuments documents =
        PolicyDocuments.read(
            "file",
            """
            apiVersion: example.io/v2
            kind: SomeNetworkPolicy
            metadata:
              name: web
              namespace: shop
              uid: 12
              labels: {team: blue}
              annotations: {x: "y"}
            spec:
              labels: [{key: own}]
              endpointSelector: {}
            specs:
              - endpointSelector: {}
            status: {}
            """);
    assertEquals(
        List.of("spec", "specs[0]"), documents.rules().stream().map(PlacedRule::place).toList());
    final String labels =
        "{\"key\":\"io.agent.orch.policy.derived-from\",\"source\":\"orch\",\"value\":\"SomeNetworkPolicy\"},"
            + "{\"key\":\"io.agent.orch.policy.name\",\"source\":\"orch\",\"value\":\"web\"},"
            + "{\"key\":\"io.agent.orch.policy.namespace\",\"source\":\"orch\",\"value\":\"shop\"},"
            + "{\"key\":\"io.agent.orch.policy.uid\",\"source\":\"orch\",\"value\":\"12\"},"
            + "{\"key\":\"team\",\"source\":\"orch\",\"value\":\"blue\"}]";
    assertEquals(
        "[{\"key\":\"own\"}," + labels,
        JsonTreeWriter.compact(Tree.at(documents.rules().get(0).value(), "labels")));
    assertEquals(
        "[" + labels, JsonTreeWriter.compact(Tree.at(documents.rules().get(1).value(), "labels")));
    assertEquals(
        List.of(
            "metadata.namespace 'shop' is kept as a label of the rules; it does not narrow their endpointSelector"),
        documents.warnings());
  }

  @Test
  void shouldTakeListsOfDocuments() {
    final String document =
        "{\"apiVersion\":\"v1\",\"kind\":\"P\",\"metadata\":{\"name\":\"n\"},\"spec\":{\"a\":1}}";
    assertEquals(
        List.of("spec", "spec"),
        places("{\"kind\":\"PList\",\"items\":[" + document + "," + document + "]}"));
    assertEquals(List.of("[0].spec", "[1]"), places("[" + document + "," + RULE + "]"));
  }

  @Test
  void shouldSayWhereATextIsMalformed() {
    assertEquals(
        "file: line 2, column 5",
        message("[{\"a\":\n  1,,}]").substring(0, "file: line 2, column 5".length()));
    assertTrue(message("{\"a\":1,\"a\":2}").contains("Duplicate"), "names may not repeat");
    assertTrue(message("[] []").contains("unexpected text after the document"));
    assertTrue(message("a: [").startsWith("file: not YAML: "));
    assertTrue(message("a: 1\na: 2\n").contains("uplicate"), "names may not repeat");
  }

  private static String message(String text) {
    return assertThrows(UsageException.class, () -> rules(text)).getMessage();
  }
}
