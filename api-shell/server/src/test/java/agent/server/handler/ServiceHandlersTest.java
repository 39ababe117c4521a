package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.AgentClient;
import agent.client.AgentException;
import agent.client.RequestPath;
import agent.contract.service.ServiceModel;
import agent.contract.service.ServiceSpecModel;
import agent.contract.service.ServiceSpecModel.BackendAddress;
import agent.contract.service.ServiceSpecModel.Flags;
import agent.contract.service.ServiceSpecModel.FrontendAddress;
import agent.maps.layout.ServiceForwarding;
import agent.server.ApiHandler;
import agent.server.Route;
import agent.server.TestServer;
import agent.server.metrics.MetricText;
import agent.server.metrics.ServiceMetricSource;
import agent.service.Frontend;
import agent.service.Service;
import agent.service.ServiceProtocol;
import agent.service.Services;
import agent.types.EntrySource;
import agent.types.Refusal;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The routes of services on a server. */
class ServiceHandlersTest {
  private static final String WHOLE =
      """
      {"id": 7,
       "frontend-address": {"ip": "10.96.0.1", "port": 80, "protocol": "TCP", "scope": "external"},
       "backend-addresses": [
         {"ip": "10.1.0.7", "port": 8080, "protocol": "TCP", "state": "terminating", "weight": 3,
          "nodeName": "n1"}],
       "flags": {"type": "ClusterIP", "extTrafficPolicy": "Cluster", "intTrafficPolicy": "Local",
         "name": "web", "namespace": "default", "sessionAffinity": "ClientIP",
         "affinityTimeoutSeconds": 600}}
      """;

  private final FakeServiceProxy datapath = new FakeServiceProxy();
  private final Services services =
      Services.restore(datapath, new FakeServiceStore(), "n1", ServiceForwarding.DEFAULT);
  private TestServer server;
  private AgentClient client;

  @BeforeEach
  void start() throws IOException {
    final Map<Route, ApiHandler> handlers = new EnumMap<>(Route.class);
    new ServiceHandlers(services).addTo(handlers);
    server = TestServer.start(handlers);
    client = AgentClient.of(server.socket().toString());
  }

  @AfterEach
  void stop() throws IOException {
    client.close();
    server.close();
  }

  private String put(int id, String body) throws IOException {
    final RequestPath path = RequestPath.of("service", Integer.toString(id));
    return new String(client.open("PUT", path, body).readAllBytes());
  }

  private static void assertRefused(int status, String message, Call call) {
    final AgentException refused = assertThrows(AgentException.class, call::make);
    assertEquals(status + " " + message, refused.status() + " " + refused.getMessage());
  }

  private interface Call {
    void make() throws IOException;
  }

  @Test
  void shouldKeepEveryFieldOfAService() throws IOException {
    put(7, WHOLE);
    final ServiceSpecModel spec =
        new ServiceSpecModel(
            List.of(new BackendAddress("10.1.0.7", "n1", 8080, "TCP", "terminating", 3)),
            new Flags(600, "Cluster", null, "Local", "web", "default", "ClientIP", "ClusterIP"),
            new FrontendAddress("10.96.0.1", 80, "TCP", "external"),
            7);
    final ServiceModel expected = new ServiceModel("api", spec, new ServiceModel.Status(spec));
    assertEquals(expected, client.service(7));
    assertEquals(List.of(expected), client.services());
    assertEquals(600, datapath.held.get(7).affinitySec());
    assertEquals(3, datapath.held.get(7).backends().getFirst().weight());
  }

  @Test
  void shouldFillInWhatIsAbsent() throws IOException {
    final String answer =
        put(
            1,
            "{\"frontend-address\":{\"ip\":\"fd96::1\",\"port\":53},"
                + "\"backend-addresses\":[{\"ip\":\"fd00::7\",\"port\":5353}],"
                + "\"flags\":{\"sessionAffinity\":\"ClientIP\"}}");
    final ServiceSpecModel spec = client.service(1).spec();
    assertEquals(
        new BackendAddress("fd00::7", null, 5353, "ANY", "active", 1),
        spec.backendAddresses().getFirst());
    assertEquals(
        new Flags(10_800, "Cluster", null, "Cluster", null, null, "ClientIP", "ClusterIP"),
        spec.flags());
    assertTrue(answer.contains("\"realized\""), answer);
    put(2, "{\"frontend-address\":{\"ip\":\"10.96.0.2\",\"port\":53}}");
    assertEquals("None", client.service(2).spec().flags().sessionAffinity());
    assertEquals(List.of(), client.service(2).spec().backendAddresses());
    assertEquals(0, datapath.held.get(2).affinitySec());
  }

  @Test
  void shouldTakeHowPacketsReachOtherHosts() throws IOException {
    final String offered = WHOLE.replace("ClusterIP", "NodePort");
    for (final ServiceForwarding mode : ServiceForwarding.values()) {
      final String name = mode == ServiceForwarding.DEFAULT ? null : mode.name().toLowerCase();
      final String flag = name == null ? "" : "\"forwardingMode\": \"" + name + "\", ";
      put(7, offered.replace("\"extTrafficPolicy\"", flag + "\"extTrafficPolicy\""));
      assertEquals(name, client.service(7).spec().flags().forwardingMode());
      assertEquals(mode, datapath.held.get(7).forwarding());
    }
  }

  @Test
  void shouldAnswer201ForANewServiceAnd200ForOneThatIsThere() throws IOException {
    final String request =
        "PUT /service/7 HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            + "Content-Length: "
            + WHOLE.length()
            + "\r\n\r\n"
            + WHOLE;
    assertTrue(server.exchange(request).startsWith("HTTP/1.1 201 "));
    assertTrue(server.exchange(request).startsWith("HTTP/1.1 200 "));
  }

  @Test
  void shouldDeleteAService() throws IOException {
    put(7, WHOLE);
    client.deleteService(7);
    assertEquals(List.of(), client.services());
    assertRefused(404, "id: service 7 does not exist", () -> client.service(7));
    assertRefused(404, "id: service 7 does not exist", () -> client.deleteService(7));
  }

  @Test
  void shouldRefuseTheFrontendOfAnotherService() throws IOException {
    put(7, WHOLE);
    assertRefused(
        409,
        "frontend-address: 10.96.0.1:80/TCP is already the frontend of service 7",
        () -> put(8, WHOLE.replace("\"id\": 7,", "")));
    datapath.refusal = Refusal.disabled("", "services are off");
    assertRefused(501, "services are off", () -> put(7, WHOLE.replace("8080", "8081")));
  }

  @Test
  void shouldShowAndKeepTheServicesOfOtherSources() throws IOException {
    final EntrySource cluster = new EntrySource("cluster");
    put(7, WHOLE);
    final Service own = services.get(7);
    final Service foreign =
        new Service(
            Service.UNNUMBERED,
            new Frontend(own.frontend().address(), 53, ServiceProtocol.TCP),
            own.backends(),
            false,
            0,
            "names",
            null);
    final int id = services.put(foreign.from(cluster)).join().service().id();
    assertEquals(
        List.of("7 api", id + " cluster"),
        client.services().stream()
            .map(service -> service.spec().id() + " " + service.source())
            .toList());
    final ServiceModel before = client.service(id);
    final String message = "id: service " + id + " (10.96.0.1:53/TCP) belongs to source 'cluster'";
    assertRefused(409, message, () -> put(id, WHOLE.replace("\"id\": 7,", "")));
    assertRefused(409, message, () -> client.deleteService(id));
    assertRefused(
        409,
        "frontend-address: 10.96.0.1:53/TCP is already the frontend of service "
            + id
            + " of source 'cluster'",
        () -> put(7, WHOLE.replace("\"port\": 80,", "\"port\": 53,")));
    assertRefused(
        400,
        "source: is not a known field",
        () -> put(8, WHOLE.replace("\"id\": 7,", "\"source\": \"cluster\",")));
    assertEquals(before, client.service(id));
    assertEquals(List.of(own, services.get(id)), services.list());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "10.96.0.1 | 10.96.0.999 | 460 frontend-address.ip: '10.96.0.999' is not an IPv4 address",
        "\"ip\": \"10.96.0.1\", | '' | 460 frontend-address.ip: is missing",
        "\"port\": 80, | '' | 460 frontend-address.port: is missing",
        "\"port\": 80, | \"port\": 0, | 460 frontend-address.port: 0 is not between 1 and 65535",
        "\"port\": 80, | \"port\": 65536, | 460 frontend-address.port: 65536 is not between 1 and 65535",
        "\"protocol\": \"TCP\", \"scope\" | \"protocol\": \"ICMP\", \"scope\" "
            + "| 460 frontend-address.protocol: 'ICMP' is not TCP, UDP, SCTP or ANY",
        "\"TCP\" | \"SCTP\" | 461 backend-addresses[0].port: 8080 differs from frontend port 80:"
            + " SCTP ports are not translated",
        "external | internal | 460 frontend-address.scope: 'internal' is not supported; use external",
        "10.1.0.7 | fd00::7 | 461 backend-addresses[0].ip: fd00::7 and frontend 10.96.0.1"
            + " differ in address family",
        "8080 | 0 | 461 backend-addresses[0].port: 0 is not between 1 and 65535",
        "terminating | gone "
            + "| 461 backend-addresses[0].state: 'gone' is not active, terminating, quarantined or"
            + " maintenance",
        "\"weight\": 3 | \"weight\": -1 | 461 backend-addresses[0].weight: -1 is not between 0 and 65535",
        "\"protocol\": \"TCP\", \"state\" | \"protocol\": \"UDP\", \"state\" "
            + "| 461 backend-addresses[0].protocol: UDP differs from TCP of the"
            + " frontend",
        "ClusterIP | nodePort | 400 flags.type: 'nodePort' is not ClusterIP, NodePort, ExternalIPs,"
            + " HostPort or LoadBalancer",
        "\"extTrafficPolicy\": \"Cluster\" | \"extTrafficPolicy\": \"Local\" "
            + "| 400 flags.extTrafficPolicy: has no effect with type ClusterIP",
        "\"extTrafficPolicy\": \"Cluster\" | \"forwardingMode\": \"dsr\" "
            + "| 400 flags.forwardingMode: has no effect with type ClusterIP",
        "\"extTrafficPolicy\": \"Cluster\" | \"forwardingMode\": \"DSR\" "
            + "| 400 flags.forwardingMode: 'DSR' is not snat or dsr",
        "\"extTrafficPolicy\": \"Cluster\" | \"extTrafficPolicy\": \"All\" "
            + "| 400 flags.extTrafficPolicy: 'All' is not supported; use Cluster or Local",
        "10.96.0.1 | 0.0.0.0 "
            + "| 460 frontend-address.ip: 0.0.0.0 is not a valid address for type ClusterIP",
        "\"Local\" | \"None\" "
            + "| 400 flags.intTrafficPolicy: 'None' is not supported; use Cluster or Local",
        "ClientIP | Cookie "
            + "| 400 flags.sessionAffinity: 'Cookie' is not supported; use None or ClientIP",
        "ClientIP | None "
            + "| 400 flags.affinityTimeoutSeconds: has no effect without sessionAffinity ClientIP",
        "600 | 86401 | 400 flags.affinityTimeoutSeconds: 86401 is not between 1 and 86400",
        "\"name\": \"web\" | \"name\": \"\" | 400 flags.name: must have 1 to 253 characters",
        "\"id\": 7 | \"id\": 8 | 400 id: 8 does not match id 7 of the path"
      })
  void shouldNameWhatIsWrong(String text, String wrong, String refusal) throws IOException {
    final String body = WHOLE.replace(text, wrong);
    assertTrue(!body.equals(WHOLE), text);
    final AgentException refused = assertThrows(AgentException.class, () -> put(7, body));
    assertEquals(refusal, refused.status() + " " + refused.getMessage());
    assertEquals(Map.of(), datapath.held);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"port\": 80, | \"port\": 1,",
        "\"port\": 80, | \"port\": 65535,",
        "\"weight\": 3 | \"weight\": 0",
        "\"weight\": 3 | \"weight\": 65535",
        "\"affinityTimeoutSeconds\": 600 | \"affinityTimeoutSeconds\": 1",
        "\"affinityTimeoutSeconds\": 600 | \"affinityTimeoutSeconds\": 86400",
      })
  void shouldTakeTheLeastAndTheLargestValue(String text, String edge) throws IOException {
    final String answer = put(7, WHOLE.replace(text, edge)).replace("\":", "\": ");
    assertTrue(answer.contains(edge), answer);
  }

  @Test
  void shouldTakeNamesOfUpTo253Characters() throws IOException {
    put(7, WHOLE.replace("\"web\"", "\"" + "w".repeat(253) + "\""));
    assertEquals(253, client.service(7).spec().flags().name().length());
    assertRefused(
        400,
        "flags.name: must have 1 to 253 characters",
        () -> put(7, WHOLE.replace("\"web\"", "\"" + "w".repeat(254) + "\"")));
  }

  @Test
  void shouldRefuseDuplicateBackendsAndTooMany() throws IOException {
    final String backend = "{\"ip\":\"10.1.0.7\",\"port\":80}";
    final String frontend = "{\"frontend-address\":{\"ip\":\"10.96.0.1\",\"port\":80}";
    assertRefused(
        461,
        "backend-addresses[1]: duplicate backend 10.1.0.7:80",
        () -> put(1, frontend + ",\"backend-addresses\":[" + backend + "," + backend + "]}"));
    final String other = backend.replace("80}", "81}");
    final String both =
        put(1, frontend + ",\"backend-addresses\":[" + backend + "," + other + "]}");
    assertTrue(both.contains("\"port\":81"), both);
    final StringBuilder many = new StringBuilder(backend);
    for (int port = 81; port <= 80 + 4096; port++) {
      many.append(',').append(backend.replace("80}", port + "}"));
    }
    assertRefused(
        413,
        "backend-addresses: more than 4096 backends in one request (a service has no more)",
        () -> put(1, frontend + ",\"backend-addresses\":[" + many + "]}"));
    assertRefused(460, "frontend-address: is missing", () -> put(1, "{}"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "-1", "x", "2147483648", "99999999999"})
  void shouldRefuseWhatIsNoNumberOfAService(String id) {
    assertRefused(
        400,
        "id: '" + id + "' is not a valid service number",
        () -> client.open("GET", RequestPath.of("service", id), null));
  }

  @Test
  void shouldCountServicesAndWhatSocketsGotOfThem() throws IOException {
    put(7, WHOLE);
    assertEquals(
        """
        # HELP agent_services Services
        # TYPE agent_services gauge
        agent_services 1
        # HELP agent_service_sockets_total Connections and datagrams of sockets to services, by\
         outcome
        # TYPE agent_service_sockets_total counter
        agent_service_sockets_total{result="refused"} 3
        """,
        MetricText.PROMETHEUS.write(new ServiceMetricSource(services, datapath).collect()));
  }
}
