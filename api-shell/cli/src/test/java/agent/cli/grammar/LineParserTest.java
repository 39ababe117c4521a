package agent.cli.grammar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LineParserTest {
  private final List<String> built = new ArrayList<>();

  private final LineParser<String> parser =
      new LineParser<>(
          CommandSpec.group("prog", "A program.", this::commands),
          List.of(
              OptionSpec.text("--host", "ADDRESS", "Where.").withLetter("-H"),
              OptionSpec.text("--output", "FORMAT", "How.")
                  .withLetter("-o")
                  .among("json", "table", "path="),
              OptionSpec.flag("--help", "Help.").withLetter("-h")));

  private List<CommandSpec<String>> commands() {
    built.add("prog");
    return List.of(
        CommandSpec.group("endpoint", "Endpoints.", this::endpointCommands),
        CommandSpec.group("map", "Maps.", this::mapCommands),
        CommandSpec.command("status", "Status.", "status")
            .option(OptionSpec.text("--view", "[FORM]", "How.").withLetter("-v").among("a", "b"))
            .option(OptionSpec.flag("--brief", "Short.")),
        CommandSpec.command("secret", "Hidden.", "secret").hidden());
  }

  private List<CommandSpec<String>> endpointCommands() {
    built.add("endpoint");
    return List.of(
        CommandSpec.command("list", "Lists.", "list")
            .option(
                OptionSpec.value("--labels", "LABEL", ValueKind.LABEL, "Labels.")
                    .withLetter("-l")
                    .repeated())
            .option(OptionSpec.flag("--watch", "Repeats.").withLetter("-w")),
        CommandSpec.command("config", "Options.", "config")
            .argument(ArgumentSpec.required("ID", ValueKind.ENDPOINT, "Id."))
            .argument(ArgumentSpec.several("OPTION=VALUE", ValueKind.TEXT, "Options.")),
        CommandSpec.command("shell", "Shells.", "shell")
            .argument(ArgumentSpec.oneOf("SHELL", "The shell.", "bash", "zsh")));
  }

  private List<CommandSpec<String>> mapCommands() {
    built.add("map");
    return List.of();
  }

  private ParsedLine<String> parse(String line) {
    return parser.parse(line.isEmpty() ? List.of() : List.of(line.split(" ")));
  }

  @Test
  void shouldTakeOptionsBeforeBetweenAndBehindTheWordsOfACommand() {
    for (final String line :
        List.of(
            "-H x -o json endpoint config 7 a=b c=d",
            "endpoint -H x config --output json 7 a=b c=d",
            "endpoint config 7 a=b --host=x c=d --output=json",
            "endpoint config -Hx 7 -ojson a=b c=d")) {
      final ParsedLine<String> parsed = parse(line);
      assertEquals("config", parsed.command().action(), line);
      assertEquals("prog endpoint config", parsed.commandPath(), line);
      assertEquals("x", parsed.option("--host"), line);
      assertEquals("json", parsed.option("--output"), line);
      assertEquals("7", parsed.argument(0), line);
      assertEquals(List.of("a=b", "c=d"), parsed.arguments(1), line);
      assertNull(parsed.argument(3), line);
    }
  }

  @Test
  void shouldBuildTheCommandsOfTheNamedGroupOnly() {
    parse("status");
    assertEquals(List.of("prog"), built);
    parse("endpoint list");
    assertEquals(List.of("prog", "endpoint"), built);
  }

  @Test
  void shouldCollectRepeatedValuesAndTakeTheLastOfOthers() {
    final ParsedLine<String> line = parse("endpoint list -l a,b --labels c -l , -H x -H y -wh");
    assertEquals(List.of("a", "b", "c"), line.options("--labels"));
    assertEquals("y", line.option("--host"));
    assertTrue(line.isSet("--watch"));
    assertTrue(line.isSet("--help"));
    assertFalse(parse("endpoint list").isSet("--labels"));
  }

  @Test
  void shouldTakeWordsWithDashesBehindTwoDashes() {
    final ParsedLine<String> line = parse("endpoint config -- -7 --host -");
    assertEquals(List.of("-7", "--host", "-"), line.arguments(0));
    assertEquals(List.of("-"), parse("endpoint config -").arguments(0));
  }

  @Test
  void shouldAskForNothingWhereHelpIsWanted() {
    assertEquals("prog endpoint", parse("endpoint --help").commandPath());
    assertEquals("prog endpoint config", parse("endpoint config -h").commandPath());
    assertEquals("prog", parse("-h").commandPath());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "~~ | prog | missing command: endpoint, map, status",
        "endpoint | prog endpoint | missing command: list, config, shell",
        "endpoimt list | prog | unknown command 'endpoimt': did you mean 'endpoint'?",
        "stauts | prog | unknown command 'stauts': did you mean 'status'?",
        "frobnicate | prog | unknown command 'frobnicate'",
        "endpoint list --lables a | prog endpoint list | unknown option '--lables': did you mean '--labels'?",
        "endpoint list -x | prog endpoint list | unknown option '-x'",
        "status --watch | prog status | unknown option '--watch'",
        "status -H | prog status | --host requires a value: ADDRESS",
        "endpoint list --watch=1 | prog endpoint list | --watch does not accept a value",
        "status -o jsn | prog status | --output: 'jsn' is not one of json, table, path=: did you mean 'json'?",
        "endpoint config | prog endpoint config | ID is missing",
        "endpoint list x | prog endpoint list | 'x': unexpected argument",
        "endpoint shell fish | prog endpoint shell | 'fish' is not one of bash, zsh",
      })
  void shouldSayWhatIsWrongAndWhatMayBeMeant(String line, String command, String message) {
    final UsageException failure = assertThrows(UsageException.class, () -> parse(line));
    assertEquals(message, failure.getMessage());
    assertEquals(command, failure.command());
  }

  @ParameterizedTest
  @CsvSource({
    "status --view, a",
    "status --view --brief, a",
    "status --view b, b",
    "status --view=b, b",
    "status -v b --brief, b",
    "status --brief -v, a",
    "status --view a --view b, b"
  })
  void shouldTakeTheFirstChoiceWhereAnOptionalValueIsLeftOut(String line, String value) {
    final ParsedLine<String> parsed = parse(line);
    assertEquals(value, parsed.option("--view"));
    assertEquals(line.contains("--brief"), parsed.isSet("--brief"));
  }

  @Test
  void shouldTakeTheStartOfAValueAsChoice() {
    assertEquals("path=.a.b", parse("status -o path=.a.b").option("--output"));
  }

  @Test
  void shouldKeepHiddenCommandsOutOfWhatIsOffered() {
    assertEquals("secret", parse("secret").command().action());
    assertThrows(UsageException.class, () -> parse("secre"));
    assertFalse(
        assertThrows(UsageException.class, () -> parse("secre")).getMessage().contains("did"));
  }

  @Test
  void shouldKnowWhatIsTypedAtTheEndOfALine() {
    assertEquals("--host", parser.positionAfter(List.of("endpoint", "-H")).option().name());
    assertNull(parser.positionAfter(List.of("endpoint", "-H", "x")).option());
    assertEquals("ID", parser.positionAfter(List.of("endpoint", "config")).argument().label());
    assertEquals(
        "OPTION=VALUE",
        parser
            .positionAfter(List.of("endpoint", "config", "-o", "json", "7", "a=b"))
            .argument()
            .label());
    assertNull(parser.positionAfter(List.of("endpoint", "list")).argument());
    assertEquals(List.of(), parser.positionAfter(List.of("endpoint", "config", "--")).options());
    assertEquals("endpoint", parser.positionAfter(List.of("endpoint", "none")).command().name());
  }
}
