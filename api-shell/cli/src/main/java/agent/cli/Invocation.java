package agent.cli;

import agent.client.AgentClient;
import agent.client.RequestPath;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.ParseResult;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.PrettyPrinter;
import tools.jackson.core.StreamWriteFeature;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.util.DefaultPrettyPrinter;

/** One run of a command: its arguments, a client of the agent, and the streams it writes to. */
final class Invocation implements AutoCloseable {
  /** How results are printed. */
  enum OutputFormat {
    /** The JSON that the agent answered. */
    JSON,
    /** Columns for a reader. */
    TABLE
  }

  /** The work of a command. */
  @FunctionalInterface
  interface Command {
    /**
     * Runs the command.
     *
     * @param call its arguments, the agent and the terminal
     */
    void run(Invocation call) throws Exception;
  }

  /** The arguments contradict each other or are incomplete. */
  static final class UsageException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
      super(message);
    }
  }

  private final ParseResult parsed;
  private final Map<String, String> environment;
  private final PrintStream out;
  private final PrintStream err;
  private AgentClient client;

  Invocation(
      ParseResult parsed, Map<String, String> environment, PrintStream out, PrintStream err) {
    this.parsed = parsed;
    this.environment = environment;
    this.out = out;
    this.err = err;
  }

  /** Returns a client of the agent that {@code --host} or {@code AGENT_HOST} names. */
  AgentClient agent() {
    if (client == null) {
      final String fromEnvironment = environment.get("AGENT_HOST");
      final String fallback =
          fromEnvironment == null || fromEnvironment.isEmpty()
              ? AgentClient.DEFAULT_ADDRESS
              : fromEnvironment;
      final String address = option(CommandTree.HOST);
      try {
        client = AgentClient.of(address == null ? fallback : address);
      } catch (IllegalArgumentException e) {
        throw new UsageException("--host: " + e.getMessage());
      }
    }
    return client;
  }

  PrintStream out() {
    return out;
  }

  PrintStream err() {
    return err;
  }

  boolean wantsJson() {
    return option(CommandTree.OUTPUT) == OutputFormat.JSON;
  }

  /** Returns the value of an option of this command or of a parent command, or null. */
  <T> T option(String name) {
    for (ParseResult level = parsed; level != null; level = parent(level)) {
      if (level.hasMatchedOption(name)) {
        return level.matchedOptionValue(name, null);
      }
    }
    return null;
  }

  private ParseResult parent(ParseResult level) {
    final var above = level.commandSpec().parent();
    return above == null ? null : above.commandLine().getParseResult();
  }

  boolean isSet(String name) {
    return Boolean.TRUE.equals(option(name));
  }

  /** Returns the positional argument at an index, or null. */
  <T> T argument(int index) {
    return parsed.matchedPositionalValue(index, null);
  }

  /** Returns the positional arguments from an index on. */
  List<String> arguments(int index) {
    final List<String> values = argument(index);
    return values == null ? List.of() : values;
  }

  /** Prints the answer of a GET as indented JSON; the memory used does not depend on its size. */
  void printJson(RequestPath path) throws IOException {
    printJson("GET", path, null);
  }

  void printJson(String method, RequestPath path, String body) throws IOException {
    final JsonFactory factory =
        JsonFactory.builder().disable(StreamWriteFeature.AUTO_CLOSE_TARGET).build();
    try (InputStream answer = agent().open(method, path, body);
        JsonParser json = factory.createParser(ObjectReadContext.empty(), answer)) {
      final JsonGenerator indented = factory.createGenerator(new Indented(), out);
      while (json.nextToken() != null && !out.checkError()) {
        indented.copyCurrentEventExact(json);
      }
      indented.close();
      out.println();
    }
  }

  private static final class Indented extends ObjectWriteContext.Base {
    private final PrettyPrinter printer = new DefaultPrettyPrinter();

    @Override
    public PrettyPrinter getPrettyPrinter() {
      return printer;
    }
  }

  @Override
  public void close() throws IOException {
    if (client != null) {
      client.close();
    }
  }
}
