package agent.cli;

import agent.cli.call.Action;
import agent.cli.call.ClientVersion;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.call.LocalParts;
import agent.cli.call.ReportedException;
import agent.cli.call.Surroundings;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.LineParser;
import agent.cli.grammar.ParsedLine;
import agent.cli.grammar.UsageException;
import agent.cli.help.HelpPage;
import agent.cli.output.Terminal;
import agent.cli.output.Text;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;

/** The command line client. Exit codes: 0, 1 for a failure, 2 for usage. */
public final class AgentCtl {
  static final int OK = 0;
  static final int FAILURE = 1;
  static final int USAGE_ERROR = 2;

  private static final int BUFFER_BYTES = 64 * 1024;

  private final Surroundings surroundings;
  private final PrintStream err;

  AgentCtl(Surroundings surroundings) {
    this.surroundings = surroundings;
    this.err = surroundings.err();
  }

  /**
   * Runs a command.
   *
   * @param arguments the command with its options
   */
  public static void main(String[] arguments) {
    start(arguments, LocalParts.NONE);
  }

  /**
   * Runs a command and ends this process.
   *
   * @param arguments the command with its options
   * @param local what commands do without an agent
   */
  public static void start(String[] arguments, LocalParts local) {
    final PrintStream out =
        new PrintStream(
            new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), BUFFER_BYTES),
            false,
            StandardCharsets.UTF_8);
    final PrintStream err =
        new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8);
    final Map<String, String> environment = System.getenv();
    System.exit(
        new AgentCtl(
                new Surroundings(
                    System.in,
                    out,
                    Path.of("/proc/self/fd/1"),
                    err,
                    environment,
                    Terminal.of(environment),
                    local))
            .run(arguments));
  }

  int run(String... arguments) {
    int exitCode;
    try {
      exitCode = execute(List.of(arguments));
    } catch (UsageException e) {
      exitCode = usageError(e.command(), e.getMessage());
    }
    return finish(exitCode);
  }

  private int execute(List<String> words) {
    final CommandSpec<Action> root = CommandTree.build();
    final ParsedLine<Action> line =
        new LineParser<>(root, CommonOptions.globalOptions()).parse(words);
    if (line.isSet(LineParser.HELP)) {
      HelpPage.print(surroundings.out(), line, CommonOptions.globalOptions());
      return OK;
    }
    if (line.isSet(LineParser.VERSION)) {
      surroundings.out().println(ClientVersion.text());
      return OK;
    }
    try (Invocation invocation = new Invocation(line, surroundings)) {
      if (line.isSet(CommonOptions.WATCH)) {
        Watch.run(invocation, line.command().action());
      } else {
        line.command().action().run(invocation);
      }
      return OK;
    } catch (UsageException e) {
      return usageError(line.commandPath(), e.getMessage());
    } catch (ReportedException e) {
      return FAILURE;
    } catch (Exception e) {
      return failure(e);
    }
  }

  private int usageError(String command, String message) {
    err.println(Text.oneLine(message));
    err.println("Try '" + (command.isEmpty() ? CommandTree.NAME : command) + " --help'.");
    return USAGE_ERROR;
  }

  private int failure(Exception failure) {
    surroundings.out().flush();
    final String reason =
        switch (failure) {
          case JacksonException unreadable ->
              unreadable.getCause() instanceof IOException broken
                  ? broken.getMessage()
                  : "the agent's answer cannot be read: " + unreadable.getOriginalMessage();
          case java.io.UncheckedIOException unchecked -> unchecked.getCause().getMessage();
          default -> failure.getMessage() == null ? failure.toString() : failure.getMessage();
        };
    err.println("Error: " + Text.oneLine(reason));
    return FAILURE;
  }

  /** What was not written is a failure: a full disk is reported, a reader that left is not. */
  private int finish(int exitCode) {
    surroundings.out().flush();
    if (!surroundings.out().checkError()) {
      return exitCode;
    }
    if (!isPipe(surroundings.outPath())) {
      err.println("Error: standard output cannot be written: is the disk full?");
    }
    return exitCode == OK ? FAILURE : exitCode;
  }

  private static boolean isPipe(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString().startsWith("pipe:");
    } catch (IOException e) {
      return false;
    }
  }
}
