package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static agent.policy.RuleSpecs.dns;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.entities;
import static agent.policy.RuleSpecs.fqdns;
import static agent.policy.RuleSpecs.http;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.ingressDeny;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.named;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.tcp;
import static agent.policy.RuleSpecs.udp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.datapath.spec.RedirectedFlow;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.identity.ReservedIdentity;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.model.NaiveRequest;
import agent.policy.request.HttpVerdict;
import agent.policy.request.HttpVerdict.Action;
import agent.policy.request.HttpVerdict.HeaderChange;
import agent.policy.request.PolicyRedirect;
import agent.policy.request.RequestPolicies;
import agent.policy.resolve.AllowLocalhost;
import agent.policy.resolve.EnforcementMode;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.testkit.HeapAllocation;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is said of requests, and which flows are redirected so that it can be asked. */
class RequestPoliciesTest {
  private static final int WEB = 1;
  private static final int SHOP = 2;
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final IpAddress ADDRESS = IpAddress.parse("192.0.2.1");
  private static final SelectorSpec OF_WEB = labels("app", "web");
  private static final SelectorSpec OF_SHOP = labels("app", "shop");
  private static final RuleSpec GET_OF_WEB =
      named(ingress(OF_SHOP, on(endpoints(OF_WEB), http("GET", null), tcp(80))), "n", "get");

  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final Identity web = acquire("app=web");
  private final Identity shop = acquire("app=shop");
  private PolicyEngine engine = open(AllowLocalhost.AUTO);

  private Identity acquire(String label) {
    return identities.acquire(LabelSet.parse("l", List.of(label))).join();
  }

  private PolicyEngine open(AllowLocalhost allowLocalhost) {
    final PolicyEngine opened =
        PolicyEngine.open(
            new PolicyContext().identities(identities).allowLocalhost(allowLocalhost).conclude());
    Changes.publish(opened, opened.endpointSet(WEB, web, List.of()));
    Changes.publish(opened, opened.endpointSet(SHOP, shop, List.of()));
    return opened;
  }

  private RedirectedFlow webToShop() {
    return flow(TCP, WEB, web.id(), SHOP, shop.id(), 80);
  }

  private static RedirectedFlow flow(
      int protocol, int client, int clientIdentity, int server, int serverIdentity, int port) {
    return new RedirectedFlow(
        protocol, ADDRESS, 40000, clientIdentity, client, ADDRESS, port, serverIdentity, server);
  }

  private static NaiveRequest request(String method, String path) {
    return new NaiveRequest(method, path, "shop.example.com", Map.of("x-team", List.of("a")));
  }

  private boolean allows(RedirectedFlow flow, String method) {
    return engine.requests().http(flow, request(method, "/a")).allowed();
  }

  @Test
  void shouldAskTheServersRulesForThePeer() {
    add(engine, List.of(GET_OF_WEB), false);
    assertTrue(allows(webToShop(), "GET"));
    assertFalse(allows(webToShop(), "PUT"));
    assertFalse(allows(flow(TCP, 0, ReservedIdentity.HOST.id(), SHOP, shop.id(), 80), "GET"));
    assertFalse(allows(flow(TCP, WEB, web.id(), SHOP, shop.id(), 81), "GET"));
    assertEquals(engine.snapshot().revision(), engine.requests().revision());
  }

  @Test
  void shouldAskBothSides() {
    add(
        engine,
        List.of(GET_OF_WEB, egress(OF_WEB, on(endpoints(OF_SHOP), http("GET|PUT", "/a"), tcp(80)))),
        false);
    assertTrue(allows(webToShop(), "GET"));
    assertFalse(allows(webToShop(), "PUT"));
    assertFalse(engine.requests().http(webToShop(), request("GET", "/b")).allowed());
  }

  @Test
  void shouldDenyForEndpointsThatAreNotKnown() {
    add(engine, List.of(GET_OF_WEB), false);
    assertFalse(allows(flow(TCP, 7, web.id(), SHOP, shop.id(), 80), "GET"));
    assertFalse(allows(flow(TCP, 0, web.id(), 0, shop.id(), 80), "GET"));
    assertFalse(engine.requests().dns(flow(UDP, 0, 1, 0, 2, 53), "a.b"));
    Changes.publish(engine, engine.endpointRemoved(WEB));
    assertFalse(allows(webToShop(), "GET"));
  }

  @Test
  void shouldFollowRulesAndIdentities() {
    assertTrue(allows(webToShop(), "PUT"), "nothing is enforced");
    add(engine, List.of(GET_OF_WEB), false);
    assertFalse(allows(webToShop(), "PUT"));
    final Identity other = acquire("app=other");
    Changes.publish(engine, engine.endpointSet(SHOP, other, List.of()));
    assertTrue(allows(webToShop(), "PUT"), "the rule is not for this identity");
    Changes.publish(engine, engine.endpointSet(SHOP, shop, List.of()));
    assertFalse(allows(webToShop(), "PUT"));
    final long revision = add(engine, List.of(ingress(OF_SHOP, entities("all"))), false).revision();
    assertTrue(allows(webToShop(), "PUT"), "another rule opens the port");
    Changes.publish(engine, Changes.undo(engine, revision).orElseThrow());
    assertFalse(allows(webToShop(), "PUT"));
    Changes.publish(engine, Changes.enforce(engine, EnforcementMode.NEVER));
    assertTrue(allows(webToShop(), "PUT"));
    Changes.publish(engine, Changes.enforce(engine, EnforcementMode.DEFAULT));
    assertFalse(allows(webToShop(), "PUT"));
    delete(engine, List.of("n=get"));
    assertTrue(allows(webToShop(), "PUT"));
  }

  /** The entries are the same, so only what is published tells the rules apart. */
  @Test
  void shouldFollowAChangeOfRequestsAlone() {
    add(engine, List.of(GET_OF_WEB), false);
    final List<PolicyEntry> entries = engine.policyOf(SHOP).orElseThrow().entries();
    add(
        engine,
        List.of(
            named(ingress(OF_SHOP, on(endpoints(OF_WEB), http("PUT", null), tcp(80))), "n", "get")),
        true);
    assertEquals(entries, engine.policyOf(SHOP).orElseThrow().entries());
    assertTrue(allows(webToShop(), "PUT"));
    assertFalse(allows(webToShop(), "GET"));
  }

  @Test
  void shouldFollowTheAddressesOfNames() {
    add(
        engine,
        List.of(egress(OF_WEB, on(fqdns("www.example.com"), http("GET", null), tcp(80)))),
        false);
    Changes.publish(engine, engine.names(Map.of("www.example.com.", List.of(ADDRESS))));
    final int address = engine.outsidePrefixes().get(Prefix.of(ADDRESS));
    final RedirectedFlow flow = flow(TCP, WEB, web.id(), 0, address, 80);
    assertTrue(allows(flow, "GET"));
    assertFalse(allows(flow, "PUT"));
    Changes.publish(engine, engine.names(Map.of("www.example.com.", List.of())));
    assertFalse(allows(flow, "GET"));
  }

  @Test
  void shouldLetADenyWin() {
    add(engine, List.of(GET_OF_WEB, ingressDeny(OF_SHOP, on(PeerRuleSpec.ALL, tcp(80)))), false);
    assertFalse(allows(webToShop(), "GET"));
    assertEquals(List.of(), engine.requests().redirects(SHOP));
  }

  @Test
  void shouldAlwaysLetTheNodeSendAnything() {
    add(engine, List.of(GET_OF_WEB), false);
    final RuleSpec fromHost = ingress(OF_SHOP, on(entities("host"), http("GET", null), tcp(80)));
    final RedirectedFlow flow = flow(TCP, 0, ReservedIdentity.HOST.id(), SHOP, shop.id(), 80);
    for (final AllowLocalhost choice : AllowLocalhost.values()) {
      engine = open(choice);
      add(engine, List.of(fromHost), false);
      assertTrue(allows(flow, "GET"), choice::toString);
      assertEquals(choice == AllowLocalhost.ALWAYS, allows(flow, "PUT"), choice::toString);
    }
  }

  @Test
  void shouldMatchNames() {
    add(
        engine,
        List.of(
            egress(
                OF_WEB,
                on(
                    PeerRuleSpec.ALL,
                    dns("*.example.com", "a.b"),
                    new PortSpec("53", null, "ANY")))),
        false);
    for (final int protocol : new int[] {TCP, UDP}) {
      final RedirectedFlow flow = flow(protocol, WEB, web.id(), 0, 2, 53);
      assertTrue(engine.requests().dns(flow, "www.example.com"));
      assertTrue(engine.requests().dns(flow, "a.b"));
      assertFalse(engine.requests().dns(flow, "example.com"));
      assertFalse(engine.requests().dns(flow, "x.www.example.com"));
      assertFalse(engine.requests().dns(flow, "a.b.c"));
      assertFalse(engine.requests().dns(flow, ""));
      assertFalse(allows(flow, "GET"), "names allow no HTTP");
    }
  }

  private static RequestRuleSpec changing(String mismatch, String value) {
    return new RequestRuleSpec(
        List.of(
            new HttpSpec(
                null, null, null, null, List.of(new HeaderMatchSpec("X-Team", value, mismatch)))),
        null);
  }

  @Test
  void shouldAddUpTheChangesOfAllRulesThatMatch() {
    add(
        engine,
        List.of(
            ingress(OF_SHOP, on(endpoints(OF_WEB), changing("REPLACE", "b"), tcp(80))),
            ingress(OF_SHOP, on(PeerRuleSpec.ALL, changing("LOG", "a"), tcp(80))),
            egress(OF_WEB, on(endpoints(OF_SHOP), changing("LOG", "c"), tcp(80)))),
        false);
    assertEquals(
        new HttpVerdict(
            true,
            List.of(
                new HeaderChange(Action.LOG, "X-Team", "c"),
                new HeaderChange(Action.REPLACE, "X-Team", "b"))),
        engine.requests().http(webToShop(), request("GET", "/")));
  }

  private HttpVerdict ofTeams(RequestRuleSpec rules, String... lines) {
    delete(engine, List.of());
    add(engine, List.of(ingress(OF_SHOP, on(endpoints(OF_WEB), rules, tcp(80)))), false);
    return engine
        .requests()
        .http(
            webToShop(),
            new NaiveRequest("GET", "/", "shop.example.com", Map.of("x-team", List.of(lines))));
  }

  @Test
  void shouldTakeSeveralLinesOfAFieldForNoneOfTheirValues() {
    final RequestRuleSpec match = changing(null, "admin");
    final RequestRuleSpec header =
        new RequestRuleSpec(
            List.of(new HttpSpec(null, null, null, List.of("X-Team: admin"), null)), null);
    for (final RequestRuleSpec rules : List.of(match, header)) {
      assertTrue(ofTeams(rules, "admin").allowed());
      assertFalse(ofTeams(rules, "admin", "root").allowed());
      assertFalse(ofTeams(rules, "root", "admin").allowed());
      assertFalse(ofTeams(rules, "admin", "admin").allowed());
      assertFalse(ofTeams(rules, "admin, admin").allowed());
      assertFalse(ofTeams(rules, "Admin").allowed(), "values have case");
      assertFalse(ofTeams(rules).allowed());
    }
    assertTrue(ofTeams(changing(null, null), "admin", "root").allowed(), "any value");
  }

  @Test
  void shouldChangeAFieldThatHasTheValueInOneOfSeveralLines() {
    for (final String action : List.of("LOG", "REPLACE", "DELETE")) {
      final List<HeaderChange> due =
          List.of(new HeaderChange(Action.valueOf(action), "X-Team", "admin"));
      assertEquals(due, ofTeams(changing(action, "admin"), "admin", "root").changes());
      assertEquals(due, ofTeams(changing(action, "admin"), "root", "admin").changes());
      assertEquals(List.of(), ofTeams(changing(action, "admin"), "admin").changes());
    }
    final RequestRuleSpec add = changing("ADD", "admin");
    assertEquals(List.of(), ofTeams(add, "admin", "root").changes());
    assertEquals(
        List.of(new HeaderChange(Action.ADD, "X-Team", "admin")), ofTeams(add, "root").changes());
  }

  @ParameterizedTest
  @CsvSource({
    "s1, s1:84, true",
    "s1, s1, true",
    "'s1:84', s1:84, true",
    "'S1:84', s1:84, true",
    "'s1:84', s1, false",
    "'s1:84', s1:85, false",
    "'s1(:84)?', s1, true",
    "'s1(:84)?', s1:84, true",
    "'.*:8[0-9]', s1:84, true",
    "'.*4', s1:84, false",
    "'(?:s1|s.*4)', s2:84, false",
    "'(?:s1|s2):84', s2:84, true"
  })
  void shouldMatchTheHostWithItsPortWhereTheExpressionHasOne(
      String host, String authority, boolean isAllowed) {
    add(
        engine,
        List.of(
            ingress(
                OF_SHOP,
                on(
                    endpoints(OF_WEB),
                    new RequestRuleSpec(List.of(new HttpSpec(null, null, host, null, null)), null),
                    tcp(80)))),
        false);
    assertEquals(
        isAllowed,
        engine
            .requests()
            .http(webToShop(), new NaiveRequest("GET", "/", authority, Map.of()))
            .allowed());
  }

  @Test
  void shouldDenyWhereAHeaderWithoutMismatchDoesNotHold() {
    add(
        engine,
        List.of(ingress(OF_SHOP, on(endpoints(OF_WEB), changing(null, "b"), tcp(80)))),
        false);
    assertFalse(allows(webToShop(), "GET"));
  }

  private List<PolicyEntry> entriesOfShop(RuleSpec... rules) {
    delete(engine, List.of());
    add(engine, List.of(rules), false);
    return engine.policyOf(SHOP).orElseThrow().entries().stream()
        .filter(entry -> entry.direction() == PolicyDirection.INGRESS)
        .toList();
  }

  private PolicyEntry entry(int identity, int port, PolicyVerdict verdict) {
    return new PolicyEntry(identity, PolicyDirection.INGRESS, TCP, port, 64, verdict);
  }

  @Test
  void shouldRedirectOnlyWhatNoAllowOpens() {
    final PolicyVerdict redirect = PolicyVerdict.redirect(RedirectKind.HTTP);
    final PeerRuleSpec get = on(endpoints(OF_WEB), http("GET", null), tcp(80));
    final PortSpec range = new PortSpec("80", 81, "TCP");
    assertEquals(List.of(entry(web.id(), 80, redirect)), entriesOfShop(ingress(OF_SHOP, get)));
    assertEquals(
        List.of(entry(web.id(), 80, PolicyVerdict.ALLOW)),
        entriesOfShop(ingress(OF_SHOP, get, on(endpoints(OF_WEB), tcp(80)))));
    assertEquals(
        List.of(entry(0, 80, PolicyVerdict.ALLOW)),
        entriesOfShop(ingress(OF_SHOP, get, on(PeerRuleSpec.ALL, tcp(80)))));
    assertEquals(
        List.of(
            new PolicyEntry(web.id(), PolicyDirection.INGRESS, TCP, 80, 63, redirect),
            entry(web.id(), 81, PolicyVerdict.ALLOW)),
        entriesOfShop(
            ingress(
                OF_SHOP,
                on(endpoints(OF_WEB), http("GET", null), range),
                on(endpoints(OF_WEB), tcp(81)),
                get)));
    assertEquals(
        List.of(new PolicyRedirect(PolicyDirection.INGRESS, RedirectKind.HTTP, TCP, 80, 81)),
        engine.requests().redirects(SHOP));
    assertEquals(
        List.of(entry(0, 80, redirect)),
        entriesOfShop(ingress(OF_SHOP, get, on(PeerRuleSpec.ALL, http("PUT", null), tcp(80)))),
        "any identity is redirected already");
  }

  @Test
  void shouldHaveHttpAskWhereBothProxiesWould() {
    add(
        engine,
        List.of(
            egress(
                OF_WEB,
                on(endpoints(OF_SHOP), http("GET", null), new PortSpec("52", 53, "TCP")),
                on(endpoints(OF_SHOP), dns("*"), tcp(53)))),
        false);
    assertEquals(
        List.of(new PolicyRedirect(PolicyDirection.EGRESS, RedirectKind.HTTP, TCP, 52, 53)),
        engine.requests().redirects(WEB));
  }

  @Test
  void shouldNameTheProxyOfEachEndOfAFlow() {
    add(
        engine,
        List.of(GET_OF_WEB, egress(OF_WEB, on(PeerRuleSpec.ALL, dns("*"), udp(53)))),
        false);
    final RequestPolicies requests = engine.requests();
    final RedirectedFlow names = flow(UDP, WEB, web.id(), 0, 2, 53);
    assertEquals(RedirectKind.HTTP, requests.redirect(webToShop(), PolicyDirection.INGRESS));
    assertEquals(RedirectKind.NONE, requests.redirect(webToShop(), PolicyDirection.EGRESS));
    assertEquals(RedirectKind.DNS, requests.redirect(names, PolicyDirection.EGRESS));
    assertEquals(RedirectKind.NONE, requests.redirect(names, PolicyDirection.INGRESS));
    assertEquals(
        List.of(new PolicyRedirect(PolicyDirection.EGRESS, RedirectKind.DNS, UDP, 53, 53)),
        requests.redirects(WEB));
    Changes.publish(engine, engine.endpointRemoved(WEB));
    assertEquals(RedirectKind.NONE, requests.redirect(names, PolicyDirection.EGRESS));
    assertEquals(List.of(), requests.redirects(WEB));
  }

  @Test
  void shouldAskWithoutAllocating() {
    add(
        engine,
        List.of(
            GET_OF_WEB,
            ingress(OF_SHOP, on(endpoints(OF_WEB), changing("ADD", "a"), tcp(80))),
            egress(OF_WEB, on(endpoints(OF_SHOP), http("(GET|HEAD)", "/a.*|/b"), tcp(80))),
            egress(OF_WEB, on(PeerRuleSpec.ALL, dns("*.example.com", "w*w.*.org"), udp(53)))),
        false);
    final RedirectedFlow flow = webToShop();
    final RedirectedFlow names = flow(UDP, WEB, web.id(), 0, 2, 53);
    final FixedRequest get = new FixedRequest("GET");
    final FixedRequest put = new FixedRequest("PUT");
    assertTrue(engine.requests().http(flow, get).allowed());
    assertFalse(engine.requests().http(flow, put).allowed());
    assertEquals(
        0,
        HeapAllocation.steady(
            10_000,
            () -> {
              engine.requests().http(flow, get);
              engine.requests().http(flow, put);
              engine.requests().dns(names, "www.example.com");
              engine.requests().dns(names, "wxw.example.net");
              engine.requests().redirect(flow, PolicyDirection.INGRESS);
              engine.requests().redirect(names, PolicyDirection.EGRESS);
            }));
  }

  /** A request that does not allocate itself. */
  private record FixedRequest(String method) implements agent.policy.request.HttpRequest {
    @Override
    public String path() {
      return "/a/b";
    }

    @Override
    public String host() {
      return "shop.example.com";
    }

    @Override
    public String authority() {
      return "shop.example.com";
    }

    @Override
    public boolean hasHeader(String name, String value) {
      return true;
    }

    @Override
    public boolean hasHeaderLine(String name, String value) {
      return true;
    }
  }
}
