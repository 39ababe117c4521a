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

/** One run of a command: its arguments, the agent, and where it writes. */
final class Invocation implements AutoCloseable {
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

  /** Returns the agent that the option or the environment names. */
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

  /** Returns the value of an option wherever on the line it stands, or null. */
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

  /** Returns the positional argument at this place, or null. */
  <T> T argument(int index) {
    return parsed.matchedPositionalValue(index, null);
  }

  /** Returns the positional arguments from this place on. */
  List<String> arguments(int index) {
    final List<String> values = argument(index);
    return values == null ? List.of() : values;
  }

  /** Prints the agent's answer as it is, indented; memory does not grow with it. */
  int printJson(RequestPath path) throws IOException {
    return printJson("GET", path, null);
  }

  int printJson(String method, RequestPath path, String body) throws IOException {
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
    return AgentCtl.OK;
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
