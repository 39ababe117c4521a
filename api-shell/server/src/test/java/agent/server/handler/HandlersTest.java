package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.AgentClient;
import agent.client.AgentException;
import agent.client.RequestPath;
import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.ModuleHealthModel;
import agent.contract.datapath.PrefilterListModel;
import agent.contract.endpoint.EndpointChangeRequest;
import agent.contract.endpoint.EndpointConfigurationSpecModel;
import agent.contract.endpoint.EndpointModel;
import agent.contract.endpoint.EndpointPolicyModel.ProxyStatistics;
import agent.contract.ipam.IpamAllocationModel;
import agent.contract.policy.LabelModel;
import agent.contract.policy.PolicyModel;
import agent.contract.policy.PolicyResolutionModel;
import agent.contract.policy.PolicyResolutionRequest;
import agent.datapath.spec.Prefilter;
import agent.datapath.spec.PrefilterList;
import agent.dns.Names;
import agent.dns.NamesContext;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.ipam.AddressPool;
import agent.ipam.Ipam;
import agent.ipam.IpamContext;
import agent.maps.kernel.MapRegistry;
import agent.maps.layout.ServiceForwarding;
import agent.maps.mirror.MapMirrors;
import agent.policy.PolicyChange;
import agent.policy.repository.Replacement;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.server.ApiHandler;
import agent.server.Route;
import agent.server.TestServer;
import agent.server.metrics.MetricFamily;
import agent.server.metrics.MetricRegistry;
import agent.server.view.DaemonView;
import agent.server.view.ProxyView.EndpointTraffic;
import agent.service.Services;
import agent.testkit.api.CheckedSocket;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The whole way: client, socket, route, handler, facade, and back. */
@Timeout(60)
class HandlersTest {
  private final FakeEndpoints endpoints = new FakeEndpoints();
  private final EnginePolicy policy = new EnginePolicy();
  private final FakePrefilter prefilter = new FakePrefilter();
  private final Services services =
      Services.restore(
          new FakeServiceProxy(), new FakeServiceStore(), "n1", ServiceForwarding.DEFAULT);
  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final LocalCidrIdentityAllocator cidrIdentities = new LocalCidrIdentityAllocator();
  private volatile EndpointTraffic traffic = EndpointTraffic.NONE;
  private TestServer server;
  private CheckedSocket checked;
  private AgentClient client;

  @BeforeEach
  void start() throws IOException {
    final Ipam ipam =
        Ipam.open(
            new IpamContext()
                .pool(new AddressPool(AddressPool.DEFAULT, List.of(Prefix.parse("10.1.0.0/29"))))
                .gateways(IpAddress.parse("10.1.0.1"), null)
                .families(true, false)
                .conclude());
    final MetricRegistry metrics = new MetricRegistry();
    metrics.add(() -> List.of(MetricFamily.counter("drops_total", "Drops", 3)));
    final Map<Route, ApiHandler> handlers = new EnumMap<>(Route.class);
    for (final ApiHandler.Group group :
        List.of(
            new DaemonHandlers(new FakeDaemon(), metrics),
            new NodeHandlers(null, null),
            new ConfigurationHandlers(null, null),
            new DebugHandlers(null, null, endpoints, policy, services, id -> traffic),
            new DocumentHandler(),
            new EndpointHandlers(endpoints, id -> traffic),
            new IdentityHandlers(identities, cidrIdentities),
            new IpamHandlers(ipam, FakeEndpoints.NODE),
            new PolicyHandlers(policy, false),
            new PrefilterHandlers(prefilter),
            new ServiceHandlers(services),
            new FqdnHandlers(Names.open(new NamesContext().conclude()), endpoints),
            new MapHandlers(
                new MapMirrors(new MapRegistry(), map -> List.of(), () -> 0, () -> 0)))) {
      group.addTo(handlers);
    }
    assertEquals(Route.values().length, handlers.size(), "a route has no handler");
    server = TestServer.ofAgent(handlers);
    checked = CheckedSocket.before(server.socket());
    client = AgentClient.of(checked.path().toString());
  }

  @AfterEach
  void stop() throws IOException {
    client.close();
    checked.close();
    server.close();
  }

  private static void assertRefused(int status, String message, Executable call) {
    final AgentException refused = assertThrows(AgentException.class, call);
    assertEquals(status + " " + message, refused.status() + " " + refused.getMessage());
  }

  private static final class FakeDaemon implements DaemonView {
    @Override
    public DaemonStatusModel status(boolean brief) {
      throw Refusal.unavailable("", brief ? "brief" : "whole");
    }

    @Override
    public ModuleHealthModel health(boolean brief) {
      return new ModuleHealthModel(
          List.of(new ModuleHealthModel.Module(null, null, "OK", brief ? "brief" : "whole", "m")));
    }

    @Override
    public DaemonConfigurationModel configuration() {
      return new DaemonConfigurationModel(
          new DaemonConfigurationModel.Spec(Map.of(), "default"), null);
    }
  }

  private static final class FakePrefilter implements Prefilter {
    private PrefilterList list = PrefilterList.EMPTY;

    @Override
    public PrefilterList get() {
      return list;
    }

    @Override
    public PrefilterList add(OptionalLong revision, List<Prefix> prefixes) {
      if (revision.isPresent() && revision.getAsLong() != list.revision()) {
        throw Refusal.stale("revision", revision.getAsLong() + " is not " + list.revision());
      }
      list = new PrefilterList(list.revision() + 1, prefixes);
      return list;
    }

    @Override
    public PrefilterList remove(OptionalLong revision, List<Prefix> prefixes) {
      throw Refusal.disabled("", "there is no prefilter device");
    }
  }

  @Test
  void shouldShowEveryPartOfAnEndpoint() throws IOException {
    final JsonNode seen =
        new JsonMapper()
            .readTree(client.open("GET", RequestPath.of("endpoint", "7"), null).readAllBytes());
    assertEquals("ready", seen.at("/status/state").asString());
    assertEquals("Enabled", seen.at("/spec/options/Debug").asString());
    assertEquals("Disabled", seen.at("/status/realized/options/Debug").asString());
    assertEquals(
        "c0ffee:eth0", seen.at("/status/external-identifiers/cni-attachment-id").asString());
    assertEquals("ns/pod", seen.at("/status/external-identifiers/pod-name").asString());
    assertEquals("Warning", seen.at("/status/health/overallHealth").asString());
    assertTrue(seen.at("/status/health/connected").asBoolean());
    assertEquals(256, seen.at("/status/identity/id").asInt());
    assertEquals(64, seen.at("/status/identity/labelsSHA256").asString().length());
    assertEquals("2026-11-20T12:00:00.000Z", seen.at("/status/log/0/timestamp").asString());
    assertEquals("10.1.0.7", seen.at("/status/networking/addressing/0/ipv4").asString());
    assertTrue(seen.at("/status/networking/addressing/0/ipv6").isMissingNode());
    assertEquals(
        "10.1.0.0/24", seen.at("/status/networking/host-addressing/ipv4/alloc-range").asString());
    assertEquals("0a:00:00:00:00:07", seen.at("/status/networking/mac").asString());
    assertEquals(16777216, seen.at("/status/policy/realized/allowed-egress-identities/0").asInt());
    assertEquals("both", seen.at("/status/policy/spec/policy-enabled").asString());
    assertEquals("TCP/80", seen.at("/status/policy/spec/l4/ingress/0/rule").asString());
    assertEquals(
        "k8s:rule=a",
        seen.at("/status/policy/spec/l4/ingress/0/derived-from-rules/0/0").asString());
    assertEquals(
        "1.5s", seen.at("/status/controllers/0/configuration/error-retry-base").asString());
    assertEquals("no luck", seen.at("/status/controllers/0/status/last-failure-msg").asString());
    assertEquals("http", seen.at("/status/namedPorts/0/name").asString());
  }

  /** One endpoint shows what is so now; the list is rendered again soon. */
  @Test
  void shouldShowWhatProxiesCountWhileNothingElseChanges() throws Exception {
    final EndpointChangeRequest request =
        new JsonMapper().readValue("{\"state\":\"ready\"}", EndpointChangeRequest.class);
    assertEquals(List.of(), proxied(client.endpoints(List.of()).getFirst()));
    traffic = new EndpointTraffic(3, List.of(new ProxyStatistics(1, "egress", 53, "dns", null)));
    assertEquals(traffic.statistics(), proxied(client.endpoint("7")));
    assertEquals(3, client.endpoint("7").status().policy().proxyPolicyRevision());
    assertEquals(traffic.statistics(), proxied(client.modifyEndpoint("7", request)));
    assertEquals(traffic.statistics(), proxied(client.endpoints(List.of("app=web")).getFirst()));
    final List<ProxyStatistics> last = traffic.statistics();
    for (int i = 0; !proxied(client.endpoints(List.of()).getFirst()).equals(last); i++) {
      assertTrue(i < 100, "the list is as it was a second ago");
      Thread.sleep(10);
    }
    traffic = EndpointTraffic.NONE;
    assertEquals(List.of(), proxied(client.endpoint("7")));
  }

  private static List<ProxyStatistics> proxied(EndpointModel endpoint) {
    return endpoint.status().policy().proxyStatistics();
  }

  @Test
  void shouldShowTheViewsBelowAnEndpoint() throws IOException {
    assertEquals("attached", client.endpointLog("7").getFirst().message());
    assertEquals("Warning", client.endpointHealth("agent-local:7").policy());
    assertEquals(List.of("b"), client.endpointLabels("7").status().derived());
    assertEquals("the last build failed", client.endpointConfiguration("7").error());
    assertEquals(7, client.endpoints(List.of("app=web")).getFirst().id());
    assertRefused(404, "id: endpoint agent-local:8 does not exist", () -> client.endpointLog("8"));
    assertRefused(400, "id: 'x' is not a number from 0 to 65535", () -> client.endpointHealth("x"));
    assertRefused(404, "labels: no endpoint has [b]", () -> client.endpoints(List.of("b")));
  }

  @Test
  void shouldPassOnWhatAnEndpointIsCreatedWith() throws IOException {
    final EndpointChangeRequest request =
        new JsonMapper()
            .readValue(
                """
                {"state":"ready","id":8,"labels":["a"],"mac":"0a:00:00:00:00:07",
                 "addressing":{"ipv4":"10.1.0.8"},"sync-build-endpoint":true,
                 "datapath-configuration":{"require-arp-passthrough":true},
                 "properties":{"x":[1,{"y":null}]},"k8s-namespace":"ns"}
                """,
                EndpointChangeRequest.class);
    final EndpointModel created = client.createEndpoint("8", request);
    assertEquals(7, created.id());
    assertEquals("10.1.0.8", endpoints.lastRequest.addressing().ipv4());
    assertEquals("{\"x\":[1,{\"y\":null}]}", endpoints.lastRequest.properties());
    assertEquals("ns", endpoints.lastRequest.namespace());
    assertTrue(endpoints.lastRequest.syncBuildEndpoint());
    assertTrue(endpoints.lastRequest.datapathConfiguration().arpPassthrough());
    assertNull(endpoints.lastRequest.pid());
    assertRefused(409, "id: endpoint 7 already exists", () -> client.createEndpoint("7", request));
    client.modifyEndpoint("7", request);
    assertRefused(
        404,
        "id: endpoint agent-local:8 does not exist",
        () -> client.modifyEndpoint("8", request));
  }

  @Test
  void shouldShowTheSourceOfAnEndpoint() throws IOException {
    assertEquals("api", client.endpoint("7").source());
    assertEquals(
        List.of("api"), client.endpoints(List.of()).stream().map(EndpointModel::source).toList());
    final String body = "{\"state\":\"ready\",\"source\":\"orch\"}";
    final String answer =
        server.exchange(
            "PATCH /endpoint/7 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
                + body.length()
                + "\r\n\r\n"
                + body);
    assertTrue(answer.startsWith("HTTP/1.1 400 "), answer);
    assertTrue(answer.endsWith("\"source: is not a known field\""), answer);
  }

  @Test
  void shouldDeleteAndTellErrorsThatWereMet() throws IOException {
    assertEquals(List.of(), client.deleteEndpoint("7"));
    endpoints.deletionErrors = List.of("link: gone");
    assertEquals(List.of("link: gone"), client.deleteEndpoint("7"));
    assertEquals(List.of("link: gone"), client.deleteEndpointsOf("c0ffee"));
    assertTrue(
        server
            .exchange("DELETE /endpoint/7 HTTP/1.1\r\nHost: x\r\n\r\n")
            .startsWith("HTTP/1.1 202 "));
    assertRefused(404, "container-id: nothing has it", () -> client.deleteEndpointsOf("nothing"));
  }

  @Test
  void shouldConfigureAndLabel() throws IOException {
    client.configureEndpoint(
        "7", new EndpointConfigurationSpecModel(null, Map.of("Debug", "Enabled")));
    assertEquals(Map.of("Debug", "Enabled"), endpoints.lastOptions);
    assertNull(endpoints.lastLabels);
    client.labelEndpoint("7", List.of());
    assertEquals(List.of(), endpoints.lastLabels);
    assertRefused(
        400,
        "user: is missing, an array of labels is expected",
        () -> client.labelEndpoint("7", null));
  }

  @Test
  void shouldListAndFindIdentities() throws IOException {
    assertRefused(404, "no local endpoint has an identity", () -> client.identitiesInUse());
    final var identity =
        identities.acquire(LabelSet.parse("labels", List.of("k8s:app=web"))).join();
    assertEquals(List.of("k8s:app=web"), client.identity("" + identity.id()).labels());
    assertEquals(1L, client.identitiesInUse().getFirst().refCount());
    assertEquals(1, client.identities(List.of("k8s:app=web")).size());
    assertEquals(1, client.identities(List.of("app=web", "k8s:app=web")).size());
    assertEquals(1, client.identities(List.of("any:app=web")).size());
    assertThrows(AgentException.class, () -> client.identities(List.of("unspec:app=web")));
    assertTrue(client.identities(List.of()).size() >= 10);
    assertRefused(400, "id: 'x' is not a valid identity number", () -> client.identity("x"));
    assertRefused(
        400,
        "id: '99999999999' is not a valid identity number",
        () -> client.identity("99999999999"));
    assertRefused(404, "id: identity 999 does not exist", () -> client.identity("999"));
    assertEquals(List.of("reserved:host"), client.identity("1").labels());
    assertRefused(
        404, "id: identity 2147483647 does not exist", () -> client.identity("2147483647"));
    assertRefused(400, "id: '0' is not a valid identity number", () -> client.identity("0"));
    assertThrows(AgentException.class, () -> client.identities(List.of("k8s:app=none")));
    final Identity cidr = cidrIdentities.acquire(Prefix.parse("10.0.0.0/8"));
    assertEquals(
        List.of("cidr:10.0.0.0/8", "reserved:world"), client.identity("16777216").labels());
    assertEquals(cidr.id(), client.identities(List.of("cidr:10.0.0.0/8")).getFirst().id());
    assertEquals(1, client.identitiesInUse().size());
    assertEquals(1, client.identities(List.of("reserved:host")).size());
  }

  @Test
  void shouldAllocateAndReleaseAddresses() throws IOException {
    final IpamAllocationModel first = client.allocate("ipv4", "me", null, true);
    assertEquals("10.1.0.2", first.ipv4().ip());
    assertEquals("10.1.0.1", first.ipv4().gateway());
    assertEquals(36, first.ipv4().expirationUuid().length());
    assertEquals(first.ipv4().expirationUuid(), first.address().ipv4ExpirationUuid());
    assertNull(first.ipv6());
    client.allocateAddress("10.1.0.3", "you", null);
    assertRefused(
        409,
        "ip: 10.1.0.3 is in use by 'you'",
        () -> client.allocateAddress("10.1.0.3", null, null));
    client.release("10.1.0.3", null);
    assertRefused(404, "ip: 10.1.0.3 is not allocated", () -> client.release("10.1.0.3", null));
    assertRefused(
        400, "ip: '10.1.0.999' is not an IPv4 address", () -> client.release("10.1.0.999", null));
    assertRefused(
        400,
        "family: 'ipv5' is neither ipv4 nor ipv6",
        () -> client.allocate("ipv5", null, null, false));
    assertRefused(
        501, "family: IPv6 is disabled", () -> client.allocate("ipv6", null, null, false));
    for (int i = 0; i < 4; i++) {
      client.allocate(null, null, null, false);
    }
    assertEquals(
        502,
        assertThrows(AgentException.class, () -> client.allocate(null, null, null, false))
            .status());
  }

  private static String rule(String app, String label) {
    return "{\"endpointSelector\":{\"matchLabels\":{\"app\":\"%s\"}},\"ingress\":[],".formatted(app)
        + "\"labels\":[{\"key\":\"rule\",\"source\":\"k8s\",\"value\":\"%s\"}]}".formatted(label);
  }

  @Test
  void shouldImportShowAndDeletePolicy() throws IOException {
    final String rule =
        "{\"description\":\"\\\"\\\\ é \\n"
            + "\",\"endpointSelector\":{\"matchLabels\":{\"app\":\"web\"}},\"ingress\":"
            + "[{\"fromCIDRSet\":[{\"cidr\":\"10.0.0.0/8\",\"except\":[\"10.1.0.0/16\"]}],"
            + "\"toPorts\":[{\"ports\":[{\"endPort\":90,\"port\":\"80\",\"protocol\":\"TCP\"}]}]},"
            + "{\"fromEndpoints\":[],\"icmps\":[{\"fields\":[{\"type\":8}]}]},{}],"
            + "\"labels\":[{\"key\":\"rule\",\"source\":\"k8s\",\"value\":\"a\"}]}";
    assertEquals(2L, client.importPolicy("[" + rule + "]").revision());
    assertEquals("[" + rule + "]", client.policy(List.of()).policy());
    assertRefused(
        400, "[0].endpointSelector: is missing", () -> client.importPolicy("[{\"ingress\":[]}]"));
    assertRefused(
        400, "[0].ingres: is not a known field", () -> client.importPolicy("[{\"ingres\":[]}]"));
    assertEquals(
        new LabelModel("rule", "k8s", "a"), client.selectors().getFirst().labels().getFirst());
    assertRefused(404, "labels: no rule has [none]", () -> client.deletePolicy(List.of("none")));
    assertEquals("[]", client.deletePolicy(List.of()).policy());
  }

  @Test
  void shouldReplaceRulesOnlyWhereAsked() throws IOException {
    final String both = rule("web", "a") + "," + rule("db", "a");
    assertEquals(
        "[" + rule("web", "a") + "]", client.importPolicy(listOf(rule("web", "a"))).policy());
    assertEquals(
        "3 [" + both + "]",
        shown(client.importPolicy("[" + rule("web", "a") + "," + rule("db", "a") + "]")));
    assertEquals("3 [" + both + "]", shown(client.importPolicy(listOf(rule("db", "a")))));
    assertEquals(
        "4 [" + rule("cache", "a") + "]",
        shown(client.importPolicy(listOf(rule("cache", "a")), true, List.of())));
    assertEquals(
        "5 [" + rule("web", "b") + "]",
        shown(client.importPolicy(listOf(rule("web", "b")), false, List.of("k8s:rule=a"))));
    assertRefused(
        400,
        "replace-with-labels[0]: 'k8s:' is not a valid label: the key is missing",
        () -> client.importPolicy(listOf(rule("web", "c")), false, List.of("k8s:")));
    assertEquals(
        "400 \"replace: 'yes' is neither true nor false\"", put("?replace=yes", rule("web", "c")));
    assertEquals(
        "400 \"replace: duplicate query parameter\"",
        put("?replace=true&replace=true", rule("web", "c")));
    assertEquals("5 [" + rule("web", "b") + "]", shown(client.policy(List.of())));
  }

  @Test
  void shouldShowAndKeepTheRulesOfOtherSources() throws IOException {
    final EntrySource file = new EntrySource("file:shop.yaml");
    final RuleSpec foreign =
        new RuleSpec(
            SelectorSpec.ALL,
            List.of(),
            null,
            null,
            null,
            List.of(new RuleSpec.LabelSpec("rule", "b", "k8s")),
            null,
            null,
            file);
    policy
        .change(PolicyChange.add(file, List.of(foreign), Replacement.of(false, List.of())))
        .join();
    client.importPolicy(listOf(rule("web", "a")));
    final String shownForeign =
        "{\"endpointSelector\":{},\"ingress\":[],\"labels\":[{\"key\":\"rule\",\"source\":\"k8s\","
            + "\"value\":\"b\"}],\"source\":\"file:shop.yaml\"}";
    final String both = "3 [" + shownForeign + "," + rule("web", "a") + "]";
    assertEquals(both, shown(client.policy(List.of())));
    assertRefused(
        409,
        "[1].source: the rule belongs to source 'file:shop.yaml', not to 'api'",
        () -> client.importPolicy("[" + rule("db", "a") + "," + shownForeign + "]"));
    assertRefused(
        400,
        "[1].source: 'shop' is not api, cluster, orch, file:<name> or runtime:<kind>",
        () ->
            client.importPolicy(
                "["
                    + rule("db", "a")
                    + ","
                    + shownForeign.replace("file:shop.yaml", "shop")
                    + "]"));
    assertRefused(
        409,
        "labels: a rule with labels [k8s:rule=b] belongs to source 'file:shop.yaml'",
        () -> client.deletePolicy(List.of("k8s:rule=b")));
    final String sameOfApi = rule("web", "a").replaceAll("}$", ",\"source\":\"api\"}");
    assertEquals(both, shown(client.importPolicy(listOf(sameOfApi))), "the same rule");
    assertEquals(
        "4 [" + shownForeign + "," + rule("db", "b") + "]",
        shown(client.importPolicy(listOf(rule("db", "b")), true, List.of("k8s:rule=a"))));
    assertEquals("5 [" + shownForeign + "]", shown(client.deletePolicy(List.of())));
  }

  @Test
  void shouldDeleteAllRulesOnlyWhereNoLabelsAreSent() throws IOException {
    client.importPolicy(listOf(rule("web", "a")));
    assertTrue(
        server
            .exchange(
                "DELETE /policy HTTP/1.1\r\n"
                    + "Host: x\r\n"
                    + "Content-Length: 2\r\n"
                    + "Connection: close\r\n\r\n"
                    + "[]")
            .startsWith("HTTP/1.1 400 "));
    assertEquals("2 [" + rule("web", "a") + "]", shown(client.policy(List.of())));
    assertEquals("3 []", shown(client.deletePolicy(List.of())));
    assertEquals("3 []", shown(client.deletePolicy(List.of())), "nothing changes");
  }

  private static String listOf(String rule) {
    return "[" + rule + "]";
  }

  private static String shown(PolicyModel answer) {
    return answer.revision() + " " + answer.policy();
  }

  private String put(String query, String rule) throws IOException {
    final String answer =
        server.exchange(
            "PUT /policy"
                + query
                + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
                + (rule.length() + 2)
                + "\r\n\r\n["
                + rule
                + "]");
    return answer.substring(9, 12) + " " + answer.substring(answer.indexOf("\r\n\r\n") + 4);
  }

  @Test
  void shouldNameWhatARuleUsesThatIsNotServed() {
    assertRefused(
        400,
        "[0].egress[0].toServices[0].k8sServiceSelector: is not a known field",
        () ->
            client.importPolicy(
                "[{\"endpointSelector\":{},\"egress\":[{\"toServices\":[{\"k8sServiceSelector\":{}}]}]}]"));
    for (final String peer : List.of("{\"k8sService\":null}", "{\"k8sService\":{}}")) {
      assertRefused(
          400,
          "[0].egressDeny[0].toServices[0].k8sService.serviceName: is missing",
          () ->
              client.importPolicy(
                  "[{\"endpointSelector\":{},\"egressDeny\":[{\"toServices\":[%s]}]}]"
                      .formatted(peer)));
    }
    assertRefused(
        400,
        "[0].egress[0].toPorts[0].rules: exactly one of http and dns is required",
        () ->
            client.importPolicy(
                "[{\"endpointSelector\":{},\"egress\":[{\"toPorts\":[{\"ports\":[{\"port\":\"80\"}],\"rules\":{}}]}]}]"));
    for (final String kind : List.of("kafka", "l7proto", "l7")) {
      assertRefused(
          400,
          "[0].egress[0].toPorts[0].rules." + kind + ": is not a known field",
          () ->
              client.importPolicy(
                  "[{\"endpointSelector\":{},\"egress\":[{\"toPorts\":[{\"rules\":{\"%s\":[]}}]}]}]"
                      .formatted(kind)));
    }
  }

  @Test
  void shouldResolvePolicy() throws IOException {
    client.importPolicy(
        listOf(
            "{\"endpointSelector\":{\"matchLabels\":{\"app\":\"web\"}},\"ingress\":"
                + "[{\"fromEndpoints\":[{\"matchLabels\":{\"app\":\"db\"}}],"
                + "\"toPorts\":[{\"ports\":[{\"port\":\"80\",\"protocol\":\"TCP\"}]}]}]}"));
    assertEquals("ALLOWED", resolved("app=db", 80, "TCP").verdict());
    assertEquals("DENIED", resolved("app=db", 81, "TCP").verdict());
    assertEquals("DENIED", resolved("app=db", 80, "UDP").verdict());
    assertEquals("DENIED", resolved("cidr:198.51.100.7/32", 80, "TCP").verdict());
    assertEquals("rule [0] []: ingress of to: allows", resolved("app=db", 80, "TCP").log());
    assertRefused(400, "to.dports[0].port: is missing", () -> resolved("app=db", null, "TCP"));
    assertRefused(
        400,
        "to.dports[0].protocol: 'FOO' is not one of TCP, UDP, SCTP, ICMP, ICMPv6, ANY",
        () -> resolved("app=db", 1, "FOO"));
    assertRefused(
        400,
        "from: is missing",
        () -> client.resolvePolicy(new PolicyResolutionRequest(null, null, null)));
    final var from = new PolicyResolutionRequest.From(List.of());
    assertRefused(
        400,
        "to: is missing",
        () -> client.resolvePolicy(new PolicyResolutionRequest(from, null, null)));
    final var to = new PolicyResolutionRequest.To(null, List.of());
    assertRefused(
        400,
        "from: is missing",
        () -> client.resolvePolicy(new PolicyResolutionRequest(null, to, null)));
    assertRefused(
        400,
        "to.dports[0].name: 'ANY/http' is a named port of no endpoint with these labels",
        () -> resolved(new PolicyResolutionRequest.Port("HTTP", null, null)));
    assertRefused(
        400,
        "to.dports[0].name: 'a_b' is not a valid port name",
        () -> resolved(new PolicyResolutionRequest.Port("a_b", null, "TCP")));
    assertRefused(
        400,
        "to.dports[0].name: cannot be combined with a port number",
        () -> resolved(new PolicyResolutionRequest.Port("http", 80, "TCP")));
  }

  private PolicyResolutionModel resolved(PolicyResolutionRequest.Port port) throws IOException {
    return client.resolvePolicy(
        new PolicyResolutionRequest(
            new PolicyResolutionRequest.From(List.of()),
            new PolicyResolutionRequest.To(List.of(port), null),
            null));
  }

  private PolicyResolutionModel resolved(String from, Integer port, String protocol)
      throws IOException {
    return client.resolvePolicy(
        new PolicyResolutionRequest(
            new PolicyResolutionRequest.From(List.of(from)),
            new PolicyResolutionRequest.To(
                List.of(new PolicyResolutionRequest.Port(null, port, protocol)),
                List.of("app=web")),
            null));
  }

  @Test
  void shouldChangeThePrefilter() throws IOException {
    final var after =
        client.addToPrefilter(new PrefilterListModel(List.of("10.9.8.7/8", "fd00::1"), 1L));
    assertEquals(List.of("10.0.0.0/8", "fd00::1/128"), after.status().realized().deny());
    assertEquals(2L, after.spec().revision());
    assertRefused(
        409,
        "revision: 1 is not 2",
        () -> client.addToPrefilter(new PrefilterListModel(List.of("10.0.0.0/8"), 1L)));
    assertRefused(
        461,
        "deny[1]: '10.0.0.0/33' is not a CIDR: its length is not between 0 and 32",
        () ->
            client.addToPrefilter(
                new PrefilterListModel(List.of("10.0.0.0/8", "10.0.0.0/33"), null)));
    assertRefused(
        400,
        "deny: is missing, an array of CIDRs is expected",
        () -> client.addToPrefilter(new PrefilterListModel(null, null)));
    assertRefused(
        501,
        "there is no prefilter device",
        () -> client.removeFromPrefilter(new PrefilterListModel(List.of(), null)));
    assertEquals(2L, client.prefilter().spec().revision());
    final String answer =
        server.exchange(
            "PATCH /prefilter HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n{\"deny\": [7]}");
    assertTrue(answer.startsWith("HTTP/1.1 400 "), answer);
    assertTrue(answer.contains("\"deny[0]: a string is expected at line 1"), answer);
  }

  @Test
  void shouldShowTheDaemonItsMapsAndItsMetrics() throws IOException {
    assertRefused(503, "brief", () -> client.status(true));
    assertRefused(503, "whole", () -> client.status(false));
    assertEquals("brief", client.health(true).modules().getFirst().message());
    assertEquals("default", client.configuration().spec().policyEnforcement());
    assertEquals(List.of(), client.maps().maps());
    assertRefused(404, "name: map 'x' does not exist", () -> client.map("x"));
    assertEquals("drops_total", client.metrics().getFirst().name());
    final String text =
        server.exchange(
            "GET /metrics/ HTTP/1.1\r\nHost: x\r\nAccept: text/plain;version=0.0.4\r\n\r\n");
    assertTrue(text.contains("Content-Type: text/plain; version=0.0.4"), text);
    assertTrue(text.endsWith("# TYPE drops_total counter\ndrops_total 3\n"), text);
  }

  @Test
  void shouldServeTheDocumentInOneFile() throws IOException {
    final String answer = server.exchange("GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n");
    assertTrue(answer.contains("Content-Type: application/yaml\r\n"), answer);
    final String text = answer.substring(answer.indexOf("\r\n\r\n") + 4);
    assertTrue(text.startsWith("openapi: 3.1."), text);
    assertTrue(text.contains("\n    RuleModel:\n"), "the document has no schemas");
    assertFalse(text.contains(".yaml#/"), "the document refers to another file");
  }
}
