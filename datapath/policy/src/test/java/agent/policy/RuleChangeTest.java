package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.commit;
import static agent.policy.Changes.delete;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.named;
import static agent.policy.RuleSpecs.snapshot;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.policy.repository.PolicyLimits;
import agent.policy.repository.PolicyState;
import agent.policy.repository.PolicyStore;
import agent.policy.repository.Replacement;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** What a change makes of the rules, alone and with others (decisions.md, section 8). */
class RuleChangeTest {
  private static final SelectorSpec WEB = labels("app", "web");
  private static final SelectorSpec DB = labels("app", "db");

  /** A store that counts, and refuses what is too large for it. */
  private static final class CountingStore implements PolicyStore {
    private final PolicyStore kept = PolicyStore.inMemory();
    int saves;
    int mostRules = Integer.MAX_VALUE;

    @Override
    public Optional<PolicyState> load(Consumer<PolicyState> check) {
      return kept.load(check);
    }

    @Override
    public void save(PolicyState state) {
      saves++;
      if (state.rules().size() > mostRules) {
        throw new OperationException("disk full");
      }
      kept.save(state);
    }
  }

  private final CountingStore store = new CountingStore();
  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final PolicyEngine engine = PolicyEngine.open(context().conclude());

  private PolicyContext context() {
    return new PolicyContext().identities(identities).store(store);
  }

  private List<RuleSpec> held() {
    return engine.snapshot().rules();
  }

  private static RuleSpec withLabels(RuleSpec rule, LabelSpec... labels) {
    return new RuleSpec(
        rule.endpointSelector(),
        rule.ingress(),
        rule.egress(),
        rule.ingressDeny(),
        rule.egressDeny(),
        List.of(labels),
        rule.description());
  }

  @Test
  void shouldHoldARuleOnceHoweverItIsSpelled() {
    final LabelSpec one = new LabelSpec("n", "1", null);
    final LabelSpec two = new LabelSpec("m", null, "k8s");
    final RuleSpec first = withLabels(ingress(WEB, cidrs("10.0.0.0/8")), one, two);
    final RuleSpec again =
        withLabels(ingress(WEB, cidrs("10.1.2.3/8")), two, new LabelSpec("n", "1", "unspec"), one);
    assertEquals(2, add(engine, List.of(first, again), false).revision());
    assertEquals(List.of(first), held());
    assertEquals(2, add(engine, List.of(again), false).revision());
    assertEquals(2, add(engine, List.of(again), true).revision(), "replaced by what it says");
    assertEquals(List.of(first), held());
    assertEquals(1, store.saves, "what changes nothing is not stored");
  }

  @Test
  void shouldHoldRulesApartThatDifferInLabelsContentOrDescription() {
    final RuleSpec rule = ingress(WEB, cidrs("10.0.0.0/8"));
    final List<RuleSpec> rules =
        List.of(
            rule,
            named(rule, "n", "1"),
            ingress(WEB, cidrs("10.0.0.0/9")),
            ingress(DB, cidrs("10.0.0.0/8")),
            egress(WEB, cidrs("10.0.0.0/8")),
            new RuleSpec(WEB, rule.ingress(), null, null, null, null, "why"),
            new RuleSpec(WEB, rule.ingress(), List.of(), null, null, null, null));
    add(engine, rules, false);
    assertEquals(rules, held());
  }

  @Test
  void shouldReplaceWhatHasExactlyTheLabelsInOneRevision() {
    final RuleSpec other = named(ingress(DB), "n", "2");
    final RuleSpec stays = named(egress(WEB), "n", "1");
    final RuleSpec without = ingress(WEB);
    add(engine, List.of(named(ingress(WEB), "n", "1"), stays, other, without), false);
    final RuleSpec both =
        withLabels(ingress(DB), new LabelSpec("n", "1", null), new LabelSpec("m", "", null));
    add(engine, List.of(both), false);
    final RuleSpec fresh = named(ingress(DB), "n", "1");
    assertEquals(4, add(engine, List.of(fresh, stays, egress(DB)), true).revision());
    assertEquals(List.of(stays, other, without, both, fresh, egress(DB)), held());
  }

  @Test
  void shouldReplaceWhatHasAllOfTheLabels() {
    final RuleSpec red = named(ingress(WEB), "team", "red");
    final RuleSpec more =
        withLabels(ingress(DB), new LabelSpec("team", "red", "k8s"), new LabelSpec("m", "", null));
    final RuleSpec blue = named(ingress(WEB), "team", "blue");
    add(engine, List.of(red, more, blue), false);
    final RuleSpec fresh = named(egress(WEB), "team", "red");
    commit(
        engine, PolicyChange.add(List.of(fresh), Replacement.of(false, List.of("team=red", "m"))));
    assertEquals(List.of(red, blue, fresh), held());
    commit(engine, PolicyChange.add(List.of(), Replacement.of(false, List.of("team=red"))));
    assertEquals(List.of(blue), held());
    final long revision = engine.snapshot().revision();
    commit(engine, PolicyChange.add(List.of(), Replacement.of(false, List.of("team=red"))));
    assertEquals(revision, engine.snapshot().revision());
    assertThrows(Refusal.class, () -> Replacement.of(false, List.of("")));
  }

  private List<PolicyCommit> commitAll(PolicyChange... changes) {
    return engine.commit(List.of(changes));
  }

  private static PolicyChange adding(RuleSpec... rules) {
    return PolicyChange.add(List.of(rules), Replacement.of(false, List.of()));
  }

  @Test
  void shouldStoreAndResolveAGroupOnceAndAnswerEachForItself() {
    engine.endpointSet(
        1, identities.acquire(LabelSet.parse("l", List.of("app=web"))).join(), List.of());
    final RuleSpec a = named(ingress(WEB, endpoints(DB)), "n", "a");
    final RuleSpec b = named(egress(WEB, endpoints(DB)), "n", "b");
    final List<PolicyCommit> commits =
        commitAll(
            adding(a),
            PolicyChange.delete(List.of("n=none")),
            adding(b),
            adding(a),
            PolicyChange.delete(List.of("n=a")));
    assertEquals(1, commits.size());
    final PolicyCommit commit = commits.getFirst();
    assertEquals(1, store.saves);
    assertEquals(1, commit.update().endpoints().size());
    assertEquals(4, commit.update().revision());
    final List<PolicyCommit.Result> results = commit.results();
    assertEquals(snapshot(2, a), results.get(0).rules());
    assertEquals(
        Refusal.Kind.NOT_FOUND, ((Refusal) results.get(1).refusal()).kind(), "and others pass");
    assertEquals(snapshot(3, a, b), results.get(2).rules());
    assertEquals(snapshot(3, a, b), results.get(3).rules());
    assertEquals(snapshot(4, b), results.get(4).rules());
    assertEquals(snapshot(4, b), engine.snapshot());
    assertEquals(List.of(b), store.load(any -> {}).orElseThrow().rules());
  }

  @Test
  void shouldRefuseOnlyTheChangesThatCannotBeEnforced() {
    final PolicyEngine small =
        PolicyEngine.open(context().store(PolicyStore.inMemory()).mapCapacity(4).conclude());
    small.endpointSet(
        1, identities.acquire(LabelSet.parse("l", List.of("app=web"))).join(), List.of());
    final List<PolicyChange> changes = new ArrayList<>();
    for (int i = 0; i < 7; i++) {
      changes.add(adding(named(ingress(WEB, cidrs("10.0." + i + ".0/24")), "n", "" + i)));
    }
    final List<PolicyCommit> commits = small.commit(changes);
    final List<PolicyCommit.Result> results =
        commits.stream().flatMap(commit -> commit.results().stream()).toList();
    assertEquals(7, results.size());
    for (int i = 0; i < 7; i++) {
      assertEquals(i < 3, results.get(i).refusal() == null, "change " + i);
    }
    assertEquals(3, small.snapshot().rules().size());
    assertEquals(4, small.policyOf(1).orElseThrow().entries().size());
    assertEquals(3, small.outsidePrefixes().size(), "no reference of a refused one is left");
  }

  @Test
  void shouldFailEveryChangeOfAGroupThatCannotBeStored() {
    add(engine, List.of(ingress(WEB)), false);
    store.mostRules = 2;
    final List<PolicyCommit> commits = commitAll(adding(ingress(DB)), adding(egress(DB)));
    assertEquals(1, commits.size());
    assertFalse(commits.getFirst().isChanged());
    for (final PolicyCommit.Result result : commits.getFirst().results()) {
      assertNull(result.rules());
      assertEquals("disk full", result.refusal().getMessage());
    }
    assertEquals(snapshot(2, ingress(WEB)), engine.snapshot());
    assertTrue(commitAll(adding(ingress(DB))).getFirst().isChanged());
  }

  @Test
  void shouldTakeAWholeGroupBackInItsPlace() {
    final RuleSpec a = named(ingress(WEB), "n", "a");
    final RuleSpec b = named(egress(WEB), "n", "b");
    add(engine, List.of(a, b), false);
    final PolicyCommit commit =
        commitAll(PolicyChange.delete(List.of("n=a")), adding(ingress(DB)), adding(egress(DB)))
            .getFirst();
    assertEquals(5, commit.update().revision());
    assertEquals(6, Changes.undo(engine, 5).orElseThrow().revision());
    assertEquals(snapshot(6, a, b), engine.snapshot());
    assertEquals(List.of(a, b), store.load(any -> {}).orElseThrow().rules());
    assertEquals(6, delete(engine, List.of("n=a")).revision() - 1);
  }

  @Test
  void shouldRefuseWhatWouldExceedALimitBeforeItIsStored() {
    final PolicyEngine limited =
        PolicyEngine.open(context().limits(new PolicyLimits(3, 5, 4, 6, 200)).conclude());
    add(limited, List.of(ingress(WEB), named(ingress(DB), "n", "1")), false);
    assertOverLimit(
        limited,
        "policy: the rules would have 4 rules in total, the limit is 3 (--max-policy-rules)",
        egress(WEB),
        egress(DB));
    assertOverLimit(
        limited,
        "policy: the rules would have 6 peers and ports in total, the limit is 5"
            + " (--max-policy-peers)",
        ingress(WEB, endpoints(labels("a", "1"), labels("a", "2"), labels("a", "3"), DB, WEB)));
    assertOverLimit(
        limited,
        "policy: the rules would have 5 CIDRs in total, the limit is 4 (--max-policy-cidrs)",
        ingress(WEB, cidrs("10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8", "13.0.0.0/8", "14.0.0.0/8")));
    assertOverLimit(
        limited,
        "policy: the rules would have 7 labels in total, the limit is 6 (--max-policy-labels)",
        named(ingress(WEB, endpoints(DB, WEB)), "n", "2"));
    assertOverLimit(
        limited,
        "policy: the rules would have 219 characters in total, the limit is 200"
            + " (--max-policy-text)",
        new RuleSpec(WEB, List.of(), null, null, null, null, "x".repeat(200)));
    final int saves = store.saves;
    final RuleSpec fits = named(ingress(WEB, endpoints(DB)), "n", "2");
    add(limited, List.of(fits), false);
    assertEquals(saves + 1, store.saves);
    assertEquals(3, limited.snapshot().rules().size());
    commit(
        limited,
        PolicyChange.add(List.of(named(ingress(DB), "n", "2")), Replacement.of(true, List.of())));
    assertEquals(3, limited.snapshot().rules().size(), "what does not grow is not refused");
  }

  private void assertOverLimit(PolicyEngine limited, String message, RuleSpec... rules) {
    final int saves = store.saves;
    final Refusal refusal = assertThrows(Refusal.class, () -> add(limited, List.of(rules), false));
    assertEquals(message, refusal.getMessage());
    assertEquals(Refusal.Kind.OVER_LIMIT, refusal.kind());
    assertEquals(saves, store.saves);
    assertEquals(2, limited.snapshot().rules().size());
  }

  /** Rules of a time with higher limits are there after a start with lower ones. */
  @Test
  void shouldStartWithMoreRulesThanTheLimitsAllowAndTakeFewer() {
    add(engine, List.of(ingress(WEB), ingress(DB), egress(WEB)), false);
    final PolicyEngine limited =
        PolicyEngine.open(context().limits(new PolicyLimits(1, 1, 1, 1, 1)).conclude());
    assertEquals(3, limited.snapshot().rules().size());
    assertThrows(Refusal.class, () -> add(limited, List.of(egress(DB)), false));
    delete(limited, List.of());
    assertEquals(0, limited.snapshot().rules().size());
  }
}
