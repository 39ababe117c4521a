package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.call.Action;
import agent.cli.grammar.CommandSpec;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** Help, man pages, and that each operation of the API has a command. */
@Timeout(60)
class HelpTest {
  private static final Set<String> VERBS = Set.of("get", "put", "post", "patch", "delete");

  private CliFixture agent;

  @BeforeEach
  void start() throws IOException {
    agent = new CliFixture();
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private static void each(
      String path, CommandSpec<Action> command, BiConsumer<String, CommandSpec<Action>> to) {
    to.accept(path, command);
    command.commands().forEach(inner -> each(path + " " + inner.name(), inner, to));
  }

  @Test
  void shouldHaveACommandForEachOperationOfTheContract() throws IOException {
    final Set<String> called = new TreeSet<>();
    each(
        "agentctl",
        CommandTree.build(),
        (path, command) -> {
          // "GET, PATCH /a, PUT /b" is GET /a, PATCH /a and PUT /b.
          final List<String> verbs = new ArrayList<>();
          for (final String word : command.operation().replace(",", "").split(" ")) {
            if (word.startsWith("/")) {
              verbs.forEach(verb -> called.add(verb + " " + word));
              verbs.clear();
            } else {
              verbs.add(word);
            }
          }
        });
    final Set<String> missing = new TreeSet<>();
    try (InputStream file = HelpTest.class.getResourceAsStream("/openapi.yaml")) {
      final Map<?, ?> document =
          (Map<?, ?>) new Load(LoadSettings.builder().build()).loadFromInputStream(file);
      ((Map<?, ?>) document.get("paths"))
          .forEach(
              (path, item) ->
                  ((Map<?, ?>) item)
                      .keySet().stream()
                          .map(Object::toString)
                          .filter(VERBS::contains)
                          .map(verb -> verb.toUpperCase(Locale.ROOT) + " " + path)
                          .filter(operation -> !called.contains(operation))
                          .filter(operation -> !isOfALaterRelease(operation))
                          .forEach(missing::add));
    }
    assertEquals(Set.of(), missing);
  }

  /** Services and DNS bring their commands with them; the document itself needs none. */
  private static boolean isOfALaterRelease(String operation) {
    return operation.contains(" /service") || operation.endsWith(" /openapi.yaml");
  }

  @Test
  void shouldShowTheSameHelpInEveryWay() {
    final String help = agent.output(AgentCtl.OK, "endpoint labels --help");
    assertEquals(help, agent.output(AgentCtl.OK, "help endpoint labels"));
    assertEquals(help, agent.output(AgentCtl.OK, "endpoint labels 7 -h"));
    assertEquals(
        """
        Usage: agentctl endpoint labels [OPTION]... ID

        Shows the labels of an endpoint, or sets its user labels.

        Arguments:
          ID  [prefix:]id of the endpoint.

        Options:
          --set LABEL  The new user labels.

        Global options:
          -H, --host ADDRESS   Address of the agent, unix://PATH. Default: AGENT_HOST,
                               or /var/run/agent/agent.sock.
          -o, --output FORMAT  table, wide (no truncated columns), csv, json, yaml or
                               jsonpath=PATH. Default: table.
          --timeout TIME       Response timeout, such as 500ms, 10s or 2m. Default: 10s,
                               and 30s for a change.
          -h, --help           Show this help.

        Calls GET, PATCH /endpoint/{id}/labels.
        """,
        help);
    agent.output(AgentCtl.USAGE_ERROR, "help endpoimt");
    assertTrue(agent.err().contains("did you mean 'endpoint'?"), agent.err());
    assertEquals(List.of(), agent.requests());
  }

  @Test
  void shouldShowAHelpOfEightyColumnsForEachCommand() {
    each(
        "agentctl",
        CommandTree.build(),
        (path, command) -> {
          final String line = path.substring("agentctl".length());
          final String help = agent.output(AgentCtl.OK, line + " --help");
          assertTrue(help.startsWith("Usage: " + path), help);
          assertTrue(command.summary().endsWith("."), path);
          help.lines()
              .filter(text -> !text.contains(" # "))
              .forEach(text -> assertTrue(text.length() <= 80, path + ": " + text));
          if (!command.isGroup()) {
            assertFalse(help.contains("Commands:"), path);
          }
        });
  }

  @Test
  void shouldEndUsageErrorsWithTheCommandThatHelps() {
    agent.output(AgentCtl.USAGE_ERROR, "endpoint get");
    assertEquals("ID is missing\nTry 'agentctl endpoint get --help'.\n", agent.err());
    agent.output(AgentCtl.USAGE_ERROR, "endpoimt get");
    assertEquals(
        "unknown command 'endpoimt': did you mean 'endpoint'?\nTry 'agentctl --help'.\n",
        agent.err());
  }

  /** The formatter of man pages reports what it does not understand. */
  @Test
  void shouldWriteManPagesThatGroffTakes(@TempDir Path directory) throws Exception {
    agent.output(AgentCtl.OK, "man --directory " + directory);
    final List<Path> pages;
    try (Stream<Path> files = Files.list(directory)) {
      pages = files.sorted().toList();
    }
    assertTrue(pages.contains(directory.resolve("agentctl.1")), pages.toString());
    assertTrue(pages.contains(directory.resolve("agentctl-endpoint.1")), pages.toString());
    for (final Path page : pages) {
      final Process groff =
          new ProcessBuilder("groff", "-man", "-Tutf8", "-ww", "-rLL=100n", page.toString())
              .redirectErrorStream(true)
              .start();
      final String text = new String(groff.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(0, groff.waitFor(), text);
      assertFalse(text.contains("warning") || text.contains(".1:"), page + ": " + text);
    }
  }

  @Test
  void shouldWriteEachCommandAndOptionInItsManPage(@TempDir Path directory) throws IOException {
    agent.output(AgentCtl.OK, "man --directory " + directory);
    final String page = Files.readString(directory.resolve("agentctl-map.1"));
    assertEquals(page, agent.output(AgentCtl.OK, "man map"));
    assertTrue(
        page.startsWith(".TH \"AGENTCTL\\-MAP\" 1 \"\" \"agentctl of a development build\""), page);
    assertTrue(page.contains("\n.SS \"agentctl map get [OPTION]... NAME\"\n"), page);
    assertTrue(page.contains("\n.TP\n\\fB\\-\\-filter TEXT\\fR\n"), page);
    assertTrue(page.contains("\nagentctl-map \\- BPF maps of the agent\n"), page);
    assertTrue(page.contains("\nCalls GET /map/{name}.\n"), page);
  }
}
