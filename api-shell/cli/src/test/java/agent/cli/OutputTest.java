package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.CannedHttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The whole output of commands, line by line. */
@Timeout(60)
class OutputTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();
  private final Map<String, String> answers = new HashMap<>();
  private CannedHttpServer agent;

  @BeforeEach
  void start() throws IOException {
    agent =
        CannedHttpServer.start(
            request ->
                answers.getOrDefault(
                    request.substring(0, request.indexOf(" HTTP/1.1")),
                    CannedHttpServer.answer(404, "\"path: unexpected\"")));
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private void on(String requestLine, int status, String body) {
    answers.put(requestLine, CannedHttpServer.answer(status, body));
  }

  private String output(int exitCode, String line) {
    out.reset();
    err.reset();
    final String[] arguments = (line + " -H unix://" + agent.socket()).split(" ");
    try (PrintStream stdout = new PrintStream(out, false, StandardCharsets.UTF_8);
        PrintStream stderr = new PrintStream(err, true, StandardCharsets.UTF_8)) {
      assertEquals(exitCode, new AgentCtl(stdout, stderr, Map.of()).run(arguments), err::toString);
    }
    return out.toString(StandardCharsets.UTF_8);
  }

  @Test
  void shouldShowEveryPartOfTheStatus() {
    on(
        "GET /healthz",
        200,
        """
        {"agent":{"state":"Warning","msg":"slow"},"kvstore":{"state":"Disabled"},
         "container-runtime":{"state":"Ok","msg":"docker"},"cni-file":{"state":"Failure"},
         "orch":{"state":"Disabled","msg":"none"},"flowobs":{"state":"Ok","msg":"on"},
         "auth-certificate-provider":{"state":"Disabled"},"attach-mode":"tcx",
         "host-routing":{"mode":"BPF"},"clock-source":{"mode":"ktime"},
         "routing":{"inter-host-routing-mode":"Linux","intra-host-routing-mode":"BPF",
                    "tunnel-protocol":"disabled"},
         "masquerading":{"enabled":false},"bpf-maps":{"maps":[{"name":"a"},{"name":"b"}]},
         "identity-range":{"min-identity":256},"ipam":{"mode":"embedded"},
         "cluster":{"name":"blue"}}
        """);
    on(
        "GET /health",
        200,
        "{\"modules\":[{\"module-id\":\"dp-maps\",\"level\":\"OK\",\"last-ok\":\"t\","
            + "\"message\":\"fine\"}]}");
    assertEquals(
        """
        COMPONENT                  STATE     MESSAGE
        agent                      Warning   slow
        kvstore                    Disabled  -
        container-runtime          Ok        docker
        cni-file                   Failure   -
        orch                       Disabled  none
        flowobs                    Ok        on
        auth-certificate-provider  Disabled  -

        DATAPATH            VALUE
        attach-mode         tcx
        host-routing        BPF
        inter-host-routing  Linux
        intra-host-routing  BPF
        tunnel-protocol     disabled
        masquerading        false
        clock-source        ktime
        bpf-maps            2
        identity-range      {"min-identity":256}
        ipam                {"mode":"embedded"}
        cluster             {"name":"blue"}

        MODULE   LEVEL  LAST-OK  MESSAGE
        dp-maps  OK     t        fine
        """,
        output(AgentCtl.OK, "status"));
    assertEquals(8, output(AgentCtl.OK, "status --brief").lines().count());
  }

  @Test
  void shouldShowTheStatusWhereTheModulesAreNotServed() {
    on("GET /healthz", 200, "{\"agent\":{\"state\":\"Warning\",\"msg\":\"starts\"}}");
    on("GET /health", 503, "\"the agent is starting\"");
    assertEquals(
        """
        COMPONENT  STATE    MESSAGE
        agent      Warning  starts

        DATAPATH  VALUE

        Modules: the agent is starting
        """,
        output(AgentCtl.OK, "status"));
  }

  @Test
  void shouldShowTheLabelsOfAnEndpointBySet() {
    on(
        "GET /endpoint/7/labels",
        200,
        """
        {"spec":{"user":["u"]},
         "status":{"security-relevant":["s"],"derived":["d"],"disabled":["x","y"]}}
        """);
    final String expected =
        """
        SET                LABEL
        user               u
        security-relevant  s
        derived            d
        disabled           x
        disabled           y
        """;
    assertEquals(expected, output(AgentCtl.OK, "endpoint labels 7"));
    on("GET /endpoint/8/labels", 200, "{}");
    assertEquals("SET  LABEL\n", output(AgentCtl.OK, "endpoint labels 8"));
  }

  @Test
  void shouldSetNoLabelWhereTheListIsEmpty() {
    on("PATCH /endpoint/7/labels", 200, "{\"spec\":{\"user\":[]}}");
    on("GET /endpoint/7/labels", 200, "{\"spec\":{\"user\":[]}}");
    assertEquals("SET  LABEL\n", output(AgentCtl.OK, "endpoint labels 7 --set ,a,"));
    assertTrue(agent.requests().getLast().endsWith("{\"user\":[\"a\"]}"));
    final String json = output(AgentCtl.OK, "-o json endpoint labels 7 --set b");
    assertEquals("{\"spec\":{\"user\":[]}}", json.replaceAll("\\s", ""));
    assertTrue(
        agent.requests().get(agent.requests().size() - 2).endsWith("{\"user\":[\"b\"]}"),
        "it is set before it is shown");
  }

  @Test
  void shouldWarnOfTheLastBuildOfAnEndpoint() {
    on(
        "GET /endpoint/7/config",
        200,
        "{\"realized\":{\"options\":{\"B\":\"1\",\"A\":\"2\"}},\"error\":\"no clang\"}");
    assertEquals("OPTION  VALUE\nA       2\nB       1\n", output(AgentCtl.OK, "endpoint config 7"));
    assertEquals("Warning: no clang\n", err.toString(StandardCharsets.UTF_8));
    output(AgentCtl.USAGE_ERROR, "endpoint config 7 =Enabled");
    assertTrue(err.toString(StandardCharsets.UTF_8).contains("'=Enabled' is not OPTION=VALUE"));
  }

  @Test
  void shouldShowAllocatedAddressesOfBothFamilies() {
    final String both =
        """
        {"ipv4":{"ip":"10.1.0.5","gateway":"10.1.0.1","cidrs":["10.1.0.0/24"],
                 "expiration-uuid":"t4"},
         "ipv6":{"ip":"fd00::5","gateway":"fd00::1","cidrs":["fd00::/96"],
                 "expiration-uuid":"t6"}}
        """;
    on("POST /ipam", 201, both);
    on("POST /ipam?pool=p", 201, both);
    assertEquals(
        """
        ADDRESS   GATEWAY   CIDRS        EXPIRATION-UUID
        10.1.0.5  10.1.0.1  10.1.0.0/24  t4
        fd00::5   fd00::1   fd00::/96    t6
        """,
        output(AgentCtl.OK, "ip allocate --expire"));
    assertTrue(agent.requests().getLast().toLowerCase(Locale.ROOT).contains("expiration: true"));
    final String json = output(AgentCtl.OK, "ip allocate --expire -o json");
    assertTrue(json.contains("\"t6\""), json);
    assertTrue(output(AgentCtl.OK, "ip allocate --pool p -o json").contains("\"t4\""));
    output(AgentCtl.USAGE_ERROR, "ip allocate 10.1.0.9 --family ipv4");
  }

  @Test
  void shouldEndWithOneAndTheReasonOfTheAgentForEveryKindOfCommand() {
    for (final String line :
        new String[] {
          "status",
          "endpoint list",
          "endpoint get 7",
          "endpoint get 7 -o json",
          "endpoint labels 7",
          "identity list",
          "identity get 7",
          "policy get",
          "policy delete --all",
          "prefilter list",
          "prefilter delete 10.0.0.0/8",
          "ip allocate",
          "ip allocate 10.0.0.1",
          "ip release 10.0.0.1",
          "map list",
          "map get x",
          "metrics list"
        }) {
      assertEquals("", output(AgentCtl.AGENT_ERROR, line), line);
      assertEquals("Error: path: unexpected\n", err.toString(StandardCharsets.UTF_8), line);
    }
  }
}
