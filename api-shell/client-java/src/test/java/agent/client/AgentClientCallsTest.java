package agent.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.WireFormat;
import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.datapath.PrefilterListModel;
import agent.contract.endpoint.EndpointConfigurationSpecModel;
import agent.contract.policy.PolicyResolutionRequest;
import agent.contract.service.ServiceSpecModel;
import agent.testkit.CannedHttpServer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.json.JsonMapper;

/** Which request each call sends, and that it returns what the agent answered. */
@Timeout(300)
class AgentClientCallsTest {
  private static final JsonMapper MAPPER = WireFormat.lenientMapper();

  private interface Call {
    Object apply(AgentClient agent) throws IOException;
  }

  /** Sends one request; it must have this head and body, and the answer must come back whole. */
  private static void assertCall(String request, String body, String answer, Call call)
      throws IOException {
    try (CannedHttpServer server =
            CannedHttpServer.start(sent -> CannedHttpServer.answer(200, answer));
        AgentClient agent = AgentClient.of(server.socket().toString(), Duration.ofSeconds(20))) {
      assertEquals(answer, MAPPER.writeValueAsString(call.apply(agent)), request);
      final String sent = server.requests().getFirst();
      assertEquals(request, sent.substring(0, sent.indexOf(" HTTP/1.1\r\n")));
      assertEquals(body, sent.substring(sent.indexOf("\r\n\r\n") + 4));
    }
  }

  private static void assertRead(String path, String answer, Call call) throws IOException {
    assertCall("GET " + path, "", answer, call);
  }

  @Test
  void shouldReadTheDaemonItsMapsAndItsMetrics() throws IOException {
    final String status = "{\"agent\":{\"msg\":\"m\",\"state\":\"Ok\"}}";
    assertRead("/healthz", status, agent -> agent.status(false));
    assertRead("/health", "{\"modules\":[]}", agent -> agent.health(false));
    assertRead("/config", "{\"spec\":{\"options\":{}}}", AgentClient::configuration);
    assertRead("/metrics/", "[{\"labels\":{},\"name\":\"m\",\"value\":1.5}]", AgentClient::metrics);
    assertRead("/debuginfo", "{\"endpoint-list\":[]}", AgentClient::debugInformation);
    assertRead("/cluster/nodes", "{\"client-id\":7}", agent -> agent.nodes(null));
    assertCall(
        "PATCH /config",
        "{\"options\":{\"Debug\":\"Enabled\"},\"policy-enforcement\":\"always\"}",
        "{\"spec\":{\"options\":{}}}",
        agent ->
            agent.configure(
                new DaemonConfigurationModel.Spec(Map.of("Debug", "Enabled"), "always")));
    assertRead("/map", "{\"maps\":[]}", AgentClient::maps);
    assertRead("/map/m", "{\"cache\":[],\"name\":\"m\"}", agent -> agent.map("m"));
  }

  /** A body that is not read to its end would cost the next call a connection. */
  @Test
  void shouldReadEveryAnswerToItsEnd() throws IOException {
    final String padded = "{}" + " ".repeat(70_000);
    final List<Thread> connections = new CopyOnWriteArrayList<>();
    try (CannedHttpServer server =
            CannedHttpServer.start(
                sent -> {
                  connections.add(Thread.currentThread());
                  return CannedHttpServer.answer(200, padded);
                });
        AgentClient agent = AgentClient.of(server.socket().toString(), Duration.ofSeconds(20))) {
      agent.allocateAddress("10.1.0.7", "o", null);
      agent.status(false);
      agent.release("10.1.0.7", null);
      agent.status(false);
      agent.status(false);
      assertEquals(5, connections.size());
      assertEquals(2, Set.copyOf(connections).size(), "each change has a connection of its own");
    }
  }

  @Test
  void shouldCloseAConnectionThatIsNotUsedAgain() throws Exception {
    final List<Thread> connections = new CopyOnWriteArrayList<>();
    try (CannedHttpServer server =
        CannedHttpServer.start(
            sent -> {
              connections.add(Thread.currentThread());
              return CannedHttpServer.answer(200, "{}");
            })) {
      final AgentClient agent = AgentClient.of(server.socket().toString(), Duration.ofSeconds(20));
      agent.status(false);
      agent.release("10.1.0.7", null);
      assertTrue(connections.getFirst().join(Duration.ofSeconds(20)), "replaced by another one");
      assertTrue(connections.getLast().isAlive());
      agent.close();
      assertTrue(connections.getLast().join(Duration.ofSeconds(20)));
      agent.close();
      agent.status(false);
      assertEquals(3, connections.size(), "it connects again");
      agent.close();
    }
  }

  @Test
  void shouldAskForALeaseThatExpiresInAHeader() throws IOException {
    for (final boolean expires : new boolean[] {true, false}) {
      try (CannedHttpServer server =
              CannedHttpServer.start(sent -> CannedHttpServer.answer(201, "{}"));
          AgentClient agent = AgentClient.of(server.socket().toString(), Duration.ofSeconds(20))) {
        agent.allocate("ipv4", null, null, expires);
        assertEquals(expires, server.requests().getFirst().contains("\r\nexpiration: true\r\n"));
      }
    }
  }

  @Test
  void shouldAskForTheShortFormInAHeader() throws IOException {
    final String status = "{\"agent\":{\"state\":\"Ok\"}}";
    for (final boolean brief : new boolean[] {true, false}) {
      try (CannedHttpServer server =
              CannedHttpServer.start(sent -> CannedHttpServer.answer(200, status));
          AgentClient agent = AgentClient.of(server.socket().toString(), Duration.ofSeconds(20))) {
        agent.status(brief);
        agent.health(brief);
        for (final String sent : server.requests()) {
          assertEquals(brief, sent.contains("\r\nbrief: true\r\n"), sent);
        }
      }
    }
  }

  @Test
  void shouldReadAndChangeEndpoints() throws IOException {
    final String endpoint = "{\"id\":7}";
    assertRead(
        "/endpoint?labels=a&labels=b",
        "[" + endpoint + "]",
        agent -> agent.endpoints(List.of("a", "b")));
    assertRead("/endpoint/7", endpoint, agent -> agent.endpoint("7"));
    assertRead(
        "/endpoint/7/config", "{\"error\":\"e\"}", agent -> agent.endpointConfiguration("7"));
    assertRead(
        "/endpoint/7/labels", "{\"spec\":{\"user\":[]}}", agent -> agent.endpointLabels("7"));
    assertRead("/endpoint/7/log", "[{\"code\":\"OK\"}]", agent -> agent.endpointLog("7"));
    assertRead("/endpoint/7/healthz", "{\"bpf\":\"OK\"}", agent -> agent.endpointHealth("7"));
    assertCall("DELETE /endpoint/7", "", "[\"e\"]", agent -> agent.deleteEndpoint("7"));
    assertCall(
        "DELETE /endpoint",
        "{\"container-id\":\"c\"}",
        "[\"e\"]",
        agent -> agent.deleteEndpointsOf("c"));
    assertCall(
        "PATCH /endpoint/7/config",
        "{\"options\":{\"Debug\":\"Enabled\"}}",
        "{\"error\":\"e\"}",
        agent ->
            agent.configureEndpoint(
                "7", new EndpointConfigurationSpecModel(null, Map.of("Debug", "Enabled"))));
    assertCall(
        "PATCH /endpoint/7/labels",
        "{\"user\":[\"a\"]}",
        "{\"spec\":{\"user\":[\"a\"]}}",
        agent -> agent.labelEndpoint("7", List.of("a")));
    assertCall("PUT /endpoint/7", "", endpoint, agent -> agent.createEndpoint("7", null));
    assertCall("PATCH /endpoint/7", "", endpoint, agent -> agent.modifyEndpoint("7", null));
  }

  @Test
  void shouldReadIdentitiesAndChangeAddresses() throws IOException {
    final String identity = "{\"id\":7,\"labels\":[]}";
    assertRead("/identity?labels=a", "[" + identity + "]", agent -> agent.identities(List.of("a")));
    assertRead("/identity/7", identity, agent -> agent.identity("7"));
    assertRead("/identity/endpoints", "[{\"refCount\":2}]", AgentClient::identitiesInUse);
    assertCall(
        "POST /ipam?family=ipv4&owner=o&pool=p",
        "",
        "{\"ipv4\":{\"ip\":\"10.0.0.1\"}}",
        agent -> agent.allocate("ipv4", "o", "p", false));
    assertCall(
        "POST /ipam/10.0.0.1?owner=o&pool=p",
        "",
        "null",
        agent -> {
          agent.allocateAddress("10.0.0.1", "o", "p");
          return null;
        });
    assertCall(
        "DELETE /ipam/10.0.0.1?pool=p",
        "",
        "null",
        agent -> {
          agent.release("10.0.0.1", "p");
          return null;
        });
  }

  @Test
  void shouldReadAndChangeThePolicyAndThePrefilter() throws IOException {
    final String policy = "{\"policy\":\"[]\",\"revision\":3}";
    assertRead("/policy?labels=a", policy, agent -> agent.policy(List.of("a")));
    assertRead("/policy/selectors", "[{\"selector\":\"s\"}]", AgentClient::selectors);
    assertCall("PUT /policy", "[é]", policy, agent -> agent.importPolicy("[é]"));
    assertCall("DELETE /policy?labels=a", "", policy, agent -> agent.deletePolicy(List.of("a")));
    assertCall(
        "GET /policy/resolve",
        "{\"verbose\":true}",
        "{\"log\":\"l\",\"verdict\":\"DENIED\"}",
        agent -> agent.resolvePolicy(new PolicyResolutionRequest(null, null, true)));
    final String prefilter = "{\"spec\":{\"deny\":[],\"revision\":2}}";
    assertRead("/prefilter", prefilter, AgentClient::prefilter);
    final PrefilterListModel list = new PrefilterListModel(List.of("::/0"), 2L);
    final String change = "{\"deny\":[\"::/0\"],\"revision\":2}";
    assertCall("PATCH /prefilter", change, prefilter, agent -> agent.addToPrefilter(list));
    assertCall("DELETE /prefilter", change, prefilter, agent -> agent.removeFromPrefilter(list));
  }

  @Test
  void shouldReadAndRemoveNames() throws IOException {
    final String names = "[{\"fqdn\":\"www.example.com.\"}]";
    assertRead("/fqdn/cache", names, agent -> agent.names(null, null));
    assertRead(
        "/fqdn/cache?matchpattern=%2A.example.com&cidr=192.0.2.0%2F24",
        names, agent -> agent.names("*.example.com", "192.0.2.0/24"));
    assertRead(
        "/fqdn/cache/7?cidr=::%2F0", names, agent -> agent.namesOfEndpoint("7", null, "::/0"));
    assertCall(
        "DELETE /fqdn/cache?matchpattern=www.example.com",
        "",
        "null",
        agent -> {
          agent.deleteNames("www.example.com");
          return null;
        });
  }

  @Test
  void shouldReadAndChangeServices() throws IOException {
    final String service = "{\"spec\":{\"id\":7}}";
    assertRead("/service", "[" + service + "]", AgentClient::services);
    assertRead("/service/7", service, agent -> agent.service(7));
    final ServiceSpecModel spec = new ServiceSpecModel(null, null, null, 7);
    assertCall("PUT /service/7", "{\"id\":7}", service, agent -> agent.putService(7, spec));
    assertCall(
        "DELETE /service/7",
        "",
        "null",
        agent -> {
          agent.deleteService(7);
          return null;
        });
  }

  @Test
  void shouldThrowTheStatusOfEveryError() throws IOException {
    for (final int status : new int[] {400, 404, 503}) {
      try (CannedHttpServer server =
              CannedHttpServer.start(sent -> CannedHttpServer.answer(status, "\"m\""));
          AgentClient agent = AgentClient.of(server.socket().toString())) {
        for (int i = 0; i < 2; i++) {
          final AgentException refused =
              assertThrows(AgentException.class, () -> agent.release("10.0.0.1", null));
          assertEquals(status + " m", refused.status() + " " + refused.getMessage());
        }
      }
    }
  }
}
