package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What commands send, and what they show of the answers. */
@Timeout(60)
class ChangeCommandsTest {
  private CliFixture agent;

  @BeforeEach
  void start() throws IOException {
    agent = new CliFixture();
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private String output(String line) {
    return agent.output(AgentCtl.OK, line);
  }

  private void assertBody(String json) {
    final String request = agent.requests().getLast();
    assertEquals(json, request.substring(request.indexOf("\r\n\r\n") + 4));
  }

  @Test
  void shouldCreateAndChangeAnEndpoint(@TempDir Path directory) throws IOException {
    agent.on("PUT /endpoint/0", 201, "{\"id\":17,\"status\":{\"state\":\"ready\"}}");
    agent.on("PATCH /endpoint/17", "{}");
    assertEquals(
        "endpoint 17 created\n", output("endpoint create --interface wl0 --ipv4 10.1.0.7"));
    assertBody(
        "{\"interface-name\":\"wl0\",\"addressing\":{\"ipv4\":\"10.1.0.7\"},"
            + "\"state\":\"waiting-for-identity\"}");
    final Path file =
        Files.writeString(
            directory.resolve("endpoint.json"),
            "{\"mac\":\"m\",\"labels\":[\"x\"],\"addressing\":{\"ipv6\":\"fd00::7\",\"ipv4\":\"1\"}}");
    output("endpoint create 0 -f " + file + " --ipv4 10.1.0.9 --label a=b,c --sync --state ready");
    assertBody(
        "{\"mac\":\"m\",\"labels\":[\"a=b\",\"c\"],\"addressing\":{\"ipv6\":\"fd00::7\","
            + "\"ipv4\":\"10.1.0.9\"},\"sync-build-endpoint\":true,\"state\":\"ready\"}");
    assertEquals("endpoint 17 changed\n", output("endpoint update 17 --container-name web"));
    assertBody("{\"container-name\":\"web\",\"state\":\"waiting-for-identity\"}");
    assertEquals("17\n", output("endpoint create -o jsonpath=.id"));
    agent.output(AgentCtl.USAGE_ERROR, "endpoint create -f " + directory.resolve("none"));
    Files.writeString(file, "[]");
    agent.output(AgentCtl.USAGE_ERROR, "endpoint create -f " + file);
    Files.writeString(file, "{\"mac\":1,\"mac\":2}");
    agent.output(AgentCtl.USAGE_ERROR, "endpoint create -f " + file);
    assertTrue(agent.err().contains("is not JSON: Duplicate"), agent.err());
  }

  @Test
  void shouldSendNamedPorts() {
    agent.on("PUT /endpoint/0", 201, "{\"id\":17}");
    agent.on("PATCH /endpoint/17", "{}");
    output("endpoint create --named-port http=8080/TCP --named-port dns=53/udp");
    assertBody(
        "{\"named-ports\":[{\"name\":\"http\",\"port\":8080,\"protocol\":\"TCP\"},"
            + "{\"name\":\"dns\",\"port\":53,\"protocol\":\"udp\"}],"
            + "\"state\":\"waiting-for-identity\"}");
    output("endpoint update 17 --named-port http=80");
    assertBody(
        "{\"named-ports\":[{\"name\":\"http\",\"port\":80}],"
            + "\"state\":\"waiting-for-identity\"}");
    for (final String bad : List.of("http", "http=", "=80", "http=x", "http=80/", "http=-1")) {
      agent.output(AgentCtl.USAGE_ERROR, "endpoint create --named-port " + bad);
      assertTrue(
          agent.err().contains("--named-port: '" + bad + "' is not NAME=PORT[/PROTOCOL]"),
          agent.err());
    }
  }

  @Test
  void shouldDeleteTheEndpointsOfAContainer() {
    agent.on("DELETE /endpoint", 202, "[\"link: gone\"]");
    assertEquals(
        "endpoints of container c0ffee deleted\n", output("endpoint delete --container-id c0ffee"));
    assertEquals("Warning: link: gone\n", agent.err());
    assertBody("{\"container-id\":\"c0ffee\"}");
    agent.output(AgentCtl.USAGE_ERROR, "endpoint delete");
    agent.output(AgentCtl.USAGE_ERROR, "endpoint delete 7 --container-id c0ffee");
  }

  @Test
  void shouldShowAndChangeTheOptionsOfTheAgent() {
    agent.on("PATCH /config", "{}");
    agent.on(
        "GET /config",
        """
        {"spec":{},"status":{"deviceMTU":1500,"masquerade":false,"addressing":{"ipv4":{}},
         "daemonConfigurationMap":{"mtu":"0"},
         "realized":{"policy-enforcement":"default","options":{"Debug":"Disabled","A":"x"}}}}
        """);
    assertEquals(
        """
        OPTION              VALUE
        policy-enforcement  default
        A                   x
        Debug               Disabled
        """,
        output("config get"));
    assertEquals(
        """
        OPTION              VALUE
        policy-enforcement  default
        A                   x
        Debug               Disabled
        deviceMTU           1500
        masquerade          false
        mtu                 0
        """,
        output("config get --all"));
    output("config set Debug=Enabled --policy-enforcement always");
    final String patch = agent.requests().get(agent.requests().size() - 2);
    assertTrue(
        patch.endsWith("{\"options\":{\"Debug\":\"Enabled\"},\"policy-enforcement\":\"always\"}"),
        patch);
    agent.output(AgentCtl.USAGE_ERROR, "config set");
    agent.output(AgentCtl.USAGE_ERROR, "config set --policy-enforcement sometimes");
  }

  @Test
  void shouldListNodesAndWhatChangedSinceAClientsLastCall() {
    agent.on(
        "GET /cluster/nodes",
        """
        {"self":"blue/a","client-id":5,"nodes-removed":[],"nodes-added":[
         {"name":"blue/a","source":"local","primary-address":
           {"ipv4":{"ip":"192.0.2.1","alloc-range":"10.1.0.0/24"},"ipv6":{"ip":"2001:db8::1"}}},
         {"name":"blue/b","source":"kvstore","primary-address":{"ipv4":{"ip":"192.0.2.2"}}}]}
        """);
    assertEquals(
        """
        NAME    IPV4       IPV6         RANGE4       RANGE6  SOURCE   SELF
        blue/a  192.0.2.1  2001:db8::1  10.1.0.0/24  -       local    *
        blue/b  192.0.2.2  -            -            -       kvstore  -
        """,
        output("cluster nodes"));
    assertEquals("5\n", output("cluster nodes --client-id 5 -o jsonpath=.client-id"));
    assertTrue(agent.requests().getLast().contains("client-id: 5\r\n"));
  }

  @Test
  void shouldAskWhetherAConnectionIsAllowed() {
    agent.on(
        "GET /policy/resolve",
        "{\"verdict\":\"DENIED\",\"log\":\"rule [0]: no\\nrule [1]: denies\"}");
    agent.on(
        "GET /endpoint/7",
        "{\"id\":7,\"status\":{\"identity\":{\"labels\":[\"unspec:app=web\"]}}}");
    assertEquals("VERDICT\nDENIED\n", output("policy resolve --from app=a --to app=b,tier=1"));
    assertBody(
        "{\"from\":{\"labels\":[\"app=a\"]},\"to\":{\"labels\":[\"app=b\",\"tier=1\"]},"
            + "\"verbose\":false}");
    assertEquals(
        "rule [0]: no\nrule [1]: denies\nVERDICT\nDENIED\n",
        output("policy trace --from-endpoint 7 --to x --port 80/tcp,dns -p 53"));
    assertBody(
        "{\"from\":{\"labels\":[\"unspec:app=web\"]},\"to\":{\"labels\":[\"x\"],\"dports\":["
            + "{\"port\":80,\"protocol\":\"TCP\"},{\"name\":\"dns\"},{\"port\":53}]},"
            + "\"verbose\":true}");
    agent.output(AgentCtl.USAGE_ERROR, "policy resolve --from a");
    agent.output(AgentCtl.USAGE_ERROR, "policy resolve --from a --to b --port 70000");
  }

  @Test
  void shouldTakeEveryPortAndGiveTheAnswerAsADocument() {
    agent.on("GET /policy/resolve", "{\"verdict\":\"ALLOWED\"}");
    assertEquals(
        "verdict: ALLOWED\n", output("policy trace --from a --to b -p 65535/udp,00080 -o yaml"));
    assertBody(
        "{\"from\":{\"labels\":[\"a\"]},\"to\":{\"labels\":[\"b\"],\"dports\":["
            + "{\"port\":65535,\"protocol\":\"UDP\"},{\"port\":80}]},\"verbose\":true}");
    for (final String port : List.of("65536", "99999999999", "000080/tcp")) {
      agent.output(AgentCtl.USAGE_ERROR, "policy resolve --from a --to b --port " + port);
      assertTrue(agent.err().startsWith("--port: '" + port + "' is not a port\n"), agent.err());
    }
  }

  @Test
  void shouldWarnOfWhatAnImportLoses(@TempDir Path directory) throws IOException {
    final Path file =
        Files.writeString(
            directory.resolve("rules"),
            "kind: Policy\nmetadata: {name: x, namespace: blue}\nspec: {ingress: []}\n");
    agent.on("PUT /policy", "{\"policy\":\"[]\",\"revision\":9}");
    assertEquals("Revision: 9\n", output("policy import " + file));
    assertTrue(agent.err().startsWith("Warning: "), agent.err());
    assertTrue(agent.err().contains("metadata.namespace 'blue'"), agent.err());
  }

  @Test
  void shouldShowAnEndpointThatWasChanged() {
    agent.on("PATCH /endpoint/7", "{}").on("GET /endpoint/7", "{\"id\":7}");
    assertEquals("id: 7\n", output("endpoint update 7 --ipv6 fd00::7 --ipv4 10.1.0.7 -o yaml"));
    final List<String> requests = agent.requests();
    final String sent = requests.get(requests.size() - 2);
    assertTrue(sent.contains("\"addressing\":{\"ipv4\":\"10.1.0.7\",\"ipv6\":\"fd00::7\"}"), sent);
  }

  @Test
  void shouldGiveTheAddressesInUseAsADocument() {
    agent.on("GET /healthz", "{\"ipam\":{\"allocations\":{\"10.1.0.5\":\"a\"}}}");
    assertEquals("allocations:\n  \"10.1.0.5\": a\n", output("ip list -o yaml"));
  }

  @Test
  void shouldSayWhichRulesAnImportReplaces(@TempDir Path directory) throws IOException {
    final Path file = Files.writeString(directory.resolve("rules"), "[{}]");
    agent.on(
        "PUT /policy?replace=true&replace-with-labels=a%3D1&replace-with-labels=b",
        "{\"policy\":\"[]\",\"revision\":9}");
    assertEquals(
        "Revision: 9\n",
        output("policy import " + file + " --replace --replace-with-labels a=1,b"));
  }

  @Test
  void shouldListSelectorsAddressesModulesAndDebugging() {
    agent.on(
        "GET /policy/selectors",
        """
        [{"selector":"app=web","identities":[256,257],"users":2,
          "labels":[{"key":"k","source":"user","value":"v"},{"key":"x"}]}]
        """);
    assertEquals(
        """
        SELECTOR  USERS  IDENTITIES  LABELS
        app=web   2      256,257     user:k=v,x
        """,
        output("policy selectors"));
    agent.on(
        "GET /healthz", "{\"ipam\":{\"allocations\":{\"10.1.0.9\":\"b\",\"10.1.0.5\":\"a\"}}}");
    assertEquals("ADDRESS   OWNER\n10.1.0.5  a\n10.1.0.9  b\n", output("ip list"));
    agent.on("GET /health", "{\"modules\":[{\"module-id\":\"m\",\"level\":\"OK\"}]}");
    assertEquals("MODULE  LEVEL  LAST-OK  MESSAGE\nm       OK     -        -\n", output("health"));
    agent.on(
        "GET /debuginfo",
        "{\"agent-version\":\"1\",\"kernel-version\":\"6.18\",\"endpoint-list\":[{}],\"subsystem\":{\"s\":\"fine\"}}");
    assertEquals(
        """
        FIELD                  VALUE
        agent-version          1
        kernel-version         6.18
        endpoint-list          1 entries
        service-list           0 entries
        environment-variables  0 entries
        policy-revision        -
        subsystem s            fine
        """,
        output("debuginfo"));
  }
}
