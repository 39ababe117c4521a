package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.AgentClient;
import agent.client.AgentException;
import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.DaemonStatusModel.ComponentStatus;
import agent.contract.daemon.ModuleHealthModel;
import agent.contract.debug.DebugInformationModel;
import agent.contract.node.NodeAddressModel;
import agent.contract.node.NodeListModel;
import agent.endpoint.DaemonConfiguration;
import agent.endpoint.PolicyService;
import agent.endpoint.config.RuntimeOptions;
import agent.maps.layout.ServiceForwarding;
import agent.node.ClusterNode;
import agent.node.ClusterNodes;
import agent.policy.PolicyChange;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.PolicySnapshot;
import agent.policy.resolve.EnforcementMode;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.server.ApiHandler;
import agent.server.Route;
import agent.server.TestServer;
import agent.server.metrics.MetricRegistry;
import agent.server.view.DaemonView;
import agent.server.view.DebugView;
import agent.server.view.ProxyView.EndpointTraffic;
import agent.service.Services;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** Nodes, configuration and debug information: client, socket, handler, facade, and back. */
@Timeout(60)
class DaemonOperationsTest {
  private static final ClusterNode SELF =
      new ClusterNode(
          "blue/n1", FakeEndpoints.NODE, List.of(IpAddress.parse("192.0.2.77")), ClusterNode.LOCAL);

  private final List<ClusterNode> nodes = new ArrayList<>(List.of(SELF));
  private final ClusterNodes cluster = new ClusterNodes(() -> nodes, System::nanoTime);
  private final FakeDaemon daemon = new FakeDaemon();
  private final FakeDebug debug = new FakeDebug();
  private final FakeEndpoints endpoints = new FakeEndpoints();
  private final FakeConfiguration configuration = new FakeConfiguration();
  private final Services services =
      Services.restore(
          new FakeServiceProxy(), new FakeServiceStore(), "n1", ServiceForwarding.DEFAULT);
  private RuntimeException unreadablePolicy;
  private TestServer server;
  private AgentClient client;

  @BeforeEach
  void start() throws IOException {
    final Map<Route, ApiHandler> handlers = new EnumMap<>(Route.class);
    for (final ApiHandler.Group group :
        List.of(
            new DaemonHandlers(daemon, new MetricRegistry()),
            new EndpointHandlers(endpoints, id -> EndpointTraffic.NONE),
            new NodeHandlers(cluster, "blue/n1"),
            new ConfigurationHandlers(configuration, daemon),
            new DebugHandlers(
                daemon,
                debug,
                endpoints,
                new FakePolicy(),
                services,
                id -> EndpointTraffic.NONE))) {
      group.addTo(handlers);
    }
    server = TestServer.start(handlers);
    client = AgentClient.of(server.socket().toString());
  }

  @AfterEach
  void stop() throws IOException {
    client.close();
    server.close();
  }

  private static void assertRefused(int status, String message, Executable call) {
    final AgentException refused = assertThrows(AgentException.class, call);
    assertEquals(status + " " + message, refused.status() + " " + refused.getMessage());
  }

  @Test
  void shouldTellEachClientWhatHasChangedInTheNodes() throws IOException {
    final NodeListModel all = client.nodes(null);
    assertEquals("blue/n1", all.self());
    assertEquals(List.of(), all.nodesRemoved());
    final var node = all.nodesAdded().getFirst();
    assertEquals("blue/n1", node.name());
    assertEquals("local", node.source());
    assertEquals("192.0.2.1", node.primaryAddress().ipv4().ip());
    assertFalse(node.primaryAddress().ipv6().enabled());
    final NodeAddressModel secondary = node.secondaryAddresses().getFirst();
    assertEquals(new NodeAddressModel("InternalIP", null, true, "192.0.2.77"), secondary);
    assertNull(node.healthEndpointAddress());

    final NodeListModel none = client.nodes(all.clientId());
    assertEquals(List.of(), none.nodesAdded());
    assertEquals(all.clientId(), none.clientId());
    nodes.clear();
    assertEquals("blue/n1", client.nodes(all.clientId()).nodesRemoved().getFirst().name());
  }

  @Test
  void shouldTakeTheIdOfNoClientAsThatOfANewOne() throws IOException {
    for (final String id : List.of("1", "99999999999999999999", "0", "", UUID)) {
      final String answer =
          server.exchange(
              "GET /cluster/nodes HTTP/1.1\r\nHost: x\r\nclient-id: " + id + "\r\n\r\n");
      assertTrue(answer.startsWith("HTTP/1.1 200 "), answer);
      assertTrue(answer.contains("\"nodes-added\":[{"), answer);
    }
    assertNotEquals(cluster.unassignedId(), client.nodes(cluster.unassignedId()).clientId());
    final String refused =
        server.exchange("GET /cluster/nodes HTTP/1.1\r\nHost: x\r\nclient-id: me\r\n\r\n");
    assertTrue(refused.startsWith("HTTP/1.1 400 "), refused);
    assertTrue(refused.endsWith("\"client-id: 'me' is neither a number nor a UUID\""), refused);
  }

  private static final String UUID = "123e4567-e89b-12d3-a456-426614174000";

  @Test
  void shouldChangeTheConfigurationAndShowItAsItIsThen() throws IOException {
    final var answer =
        client.configure(new DaemonConfigurationModel.Spec(Map.of("Debug", "Enabled"), "always"));
    assertEquals(Map.of("Debug", "Enabled"), configuration.options);
    assertEquals("always", configuration.enforcement);
    assertEquals("the configuration", answer.spec().policyEnforcement());
    client.configure(new DaemonConfigurationModel.Spec(null, null));
    assertNull(configuration.options);
    assertNull(configuration.enforcement);
  }

  @Test
  void shouldRefuseAChangeThatNamesWhatIsUnknownOrFails() throws IOException {
    configuration.failure = Refusal.invalid("options.X", "is not a mutable option");
    final var change = new DaemonConfigurationModel.Spec(Map.of("X", "Enabled"), null);
    assertRefused(400, "options.X: is not a mutable option", () -> client.configure(change));
    configuration.failure = new OperationException("endpoint 7: the verifier refused it");
    assertRefused(500, "endpoint 7: the verifier refused it", () -> client.configure(change));
    final String unknown =
        server.exchange(
            "PATCH /config HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n{\"option\":{}}");
    assertTrue(unknown.startsWith("HTTP/1.1 400 "), unknown);
    assertTrue(unknown.contains("option: is not a known field"), unknown);
  }

  @Test
  void shouldStreamEveryPartOfTheDebugInformation() throws IOException {
    debug.memoryMap = "7f00-7f10 r--p \"libc\"\n".repeat(50_000);
    final DebugInformationModel seen = client.debugInformation();
    assertEquals(debug.memoryMap, seen.agentMemoryMap());
    assertEquals("Ok", seen.agentStatus().agent().state());
    assertEquals("9.9.9", seen.agentVersion());
    assertEquals("6.99", seen.kernelVersion());
    assertEquals(7, seen.endpointList().getFirst().id());
    assertEquals(List.of("A=1", "B=***"), seen.environmentVariables());
    assertEquals("[]", seen.policy().policy());
    assertEquals(5L, seen.policy().revision());
    assertEquals(List.of(), seen.serviceList());
    assertEquals(Map.of("health", "fine"), seen.subsystem());
  }

  @Test
  void shouldTellWhyThereIsNoPolicyInTheDebugInformation() throws IOException {
    unreadablePolicy = new OperationException("the rules cannot be read");
    final DebugInformationModel seen = client.debugInformation();
    assertNull(seen.policy());
    assertEquals("the rules cannot be read", seen.subsystem().get("policy"));
  }

  @Test
  void shouldRenderAListOncePerChangeAndNotPerRequest() throws IOException {
    assertEquals(7, client.endpoints(List.of()).getFirst().id());
    final int before = endpoints.lists.get();
    final long start = System.nanoTime();
    for (int i = 0; i < 200; i++) {
      assertEquals(7, client.endpoints(List.of()).getFirst().id());
    }
    final long elapsedMs = (System.nanoTime() - start) / 1_000_000;
    final int rendered = endpoints.lists.get() - before;
    assertTrue(rendered <= elapsedMs / 100 + 1, rendered + " times in " + elapsedMs + " ms");
    endpoints.version++;
    final int now = endpoints.lists.get();
    client.endpoints(List.of());
    assertEquals(now + 1, endpoints.lists.get(), "after a change");
    client.deleteEndpoint("7");
    client.endpoints(List.of());
    assertEquals(now + 2, endpoints.lists.get(), "after a changing call");
  }

  @Test
  void shouldShowAStatusThatMovesByItselfWithinItsAge() throws Exception {
    assertEquals("Ok", client.status(false).agent().state());
    daemon.state = "Failure";
    final long deadline = System.nanoTime() + 5_000_000_000L;
    while (!client.status(false).agent().state().equals("Failure")) {
      assertTrue(System.nanoTime() < deadline, "still Ok after five seconds");
      Thread.sleep(5);
    }
    assertEquals("Failure brief", client.status(true).agent().state());
    final String plain = server.exchange("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assertTrue(plain.contains("\"Failure\""), plain);
    assertTrue(plain.contains("application/json"), plain);
  }

  private final class FakePolicy implements PolicyService {
    @Override
    public PolicySnapshot get(List<String> labels) {
      if (unreadablePolicy != null) {
        throw unreadablePolicy;
      }
      return new PolicySnapshot(5, List.of(), 0);
    }

    @Override
    public CompletableFuture<PolicySnapshot> change(PolicyChange change) {
      throw new UnsupportedOperationException();
    }

    @Override
    public PolicyTrace trace(PolicyQuery query) {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<SelectorListing> selectors() {
      return List.of();
    }

    @Override
    public CompletableFuture<Void> names(Map<String, ? extends Collection<IpAddress>> changed) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> services(
        Map<ServiceName, ? extends Collection<IpAddress>> changed) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Set<String> wantedNames() {
      throw new UnsupportedOperationException();
    }

    @Override
    public EnforcementMode mode() {
      return EnforcementMode.DEFAULT;
    }
  }

  private static final class FakeDaemon implements DaemonView {
    volatile String state = "Ok";

    @Override
    public DaemonStatusModel status(boolean brief) {
      final ComponentStatus agent = new ComponentStatus("m", brief ? state + " brief" : state);
      return new DaemonStatusModel(
          agent, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
          null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
          null, null);
    }

    @Override
    public ModuleHealthModel health(boolean brief) {
      return new ModuleHealthModel(List.of());
    }

    @Override
    public DaemonConfigurationModel configuration() {
      return new DaemonConfigurationModel(
          new DaemonConfigurationModel.Spec(Map.of(), "the configuration"), null);
    }
  }

  private static final class FakeDebug implements DebugView {
    String memoryMap = "";

    @Override
    public String agentVersion() {
      return "9.9.9";
    }

    @Override
    public String kernelRelease() {
      return "6.99";
    }

    @Override
    public List<String> environment() {
      return List.of("A=1", "B=***");
    }

    @Override
    public Reader memoryMap() {
      return new StringReader(memoryMap);
    }

    @Override
    public Map<String, String> subsystems() {
      return Map.of("health", "fine");
    }
  }

  private static final class FakeConfiguration implements DaemonConfiguration {
    Map<String, String> options;
    String enforcement;
    RuntimeException failure;

    @Override
    public RuntimeOptions wanted() {
      throw new UnsupportedOperationException();
    }

    @Override
    public RuntimeOptions realized() {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> change(Map<String, String> changes, String mode) {
      options = changes;
      enforcement = mode;
      return failure == null
          ? CompletableFuture.completedFuture(null)
          : CompletableFuture.failedFuture(failure);
    }
  }
}
