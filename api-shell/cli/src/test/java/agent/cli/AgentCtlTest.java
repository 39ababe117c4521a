package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class AgentCtlTest {
  private CliFixture agent;

  @BeforeEach
  void start() throws IOException {
    agent = new CliFixture();
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private AgentCtlTest on(String requestLine, String body) {
    return on(requestLine, 200, body);
  }

  private AgentCtlTest on(String requestLine, int status, String body) {
    agent.on(requestLine, status, body);
    return this;
  }

  private int run(String... arguments) {
    return agent.runWords(List.of(arguments));
  }

  private int runWith(Map<String, String> environment, String... arguments) {
    return agent.runIn(environment, List.of(arguments));
  }

  private String out() {
    return agent.out();
  }

  private String err() {
    return agent.err();
  }

  @Test
  void shouldAlignTheColumnsOfEndpoints() {
    on(
        "GET /endpoint",
        """
        [{"id":7,"status":{"state":"ready","health":{"overallHealth":"OK"},
          "identity":{"id":256,"labels":["unspec:app=web"]},
          "policy":{"realized":{"policy-enabled":"ingress"}},
          "external-identifiers":{"pod-name":"shop/web","container-name":"c","container-id":"x"},
          "log":[{"timestamp":"2026-11-19T06:00:00.000Z"},{"timestamp":"2026-11-20T06:00:30.000Z"}],
          "networking":{"addressing":[{"ipv4":"10.1.0.7","ipv6":"fd00::7"}]}}},
         {"id":12345,"status":{"state":"waiting-to-regenerate",
          "external-identifiers":{"container-name":"db-1","container-id":"x"}}},
         {"id":9,"status":{"state":"restoring","log":[{"timestamp":"2026-11-20T06:03:30.000Z"}],
          "external-identifiers":{"container-id":"0123456"}}}]
        """);
    assertEquals(AgentCtl.OK, run("endpoint", "list"), this::err);
    assertEquals(
        """
        ID     NAME      STATE                  HEALTH  POLICY   IDENTITY  IPV4      IPV6     AGE  LABELS
        7      shop/web  ready                  OK      ingress  256       10.1.0.7  fd00::7  4m   unspec:app=web
        12345  db-1      waiting-to-regenerate  -       -        -         -         -        -    -
        9      0123456   restoring              -       -        -         -         -        90s  -
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
    final String address = agent.address();
    assertEquals(AgentCtl.OK, runWith(Map.of("AGENT_HOST", address), "map", "list"), this::err);
    assertEquals(
        AgentCtl.OK,
        runWith(Map.of("AGENT_HOST", "unix:///nowhere"), "--host", address, "map", "list"));
    assertEquals(AgentCtl.FAILURE, runWith(Map.of("AGENT_HOST", "/nowhere"), "map", "list"));
    assertTrue(err().startsWith("Error: cannot reach the agent on /nowhere: "), err());
    assertEquals(AgentCtl.USAGE_ERROR, runWith(Map.of(), "-H", "http://x", "map", "list"));
  }

  @Test
  void shouldEndWithOneWhereTheAgentRefuses() {
    on("DELETE /endpoint/9", 404, "\"id: endpoint 9 does not exist\"");
    assertEquals(AgentCtl.FAILURE, run("endpoint", "delete", "9"));
    assertEquals("Error: id: endpoint 9 does not exist\n", err());
    assertEquals("", out());
    assertEquals(AgentCtl.FAILURE, run("-o", "json", "endpoint", "delete", "9"));
    assertEquals("Error: id: endpoint 9 does not exist\n", err());
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
          "map list -o yml",
          "policy delete",
          "policy delete --all label",
          "policy import /no/such/file",
          "prefilter update",
          "prefilter update --revision x 10.0.0.0/8",
          "ip allocate 10.0.0.1 --expire",
          "endpoint config 7 Debug",
          "completion csh"
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
    assertEquals("TIME  AGE  CODE  STATE  MESSAGE\nt     t    OK    ready  attached\n", out());
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
    assertEquals("[\n  {\n    \"endpointSelector\": {}\n  }\n]\n", out());
    assertEquals("Revision: 8\n", err());
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
    assertEquals("{\"address\":{\"ipv4\":\"10.1.0.9\"}}", out().replaceAll("\\s", ""));
    assertEquals(AgentCtl.OK, run("ip", "release", "10.1.0.9", "-o", "json"), this::err);
    assertEquals("{\"address\":{\"ipv4\":\"10.1.0.9\"}}", out().replaceAll("\\s", ""));
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
}
