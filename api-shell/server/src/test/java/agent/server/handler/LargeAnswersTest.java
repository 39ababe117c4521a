package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import agent.client.AgentClient;
import agent.client.RequestPath;
import agent.datapath.spec.Prefilter;
import agent.datapath.spec.PrefilterList;
import agent.endpoint.PolicyService;
import agent.policy.PolicyChange;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.PolicySnapshot;
import agent.policy.resolve.EnforcementMode;
import agent.policy.spec.RuleSpec;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.server.ApiHandler;
import agent.server.Route;
import agent.server.TestServer;
import agent.server.view.ProxyView.EndpointTraffic;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.ServiceName;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * An answer with much content has what is so when it is written: what a change made of it is at
 * revision 1, and at revision 2 when it is read again.
 */
@Timeout(60)
class LargeAnswersTest {
  /** A method that no request has. */
  private static final String IN_DOUBT =
      """
      [{"endpointSelector": {}, "ingress": [{"toPorts": [
        {"ports": [{"port": "80", "protocol": "TCP"}],
         "rules": {"http": [{"method": "GET POST"}]}}]}]}]
      """;

  private int size;
  private List<String> asked = List.of();

  /** Reads at revision 2 what a change left at revision 1. */
  private final class MovingPrefilter implements Prefilter {
    private PrefilterList list(long revision) {
      final List<Prefix> deny = new ArrayList<>(size);
      for (int i = 0; i < size; i++) {
        deny.add(Prefix.of(IpAddress.ofIpv4(i)));
      }
      return new PrefilterList(revision, deny);
    }

    @Override
    public PrefilterList get() {
      return list(2);
    }

    @Override
    public PrefilterList add(OptionalLong revision, List<Prefix> prefixes) {
      return list(1);
    }

    @Override
    public PrefilterList remove(OptionalLong revision, List<Prefix> prefixes) {
      return list(1);
    }
  }

  /** Reads at revision 2 what a change left at revision 1. */
  private final class MovingPolicy implements PolicyService {
    private PolicySnapshot rules(long revision) {
      return new PolicySnapshot(
          revision,
          List.of(new RuleSpec(null, null, null, null, null, null, "x".repeat(size))),
          size);
    }

    @Override
    public CompletableFuture<PolicySnapshot> change(PolicyChange change) {
      return CompletableFuture.completedFuture(rules(1));
    }

    @Override
    public PolicySnapshot get(List<String> labels) {
      asked = labels;
      return rules(2);
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

  private JsonNode answer(ApiHandler.Group group, String method, String path, String body)
      throws IOException {
    final Map<Route, ApiHandler> handlers = new EnumMap<>(Route.class);
    group.addTo(handlers);
    try (TestServer server = TestServer.start(handlers);
        AgentClient client = AgentClient.of(server.socket().toString())) {
      return new JsonMapper()
          .readTree(client.open(method, RequestPath.of(path), body).readAllBytes());
    }
  }

  private void assertDenied(int count, int revision, String method) throws IOException {
    size = count;
    final JsonNode list =
        answer(
            new PrefilterHandlers(new MovingPrefilter()),
            method,
            "prefilter",
            "{\"deny\":[\"10.0.0.0/8\"]}");
    assertEquals(count, list.at("/spec/deny").size());
    assertEquals(revision, list.at("/spec/revision").asInt());
    assertEquals(count, list.at("/status/realized/deny").size());
    assertEquals(revision, list.at("/status/realized/revision").asInt());
  }

  @Test
  void shouldReadALongDenyListAgain() throws IOException {
    for (final String method : List.of("PATCH", "DELETE")) {
      assertDenied(1, 1, method);
      assertDenied(49_999, 1, method);
      assertDenied(50_000, 2, method);
    }
  }

  private void assertRules(int characters, int revision) throws IOException {
    size = characters;
    final JsonNode policy =
        answer(new PolicyHandlers(new MovingPolicy(), false), "DELETE", "policy", null);
    assertEquals(revision, policy.at("/revision").asInt());
    final JsonNode rules = new JsonMapper().readTree(policy.at("/policy").asString());
    assertEquals(characters, rules.at("/0/description").asString().length());
  }

  @Test
  void shouldReadLongRulesAgain() throws IOException {
    assertRules(7, 1);
    assertRules(1 << 20, 2);
  }

  /** Labels, by which long rules are read again, are texts as warnings are. */
  @Test
  void shouldReadLongRulesAgainByTheirLabelsAndShowTheirWarnings() throws IOException {
    size = 1 << 20;
    final PolicyHandlers handlers = new PolicyHandlers(new MovingPolicy(), false);
    final JsonNode shown = answer(handlers, "GET", "policy", "[\"unspec:k=v\"]");
    assertEquals(List.of("unspec:k=v"), asked);
    assertFalse(shown.has("warnings"), "there is nothing to warn of");
    final JsonNode imported = answer(handlers, "PUT", "policy", IN_DOUBT);
    assertEquals(1, imported.get("warnings").size());
    assertEquals(List.of(), asked, "all rules");
    assertEquals(2, imported.get("revision").asInt());
  }

  /** An answer above 256 KiB is not kept, and the same. */
  @Test
  void shouldShowManyEndpoints() throws IOException {
    final FakeEndpoints endpoints = new FakeEndpoints();
    endpoints.count = 300;
    final JsonNode all =
        answer(
            new EndpointHandlers(endpoints, id -> EndpointTraffic.NONE), "GET", "endpoint", null);
    assertEquals(300, all.size());
    assertEquals(7, all.get(299).at("/id").asInt());
  }
}
