package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static agent.policy.OutsideAddresses.identityOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectedFlow;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.identity.ReservedIdentity;
import agent.maps.layout.PolicyDirection;
import agent.policy.model.NaivePeer;
import agent.policy.model.NaivePolicy;
import agent.policy.model.NaiveRequest;
import agent.policy.model.NaiveRequests;
import agent.policy.model.PolicyMapModel;
import agent.policy.model.RandomPolicy;
import agent.policy.model.RandomRequests;
import agent.policy.model.Verdict;
import agent.policy.request.HttpVerdict;
import agent.policy.request.HttpVerdict.HeaderChange;
import agent.policy.spec.RuleSpec;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Compares entries and answers about requests with the naive policy, on random rules. */
class RandomRequestsTest {
  private static final int RULE_SETS = 300;
  private static final int FLOWS = 60;
  private static final int ENDPOINTS = 4;
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final IpAddress ADDRESS = IpAddress.parse("192.0.2.1");

  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final PolicyEngine engine =
      PolicyEngine.open(new PolicyContext().identities(identities).conclude());
  private final List<Identity> endpoints = new ArrayList<>();
  private final Map<String, Integer> seen = new TreeMap<>();
  private RandomPolicy random;
  private RandomRequests requests;
  private List<RuleSpec> rules;

  /** One side of a flow, as both policies see it. */
  private record Side(LabelSet subject, int endpoint, NaivePeer peer, int identity) {}

  @Test
  void shouldSayOfEveryRequestWhatTheNaivePolicySays() {
    for (int seed = 0; seed < RULE_SETS; seed++) {
      random = new RandomPolicy(seed);
      requests = new RandomRequests(seed);
      rules = requests.restricted(random.rules());
      delete(engine, List.of());
      changeEndpoints();
      add(engine, rules, false);
      assertEquals(engine.snapshot().revision(), engine.requests().revision());
      for (int i = 0; i < FLOWS; i++) {
        check(seed);
      }
    }
    for (final String kind :
        List.of("proxy 1", "proxy 2", "http", "no http", "changes", "dns", "no dns")) {
      assertTrue(seen.getOrDefault(kind, 0) > RULE_SETS, () -> "too few: " + seen);
    }
  }

  private void changeEndpoints() {
    while (!endpoints.isEmpty() && random.below(3) == 0) {
      Changes.publish(engine, engine.endpointRemoved(endpoints.size()));
      identities.release(endpoints.removeLast().id()).join();
      Changes.publish(engine, engine.refresh());
    }
    while (endpoints.size() < ENDPOINTS) {
      final Identity identity = identities.acquire(random.labels()).join();
      endpoints.add(identity);
      Changes.publish(engine, engine.endpointSet(endpoints.size(), identity, List.of()));
    }
  }

  private void check(int seed) {
    final int client = 1 + random.below(ENDPOINTS);
    final int server = 1 + random.below(ENDPOINTS);
    final boolean isUdp = random.below(3) == 0;
    final int port = requests.somePort();
    final Side outside = outside();
    final Side egress =
        random.below(3) == 0
            ? new Side(labels(client), client, outside.peer(), outside.identity())
            : new Side(labels(client), client, endpoint(server), identity(server));
    final Side ingress =
        random.below(3) == 0
            ? new Side(labels(server), server, outside.peer(), outside.identity())
            : new Side(labels(server), server, endpoint(client), identity(client));
    final boolean isBetweenEndpoints =
        egress.identity() == identity(server) && ingress.identity() == identity(client);
    final int protocol = isUdp ? UDP : TCP;
    final NaiveRequests atClient = naive(egress, false, protocol, port);
    final NaiveRequests atServer = naive(ingress, true, protocol, port);
    final String about =
        "seed %d, protocol %d, port %d%negress %s%ningress %s%nrules %s"
            .formatted(seed, protocol, port, egress, ingress, rules);
    checkEntries(egress, false, protocol, port, atClient, about);
    checkEntries(ingress, true, protocol, port, atServer, about);
    final NaiveRequest request = requests.request();
    final String name = requests.name();
    final RedirectedFlow toOutside = flow(protocol, port, client, 0, 0, egress.identity());
    check(toOutside, request, name, atClient.http(request), atClient.dns(name), about);
    final RedirectedFlow fromOutside = flow(protocol, port, 0, ingress.identity(), server, 0);
    check(fromOutside, request, name, atServer.http(request), atServer.dns(name), about);
    if (isBetweenEndpoints) {
      final Optional<Set<HeaderChange>> one = atClient.http(request);
      final Optional<Set<HeaderChange>> other = atServer.http(request);
      final Set<HeaderChange> both = new HashSet<>(one.orElse(Set.of()));
      both.addAll(other.orElse(Set.of()));
      check(
          flow(protocol, port, client, identity(client), server, identity(server)),
          request,
          name,
          one.isPresent() && other.isPresent() ? Optional.of(both) : Optional.empty(),
          atClient.dns(name) && atServer.dns(name),
          about);
    }
  }

  private NaiveRequests naive(Side side, boolean ingress, int protocol, int port) {
    return new NaiveRequests(
        new NaivePolicy(rules), side.subject(), ingress, side.peer(), protocol, port);
  }

  private void checkEntries(
      Side side, boolean ingress, int protocol, int port, NaiveRequests naive, String about) {
    final PolicyMapModel map =
        new PolicyMapModel(engine.policyOf(side.endpoint()).orElseThrow().entries());
    final PolicyDirection direction = ingress ? PolicyDirection.INGRESS : PolicyDirection.EGRESS;
    final Verdict expected =
        new NaivePolicy(rules).verdict(side.subject(), ingress, side.peer(), protocol, port);
    assertEquals(expected, map.verdict(side.identity(), direction, protocol, port), about);
    final int proxy =
        expected == Verdict.ALLOWED ? map.proxy(side.identity(), direction, protocol, port) : 0;
    assertEquals(naive.proxy(), proxy, about);
    seen.merge("proxy " + proxy, 1, Integer::sum);
  }

  private void check(
      RedirectedFlow flow,
      NaiveRequest request,
      String name,
      Optional<Set<HeaderChange>> http,
      boolean dns,
      String about) {
    final HttpVerdict verdict = engine.requests().http(flow, request);
    final String question = about + System.lineSeparator() + flow + " " + request + " " + name;
    assertEquals(http.isPresent(), verdict.allowed(), question);
    assertEquals(http.orElse(Set.of()), new HashSet<>(verdict.changes()), question);
    assertEquals(new HashSet<>(verdict.changes()).size(), verdict.changes().size(), question);
    assertEquals(dns, engine.requests().dns(flow, name), question);
    seen.merge(http.isPresent() ? "http" : "no http", 1, Integer::sum);
    seen.merge(verdict.changes().isEmpty() ? "no changes" : "changes", 1, Integer::sum);
    seen.merge(dns ? "dns" : "no dns", 1, Integer::sum);
  }

  private static RedirectedFlow flow(
      int protocol, int port, int client, int clientIdentity, int server, int serverIdentity) {
    return new RedirectedFlow(
        protocol, ADDRESS, 50000, clientIdentity, client, ADDRESS, port, serverIdentity, server);
  }

  private Side outside() {
    if (random.below(4) == 0) {
      return new Side(null, 0, NaivePeer.host(), ReservedIdentity.HOST.id());
    }
    final IpAddress address = random.someOutsideAddress();
    return new Side(
        null, 0, NaivePeer.outside(address), identityOf(engine.outsidePrefixes(), address));
  }

  private LabelSet labels(int endpoint) {
    final Identity identity = endpoints.get(endpoint - 1);
    return identity.isReserved() ? LabelSet.EMPTY : identity.labels();
  }

  private NaivePeer endpoint(int endpoint) {
    return NaivePeer.endpoint(labels(endpoint));
  }

  private int identity(int endpoint) {
    return endpoints.get(endpoint - 1).id();
  }
}
