package agent.policy.resolve;

import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.labels;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.policy.read.RuleReader;
import agent.policy.reference.SelectorCache;
import agent.policy.rule.Rule;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What is logged of a policy decision. */
class DecisionTraceTest {
  @Test
  void shouldSayWhichRuleSelectsTheEndpointAndWhatItAllows() {
    final SelectorCache cache = new SelectorCache();
    final Identity web = new Identity(300, LabelSet.parse("l", List.of("app=web")));
    final Identity db = new Identity(301, LabelSet.parse("l", List.of("app=db")));
    cache.add(web);
    cache.add(db);
    final List<Rule> rules =
        RuleReader.read(
            List.of(
                ingress(labels("app", "web"), endpoints(labels("app", "db"))),
                ingress(labels("app", "other"), endpoints(labels("app", "db")))));
    SelectorCache.Use.of(rules).forEach(use -> cache.use(use, named -> Set.of()));
    final ResolvedPolicy policy =
        new PolicyResolver(cache, new EndpointPorts(), EnforcementMode.DEFAULT, AllowLocalhost.AUTO)
            .resolve(web, List.of(), rules, 5);
    assertEquals(
        List.of(
            "policy trace: endpoint 7: identity 300 [unspec:app=web], revision 5, 2 rules",
            "policy trace: endpoint 7: rule [0] [] for any:app=web: selects it, enforces [INGRESS]",
            "policy trace: endpoint 7: rule [1] [] for any:app=other: does not select it",
            "policy trace: endpoint 7: INGRESS: allowed identities [301], denied []",
            "policy trace: endpoint 7: EGRESS: not enforced"),
        DecisionTrace.lines(7, web, policy, rules));
  }
}
