package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.call.LocalParts;
import agent.cli.output.AnswerPrinter;
import agent.cli.output.Tree;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What {@code policy validate} and {@code bpf} make of what the parts of the agent say. */
@Timeout(60)
class PolicyValidationTest {
  /** Knows the members a and b.c, of which b.c is one of the words x and yes. */
  private static final LocalParts PARTS =
      new LocalParts() {
        @Override
        public List<Map<String, Object>> maps(Path bpfRoot) throws IOException {
          return List.of(Map.of("name", bpfRoot.toString(), "entries", 2));
        }

        @Override
        public boolean read(Path bpfRoot, String name, EntryVisitor visitor) {
          if (!name.equals("m")) {
            return false;
          }
          for (int i = 0; i < 1000; i++) {
            if (!visitor.onEntry("k" + i, "v")) {
              return true;
            }
          }
          return true;
        }

        @Override
        public RuleFault check(String rule) {
          final Object tree =
              AnswerPrinter.tree(new ByteArrayInputStream(rule.getBytes(StandardCharsets.UTF_8)));
          for (final String name : Tree.members(tree).keySet()) {
            if (!List.of("a", "b", "labels").contains(name)) {
              return new RuleFault(name, "is not a known field", List.of("a", "bees"), true);
            }
          }
          for (final String name : Tree.members(tree, "b").keySet()) {
            if (!name.equals("c")) {
              return new RuleFault("b." + name, "is not a known field", List.of("c"), true);
            }
          }
          if (Tree.at(tree, "a") instanceof Tree.Numeral) {
            return new RuleFault("a", "a string is expected at line 1", List.of(), false);
          }
          if (Tree.at(tree, "b", "c") instanceof String word && !word.equals("x")) {
            return new RuleFault("b.c", "is not one of x, yes", List.of("x", "yes"), false);
          }
          return Tree.at(tree, "a") == null
              ? new RuleFault("", "a is missing", List.of(), false)
              : null;
        }
      };

  @TempDir private Path directory;
  private CliFixture agent;

  @BeforeEach
  void start() throws IOException {
    agent = new CliFixture().with(PARTS);
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private String validate(int exitCode, String rules, String options) throws IOException {
    final Path file = Files.writeString(directory.resolve("rules"), rules);
    return agent
        .output(exitCode, "policy validate " + file + options)
        .replace(file.toString(), "rules");
  }

  @Test
  void shouldSayThatRulesAreValidAndAskNoAgent() throws IOException {
    assertEquals(
        "rules: 2 rules are valid\n", validate(AgentCtl.OK, "[{\"a\":\"\"},{\"a\":\"1\"}]", ""));
    assertEquals("rules: 1 rule is valid\n", validate(AgentCtl.OK, "a: b", ""));
    assertEquals("[]\n", validate(AgentCtl.OK, "a: b", " -o json"));
    assertEquals(List.of(), agent.requests());
  }

  @Test
  void shouldShowEveryUnknownNameAndTheFirstWrongValue() throws IOException {
    assertEquals(
        """
        rules: rule 0: [0].bee: is not a known field: did you mean 'bees'?
        rules: rule 0: [0].b.d: is not a known field: did you mean 'c'?
        rules: rule 0: [0].b.c: is not one of x, yes: did you mean 'yes'?
        rules: rule 2: [2]: a is missing
        """
            .replace("did you mean 'c'?", "known are c"),
        validate(
            AgentCtl.FAILURE,
            "[{\"a\":\"\",\"bee\":[1],\"b\":{\"d\":1,\"c\":\"yess\"}},{\"a\":\"\"},{}]",
            ""));
    assertEquals("", agent.err());
  }

  @Test
  void shouldNameThePlaceInADocumentWithMetadata() throws IOException {
    assertEquals(
        """
        rules: rule 0: document 1: spec: a is missing
        rules: rule 1: document 2: specs[0].a: a string is expected at line 1: write "80", in quotes
        """,
        validate(
            AgentCtl.FAILURE, "metadata: {name: x}\nspec: {b: {}}\n---\nspecs: [{a: 80}]\n", ""));
  }

  @Test
  void shouldNameADocumentThatIsOneRule() throws IOException {
    assertEquals(
        "rules: rule 0: [0]: a is missing\n", validate(AgentCtl.FAILURE, "{\"b\":{}}", ""));
  }

  @Test
  void shouldGiveFaultsAsADocument() throws IOException {
    final String json = validate(AgentCtl.FAILURE, "{\"a\":\"\",\"bee\":1}", " -o json");
    assertEquals(
        "[{\"file\":\"rules\",\"rule\":0,\"path\":\"bee\",\"reason\":\"isnotaknownfield\","
            + "\"suggestion\":\"didyoumean'bees'?\"}]",
        json.replaceAll("\\s", ""));
  }

  @Test
  void shouldWarnOfWhatIsLost() throws IOException {
    final String yaml = "kind: Policy\nmetadata: {name: x, namespace: blue}\nspec: {a: b}\n";
    assertEquals("rules: 1 rule is valid\n", validate(AgentCtl.OK, yaml, ""));
    assertTrue(agent.err().startsWith("Warning: "), agent.err());
    assertTrue(agent.err().contains("metadata.namespace 'blue'"), agent.err());
  }

  /** A rule of nothing but mistakes does not fill the screen. */
  @Test
  void shouldEndAfterTwentyFaultsOfARule() throws IOException {
    final StringBuilder rule = new StringBuilder("{\"a\":\"\"");
    for (int i = 0; i < 30; i++) {
      rule.append(",\"x").append(i).append("\":1");
    }
    assertEquals(20, validate(AgentCtl.FAILURE, rule + "}", "").lines().count());
  }

  /** The rule is not changed by the search for further faults. */
  @Test
  void shouldFindTheWrongValueInAnArray() throws IOException {
    agent.with(
        new LocalParts() {
          @Override
          public List<Map<String, Object>> maps(Path bpfRoot) {
            return List.of();
          }

          @Override
          public boolean read(Path bpfRoot, String name, EntryVisitor visitor) {
            return false;
          }

          @Override
          public RuleFault check(String rule) {
            if (rule.contains("\"bee\"")) {
              return new RuleFault("in[1].bee", "is not a known field", List.of("c"), true);
            }
            if (rule.contains("\"in\":[")) {
              return new RuleFault(
                  "in[1].to[0]", "a string is expected at line 1", List.of(), false);
            }
            return new RuleFault("in[7].to", "a string is expected at line 1", List.of(), false);
          }
        });
    assertEquals(
        """
        rules: rule 0: [0].in[1].bee: is not a known field: known are c
        rules: rule 0: [0].in[1].to[0]: a string is expected at line 1: write "80", in quotes
        """,
        validate(AgentCtl.FAILURE, "[{\"in\":[{\"to\":[443]},{\"to\":[80,81],\"bee\":1}]}]", ""));
    assertEquals(
        """
        rules: rule 0: [0].in[7].to: a string is expected at line 1: write "-", in quotes
        """,
        validate(AgentCtl.FAILURE, "[{\"in\":{\"0\":1}}]", ""));
  }

  @Test
  void shouldShowPinnedMaps() {
    assertEquals("/sys/fs/bpf\n", agent.output(AgentCtl.OK, "bpf list -o jsonpath=.maps[0].name"));
    assertTrue(
        agent.output(AgentCtl.OK, "bpf list --bpf-root /x").contains("\n/x    -     2        "));
    assertEquals(
        "KEY,VALUE,STATE,ERROR\nk7,v,,\nk17,v,,\n",
        agent.output(AgentCtl.OK, "bpf get m -o csv --filter 7 --limit 2"));
    assertEquals(
        "[\n  {\n    \"key\": \"k0\",\n    \"value\": \"v\"\n  }\n]\n",
        agent.output(AgentCtl.OK, "bpf get m -o json --limit 1"));
    agent.output(AgentCtl.FAILURE, "bpf get none");
    assertEquals("Error: pinned map 'none' does not exist under /sys/fs/bpf\n", agent.err());
    assertEquals(List.of(), agent.requests());
  }

  @Test
  void shouldSayThatTheClientAloneHasNoPartsOfTheAgent() throws IOException {
    agent.with(LocalParts.NONE);
    for (final String line : List.of("bpf list", "bpf get m", "policy validate -")) {
      agent.withInput("[{}]").output(AgentCtl.FAILURE, line);
      assertEquals(
          "Error: this command requires the libraries of the agent: start it as 'agentctl'\n",
          agent.err());
    }
  }
}
