package agent.policy.trace;

import static agent.policy.Changes.add;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.dns;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.entities;
import static agent.policy.RuleSpecs.http;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.ingressDeny;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.named;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.requires;
import static agent.policy.RuleSpecs.tcp;
import static agent.policy.RuleSpecs.udp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.policy.Changes;
import agent.policy.PolicyContext;
import agent.policy.PolicyEngine;
import agent.policy.model.NaivePeer;
import agent.policy.model.NaivePolicy;
import agent.policy.model.RandomPolicy;
import agent.policy.model.Verdict;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The answer to whether a flow would pass. */
class PolicyTracerTest {
  private static final int RULE_SETS = 1000;
  private static final int QUESTIONS = 40;
  private static final List<String> PROTOCOLS = List.of("TCP", "UDP", "SCTP", "ICMP", "ICMPv6");
  private static final int[] NUMBERS = {6, 17, 132, 1, 58};
  private static final SelectorSpec WEB = labels("app", "web");
  private static final SelectorSpec DB = labels("app", "db");

  private final PolicyEngine engine =
      PolicyEngine.open(new PolicyContext().identities(new LocalIdentityAllocator()).conclude());

  private static LabelSet set(String... labels) {
    return LabelSet.parse("l", List.of(labels));
  }

  private static PolicyQuery query(LabelSet from, LabelSet to, int port) {
    return new PolicyQuery(
        from, to, List.of(PolicyQuery.Port.of("to.dports[0]", port, "TCP")), false);
  }

  private boolean passes(String from, String to, int port) {
    return engine.trace(query(set(from), set(to), port)).isAllowed();
  }

  @Test
  void shouldAskBothEnds() {
    assertTrue(passes("app=db", "app=web", 80), "no rule");
    add(engine, List.of(ingress(WEB, on(endpoints(DB), tcp(80)))), false);
    assertTrue(passes("app=db", "app=web", 80));
    assertFalse(passes("app=db", "app=web", 81));
    assertFalse(passes("app=other", "app=web", 80));
    assertTrue(passes("app=web", "app=other", 80));
    add(engine, List.of(egress(DB, entities("host"))), false);
    assertFalse(passes("app=db", "app=web", 80));
    assertTrue(passes("app=db", "reserved:host", 80));
    assertFalse(passes("reserved:host", "app=web", 80));
  }

  @Test
  void shouldTakeAllAddressesOfAFamilyForItsWorld() {
    for (final boolean isIpv4 : new boolean[] {true, false}) {
      Changes.delete(engine, List.of());
      add(engine, List.of(egress(WEB, entities(isIpv4 ? "world-ipv4" : "world-ipv6"))), false);
      assertEquals(isIpv4, passes("app=web", "cidr:0.0.0.0/0", 80));
      assertEquals(!isIpv4, passes("app=web", "cidr:::/0", 80));
    }
  }

  @Test
  void shouldLetADenyWinAndAskForEveryPort() {
    add(
        engine,
        List.of(ingress(WEB, endpoints(DB)), ingressDeny(WEB, on(endpoints(DB), tcp(22)))),
        false);
    assertFalse(passes("app=db", "app=web", 22));
    final PolicyQuery.Port ssh = PolicyQuery.Port.of("p", 22, "TCP");
    final PolicyQuery.Port http = PolicyQuery.Port.of("p", 80, null);
    assertTrue(allows(List.of(http)));
    assertFalse(allows(List.of(http, ssh)));
    assertFalse(allows(List.of(PolicyQuery.Port.of("p", 22, "ANY"))));
    assertTrue(allows(List.of(PolicyQuery.Port.of("p", 22, "UDP"))));
    assertFalse(allows(List.of()), "without ports everything has to pass");
    Changes.delete(engine, List.of());
    add(engine, List.of(ingress(WEB, endpoints(DB))), false);
    assertTrue(allows(List.of()));
  }

  private boolean allows(List<PolicyQuery.Port> ports) {
    return engine.trace(new PolicyQuery(set("app=db"), set("app=web"), ports, false)).isAllowed();
  }

  private List<String> requests(String from, String to, PolicyQuery.Port port) {
    final PolicyTrace trace =
        engine.trace(new PolicyQuery(set(from), set(to), List.of(port), false));
    assertTrue(trace.isAllowed(), trace.log());
    return trace.log().lines().skip(engine.snapshot().rules().size()).toList();
  }

  @Test
  void shouldListTheRulesOfRequestsByWhichAProxyJudges() {
    add(
        engine,
        List.of(
            named(
                ingress(WEB, on(endpoints(DB), http("GET", "/a/.*"), tcp(80), tcp(81))), "n", "1"),
            ingress(WEB, on(endpoints(DB), tcp(81))),
            ingress(WEB, on(endpoints(labels("app", "else")), http("PUT", "/b"), tcp(80))),
            ingress(labels("app", "else"), on(endpoints(DB), http("POST", "/c"), tcp(80))),
            ingress(WEB, on(entities("all"), http("HEAD", "/"), tcp(80)))),
        false);
    assertEquals(
        List.of(
            "ingress of to TCP/80: the HTTP proxy allows requests that match one of these",
            "  rule [0] [unspec:n=1]: method GET, path /a/.*",
            "  rule [4] []: method HEAD, path /"),
        requests("app=db", "app=web", PolicyQuery.Port.of("p", 80, "TCP")));
    assertEquals(
        List.of(), requests("app=db", "app=web", PolicyQuery.Port.of("p", 81, "TCP")), "open");
  }

  @Test
  void shouldListTheNamesThatMayBeAskedForOnce() {
    add(
        engine,
        List.of(
            egress(WEB, on(cidrs("192.0.2.0/24"), dns("a.b", "*.c"), tcp(53), udp(53))),
            egress(WEB, on(cidrs("192.0.2.53/32"), new PortSpec("53", null, "SCTP")))),
        false);
    assertEquals(
        List.of(
            "egress of from ANY/53: the DNS proxy allows requests that match one of these",
            "  rule [0] []: name a.b.",
            "  rule [0] []: name *.c."),
        requests("app=web", "cidr:192.0.2.53/32", PolicyQuery.Port.of("p", 53, "ANY")));
  }

  @Test
  void shouldSayOfEachRuleInOneLineWhatItDoes() {
    add(
        engine,
        List.of(
            named(ingress(WEB, on(endpoints(DB), tcp(80))), "n", "1"),
            ingress(WEB, on(endpoints(DB), tcp(81))),
            ingress(WEB),
            egress(WEB),
            ingress(labels("app", "else"), endpoints(DB)),
            egress(DB, endpoints(WEB)),
            ingressDeny(WEB, cidrs("10.0.0.0/8"))),
        false);
    final PolicyTrace trace = engine.trace(query(set("app=db"), set("app=web"), 80));
    assertTrue(trace.isAllowed());
    assertEquals(
        List.of(
            "rule [0] [unspec:n=1]: ingress of to: allows",
            "rule [1] []: ingress of to: enforced, does not match",
            "rule [2] []: ingress of to: enforced, does not match",
            "rule [3] []: ingress of to: says nothing",
            "rule [4] []: selects neither of them",
            "rule [5] []: egress of from: allows",
            "rule [6] []: ingress of to: enforced, does not match"),
        trace.log().lines().toList());
    final List<String> verbose =
        engine
            .trace(
                new PolicyQuery(
                    set("app=db"), set("app=web"), query(set(), set(), 80).ports(), true))
            .log()
            .lines()
            .toList();
    assertTrue(verbose.contains("  ingress of to: allows TCP/81: another port"), verbose::toString);
    assertTrue(
        verbose.contains("  ingress of to: denies everything: another peer"), verbose::toString);
    assertEquals("ingress of to [unspec:app=web]: enforced, allowed", verbose.getLast());
  }

  private List<String> lines(LabelSet from, List<PolicyQuery.Port> ports) {
    final PolicyQuery query = new PolicyQuery(from, set("app=web"), ports, true);
    return engine.trace(query).log().lines().toList();
  }

  private void assertSays(String expected, LabelSet from, List<PolicyQuery.Port> ports) {
    final List<String> lines = lines(from, ports);
    assertTrue(lines.contains("rule [0] []: ingress of to: " + expected), lines::toString);
  }

  @Test
  void shouldTellWhichPeersARuleMeans() {
    final List<PolicyQuery.Port> http = List.of(PolicyQuery.Port.of("p", 80, "TCP"));
    add(engine, List.of(ingress(WEB, cidrs("10.0.0.0/8"), endpoints(DB))), false);
    assertSays("allows", set("cidr:10.0.0.1/32"), http);
    assertSays("enforced, does not match", set("cidr:11.0.0.1/32"), http);
    assertSays("allows", set("app=db"), http);
    add(
        engine,
        List.of(
            ingress(WEB, requires(labels("env", "prod"))),
            ingress(labels("app", "else"), requires(labels("env", "none")))),
        false);
    assertSays("enforced, does not match", set("app=db"), http);
    assertSays("allows", set("app=db", "env=prod"), http);
    assertSays("enforced, does not match", set("app=else", "env=prod"), http);
    Changes.delete(engine, List.of());
    add(
        engine,
        List.of(ingressDeny(WEB, endpoints(DB)), ingress(WEB, requires(labels("env", "prod")))),
        false);
    assertSays("denies", set("app=db"), http);
  }

  @Test
  void shouldTellWhatARuleSaysOfAllPorts() {
    add(engine, List.of(ingress(WEB, on(endpoints(DB), tcp(80)))), false);
    assertSays("enforced, does not match", set("app=db"), List.of());
    Changes.delete(engine, List.of());
    add(engine, List.of(ingress(WEB, endpoints(DB))), false);
    assertSays("allows", set("app=db"), List.of());
    Changes.delete(engine, List.of());
    add(engine, List.of(ingressDeny(WEB, on(endpoints(DB), tcp(80)))), false);
    assertSays("denies", set("app=db"), List.of());
  }

  @Test
  void shouldSumUpBothEnds() {
    add(engine, List.of(ingress(WEB, endpoints(DB))), false);
    final List<String> host = lines(set("reserved:host"), List.of());
    assertEquals(
        List.of(
            "egress of from [reserved:host]: no endpoint, so without policy",
            "ingress of to [unspec:app=web]: enforced, denied"),
        host.subList(host.size() - 2, host.size()));
    final List<String> db = lines(set("app=db"), List.of());
    assertEquals("egress of from [unspec:app=db]: not enforced, allowed", db.get(db.size() - 2));
  }

  @Test
  void shouldRefuseWhatIsNoQuestion() {
    for (final int port : new int[] {0, 65_536, -1}) {
      assertThrows(Refusal.class, () -> PolicyQuery.Port.of("p", port, "TCP"));
    }
    assertThrows(Refusal.class, () -> PolicyQuery.Port.of("p", 256, "ICMP"));
    assertEquals(0, PolicyQuery.Port.of("p", 0, "ICMPv6").number());
    assertEquals(
        "from.labels: 'reserved:nothing' is not a reserved identity",
        assertThrows(Refusal.class, () -> passes("reserved:nothing", "app=web", 80)).getMessage());
    assertEquals(
        "to.labels: '10.0.0.0/33' is not a CIDR: its length is not between 0 and 32",
        assertThrows(Refusal.class, () -> passes("app=web", "cidr:10.0.0.0/33", 80)).getMessage());
  }

  @Test
  void shouldGiveTheVerdictOfTheNaivePolicyOnRandomRulesAndFlows() {
    int allowed = 0;
    for (int seed = 0; seed < RULE_SETS; seed++) {
      final RandomPolicy random = new RandomPolicy(seed);
      final List<RuleSpec> rules = random.rules();
      Changes.delete(engine, List.of());
      add(engine, rules, false);
      for (int i = 0; i < QUESTIONS; i++) {
        allowed += check(seed, random, rules) ? 1 : 0;
      }
    }
    final int all = RULE_SETS * QUESTIONS;
    assertTrue(allowed > all / 10 && allowed < all * 9 / 10, allowed + " of " + all);
  }

  private boolean check(int seed, RandomPolicy random, List<RuleSpec> rules) {
    final LabelSet endpoint = random.labels();
    final boolean ingress = random.below(2) == 0;
    final NaivePeer peer;
    final LabelSet other;
    switch (random.below(4)) {
      case 0, 1 -> {
        other = random.labels();
        peer = NaivePeer.endpoint(other);
      }
      case 2 -> {
        other = set("reserved:host");
        peer = NaivePeer.host();
      }
      default -> {
        final IpAddress address = random.someOutsideAddress();
        other = set("cidr:" + address + (address.isIpv4() ? "/32" : "/128"));
        peer = NaivePeer.outside(address);
      }
    }
    final int protocol = random.below(PROTOCOLS.size());
    final int port = protocol < 3 ? random.somePort() : random.someIcmpType();
    final NaivePolicy naive = new NaivePolicy(rules);
    boolean expected =
        naive.verdict(endpoint, ingress, peer, NUMBERS[protocol], port) == Verdict.ALLOWED;
    if (peer.kind() == NaivePeer.Kind.ENDPOINT) {
      expected &=
          naive.verdict(other, !ingress, NaivePeer.endpoint(endpoint), NUMBERS[protocol], port)
              == Verdict.ALLOWED;
    }
    final PolicyQuery query =
        new PolicyQuery(
            ingress ? other : endpoint,
            ingress ? endpoint : other,
            List.of(PolicyQuery.Port.of("p", port, PROTOCOLS.get(protocol))),
            random.below(2) == 0);
    assertEquals(
        expected,
        engine.trace(query).isAllowed(),
        () -> "seed %d: %s%nrules %s".formatted(seed, query, rules));
    return expected;
  }
}
