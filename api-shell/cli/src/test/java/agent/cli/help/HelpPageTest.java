package agent.cli.help;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.LineParser;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.ValueKind;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whole helps, line by line. */
class HelpPageTest {
  private static final List<OptionSpec> GLOBAL =
      List.of(OptionSpec.flag("--help", "Shows this.").withLetter("-h"));

  private static CommandSpec<String> tool() {
    return CommandSpec.group("tool", "A tool.", () -> List.of(things(), list()));
  }

  private static CommandSpec<String> things() {
    return CommandSpec.group("things", "Things.", () -> List.of(add(), list()))
        .details("A first paragraph\n in two lines.\n\nA second one.")
        .example("tool things list", "what there is")
        .example("tool things add x", "one more");
  }

  private static CommandSpec<String> list() {
    return CommandSpec.command("list", "Lists them.", "lists");
  }

  private static CommandSpec<String> add() {
    return CommandSpec.command("add", "Adds one. " + "word ".repeat(15) + "end.", "adds")
        .operation("PUT /thing")
        .argument(ArgumentSpec.required("NAME", ValueKind.FILE, "Its name."))
        .argument(ArgumentSpec.oneOf("KIND", "What it is.", "a", "b"))
        .option(OptionSpec.text("--a-name-of-so-many-letter", "X", "Of the widest 28 columns."))
        .option(OptionSpec.text("--a-name-of-so-many-letters", "X", "Of one more."))
        .option(OptionSpec.flag("--all", "x".repeat(40) + " " + "y".repeat(7) + " z"));
  }

  private static String help(String... words) {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(bytes, false, StandardCharsets.UTF_8)) {
      HelpPage.print(out, new LineParser<>(tool(), GLOBAL).parse(List.of(words)), GLOBAL);
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }

  @Test
  void shouldDescribeAGroup() {
    assertEquals(
        """
        Usage: tool things COMMAND [OPTION]...

        Things.

        A first paragraph in two lines.

        A second one.

        Commands:
          add   Adds one. word word word word word word word word word word word word
                word word word end.
          list  Lists them.

        Options:
          -h, --help  Shows this.

        Examples:
          tool things list    # what there is
          tool things add x    # one more
        """,
        help("things", "--help"));
  }

  /** A name that is wider than the column has a line of its own; a text breaks at 80 columns. */
  @Test
  void shouldDescribeACommandWithLongNames() {
    assertEquals(
        """
        Usage: tool things add [OPTION]... NAME KIND

        Adds one. word word word word word word word word word word word word word word
        word end.

        Arguments:
          NAME  Its name.
          KIND  What it is. One of a, b.

        Options:
          --a-name-of-so-many-letter X  Of the widest 28 columns.
          --a-name-of-so-many-letters X
                                        Of one more.
          --all                         xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx yyyyyyy
                                        z

        Global options:
          -h, --help  Shows this.

        Calls PUT /thing.
        """,
        help("things", "add", "--help", "n", "a"));
  }
}
