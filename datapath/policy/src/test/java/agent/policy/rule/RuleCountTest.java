package agent.policy.rule;

import static agent.policy.RuleSpecs.cidrSet;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.dns;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.entities;
import static agent.policy.RuleSpecs.fqdns;
import static agent.policy.RuleSpecs.http;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.ingressDeny;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.requires;
import static agent.policy.RuleSpecs.services;
import static agent.policy.RuleSpecs.tcp;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.IcmpFieldSpec;
import agent.policy.spec.PeerRuleSpec.IcmpRuleSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import agent.types.EntrySource;
import agent.types.KeptTexts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What counts towards the limits of the rules. */
class RuleCountTest {
  private static final SelectorSpec ONE = labels("a", "bb");

  private static void assertCounts(
      int peers, int cidrs, int labels, int characters, PeerRuleSpec element) {
    assertEquals(
        new RuleCount(1, peers, cidrs, labels, characters),
        RuleCount.of(ingress(null, element)),
        element::toString);
  }

  /** A long one would be in memory as a whole. */
  @Test
  void shouldHaveTextsOfShortRulesAlone() {
    final List<RuleSpec> rules =
        List.of(
            ingress(null, entities("x".repeat(KeptTexts.LONGEST))),
            ingress(null, entities("x".repeat(KeptTexts.LONGEST + 1))));
    final List<String> texts = new ArrayList<>();
    RuleCount.texts(rule -> rule == rules.getFirst() ? "short" : "long")
        .forEach(rules, (rule, text) -> texts.add(text));
    assertEquals(Arrays.asList("short", null), texts);
  }

  /** That of the API is one text for all rules. */
  @Test
  void shouldCountTheSourcesOfOtherRules() {
    for (final String source : List.of("api", "cluster", "file:shop.yaml")) {
      final RuleSpec rule =
          new RuleSpec(
              SelectorSpec.ALL,
              List.of(),
              null,
              null,
              null,
              null,
              "four",
              null,
              new EntrySource(source));
      final int characters = 4 + (source.equals("api") ? 0 : source.length());
      assertEquals(new RuleCount(1, 0, 0, 0, characters), RuleCount.of(rule));
    }
  }

  /** An expression that is not plain text also counts the states of its automaton. */
  @Test
  void shouldCountRulesOfRequests() {
    assertCounts(4, 0, 0, 3 + 5, on(PeerRuleSpec.NO_PEER, http("GET", "/a/.*"), tcp(80)));
    assertCounts(4, 0, 0, 8 + 32 * 6, on(PeerRuleSpec.NO_PEER, http("[A-Z]{5}", null), tcp(80)));
    assertCounts(5, 0, 0, 8, on(PeerRuleSpec.NO_PEER, dns("a.b", "*.b.c"), tcp(53)));
    final HttpSpec http =
        new HttpSpec(
            null,
            null,
            null,
            List.of("X-A", "X-B: 1"),
            List.of(new HeaderMatchSpec("X-C", "22", "LOG")));
    assertCounts(
        7, 0, 0, 14, on(PeerRuleSpec.NO_PEER, new RequestRuleSpec(List.of(http), null), tcp(80)));
  }

  @Test
  void shouldCountEachPartOfAnElement() {
    assertCounts(3, 0, 2, 6, endpoints(ONE, ONE));
    assertCounts(3, 0, 2, 6, requires(ONE, ONE));
    assertCounts(1, 2, 0, 14, cidrs("10.0.0.0/8", "::/0"));
    assertCounts(1, 3, 0, 25, cidrSet("10.0.0.0/8", "10.1.0.0/16", "::/0"));
    assertCounts(3, 0, 0, 9, entities("host", "world"));
    assertCounts(3, 0, 0, 7, fqdns("a.b", "*.cc"));
    assertCounts(3, 0, 0, 11, services("shop", "a", "bb"));
    assertCounts(4, 0, 0, 0, on(PeerRuleSpec.NO_PEER, tcp(80), tcp(81)));
    final IcmpFieldSpec echo = new IcmpFieldSpec("IPv4", "8");
    assertCounts(4, 0, 0, 0, on(PeerRuleSpec.NO_PEER, new IcmpRuleSpec(List.of(echo, echo))));
    assertCounts(1, 0, 0, 0, PeerRuleSpec.NO_PEER);
  }

  @Test
  void shouldCountTheTextsOfARule() {
    final SelectorSpec subject =
        new SelectorSpec(
            Map.of("a", "bb"),
            List.of(
                new ExpressionSpec("ccc", "In", List.of("d", "ee")),
                new ExpressionSpec("f", "Exists", null)));
    final RuleSpec rule =
        new RuleSpec(
            subject, null, null, null, null, List.of(new LabelSpec("k", "vv", "src")), "text");
    assertEquals(new RuleCount(1, 0, 0, 6, 20), RuleCount.of(rule));
  }

  @Test
  void shouldCountEachDirectionAndAddRules() {
    final RuleCount both =
        RuleCount.of(ingress(ONE, endpoints(ONE))).plus(RuleCount.of(egress(null, cidrs("::/0"))));
    assertEquals(new RuleCount(2, 3, 1, 2, 10), both);
    assertEquals(new RuleCount(1, 2, 0, 0, 4), RuleCount.of(ingressDeny(null, entities("host"))));
    assertEquals(
        new RuleCount(1, 2, 0, 0, 4),
        RuleCount.of(new RuleSpec(null, null, null, null, List.of(entities("host")), null, null)));
  }
}
