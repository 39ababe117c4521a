package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a line is completed by, and the scripts in their shells. */
@Timeout(60)
class CompletionTest {
  private CliFixture agent;

  @BeforeEach
  void start() throws IOException {
    agent = new CliFixture();
    agent.on(
        "GET /endpoint",
        """
        [{"id":7,"status":{"identity":{"id":256,"labels":["unspec:app=web","unspec:tier=1"]}}},
         {"id":71,"status":{"identity":{"id":257,"labels":["unspec:app=db"]}}}]
        """);
    agent.on("GET /identity", "[{\"id\":1,\"labels\":[\"reserved:host\"]},{\"id\":256}]");
    agent.on(
        "GET /map", "{\"maps\":[{\"name\":\"ipcache4\",\"entries\":3},{\"name\":\"metrics\"}]}");
    agent.on(
        "GET /metrics/", "[{\"name\":\"b_total\"},{\"name\":\"a_total\"},{\"name\":\"a_total\"}]");
    agent.on(
        "GET /policy",
        "{\"policy\":\"[{\\\"labels\\\":[{\\\"key\\\":\\\"k\\\",\\\"source\\\":\\\"user\\\",\\\"value\\\":\\\"v\\\"}]}]\",\"revision\":1}");
    agent.on("GET /prefilter", "{\"status\":{\"realized\":{\"deny\":[\"10.0.0.0/8\"]}}}");
    agent.on("GET /service", "[{\"spec\":{\"id\":3,\"flags\":{\"name\":\"web\"}}}]");
    agent.on("GET /healthz", "{\"ipam\":{\"allocations\":{\"10.1.0.5\":\"web\"}}}");
    agent.on("GET /config", "{\"status\":{\"realized\":{\"options\":{\"Debug\":\"Disabled\"}}}}");
    agent.on("GET /endpoint/7/config", "{\"realized\":{\"options\":{\"Conntrack\":\"Enabled\"}}}");
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  /** The line behind the program's name; a space at its end begins a new word. */
  private String candidates(String line) {
    final List<String> words = new ArrayList<>(List.of("complete", "--"));
    words.addAll(List.of(line.split(" ", -1)));
    assertEquals(AgentCtl.OK, agent.runWords(words), agent::err);
    return String.join(
        " ", agent.out().lines().map(candidate -> candidate.split("\t")[0]).toList());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "end | endpoint",
        "endpoint l | list log labels",
        "endpoint list --l | --labels",
        "endpoint list -o y | yaml",
        "endpoint list --output=j | --output=json --output=jsonpath=",
        "bpf get --bpf-root /s | :file",
        "policy import r | :file",
        "endpoint get 7 --none | ~~",
        "no such command | ~~",
      })
  void shouldOfferCommandsOptionsAndValues(String line, String expected) {
    assertEquals(expected, candidates(line));
  }

  @Test
  void shouldOfferWhatTheRunningAgentKnows() {
    assertEquals("7 71", candidates("endpoint get "));
    assertEquals("71", candidates("endpoint get 71"));
    assertEquals("7\tunspec:app=web,unspec:tier=1\n71\tunspec:app=db\n", outputOf("endpoint log "));
    assertEquals("1 256", candidates("identity get "));
    assertEquals("ipcache4", candidates("map get ip"));
    assertEquals("ipcache4\t3 entries\nmetrics\t- entries\n", outputOf("map get "));
    assertEquals("a_total b_total", candidates("metrics list "));
    assertEquals("user:k=v", candidates("policy delete "));
    assertEquals("10.0.0.0/8", candidates("prefilter delete "));
    assertEquals("10.1.0.5", candidates("ip release "));
    assertEquals("3\tweb\n", outputOf("service get "));
    assertEquals("Debug=", candidates("config set "));
    assertEquals("Conntrack=", candidates("endpoint config 7 C"));
    assertEquals(
        "unspec:app=db unspec:app=web unspec:tier=1", candidates("endpoint list --labels "));
    assertEquals(
        "a,unspec:app=db a,unspec:app=web a,unspec:tier=1", candidates("endpoint list -l a,"));
    assertEquals("--labels=unspec:tier=1", candidates("endpoint list --labels=unspec:t"));
    assertEquals("bash zsh fish", candidates("completion "));
    assertEquals("list log labels", candidates("help endpoint l"));
    assertEquals("", candidates("help none l"));
  }

  private String outputOf(String line) {
    candidates(line);
    return agent.out();
  }

  @Test
  void shouldAskTheAgentThatTheLineNames() throws IOException {
    try (CliFixture other = new CliFixture()) {
      other.on("GET /endpoint", "[{\"id\":9}]");
      for (final String host : List.of("-H ", "--host ", "--host=")) {
        assertEquals("9", candidates(host + other.address() + " endpoint get "));
      }
    }
  }

  @Test
  void shouldOfferNothingAndNotWaitWhereTheAgentIsSilent(@TempDir Path directory)
      throws IOException {
    final Path socket = directory.resolve("silent.sock");
    try (ServerSocketChannel silent = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      silent.bind(UnixDomainSocketAddress.of(socket));
      final long startNs = System.nanoTime();
      assertEquals(
          AgentCtl.OK,
          agent.runIn(
              Map.of("AGENT_HOST", socket.toString()), List.of("complete", "map", "get", "")));
      assertEquals("", agent.out() + agent.err());
      assertTrue(System.nanoTime() - startNs < TimeUnit.SECONDS.toNanos(5));
    }
    agent.runIn(Map.of("AGENT_HOST", "no path"), List.of("complete", "map", "get", ""));
    assertEquals("", agent.out() + agent.err());
  }

  /** Installs the script and a program that prints its arguments and prepared candidates. */
  private static Path prepare(Path directory, String script, String candidates) throws IOException {
    Files.writeString(directory.resolve("script"), script);
    Files.writeString(directory.resolve("candidates"), candidates);
    final Path program = directory.resolve("agentctl");
    Files.writeString(
        program,
        "#!/bin/sh\nprintf '<%s>' \"$@\" >"
            + directory.resolve("asked")
            + "\ncat "
            + directory.resolve("candidates")
            + "\n");
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    return program;
  }

  private static String shell(Path directory, String... command) throws Exception {
    final ProcessBuilder builder = new ProcessBuilder(command).directory(directory.toFile());
    builder.environment().put("HOME", directory.toString());
    builder.environment().merge("PATH", directory.toString(), (old, own) -> own + ":" + old);
    final Path errors = directory.resolve("errors");
    final Process process = builder.redirectError(errors.toFile()).start();
    process.getOutputStream().close();
    final String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), Files.readString(errors));
    assertEquals("", Files.readString(errors));
    return said;
  }

  private static String asked(Path directory) throws IOException {
    return Files.readString(directory.resolve("asked"));
  }

  private String script(String shell) {
    return agent.output(AgentCtl.OK, "completion " + shell);
  }

  private static String bash(Path directory, String line, String fragment) throws Exception {
    return shell(
        directory,
        "bash",
        "-c",
        "source ./script; COMP_LINE='%s' COMP_POINT=%d COMP_WORDS=(x '%s') COMP_CWORD=1; "
                .formatted(line, line.length(), fragment)
            + "_agentctl; printf '%s\\n' \"${COMPREPLY[@]}\"");
  }

  @Test
  void shouldCompleteInBash(@TempDir Path directory) throws Exception {
    prepare(directory, script("bash"), "endpoint\tEndpoints.\nentity\n");
    assertEquals("endpoint\nentity\n", bash(directory, "agentctl en", "en"));
    assertEquals("<complete><--><en>", asked(directory));
    assertEquals("\n", bash(directory, "agentctl endpoint list x", "x"), "candidates that differ");
    assertEquals("<complete><--><endpoint><list><x>", asked(directory));
    bash(directory, "agentctl endpoint list ", "");
    assertEquals("<complete><--><endpoint><list><>", asked(directory));
  }

  /** Bash parts words at colons and equals signs, and replaces only what is behind the last one. */
  @Test
  void shouldCompleteLabelsInBash(@TempDir Path directory) throws Exception {
    prepare(directory, script("bash"), "unspec:app=web\nunspec:app=db\n");
    assertEquals("web\n", bash(directory, "agentctl endpoint list -l unspec:app=w", "w"));
    assertEquals("web\ndb\n", bash(directory, "agentctl endpoint list -l unspec:app=", "="));
    assertEquals("app=web\napp=db\n", bash(directory, "agentctl endpoint list -l unspec:a", "a"));
    assertEquals(
        "unspec:app=web\nunspec:app=db\n", bash(directory, "agentctl endpoint list -l uns", "uns"));
  }

  @Test
  void shouldCompleteFilesInBash(@TempDir Path directory) throws Exception {
    prepare(directory, script("bash"), ":file\n");
    Files.createFile(directory.resolve("rules one.yaml"));
    assertEquals("rules one.yaml\n", bash(directory, "agentctl policy import ru", "ru"));
  }

  @Test
  void shouldCompleteInZsh(@TempDir Path directory) throws Exception {
    prepare(directory, script("zsh"), "endpoint\tEndpoints.\nunspec:app=web\n");
    final String stubs =
        "compdef() {}; _files() { print files }; "
            + "compadd() { print -rl -- ${(P)@[-1]}; print -rl -- ${(P)@[3]} }; ";
    assertEquals(
        "endpoint\nunspec:app=web\nendpoint  -- Endpoints.\nunspec:app=web\n",
        shell(
            directory,
            "zsh",
            "-f",
            "-c",
            stubs + "source ./script; words=(agentctl -o json e x) CURRENT=4; _agentctl"));
    assertEquals("<complete><--><-o><json><e>", asked(directory));
    Files.writeString(directory.resolve("candidates"), ":file\n");
    assertEquals(
        "files\n",
        shell(
            directory,
            "zsh",
            "-f",
            "-c",
            stubs + "source ./script; words=(agentctl policy import '') CURRENT=4; _agentctl"));
    assertEquals("<complete><--><policy><import><>", asked(directory));
  }

  @Test
  void shouldCompleteInFish(@TempDir Path directory) throws Exception {
    prepare(directory, script("fish"), "endpoint\tEndpoints.\nentity\n");
    final String said =
        shell(
            directory,
            "fish",
            "--no-config",
            "-c",
            "source script; complete -C 'agentctl -o json e'");
    assertEquals("endpoint\tEndpoints.\nentity\n", said);
    assertEquals("<complete><--><-o><json><e>", asked(directory));
    assertFalse(said.contains("candidates"), "files are not offered");
    Files.writeString(directory.resolve("candidates"), ":file\n");
    Files.createFile(directory.resolve("rules.yaml"));
    assertEquals(
        "rules.yaml\n",
        shell(
            directory,
            "fish",
            "--no-config",
            "-c",
            "source script; complete -C 'agentctl policy import ru'"));
  }
}
