package agent.cli.call;

import agent.cli.grammar.ParsedLine;
import agent.cli.grammar.UsageException;
import agent.cli.output.AnswerPrinter;
import agent.cli.output.JsonTreeWriter;
import agent.cli.output.Listing;
import agent.cli.output.OutputFormat;
import agent.cli.output.Rows;
import agent.cli.output.Terminal;
import agent.client.AgentClient;
import agent.client.RequestPath;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** One run of a command: its arguments, a client of the agent, and the streams it writes to. */
public final class Invocation implements AutoCloseable {
  private final ParsedLine<Action> line;
  private final Surroundings surroundings;
  private final OutputFormat format;
  private final AnswerPrinter printer;
  private AgentClient client;

  public Invocation(ParsedLine<Action> line, Surroundings surroundings) {
    this.line = line;
    this.surroundings = surroundings;
    try {
      format = OutputFormat.of(line.option(CommonOptions.OUTPUT));
    } catch (IllegalArgumentException e) {
      throw new UsageException(CommonOptions.OUTPUT + ": " + e.getMessage());
    }
    printer = new AnswerPrinter(surroundings.out(), surroundings.terminal(), format);
  }

  /** Returns the same call with another standard output and a connection of its own. */
  public Invocation writingTo(PrintStream out) {
    return new Invocation(line, surroundings.writingTo(out));
  }

  /** Returns the address of the agent that {@code --host} or {@code AGENT_HOST} names. */
  public String address() {
    final String given = option(CommonOptions.HOST);
    if (given != null) {
      return given;
    }
    final String fromEnvironment = surroundings.environment().getOrDefault("AGENT_HOST", "");
    return fromEnvironment.isEmpty() ? AgentClient.DEFAULT_ADDRESS : fromEnvironment;
  }

  private AgentClient agent(String method) {
    if (client == null) {
      final boolean isRead = method.equals("GET");
      final Duration timeout =
          DurationText.of(
              CommonOptions.TIMEOUT,
              option(CommonOptions.TIMEOUT),
              isRead ? CommonOptions.READ_TIMEOUT : CommonOptions.CHANGE_TIMEOUT);
      try {
        client = AgentClient.of(address(), timeout);
      } catch (IllegalArgumentException e) {
        throw new UsageException(CommonOptions.HOST + ": " + e.getMessage());
      }
    }
    return client;
  }

  public PrintStream out() {
    return surroundings.out();
  }

  public PrintStream err() {
    return surroundings.err();
  }

  public Terminal terminal() {
    return surroundings.terminal();
  }

  public InputStream in() {
    return surroundings.in();
  }

  /** Returns what commands do without an agent. */
  public LocalParts local() {
    return surroundings.local();
  }

  public Instant now() {
    return terminal().clock().instant();
  }

  public OutputFormat format() {
    return format;
  }

  public AnswerPrinter printer() {
    return printer;
  }

  public Surroundings surroundings() {
    return surroundings;
  }

  /** Returns whether a document is wanted rather than columns. */
  public boolean wantsDocument() {
    return format.isDocument();
  }

  /** Returns the value of an option, or null. */
  public String option(String name) {
    return line.option(name);
  }

  public List<String> options(String name) {
    return line.options(name);
  }

  public boolean isSet(String name) {
    return line.isSet(name);
  }

  /** Returns the value of an option that is a whole number, or the fallback. */
  public long number(String name, long fallback) {
    final String text = option(name);
    if (text == null) {
      return fallback;
    }
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new UsageException(name + ": '" + text + "' is not a whole number");
    }
  }

  /** Returns the positional argument at an index, or null. */
  public String argument(int index) {
    return line.argument(index);
  }

  /** Returns the positional arguments from an index on. */
  public List<String> arguments(int index) {
    return line.arguments(index);
  }

  /** Makes a call; its answer is valid until the next one. */
  public InputStream open(String method, RequestPath path, Map<String, String> headers, Object body)
      throws IOException {
    final byte[] bytes =
        body == null ? null : JsonTreeWriter.compact(body).getBytes(StandardCharsets.UTF_8);
    final AgentClient agent = agent(method);
    try (Progress _ = Progress.of(err(), "waiting for the agent", terminal().showsProgress())) {
      return agent.open(method, path, headers, bytes);
    }
  }

  public InputStream get(RequestPath path) throws IOException {
    return open("GET", path, Map.of(), null);
  }

  /** Returns the answer of a GET. */
  public Object tree(RequestPath path) throws IOException {
    return AnswerPrinter.tree(get(path));
  }

  /** Returns the answer of a call with a body of {@link agent.cli.output.Tree}. */
  public Object send(String method, RequestPath path, Object body) throws IOException {
    return AnswerPrinter.tree(open(method, path, Map.of(), body));
  }

  /** Prints the elements of the answer of a GET. */
  public void list(RequestPath path, Listing listing) throws IOException {
    printer.list(get(path), listing);
  }

  /** Prints the answer of a GET as it is. */
  public void document(RequestPath path) throws IOException {
    printer.document(get(path));
  }

  public Rows rows(String... headings) {
    return printer.rows(headings);
  }

  @Override
  public void close() throws IOException {
    if (client != null) {
      client.close();
    }
  }
}
