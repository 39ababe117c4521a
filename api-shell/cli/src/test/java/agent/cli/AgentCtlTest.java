package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.CannedHttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class AgentCtlTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();
  private final Map<String, String> answers = new HashMap<>();
  private CannedHttpServer agent;

  @BeforeEach
  void start() throws IOException {
    agent = CannedHttpServer.start(this::answer);
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private String answer(String request) {
    final String line = request.substring(0, request.indexOf(" HTTP/1.1"));
    final String answer = answers.get(line);
    return answer != null
        ? answer
        : CannedHttpServer.answer(404, "\"path: unexpected " + line + "\"");
  }

  private AgentCtlTest on(String requestLine, String body) {
    return on(requestLine, 200, body);
  }

  private AgentCtlTest on(String requestLine, int status, String body) {
    answers.put(requestLine, CannedHttpServer.answer(status, body));
    return this;
  }

  private int run(String... arguments) {
    return runWith(
        Map.of(),
        Stream.concat(Arrays.stream(arguments), Stream.of("-H", "unix://" + agent.socket()))
            .toArray(String[]::new));
  }

  private int runWith(Map<String, String> environment, String... arguments) {
    out.reset();
    err.reset();
    try (PrintStream stdout = new PrintStream(out, false, StandardCharsets.UTF_8);
        PrintStream stderr = new PrintStream(err, true, StandardCharsets.UTF_8)) {
      return new AgentCtl(stdout, stderr, environment).run(arguments);
    }
  }

  private String out() {
    return out.toString(StandardCharsets.UTF_8);
  }

  private String err() {
    return err.toString(StandardCharsets.UTF_8);
  }

  @Test
  void shouldAlignTheColumnsOfEndpoints() {
    on(
        "GET /endpoint",
        """
        [{"id":7,"status":{"state":"ready","health":{"overallHealth":"OK"},
          "identity":{"id":256,"labels":["unspec:app=web"]},
          "policy":{"realized":{"policy-enabled":"ingress"}},
          "networking":{"addressing":[{"ipv4":"10.1.0.7","ipv6":"fd00::7"}]}}},
         {"id":12345,"status":{"state":"waiting-to-regenerate"}}]
        """);
    assertEquals(AgentCtl.OK, run("endpoint", "list"), this::err);
    assertEquals(
        """
        ID     STATE                  HEALTH  POLICY   IDENTITY  IPV4      IPV6     LABELS
        7      ready                  OK      ingress  256       10.1.0.7  fd00::7  unspec:app=web
        12345  waiting-to-regenerate  -       -        -         -         -        -
        """,
        out());
  }

  @Test
  void shouldPrintTheAnswerAsItIsWhereJsonIsAskedFor() {
    on("GET /endpoint?labels=app%3Dweb&labels=tier%3D1", "[{\"id\":7,\"later\":[1.50,null]}]");
    assertEquals(
        AgentCtl.OK, run("-o", "json", "endpoint", "list", "-l", "app=web,tier=1"), this::err);
    assertEquals(
        "[{\"id\":7,\"later\":[1.50,null]}]", out().replaceAll("\\s", ""), "values are not kept");
    assertTrue(out().lines().count() > 1, "it is not indented");
  }

  @Test
  void shouldTakeTheAddressFromTheEnvironmentUnlessTheOptionNamesOne() {
    on("GET /map", "{\"maps\":[]}");
    final String address = "unix://" + agent.socket();
    assertEquals(AgentCtl.OK, runWith(Map.of("AGENT_HOST", address), "map", "list"), this::err);
    assertEquals(
        AgentCtl.OK,
        runWith(Map.of("AGENT_HOST", "unix:///nowhere"), "--host", address, "map", "list"));
    assertEquals(AgentCtl.AGENT_ERROR, runWith(Map.of("AGENT_HOST", "/nowhere"), "map", "list"));
    assertTrue(err().startsWith("Error: cannot reach the agent on /nowhere: "), err());
    assertEquals(AgentCtl.USAGE_ERROR, runWith(Map.of(), "-H", "http://x", "map", "list"));
  }

  @Test
  void shouldEndWithOneWhereTheAgentRefuses() {
    on("DELETE /endpoint/9", 404, "\"id: there is no endpoint 9\"");
    assertEquals(AgentCtl.AGENT_ERROR, run("endpoint", "delete", "9"));
    assertEquals("Error: id: there is no endpoint 9\n", err());
    assertEquals("", out());
    assertEquals(AgentCtl.AGENT_ERROR, run("-o", "json", "endpoint", "delete", "9"));
    assertEquals("Error: id: there is no endpoint 9\n", err());
  }

  @Test
  void shouldEndWithTwoWhereTheUsageIsWrong() {
    for (final String line :
        new String[] {
          "",
          "endpoint",
          "endpoint get",
          "endpoint get 1 2",
          "endpoint list --no-such-option",
          "no-such-command",
          "map list -o yaml",
          "policy delete",
          "policy delete --all label",
          "policy import /no/such/file",
          "prefilter update",
          "prefilter update --revision x 10.0.0.0/8",
          "ip allocate 10.0.0.1 --expire",
          "endpoint config 7 Debug",
          "completion fish"
        }) {
      final String[] arguments = line.isEmpty() ? new String[0] : line.split(" ");
      assertEquals(AgentCtl.USAGE_ERROR, run(arguments), line);
      assertFalse(err().isEmpty(), line);
      assertEquals("", out(), line);
    }
    assertEquals(0, agent.requests().size(), "a wrong command has reached the agent");
  }

  @Test
  void shouldShowHelpForEveryCommand() {
    assertEquals(AgentCtl.OK, runWith(Map.of(), "--help"));
    assertTrue(out().contains("endpoint"), out());
    assertEquals(AgentCtl.OK, runWith(Map.of(), "prefilter", "update", "--help"));
    assertTrue(out().contains("--revision"), out());
    assertTrue(out().contains("--host"), out());
    assertEquals(AgentCtl.OK, runWith(Map.of(), "--version"));
    assertTrue(out().startsWith("agentctl "), out());
  }

  @Test
  void shouldShowAnEndpointItsLogHealthLabelsAndOptions() {
    on("GET /endpoint/7", "{\"id\":7,\"status\":{\"state\":\"ready\"}}");
    on(
        "GET /endpoint/7/log",
        "[{\"code\":\"OK\",\"message\":\"attached\",\"state\":\"ready\",\"timestamp\":\"t\"}]");
    on("GET /endpoint/7/healthz", "{\"bpf\":\"OK\",\"overallHealth\":\"OK\",\"connected\":true}");
    on(
        "GET /endpoint/7/labels",
        "{\"spec\":{\"user\":[\"a\"]},\"status\":{\"security-relevant\":[\"b\"]}}");
    on("GET /endpoint/7/config", "{\"realized\":{\"options\":{\"Debug\":\"Disabled\"}}}");
    on("PATCH /endpoint/7/config", "{}");
    on("PATCH /endpoint/7/labels", "{\"spec\":{\"user\":[\"x=1\"]}}");
    assertEquals(AgentCtl.OK, run("endpoint", "get", "7"), this::err);
    assertTrue(out().contains("state  ready\n"), out());
    assertEquals(AgentCtl.OK, run("endpoint", "log", "7"), this::err);
    assertEquals("TIME  CODE  STATE  MESSAGE\nt     OK    ready  attached\n", out());
    assertEquals(AgentCtl.OK, run("endpoint", "health", "7"), this::err);
    assertEquals("OVERALL  BPF  POLICY  CONNECTED\nOK       OK   -       true\n", out());
    assertEquals(AgentCtl.OK, run("endpoint", "labels", "7"), this::err);
    assertTrue(out().contains("security-relevant  b\n"), out());
    assertEquals(AgentCtl.OK, run("endpoint", "labels", "7", "--set", "x=1,y"), this::err);
    assertTrue(agent.requests().getLast().endsWith("{\"user\":[\"x=1\",\"y\"]}"));
    assertEquals(AgentCtl.OK, run("endpoint", "config", "7", "Debug=Enabled"), this::err);
    assertTrue(
        agent.requests().stream()
            .anyMatch(request -> request.endsWith("{\"options\":{\"Debug\":\"Enabled\"}}")));
    assertEquals("OPTION  VALUE\nDebug   Disabled\n", out());
  }

  @Test
  void shouldWarnOfErrorsThatADeletionMet() {
    on("DELETE /endpoint/7", 202, "[\"link: already gone\"]");
    assertEquals(AgentCtl.OK, run("endpoint", "delete", "7"));
    assertEquals("endpoint 7 deleted\n", out());
    assertEquals("Warning: link: already gone\n", err());
  }

  @Test
  void shouldImportAndDeletePolicy(@TempDir Path directory) throws IOException {
    final Path file = Files.writeString(directory.resolve("rules.json"), "[{\"é\":1}]");
    on("PUT /policy", "{\"policy\":\"[]\",\"revision\":8}");
    on("DELETE /policy?labels=a%3Db", "{\"policy\":\"[]\",\"revision\":9}");
    on("DELETE /policy", "{\"policy\":\"[]\",\"revision\":10}");
    on("GET /policy", "{\"policy\":\"[{\\\"endpointSelector\\\":{}}]\",\"revision\":8}");
    assertEquals(AgentCtl.OK, run("policy", "import", file.toString()), this::err);
    assertEquals("Revision: 8\n", out());
    assertTrue(agent.requests().getLast().endsWith("\r\n\r\n[{\"é\":1}]"));
    assertEquals(AgentCtl.OK, run("policy", "delete", "a=b"), this::err);
    assertEquals("Revision: 9\n", out());
    assertEquals(AgentCtl.OK, run("policy", "delete", "--all"), this::err);
    assertEquals(AgentCtl.OK, run("policy", "get"), this::err);
    assertTrue(out().contains("\"endpointSelector\" : { }"), out());
    assertTrue(out().endsWith("Revision: 8\n"), out());
  }

  @Test
  void shouldChangeThePrefilter(@TempDir Path directory) throws IOException {
    final Path file = Files.writeString(directory.resolve("list"), "# bad ones\n\n fd00::/8 \n");
    final String list = "{\"status\":{\"realized\":{\"deny\":[\"10.0.0.0/8\"],\"revision\":3}}}";
    on("PATCH /prefilter", list).on("DELETE /prefilter", list).on("GET /prefilter", list);
    assertEquals(
        AgentCtl.OK,
        run("prefilter", "update", "10.0.0.0/8", "--file", file.toString(), "--revision", "2"),
        this::err);
    assertEquals("Revision: 3, 1 prefixes\n", out());
    assertTrue(
        agent
            .requests()
            .getLast()
            .endsWith("{\"deny\":[\"10.0.0.0/8\",\"fd00::/8\"],\"revision\":2}"));
    assertEquals(AgentCtl.OK, run("prefilter", "delete", "10.0.0.0/8"), this::err);
    assertTrue(agent.requests().getLast().endsWith("{\"deny\":[\"10.0.0.0/8\"]}"));
    assertEquals(AgentCtl.OK, run("prefilter", "list"), this::err);
    assertEquals("Revision: 3\n10.0.0.0/8\n", out());
  }

  @Test
  void shouldShowMapsIdentitiesAddressesAndMetrics() {
    on(
        "GET /map",
        "{\"maps\":[{\"name\":\"m\",\"type\":\"hash\",\"entries\":1,\"pressure\":0.125}]}");
    on(
        "GET /map/m",
        "{\"name\":\"m\",\"cache\":[{\"key\":\"k\",\"value\":\"v\",\"desired-action\":\"ok\"}]}");
    on("GET /identity", "[{\"id\":1,\"labels\":[\"reserved:host\"]}]");
    on("GET /identity/endpoints", "[{\"identity\":{\"id\":256},\"refCount\":2}]");
    on("GET /identity/1", "{\"id\":1,\"labels\":[\"reserved:host\"]}");
    on("POST /ipam?family=ipv4&owner=me", 201, "{\"ipv4\":{\"ip\":\"10.1.0.5\"}}");
    on("POST /ipam/10.1.0.9", "");
    on("DELETE /ipam/10.1.0.9", "");
    on("GET /metrics/", "[{\"name\":\"a_total\",\"value\":3.0,\"labels\":{\"x\":\"y\"}}]");
    assertEquals(AgentCtl.OK, run("map", "list"), this::err);
    assertTrue(out().contains("12.5%"), out());
    assertEquals(AgentCtl.OK, run("map", "get", "m"), this::err);
    assertEquals("KEY  VALUE  STATE  ERROR\nk    v      ok     -\n", out());
    assertEquals(AgentCtl.OK, run("identity", "list"), this::err);
    assertEquals("ID  LABELS\n1   reserved:host\n", out());
    assertEquals(AgentCtl.OK, run("identity", "list", "--endpoints"), this::err);
    assertEquals("ID   ENDPOINTS  LABELS\n256  2          -\n", out());
    assertEquals(AgentCtl.OK, run("identity", "get", "1"), this::err);
    assertEquals(
        AgentCtl.OK, run("ip", "allocate", "--family", "ipv4", "--owner", "me"), this::err);
    assertTrue(out().contains("10.1.0.5"), out());
    assertEquals(AgentCtl.OK, run("ip", "allocate", "10.1.0.9"), this::err);
    assertEquals("10.1.0.9 allocated\n", out());
    assertEquals(AgentCtl.OK, run("ip", "allocate", "10.1.0.9", "-o", "json"), this::err);
    assertTrue(out().endsWith("{\"address\":{\"ipv4\":\"10.1.0.9\"}}\n"), this::out);
    assertEquals(AgentCtl.OK, run("ip", "release", "10.1.0.9", "-o", "json"), this::err);
    assertTrue(out().endsWith("{\"address\":{\"ipv4\":\"10.1.0.9\"}}\n"), this::out);
    assertEquals(AgentCtl.OK, run("ip", "release", "10.1.0.9"), this::err);
    assertEquals(AgentCtl.OK, run("metrics", "list", "a_"), this::err);
    assertEquals("METRIC   VALUE  LABELS\na_total  3      x=y\n", out());
  }

  @Test
  void shouldLetNoControlCharacterReachTheTerminal() {
    on("GET /identity", "[{\"id\":1,\"labels\":[\"a\\u001b[31mb\\nc\"]}]");
    assertEquals(AgentCtl.OK, run("identity", "list"), this::err);
    assertEquals("ID  LABELS\n1   a?[31mb?c\n", out());
  }

  @Test
  void shouldShowTheStatus() {
    on(
        "GET /healthz",
        "{\"agent\":{\"state\":\"Ok\",\"msg\":\"runs\"},\"kvstore\":{\"state\":\"Disabled\"},"
            + "\"attach-mode\":\"tcx\"}");
    on("GET /health", "{\"modules\":[{\"module-id\":\"conductor\",\"level\":\"OK\"}]}");
    assertEquals(AgentCtl.OK, run("status"), this::err);
    assertTrue(out().contains("agent      Ok        runs\n"), out());
    assertTrue(out().contains("attach-mode  tcx\n"), out());
    assertTrue(out().contains("conductor  OK"), out());
  }

  @Test
  void shouldPrintCompletionsThatBashAccepts(@TempDir Path directory) throws Exception {
    assertEquals(AgentCtl.OK, run("completion", "bash"), this::err);
    final Path script = Files.writeString(directory.resolve("agentctl"), out());
    final Process bash =
        new ProcessBuilder(
                "bash",
                "-c",
                "source "
                    + script
                    + " && COMP_WORDS=(agentctl end) COMP_CWORD=1 && _complete_agentctl"
                    + " && echo ${COMPREPLY[@]}")
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    final String said = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, bash.waitFor(), said);
    assertEquals("endpoint\n", said);
  }
}
