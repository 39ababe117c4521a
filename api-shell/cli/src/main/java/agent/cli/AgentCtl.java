package agent.cli;

import agent.cli.Invocation.Command;
import agent.cli.Invocation.UsageException;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.ParseResult;
import tools.jackson.core.JacksonException;

/** The command line client. Exit codes: 0, 1 for an error from the agent, 2 for usage. */
public final class AgentCtl {
  static final int OK = 0;
  static final int AGENT_ERROR = 1;
  static final int USAGE_ERROR = 2;

  private static final int BUFFER_BYTES = 64 * 1024;

  private final PrintStream out;
  private final PrintStream err;
  private final Map<String, String> environment;

  AgentCtl(PrintStream out, PrintStream err, Map<String, String> environment) {
    this.out = out;
    this.err = err;
    this.environment = environment;
  }

  /**
   * Runs a command.
   *
   * @param arguments the command with its options
   */
  public static void main(String[] arguments) {
    final PrintStream out =
        new PrintStream(
            new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), BUFFER_BYTES),
            false,
            StandardCharsets.UTF_8);
    final PrintStream err =
        new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8);
    final int exitCode = new AgentCtl(out, err, System.getenv()).run(arguments);
    out.flush();
    System.exit(exitCode);
  }

  int run(String... arguments) {
    final CommandLine commandLine = new CommandLine(CommandTree.build());
    commandLine.setOut(new PrintWriter(out, true));
    commandLine.setErr(new PrintWriter(err, true));
    commandLine.setExecutionStrategy(this::execute);
    commandLine.setParameterExceptionHandler((failure, given) -> usageError(failure));
    commandLine.setExecutionExceptionHandler((failure, line, parsed) -> executionError(failure));
    return commandLine.execute(arguments);
  }

  private int execute(ParseResult parsed) throws CommandLine.ExecutionException {
    if (CommandLine.executeHelpRequest(parsed) != null) {
      return OK;
    }
    final ParseResult leaf = leafOf(parsed);
    final CommandLine.Model.CommandSpec command = leaf.commandSpec();
    if (!(command.userObject() instanceof Command action)) {
      throw new CommandLine.ParameterException(
          command.commandLine(), "a command is missing: one of " + command.subcommands().keySet());
    }
    try (Invocation invocation = new Invocation(leaf, environment, out, err)) {
      action.run(invocation);
      return OK;
    } catch (UsageException e) {
      throw new CommandLine.ParameterException(command.commandLine(), e.getMessage());
    } catch (Exception e) {
      throw new CommandLine.ExecutionException(command.commandLine(), e.toString(), e);
    }
  }

  private static ParseResult leafOf(ParseResult parsed) {
    ParseResult leaf = parsed;
    while (leaf.hasSubcommand()) {
      leaf = leaf.subcommand();
    }
    return leaf;
  }

  private int usageError(CommandLine.ParameterException failure) {
    final String command = failure.getCommandLine().getCommandSpec().qualifiedName();
    err.println(Text.oneLine(failure.getMessage()));
    err.println("Try '" + command + " --help'.");
    return USAGE_ERROR;
  }

  private int executionError(Exception failure) {
    out.flush();
    final String reason =
        failure instanceof JacksonException unreadable
            ? "the agent's answer cannot be read: " + unreadable.getOriginalMessage()
            : failure.getMessage();
    err.println("Error: " + Text.oneLine(reason));
    return AGENT_ERROR;
  }
}
