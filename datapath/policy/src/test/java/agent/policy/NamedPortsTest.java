package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.RuleSpecs.dns;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.egressDeny;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.entities;
import static agent.policy.RuleSpecs.http;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.on;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.maps.layout.PolicyDirection;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.model.PolicyMapModel;
import agent.policy.model.Verdict;
import agent.policy.request.PolicyRedirect;
import agent.policy.spec.NamedPort;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NamedPortsTest {
  private static final SelectorSpec WEB = labels("app", "web");
  private static final SelectorSpec DB = labels("app", "db");
  private static final PortSpec HTTP = new PortSpec("http", null, "TCP");
  private static final int TCP = 6;
  private static final int UDP = 17;

  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final PolicyEngine engine = engine(1000);

  private PolicyEngine engine(int capacity) {
    return PolicyEngine.open(
        new PolicyContext().identities(identities).mapCapacity(capacity).conclude());
  }

  private static NamedPort tcp(String name, int port) {
    return new NamedPort(name, port, "TCP");
  }

  private Identity identity(String... labels) {
    return identities.acquire(LabelSet.parse("labels", List.of(labels))).join();
  }

  private Identity set(int endpoint, String label, NamedPort... ports) {
    final Identity identity = identity(label);
    Changes.publish(engine, engine.endpointSet(endpoint, identity, List.of(ports)));
    return identity;
  }

  private boolean sends(int endpoint, Identity peer, int protocol, int port) {
    return verdict(endpoint, PolicyDirection.EGRESS, peer, protocol, port) == Verdict.ALLOWED;
  }

  private boolean receives(int endpoint, Identity peer, int port) {
    return verdict(endpoint, PolicyDirection.INGRESS, peer, TCP, port) == Verdict.ALLOWED;
  }

  private Verdict verdict(
      int endpoint, PolicyDirection direction, Identity peer, int protocol, int port) {
    return new PolicyMapModel(engine.policyOf(endpoint).orElseThrow().entries())
        .verdict(peer.id(), direction, protocol, port);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a", "http", "HTTP", "x-1", "1a", "abcdefghijklmno"})
  void shouldTakeServiceNames(String text) {
    assertEquals(Optional.of(text.toLowerCase()), NamedPort.name(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "80", "1-2", "-a", "a-", "a--b", "a_b", "a.b", "ä", "a\n", "abcdefghijklmnop"})
  void shouldRefuseWhatIsNoServiceName(String text) {
    assertEquals(Optional.empty(), NamedPort.name(text));
  }

  @Test
  void shouldMeanThePortOfTheEndpointItselfInIngressRules() {
    final Identity web = set(1, "app=web", tcp("http", 8080));
    set(2, "app=web", tcp("http", 9090));
    set(3, "app=web");
    final Identity db = set(4, "app=db", tcp("http", 7070));
    add(engine, List.of(ingress(WEB, on(endpoints(DB), HTTP))), false);
    assertTrue(receives(1, db, 8080));
    assertFalse(receives(1, db, 9090), "the port of another endpoint of its identity");
    assertFalse(receives(1, db, 7070), "the port of the peer");
    assertTrue(receives(2, db, 9090));
    assertFalse(receives(2, db, 8080));
    assertFalse(receives(3, db, 8080));
    assertFalse(receives(1, web, 8080));
  }

  @Test
  void shouldMeanThePortsOfEachPeerInEgressRules() {
    final Identity web = set(1, "app=web", tcp("http", 1111));
    final Identity one = set(2, "app=db", tcp("http", 8080));
    set(3, "app=db", tcp("http", 9090), tcp("other", 5));
    final Identity other = set(4, "app=db2", tcp("http", 7070));
    add(engine, List.of(egress(WEB, on(PeerRuleSpec.ALL, HTTP))), false);
    assertTrue(sends(1, one, TCP, 8080));
    assertTrue(sends(1, one, TCP, 9090), "each number of an identity's endpoints");
    assertFalse(sends(1, one, TCP, 7070), "the port of another identity");
    assertTrue(sends(1, other, TCP, 7070));
    assertFalse(sends(1, other, TCP, 8080));
    assertTrue(sends(1, web, TCP, 1111), "its own identity as a peer");
    assertFalse(sends(1, one, TCP, 5));
    assertFalse(sends(1, one, UDP, 8080));
    assertEquals(
        List.of(web.id(), one.id(), other.id()),
        engine.policyOf(1).orElseThrow().egress().allowed());
    assertFalse(engine.policyOf(1).orElseThrow().egress().anyAllowed());
  }

  @Test
  void shouldMeanEveryProtocolThatHasTheName() {
    set(1, "app=web");
    final Identity db =
        set(2, "app=db", tcp("dns", 53), new NamedPort("dns", 5353, "UDP"), tcp("x", 1));
    add(engine, List.of(egress(WEB, on(endpoints(DB), new PortSpec("DNS", null, null)))), false);
    assertTrue(sends(1, db, TCP, 53));
    assertTrue(sends(1, db, UDP, 5353));
    assertFalse(sends(1, db, UDP, 53));
    assertFalse(sends(1, db, TCP, 5353));
  }

  @Test
  void shouldFollowThePortsOfPeers() {
    set(1, "app=web");
    add(engine, List.of(egress(WEB, on(endpoints(DB), HTTP))), false);
    final Identity db = set(2, "app=db", tcp("http", 8080));
    assertTrue(sends(1, db, TCP, 8080), "created");
    set(3, "app=db", tcp("http", 8080));
    set(2, "app=db", tcp("http", 9090));
    assertTrue(sends(1, db, TCP, 9090), "changed");
    assertTrue(sends(1, db, TCP, 8080), "another endpoint has it");
    Changes.publish(engine, engine.endpointRemoved(3));
    assertFalse(sends(1, db, TCP, 8080), "removed");
    set(2, "app=db");
    assertFalse(sends(1, db, TCP, 9090), "without names");
  }

  @Test
  void shouldResolveOnlyThePoliciesThatReferToTheName() {
    set(1, "app=web");
    set(2, "app=other");
    set(3, "app=third");
    add(
        engine,
        List.of(
            egress(WEB, on(endpoints(DB), HTTP)),
            egress(labels("app", "other"), on(endpoints(DB), new PortSpec("ftp", null, "TCP"))),
            ingress(labels("app", "third"), on(endpoints(DB), HTTP))),
        false);
    final Identity db = identity("app=db");
    Changes.publish(engine, engine.refresh());
    final PolicyUpdate update = engine.endpointSet(4, db, List.of(tcp("http", 80)));
    assertEquals(
        List.of(1, 4), update.endpoints().stream().map(EndpointPolicyChange::endpointId).toList());
    final PolicyUpdate same = engine.endpointSet(5, db, List.of(tcp("http", 80)));
    assertEquals(
        List.of(5), same.endpoints().stream().map(EndpointPolicyChange::endpointId).toList());
  }

  /** Another resolution with the same outcome would change no map either. */
  @Test
  void shouldFindThePoliciesThatReferToAName() {
    final PolicySubjects subjects = new PolicySubjects();
    final Identity web = set(1, "app=web");
    add(engine, List.of(egress(WEB, on(endpoints(DB), HTTP))), false);
    subjects.change(
        1, new PolicySubjects.Subject(web, List.of(), engine.policyOf(1).orElseThrow()));
    assertEquals(Set.of(1), subjects.dependingOnPorts(Set.of("ftp", "http")));
    assertEquals(Set.of(), subjects.dependingOnPorts(Set.of("ftp")));
    assertEquals(Set.of(), subjects.dependingOnPorts(Set.of()));
  }

  @Test
  void shouldKeepThePortsOfAFormerIdentityUntilItIsLeft() {
    set(1, "app=web");
    add(engine, List.of(egress(WEB, on(PeerRuleSpec.ALL, HTTP))), false);
    final Identity former = set(2, "app=db", tcp("http", 80));
    final Identity next = set(2, "app=cache", tcp("http", 80));
    assertTrue(sends(1, former, TCP, 80), "packets still have the former identity");
    assertTrue(sends(1, next, TCP, 80));
    assertEquals(1, engine.identityLeft(2).orElseThrow().endpoints().size());
    assertFalse(sends(1, former, TCP, 80));
    assertTrue(sends(1, next, TCP, 80));
    assertEquals(Optional.empty(), engine.identityLeft(2));
    assertEquals(Optional.empty(), engine.identityLeft(99));
  }

  @Test
  void shouldDenyByName() {
    set(1, "app=web");
    final Identity db = set(2, "app=db", tcp("http", 80));
    final Identity other = set(3, "app=other", tcp("http", 81));
    final Identity empty = identity("app=empty");
    final List<RuleSpec> rules = new ArrayList<>();
    rules.add(egress(WEB, PeerRuleSpec.ALL));
    rules.add(egressDeny(WEB, on(PeerRuleSpec.ALL, HTTP)));
    add(engine, rules, false);
    assertEquals(Verdict.DENIED, verdict(1, PolicyDirection.EGRESS, db, TCP, 80));
    assertTrue(sends(1, db, TCP, 81));
    assertEquals(Verdict.DENIED, verdict(1, PolicyDirection.EGRESS, other, TCP, 81));
    assertTrue(sends(1, empty, TCP, 80));
  }

  @Test
  void shouldGivePeersThatAreNoEndpointsNoPorts() {
    set(1, "app=web", tcp("http", 80));
    add(
        engine,
        List.of(
            egress(WEB, on(entities("world", "host"), HTTP)),
            egress(WEB, on(RuleSpecs.cidrs("10.9.0.0/16"), HTTP))),
        false);
    assertEquals(
        List.of(),
        engine.policyOf(1).orElseThrow().entries().stream()
            .filter(entry -> entry.direction() == PolicyDirection.EGRESS)
            .toList());
  }

  @Test
  void shouldRedirectNamedPorts() {
    set(1, "app=web", tcp("http", 8080), tcp("admin", 9000));
    final Identity one = set(2, "app=db", tcp("http", 80));
    set(3, "app=db", new NamedPort("dns", 53, "UDP"));
    add(
        engine,
        List.of(
            ingress(WEB, on(endpoints(DB), http("GET", "/"), HTTP)),
            egress(WEB, on(endpoints(DB), http("GET", "/"), HTTP)),
            egress(WEB, on(endpoints(DB), dns("*"), new PortSpec("dns", null, null)))),
        false);
    assertTrue(receives(1, one, 8080));
    assertTrue(sends(1, one, UDP, 53));
    assertEquals(
        List.of("INGRESS HTTP 6 8080", "EGRESS HTTP 6 80", "EGRESS DNS 17 53"),
        engine.requests().redirects(1).stream().map(NamedPortsTest::text).toList());
  }

  private static String text(PolicyRedirect redirect) {
    return Stream.of(
            redirect.direction(), redirect.kind(), redirect.protocol(), redirect.firstPort())
        .map(Object::toString)
        .reduce((left, right) -> left + " " + right)
        .orElseThrow();
  }

  @Test
  void shouldChangeNoPortWhereTheEndpointIsRefused() {
    final PolicyEngine small = engine(2);
    final Identity web = identity("app=web");
    final Identity db = identity("app=db");
    small.endpointSet(1, web, List.of());
    add(
        small,
        List.of(
            egress(WEB, on(endpoints(DB), HTTP)),
            ingress(DB, on(endpoints(WEB), HTTP, new PortSpec("a", null, "TCP"))),
            egress(DB, on(endpoints(WEB), RuleSpecs.tcp(1)))),
        false);
    assertThrows(
        Refusal.class, () -> small.endpointSet(2, db, List.of(tcp("http", 80), tcp("a", 82))));
    assertEquals(List.of(), egressOf(small));
    small.endpointSet(2, db, List.of(tcp("http", 80)));
    assertEquals(1, egressOf(small).size());
  }

  private static List<?> egressOf(PolicyEngine engine) {
    return engine.policyOf(1).orElseThrow().entries().stream()
        .filter(entry -> entry.direction() == PolicyDirection.EGRESS)
        .toList();
  }

  @Test
  void shouldKnowRestoredPortsBeforeTheEndpointsComeBack() {
    final Identity web = identity("app=web");
    final Identity db = identity("app=db");
    add(engine, List.of(egress(WEB, on(endpoints(DB), HTTP))), false);
    engine.restorePorts(2, db.id(), List.of(tcp("http", 80)));
    Changes.publish(engine, engine.endpointSet(1, web, List.of()));
    assertTrue(sends(1, db, TCP, 80));
    assertEquals(1, engine.endpointSet(2, db, List.of(tcp("http", 80))).endpoints().size());
    assertTrue(sends(1, db, TCP, 80));
  }

  @Test
  void shouldTraceNamedPorts() {
    set(1, "app=web");
    set(2, "app=db", tcp("http", 8080));
    add(
        engine,
        List.of(
            egress(WEB, on(endpoints(DB), HTTP)),
            ingress(DB, on(endpoints(WEB), http("GET", "/a"), HTTP))),
        false);
    assertTrue(trace(PolicyQuery.Port.of("p", 8080, "TCP")).isAllowed());
    assertFalse(trace(PolicyQuery.Port.of("p", 80, "TCP")).isAllowed());
    final PolicyTrace named = trace(PolicyQuery.Port.named("p", "HTTP", null));
    assertTrue(named.isAllowed());
    assertTrue(named.log().contains("named ports of to: http=8080/TCP"), named.log());
    assertTrue(named.log().contains("allows TCP/http: matches"), named.log());
    assertTrue(named.log().contains("ingress of to ANY/http: the HTTP proxy"), named.log());
    assertTrue(named.log().contains("GET"), named.log());
    assertEquals(
        "to.dports[0].name: 'UDP/http' is a named port of no endpoint with these labels",
        assertThrows(Refusal.class, () -> trace(PolicyQuery.Port.named("p", "http", "UDP")))
            .getMessage());
    assertEquals(
        "p.name: 'a_b' is not a valid port name",
        assertThrows(Refusal.class, () -> PolicyQuery.Port.named("p", "a_b", null)).getMessage());
    assertEquals(
        "p.name: 'http': ICMP has no ports",
        assertThrows(Refusal.class, () -> PolicyQuery.Port.named("p", "http", "ICMP"))
            .getMessage());
  }

  private PolicyTrace trace(PolicyQuery.Port port) {
    return engine.trace(
        new PolicyQuery(
            LabelSet.parse("from", List.of("app=web")),
            LabelSet.parse("to", List.of("app=db")),
            List.of(port),
            true));
  }
}
