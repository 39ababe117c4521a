package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.cli.call.LocalParts;
import agent.cli.call.Surroundings;
import agent.cli.output.Terminal;
import agent.testkit.CannedHttpServer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** Commands in this process, an agent that gives prepared answers, and what was printed. */
public final class CliFixture implements AutoCloseable {
  static final Instant NOW = Instant.parse("2026-11-20T06:05:00.000Z");

  /** Neither output nor errors go to a terminal. */
  public static final Terminal PIPE = new Terminal(0, false, false, InstantSource.fixed(NOW));

  public final ByteArrayOutputStream out = new ByteArrayOutputStream();
  final ByteArrayOutputStream err = new ByteArrayOutputStream();
  private final Map<String, String> answers = new ConcurrentHashMap<>();
  private final CannedHttpServer agent;
  private Terminal terminal = PIPE;
  private LocalParts local = LocalParts.NONE;
  private Path outPath = Path.of("/dev/full");
  private InputStream in = InputStream.nullInputStream();

  public CliFixture() throws IOException {
    agent = CannedHttpServer.start(this::answer);
  }

  private String answer(String request) {
    final String line = request.substring(0, request.indexOf(" HTTP/1.1"));
    return answers.getOrDefault(
        line, CannedHttpServer.answer(404, "\"path: unexpected " + line + "\""));
  }

  public CliFixture on(String requestLine, String body) {
    return on(requestLine, 200, body);
  }

  public CliFixture on(String requestLine, int status, String body) {
    answers.put(requestLine, CannedHttpServer.answer(status, body));
    return this;
  }

  public CliFixture on(Terminal other) {
    terminal = other;
    return this;
  }

  CliFixture with(LocalParts parts) {
    local = parts;
    return this;
  }

  /** Standard output is what this symbolic link says. */
  CliFixture writingTo(Path descriptor) {
    outPath = descriptor;
    return this;
  }

  CliFixture withInput(String text) {
    in = new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    return this;
  }

  /** Runs a command line whose words are parted by spaces, and returns its exit code. */
  int run(String line) {
    return runWords(Stream.of(line.split(" ")).filter(word -> !word.isEmpty()).toList());
  }

  int runWords(List<String> words) {
    return runIn(
        Map.of(),
        Stream.concat(Stream.of("--host", "unix://" + agent.socket()), words.stream()).toList());
  }

  int runIn(Map<String, String> environment, List<String> words) {
    out.reset();
    err.reset();
    try (PrintStream stdout = new PrintStream(out, false, StandardCharsets.UTF_8);
        PrintStream stderr = new PrintStream(err, true, StandardCharsets.UTF_8)) {
      return run(stdout, stderr, environment, words);
    }
  }

  int run(
      PrintStream stdout, PrintStream stderr, Map<String, String> environment, List<String> words) {
    return new AgentCtl(new Surroundings(in, stdout, outPath, stderr, environment, terminal, local))
        .run(words.toArray(String[]::new));
  }

  /** Returns the output of a command line that has to end with this code. */
  String output(int exitCode, String line) {
    assertEquals(exitCode, run(line), () -> line + ": " + err() + out());
    return out();
  }

  public String out() {
    return out.toString(StandardCharsets.UTF_8);
  }

  String err() {
    return err.toString(StandardCharsets.UTF_8);
  }

  public String address() {
    return "unix://" + agent.socket();
  }

  public List<String> requests() {
    return agent.requests();
  }

  @Override
  public void close() throws IOException {
    agent.close();
  }
}
