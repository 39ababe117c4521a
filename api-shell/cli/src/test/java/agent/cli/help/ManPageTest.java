package agent.cli.help;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.ValueKind;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whole pages, line by line. */
class ManPageTest {
  private static final OptionSpec HELP = OptionSpec.flag("--help", "Shows this.").withLetter("-h");

  private static CommandSpec<String> add() {
    return CommandSpec.command("add", "Adds a \"thing\".", "adds")
        .details("The first part,\n.in two lines.\n\n'And the second: \\n.")
        .operation("PUT /thing")
        .argument(ArgumentSpec.required("NAME", ValueKind.FILE, "Its name."))
        .argument(ArgumentSpec.oneOf("KIND", "What it is.", "a", "b"))
        .option(OptionSpec.text("--mode", "MODE", "How."))
        .example("tool things add x a", "the usual way");
  }

  private static CommandSpec<String> things() {
    return CommandSpec.group(
            "things",
            "Things.",
            () ->
                List.of(
                    add(),
                    CommandSpec.group("inner", "More.", () -> List.of()),
                    CommandSpec.command("list", "Lists them.", "lists")))
        .option(OptionSpec.flag("--all", "All of them."))
        .example("tool things list", "what there is");
  }

  private static CommandSpec<String> tool() {
    return CommandSpec.group(
        "tool",
        "A tool",
        () ->
            List.of(
                things(),
                CommandSpec.command("version", "Shows it.", "shows"),
                CommandSpec.group("others", "Others.", () -> List.of())));
  }

  @Test
  void shouldDescribeAGroupWithItsCommands() {
    assertEquals(
        """
        .TH "TOOL\\-THINGS" 1 "" "1.2\\-x" "agent"
        .SH "NAME"
        tool-things \\- Things
        .SH "SYNOPSIS"
        \\fBtool things\\fR COMMAND [OPTION]...
        .SH "DESCRIPTION"
        Things.
        .SH "COMMANDS"
        .SS "tool things add [OPTION]... NAME KIND"
        Adds a "thing".
        .PP
        The first part,
        \\&.in two lines.
        .PP
        \\&'And the second: \\en.
        .PP
        Calls PUT /thing.
        .TP
        \\fBNAME\\fR
        Its name.
        .TP
        \\fBKIND\\fR
        What it is. One of a, b.
        .TP
        \\fB\\-\\-mode MODE\\fR
        How.
        .TP
        \\fBtool things add x a\\fR
        the usual way
        .TP
        \\fBtool things inner COMMAND\\fR
        More.
        .SS "tool things list [OPTION]..."
        Lists them.
        .SH "OPTIONS"
        .TP
        \\fB\\-\\-all\\fR
        All of them.
        .TP
        \\fB\\-h, \\-\\-help\\fR
        Shows this.
        .SH "EXAMPLES"
        .TP
        \\fBtool things list\\fR
        what there is
        .SH "SEE ALSO"
        .BR tool (1)
        """,
        ManPage.of("tool things", things(), List.of(HELP), "1.2-x"));
  }

  @Test
  void shouldDescribeACommand() {
    assertEquals(
        """
        .TH "TOOL\\-THINGS\\-ADD" 1 "" "1" "agent"
        .SH "NAME"
        tool-things-add \\- Adds a "thing"
        .SH "SYNOPSIS"
        \\fBtool things add\\fR [OPTION]... NAME KIND
        .SH "DESCRIPTION"
        Adds a "thing".
        .PP
        The first part,
        \\&.in two lines.
        .PP
        \\&'And the second: \\en.
        .PP
        Calls PUT /thing.
        .TP
        \\fBNAME\\fR
        Its name.
        .TP
        \\fBKIND\\fR
        What it is. One of a, b.
        .SH "OPTIONS"
        .TP
        \\fB\\-\\-mode MODE\\fR
        How.
        .SH "EXAMPLES"
        .TP
        \\fBtool things add x a\\fR
        the usual way
        .SH "SEE ALSO"
        .BR tool\\-things (1)
        """,
        ManPage.of("tool things add", add(), List.of(), "1"));
  }

  @Test
  void shouldNameTheGroupsOfTheProgram() {
    final String page = ManPage.of("tool", tool(), List.of(), "1");
    assertEquals(
        """
        .SH "OPTIONS"
        .SH "SEE ALSO"
        .BR tool\\-things (1),
        .BR tool\\-others (1)
        """,
        page.substring(page.indexOf(".SH \"OPTIONS\"")));
  }
}
