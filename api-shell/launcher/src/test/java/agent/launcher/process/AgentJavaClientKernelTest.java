package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.AgentClient;
import agent.client.AgentException;
import agent.client.RequestPath;
import agent.contract.WireFormat;
import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.datapath.PrefilterListModel;
import agent.contract.endpoint.EndpointChangeRequest;
import agent.contract.endpoint.EndpointConfigurationSpecModel;
import agent.contract.endpoint.EndpointModel;
import agent.contract.fqdn.FqdnLookupModel;
import agent.contract.node.NodeListModel;
import agent.contract.policy.PolicyResolutionRequest;
import agent.contract.service.ServiceModel;
import agent.contract.service.ServiceSpecModel;
import agent.contract.service.ServiceSpecModel.BackendAddress;
import agent.contract.service.ServiceSpecModel.FrontendAddress;
import agent.testkit.KernelTest;
import agent.testkit.TestControlGroup;
import agent.testkit.api.CheckedSocket;
import agent.testkit.api.OpenApiDocument;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * The Java client drives a running agent through every operation, as the Go client does. Each
 * answer must be as the OpenAPI document says.
 */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentJavaClientKernelTest {
  private static final String RULES =
      """
      [{"endpointSelector": {"matchLabels": {"app": "web"}},
        "ingress": [{"fromEndpoints": []},
                    {"fromEndpoints": [{"matchLabels": {"app": "client"}}]}],
        "labels": [{"key": "name", "value": "live"}]}]
      """;

  private static void assertRefused(int status, Executable call) {
    assertEquals(status, assertThrows(AgentException.class, call).status());
  }

  @Test
  void shouldCallEveryOperationOfARunningAgent() throws Exception {
    try (TestNode node = new TestNode()) {
      node.namespace().exec("ip", "link", "add", "outside", "type", "veth", "peer", "name", "far");
      node.namespace().exec("ip", "link", "set", "outside", "up");
      final TestControlGroup group = TestControlGroup.enter();
      node.keep(group);
      final AgentProcess process =
          node.agent(
              "--prefilter-device",
              "outside",
              "--prefilter-mode",
              "generic",
              "--cgroup-root",
              group.path().toString(),
              "--tofqdns-pre-cache",
              node.preCache("www.example.com", "192.0.2.7").toString());
      final TestWorkload workload = node.plumbed(process, "live", "k8s:app=live", "k8s:tier=1");
      final CheckedSocket socket = CheckedSocket.before(process.socket());
      try (AgentClient agent = AgentClient.of(socket.path().toString())) {
        daemon(agent);
        clusterAndConfiguration(agent);
        addresses(agent);
        policy(agent);
        prefilter(agent);
        services(agent);
        names(agent);
        final EndpointChangeRequest request =
            WireFormat.strictMapper().readValue(workload.request(), EndpointChangeRequest.class);
        endpoints(agent, request);
      }
      socket.close();
      assertEquals(OpenApiDocument.shipped().operations(), socket.operations());
    }
  }

  private static void daemon(AgentClient agent) throws Exception {
    assertEquals("Ok", agent.status(false).agent().state());
    assertFalse(agent.health(false).modules().isEmpty());
    assertEquals("default", agent.configuration().spec().policyEnforcement());
    assertFalse(agent.metrics().isEmpty());
    for (final var map : agent.maps().maps()) {
      assertEquals(map.name(), agent.map(map.name()).name());
    }
    final String document =
        new String(
            agent.open("GET", RequestPath.of("openapi.yaml"), null).readAllBytes(),
            StandardCharsets.UTF_8);
    assertTrue(document.startsWith("openapi: 3.1."), document);
  }

  private static void clusterAndConfiguration(AgentClient agent) throws Exception {
    final NodeListModel nodes = agent.nodes(null);
    assertEquals(nodes.self(), nodes.nodesAdded().getFirst().name());
    assertEquals(List.of(), agent.nodes(nodes.clientId()).nodesAdded());
    final DaemonConfigurationModel.Spec before = agent.configuration().spec();
    final Map<String, String> options = Map.of("Debug", "Enabled");
    assertEquals(
        "Enabled",
        agent
            .configure(new DaemonConfigurationModel.Spec(options, null))
            .spec()
            .options()
            .get("Debug"));
    agent.configure(
        new DaemonConfigurationModel.Spec(
            Map.of("Debug", before.options().get("Debug")), before.policyEnforcement()));
    assertFalse(agent.debugInformation().agentVersion().isEmpty());
  }

  private static void addresses(AgentClient agent) throws Exception {
    final String ip = agent.allocate("ipv4", "live test", null, true).ipv4().ip();
    assertRefused(409, () -> agent.allocateAddress(ip, "another", null));
    agent.release(ip, null);
    agent.allocateAddress(ip, "another", null);
    agent.release(ip, null);
    assertRefused(404, () -> agent.release(ip, null));
  }

  private static void policy(AgentClient agent) throws Exception {
    final long imported = agent.importPolicy(RULES).revision();
    assertEquals(imported, agent.policy(List.of("name=live")).revision());
    assertFalse(agent.selectors().isEmpty());
    assertEquals("ALLOWED", agent.resolvePolicy(toWebFrom("k8s:app=client")).verdict());
    assertEquals("DENIED", agent.resolvePolicy(toWebFrom("k8s:app=other")).verdict());
    assertTrue(agent.deletePolicy(List.of("name=live")).revision() > imported);
    assertRefused(404, () -> agent.deletePolicy(List.of("name=live")));
  }

  private static PolicyResolutionRequest toWebFrom(String label) {
    return new PolicyResolutionRequest(
        new PolicyResolutionRequest.From(List.of(label)),
        new PolicyResolutionRequest.To(List.of(), List.of("app=web")),
        null);
  }

  private static void prefilter(AgentClient agent) throws Exception {
    final Long revision = agent.prefilter().spec().revision();
    final List<String> prefixes = List.of("192.0.2.0/24");
    final PrefilterListModel change = new PrefilterListModel(prefixes, revision);
    assertEquals(prefixes, agent.addToPrefilter(change).spec().deny());
    assertRefused(409, () -> agent.addToPrefilter(change));
    assertEquals(
        List.of(), agent.removeFromPrefilter(new PrefilterListModel(prefixes, null)).spec().deny());
  }

  private static void names(AgentClient agent) throws Exception {
    final FqdnLookupModel known = agent.names("*.example.com", "192.0.2.0/24").getFirst();
    assertEquals("www.example.com.", known.fqdn());
    assertEquals(List.of("192.0.2.7"), known.ips());
    assertRefused(404, () -> agent.names(null, "198.51.100.0/24"));
    assertRefused(404, () -> agent.namesOfEndpoint("9999", null, null));
    agent.deleteNames("www.example.com");
    assertEquals(List.of(), agent.names(null, null));
  }

  private static void services(AgentClient agent) throws Exception {
    final ServiceSpecModel wanted =
        new ServiceSpecModel(
            List.of(new BackendAddress("10.1.0.7", null, 8080, null, null, 3)),
            null,
            new FrontendAddress("10.96.0.1", 80, "TCP", null),
            7);
    final ServiceModel created = agent.putService(7, wanted);
    assertEquals("active", created.spec().backendAddresses().getFirst().state());
    assertEquals(created, agent.service(7));
    assertEquals(List.of(created), agent.services());
    assertRefused(
        409,
        () -> agent.putService(8, new ServiceSpecModel(null, null, wanted.frontendAddress(), 8)));
    assertRefused(460, () -> agent.putService(8, new ServiceSpecModel(null, null, null, 8)));
    agent.deleteService(7);
    assertRefused(404, () -> agent.service(7));
  }

  private static void endpoints(AgentClient agent, EndpointChangeRequest request) throws Exception {
    final EndpointModel created = agent.createEndpoint("0", request);
    final String id = created.id().toString();
    assertEquals("ready", created.status().state());
    assertEquals(created.id(), agent.endpoints(request.labels()).getFirst().id());
    assertEquals(created.id(), agent.endpoint("container-id:" + request.containerId()).id());
    agent.modifyEndpoint(id, request);
    final Map<String, String> options = Map.of("Debug", "Enabled");
    agent.configureEndpoint(id, new EndpointConfigurationSpecModel(null, options));
    assertEquals("Enabled", agent.endpointConfiguration(id).realized().options().get("Debug"));
    agent.labelEndpoint(id, List.of("k8s:owner=live"));
    assertEquals(List.of("k8s:owner=live"), agent.endpointLabels(id).spec().user());
    assertFalse(agent.endpointLog(id).isEmpty());
    assertEquals("OK", agent.endpointHealth(id).policy());
    assertEquals(List.of(), agent.namesOfEndpoint(id, null, null));

    assertEquals(1, agent.identitiesInUse().size());
    final long identity = agent.endpoint(id).status().identity().id();
    assertEquals(identity, agent.identity(Long.toString(identity)).id());
    assertTrue(agent.identities(List.of()).size() > 8);

    assertEquals(List.of(), agent.deleteEndpointsOf(request.containerId()));
    assertRefused(404, () -> agent.endpoint(id));
    agent.createEndpoint("0", request);
    final String again = agent.endpoints(List.of()).getFirst().id().toString();
    assertEquals(List.of(), agent.deleteEndpoint(again));
  }
}
