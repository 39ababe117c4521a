package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The whole output of commands, line by line. */
@Timeout(60)
class OutputTest {
  private CliFixture agent;

  @BeforeEach
  void start() throws IOException {
    agent = new CliFixture();
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private void on(String requestLine, int status, String body) {
    agent.on(requestLine, status, body);
  }

  private String output(int exitCode, String line) {
    return agent.output(exitCode, line);
  }

  @Test
  void shouldShowEveryPartOfTheStatus() {
    on(
        "GET /healthz",
        200,
        """
        {"agent":{"state":"Warning","msg":"slow"},"kvstore":{"state":"Disabled"},
         "container-runtime":{"state":"Ok","msg":"docker"},"cni-file":{"state":"Failure"},
         "orch":{"state":"Disabled","msg":"none"},"flowobs":{"state":"Ok","msg":"on",
          "observer":{"current-flows":4,"max-flows":8,"seen-flows":9,"uptime":"1h2m3s"}},
         "auth-certificate-provider":{"state":"Disabled"},"attach-mode":"tcx",
         "agent-version":"1.2.3","kernel":{"release":"6.1.0","missing":["tcx (Linux 6.6)"]},
         "host-routing":{"mode":"Legacy","reason":"nftables"},"clock-source":{"mode":"ktime"},
         "routing":{"inter-host-routing-mode":"Linux","intra-host-routing-mode":"BPF",
          "tunnel-protocol":"disabled"},"masquerading":{"enabled":false},"bpf-maps":{"maps":[1,2]},
         "identity-range":{"min-identity":256,"max-identity":65535},
         "ipam":{"status":"2 of 254 free","allocations":{"10.0.0.1":"a"}},
         "cluster":{"name":"blue"}}
        """);
    on(
        "GET /health",
        200,
        "{\"modules\":[{\"module-id\":\"dp-maps\",\"level\":\"OK\","
            + "\"last-ok\":\"2026-11-20T04:05:00.000Z\",\"message\":\"fine\"}]}");
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
        agent-version       1.2.3
        kernel              6.1.0
        kernel-without      tcx (Linux 6.6)
        attach-mode         tcx
        host-routing        Legacy (nftables)
        inter-host-routing  Linux
        intra-host-routing  BPF
        tunnel-protocol     disabled
        masquerading        false
        clock-source        ktime
        bpf-maps            2
        identity-range      256-65535
        ipam                2 of 254 free, 1 address in use
        flow-observer       4 of 8 events, 9 seen in 1h2m3s
        cluster             {"name":"blue"}

        MODULE   LEVEL  LAST-OK  MESSAGE
        dp-maps  OK     2h       fine
        """,
        output(AgentCtl.OK, "status"));
    assertEquals(8, output(AgentCtl.OK, "status --brief").lines().count());
    assertTrue(agent.requests().getLast().contains("brief: true\r\n"));
    output(AgentCtl.OK, "status --brief -o json");
    assertTrue(agent.requests().getLast().contains("brief: true\r\n"), "documents are brief, too");
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
    assertEquals("Warning: no clang\n", agent.err());
    output(AgentCtl.USAGE_ERROR, "endpoint config 7 =Enabled");
    assertTrue(agent.err().contains("'=Enabled' is not OPTION=VALUE"));
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
      assertEquals("", output(AgentCtl.FAILURE, line), line);
      assertTrue(agent.err().startsWith("Error: path: unexpected "), agent.err());
    }
  }

  /** Fields that this version does not know are printed, too, and so are the digits of a number. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "status | GET /healthz",
        "endpoint list | GET /endpoint",
        "endpoint get 7 | GET /endpoint/7",
        "endpoint delete 7 | DELETE /endpoint/7",
        "endpoint log 7 | GET /endpoint/7/log",
        "endpoint health 7 | GET /endpoint/7/healthz",
        "endpoint labels 7 | GET /endpoint/7/labels",
        "endpoint config 7 | GET /endpoint/7/config",
        "identity list | GET /identity",
        "identity list -l a,b | GET /identity?labels=a&labels=b",
        "identity list --endpoints | GET /identity/endpoints",
        "identity get 1 | GET /identity/1",
        "ip allocate | POST /ipam",
        "ip allocate --family ipv6 --owner me --pool p | POST /ipam?family=ipv6&owner=me&pool=p",
        "policy delete --all | DELETE /policy",
        "policy delete a | DELETE /policy?labels=a",
        "prefilter list | GET /prefilter",
        "prefilter delete 10.0.0.0/8 | DELETE /prefilter",
        "prefilter update 10.0.0.0/8 | PATCH /prefilter",
        "health | GET /health",
        "config get | GET /config",
        "debuginfo | GET /debuginfo",
        "policy selectors | GET /policy/selectors",
        "map list | GET /map",
        "map get m | GET /map/m",
        "metrics list | GET /metrics/"
      })
  void shouldPrintTheAnswerAsItIs(String command, String requestLine) {
    on(requestLine, 200, "{\"later\":[1.50,{}]}");
    assertEquals(
        "{\n  \"later\": [\n    1.50,\n    {}\n  ]\n}\n",
        output(AgentCtl.OK, command + " -o json"));
    assertEquals(1, agent.requests().size());
  }

  @Test
  void shouldPrintTheAnswerOfAChangeAsItIs(@TempDir Path directory) throws IOException {
    final Path rules = Files.writeString(directory.resolve("rules"), "[{}]");
    on("PUT /policy", 200, "{\"later\":1}");
    final String expected = "{\n  \"later\": 1\n}\n";
    assertEquals(expected, output(AgentCtl.OK, "policy import " + rules + " -o json"));
    assertTrue(agent.requests().getLast().endsWith("\r\n\r\n[{}]"));
    on("PATCH /endpoint/7/config", 200, "{}");
    on("GET /endpoint/7/config", 200, "{\"later\":1}");
    assertEquals(expected, output(AgentCtl.OK, "endpoint config 7 Debug=Enabled -o json"));
    on("PATCH /config", 200, "{}");
    on("GET /config", 200, "{\"later\":1}");
    assertEquals(expected, output(AgentCtl.OK, "config set Debug=Enabled -o json"));
  }

  @Test
  void shouldShowEveryPartOfAnEndpoint() {
    on(
        "GET /endpoint/7",
        200,
        """
        {"id":7,"status":{"state":"ready","health":{"overallHealth":"OK"},
         "identity":{"id":256,"labels":["a","b"]},
         "networking":{"addressing":[{"ipv4":"10.1.0.7","ipv6":"fd00::7"}],"interface-name":"lxc7",
                       "interface-index":12,"mac":"m","host-mac":"h"},
         "policy":{"realized":{"policy-enabled":"both","policy-revision":3,
                   "allowed-ingress-any":true,"allowed-ingress-identities":[1],
                   "allowed-egress-any":false,"allowed-egress-identities":[2,3],
                   "denied-ingress-identities":[4],
                   "denied-egress-any":true,"denied-egress-identities":[]},
          "proxy-policy-revision":2,"proxy-statistics":[
           {"allocated-proxy-port":10001,"location":"ingress","port":80,"protocol":"http",
            "statistics":{"requests":{"denied":1,"error":2,"forwarded":3,"received":6},
                          "responses":{"denied":0,"error":4,"forwarded":5,"received":7}}}]},
         "realized":{"options":{"Debug":"Disabled","Conntrack":"Enabled"}}}}
        """);
    assertEquals(
        """
        FIELD             VALUE
        id                7
        name              -
        state             ready
        health            OK
        identity          256
        labels            a,b
        ipv4              10.1.0.7
        ipv6              fd00::7
        interface-name    lxc7
        interface-index   12
        mac               m
        host-mac          h
        policy            both
        policy-revision   3
        allowed-ingress   any,1
        allowed-egress    2,3
        denied-ingress    4
        denied-egress     any
        proxy-revision    2
        ingress http 80   requests 6 received 3 forwarded 1 denied 2 error, responses 7 received 5 \
        forwarded 0 denied 4 error
        option Conntrack  Enabled
        option Debug      Disabled
        """,
        output(AgentCtl.OK, "endpoint get 7"));
  }

  @Test
  void shouldShowAnEndpointOfWhichLittleIsKnown() {
    on(
        "GET /endpoint/8",
        200,
        "{\"id\":8,\"status\":{\"state\":\"ready\",\"policy\":{},\"realized\":{},\"networking\":{}}}");
    assertEquals(
        List.of("FIELD", "id", "name", "state", "ipv4", "ipv6"),
        output(AgentCtl.OK, "endpoint get 8").lines().map(line -> line.split(" ")[0]).toList());
    on(
        "GET /endpoint",
        200,
        "[{\"id\":9,\"status\":{\"state\":\"ready\",\"policy\":{},\"networking\":{\"addressing\":[]}}}]");
    assertTrue(
        output(AgentCtl.OK, "endpoint list")
            .endsWith("\n9   -     ready  -       -       -         -     -     -    -\n"));
  }

  @Test
  void shouldShowOneIdentityAndMetricsByTheirNames() {
    on("GET /identity/1", 200, "{\"id\":1,\"labels\":[\"reserved:host\"]}");
    assertEquals("ID  LABELS\n1   reserved:host\n", output(AgentCtl.OK, "identity get 1"));
    on(
        "GET /metrics/",
        200,
        "[{\"name\":\"a_total\",\"value\":3.0},{\"name\":\"b\",\"value\":0.5,\"labels\":{\"y\":\"2\",\"x\":\"1\"}}]");
    assertEquals(
        "METRIC   VALUE  LABELS\na_total  3      -\n", output(AgentCtl.OK, "metrics list a_"));
    assertEquals(
        "METRIC   VALUE  LABELS\na_total  3      -\nb        0.5    x=1,y=2\n",
        output(AgentCtl.OK, "metrics list"));
    output(AgentCtl.USAGE_ERROR, "identity list --endpoints -l a");
    assertEquals(
        "--endpoints and --labels cannot be combined\nTry 'agentctl identity list --help'.\n",
        agent.err());
  }

  @Test
  void shouldShowWhichFamilyAnAddressIsOf() {
    on("DELETE /ipam/::1", 200, "");
    on("DELETE /ipam/10.0.0.1?pool=p", 200, "");
    assertEquals(
        "{\"address\":{\"ipv6\":\"::1\"}}",
        output(AgentCtl.OK, "ip release ::1 -o json").replaceAll("\\s", ""));
    assertEquals(
        "{\"address\":{\"ipv4\":\"10.0.0.1\"}}",
        output(AgentCtl.OK, "ip release 10.0.0.1 --pool p -o json").replaceAll("\\s", ""));
    for (final String option : List.of("--family ipv4", "--expire")) {
      output(AgentCtl.USAGE_ERROR, "ip allocate 10.1.0.9 " + option);
      assertTrue(
          agent.err().startsWith("--family and --expire cannot be combined with an address\n"));
    }
  }

  /** The rows before decide the widths; a longer cell after them moves only its own row. */
  @Test
  void shouldAlignALongListByItsFirstThousandRows() {
    for (final int wideRow : new int[] {1000, 1001}) {
      final StringBuilder identities = new StringBuilder("[");
      for (int row = 1; row <= 1200; row++) {
        identities
            .append(row == 1 ? "" : ",")
            .append("{\"id\":%d,\"labels\":[\"l\"]}".formatted(row == wideRow ? 16777216 : 7));
      }
      on("GET /identity", 200, identities + "]");
      final List<String> lines = output(AgentCtl.OK, "identity list").lines().toList();
      assertEquals(1201, lines.size());
      final String narrow = wideRow == 1000 ? "7         l" : "7   l";
      assertEquals(narrow, lines.get(1));
      assertEquals(narrow, lines.get(1200));
      assertEquals("16777216  l", lines.get(wideRow));
    }
  }

  @Test
  void shouldReadRulesFromStandardInput() {
    on("PUT /policy", 200, "{\"policy\":\"[]\",\"revision\":8}");
    agent.withInput("[{\"é\":1}]");
    assertEquals("Revision: 8\n", output(AgentCtl.OK, "policy import -"));
    assertTrue(agent.requests().getLast().endsWith("\r\n\r\n[{\"é\":1}]"));
  }

  @Test
  void shouldSayWhichFileCannotBeRead(@TempDir Path directory) {
    output(AgentCtl.USAGE_ERROR, "policy import " + directory.resolve("none"));
    assertEquals(
        "file '"
            + directory.resolve("none")
            + "' does not exist\nTry 'agentctl policy import --help'.\n",
        agent.err());
    output(AgentCtl.USAGE_ERROR, "policy import " + directory);
    assertTrue(agent.err().startsWith("cannot read '" + directory + "': "));
    output(AgentCtl.USAGE_ERROR, "prefilter update --file " + directory);
    assertTrue(agent.err().startsWith("cannot read '" + directory + "': "));
  }

  /** What came before the failure is shown before the reason, though output is buffered. */
  @Test
  void shouldShowWhatItGotOfAnAnswerThatIsBrokenOff() throws IOException {
    on(
        "GET /map/m",
        200,
        "{\"cache\":[" + "{\"key\":\"k\",\"value\":\"v\"},".repeat(1100) + "broken");
    final ByteArrayOutputStream terminal = new ByteArrayOutputStream();
    try (PrintStream stdout = new PrintStream(new BufferedOutputStream(terminal, 1 << 20), false);
        PrintStream stderr = new PrintStream(terminal, true)) {
      final List<String> words = List.of("map", "get", "m", "-H", agent.address());
      assertEquals(AgentCtl.FAILURE, agent.run(stdout, stderr, Map.of(), words));
      final List<String> lines = terminal.toString(StandardCharsets.UTF_8).lines().toList();
      assertEquals(1102, lines.size());
      assertEquals("k    v      -      -", lines.get(1100));
      assertTrue(
          lines
              .getLast()
              .startsWith("Error: the agent's answer cannot be read: Unrecognized token"),
          lines.getLast());
    }
  }

  @Test
  void shouldShowTheVersionOfABuildThatHasNone() {
    assertEquals("agentctl of a development build\n", output(AgentCtl.OK, "--version"));
  }

  @Test
  void shouldKeepNoDescriptorOfACommandThatHasEnded() throws Exception {
    on("GET /identity", 200, "[{\"id\":1}]");
    output(AgentCtl.OK, "identity list");
    final long before = descriptors();
    for (int i = 0; i < 20; i++) {
      output(AgentCtl.OK, "identity list");
    }
    final long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (descriptors() > before + 5 && System.nanoTime() < deadlineNs) {
      Thread.sleep(10);
    }
    assertTrue(descriptors() <= before + 5, descriptors() + " descriptors, before " + before);
  }

  private static long descriptors() throws IOException {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return open.count();
    }
  }
}
