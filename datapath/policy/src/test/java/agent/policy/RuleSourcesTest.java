package agent.policy;

import static agent.policy.Changes.commit;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.from;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.ingressDeny;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.named;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.identity.LabelSet;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.policy.repository.PolicySnapshot;
import agent.policy.repository.PolicyState;
import agent.policy.repository.PolicyStore;
import agent.policy.repository.Replacement;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.EntrySource;
import agent.types.OperationException;
import agent.types.Refusal;
import agent.types.UnreadableStateException;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** The API and other sources write rules beside each other (decisions.md, section 9). */
class RuleSourcesTest {
  private static final EntrySource FILE = new EntrySource("file:shop.yaml");
  private static final EntrySource CLUSTER = new EntrySource("cluster");
  private static final SelectorSpec WEB = labels("app", "web");
  private static final SelectorSpec DB = labels("app", "db");
  private static final Replacement NONE = Replacement.of(false, List.of());

  private final PolicyStore store = PolicyStore.inMemory();
  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final LocalCidrIdentityAllocator cidrIdentities = new LocalCidrIdentityAllocator();
  private PolicyEngine engine = open(store);

  private PolicyEngine open(PolicyStore from) {
    return PolicyEngine.open(
        new PolicyContext()
            .identities(identities)
            .cidrIdentities(cidrIdentities)
            .store(from)
            .conclude());
  }

  private void add(EntrySource source, Replacement replacement, RuleSpec... rules) {
    commit(
        engine,
        PolicyChange.add(
            source, List.of(rules).stream().map(rule -> from(source, rule)).toList(), replacement));
  }

  private void delete(EntrySource source, String... labels) {
    commit(engine, PolicyChange.delete(source, List.of(labels)));
  }

  private List<RuleSpec> held() {
    return engine.snapshot().rules();
  }

  /** A change that is refused leaves the rules, their revision and the disk as they are. */
  private void assertConflict(String message, Runnable call) {
    final PolicySnapshot before = engine.snapshot();
    final Refusal refusal = assertThrows(Refusal.class, call::run);
    assertEquals(Refusal.Kind.CONFLICT, refusal.kind());
    assertEquals(message, refusal.getMessage());
    assertEquals(before, engine.snapshot());
    assertEquals(before.rules(), store.load(any -> {}).orElseThrow().rules());
  }

  @Test
  void shouldDeleteWithoutLabelsTheRulesOfTheSourceAlone() {
    final RuleSpec own = named(ingress(WEB), "rule", "a");
    add(EntrySource.API, NONE, own, named(ingress(DB), "rule", "b"));
    add(FILE, NONE, own);
    add(CLUSTER, NONE, own);
    delete(EntrySource.API);
    assertEquals(List.of(from(FILE, own), from(CLUSTER, own)), held());
    final long revision = engine.snapshot().revision();
    delete(EntrySource.API);
    assertEquals(revision, engine.snapshot().revision(), "nothing changed");
    delete(CLUSTER);
    assertEquals(List.of(from(FILE, own)), held());
    engine = open(store);
    delete(EntrySource.API);
    assertEquals(List.of(from(FILE, own)), held());
  }

  @Test
  void shouldRefuseToDeleteARuleOfAnotherSource() {
    final RuleSpec api = named(ingress(WEB), "rule", "a");
    final RuleSpec file = named(ingress(DB), "rule", "a");
    final RuleSpec second = named(ingress(DB), "rule", "b");
    add(EntrySource.API, NONE, api, second);
    add(FILE, NONE, file);
    final String message = "labels: a rule with labels [unspec:rule=a] belongs to source '%s'";
    assertConflict(
        message.formatted("file:shop.yaml"), () -> delete(EntrySource.API, "unspec:rule=a"));
    assertConflict(message.formatted("api"), () -> delete(FILE, "unspec:rule=a"));
    assertConflict(message.formatted("api"), () -> delete(CLUSTER, "rule=a"));
    delete(EntrySource.API, "rule=b");
    assertEquals(List.of(api, from(FILE, file)), held());
    assertThrows(Refusal.class, () -> delete(FILE, "rule=b"), "no rule has them");
  }

  @Test
  void shouldReplaceTheRulesOfTheSourceAlone() {
    final RuleSpec former = named(ingress(WEB), "rule", "a");
    final RuleSpec next = named(ingress(DB), "rule", "a");
    final Replacement sameLabels = Replacement.of(true, List.of());
    final Replacement byLabels = Replacement.of(false, List.of("rule=a"));
    for (final Replacement replacement : List.of(sameLabels, byLabels)) {
      add(EntrySource.API, NONE, former);
      add(FILE, NONE, former);
      add(EntrySource.API, replacement, next);
      assertEquals(List.of(from(FILE, former), next), held());
      add(FILE, replacement, next);
      assertEquals(List.of(next, from(FILE, next)), held());
      delete(EntrySource.API);
      delete(FILE);
    }
  }

  /** Otherwise the rule would go with whichever source deletes it first. */
  @Test
  void shouldHoldWhatTwoSourcesSayForEachOfThem() {
    final RuleSpec rule = egress(WEB, cidrs("192.0.2.0/24"));
    engine.endpointSet(
        1, identities.acquire(LabelSet.parse("l", List.of("app=web"))).join(), List.of());
    final int identitiesBefore = cidrIdentities.list().size();
    final var open = engine.policyOf(1).orElseThrow().entries();
    add(EntrySource.API, NONE, rule);
    final var enforced = engine.policyOf(1).orElseThrow().entries();
    add(FILE, NONE, rule);
    add(FILE, NONE, rule);
    assertEquals(List.of(rule, from(FILE, rule)), held());
    assertEquals(enforced, engine.policyOf(1).orElseThrow().entries());
    delete(EntrySource.API);
    assertEquals(enforced, engine.policyOf(1).orElseThrow().entries());
    assertEquals(identitiesBefore + 1, cidrIdentities.list().size());
    delete(FILE);
    assertEquals(open, engine.policyOf(1).orElseThrow().entries());
    assertEquals(identitiesBefore, cidrIdentities.list().size());
  }

  @Test
  void shouldRefuseARuleOfAnotherSource() {
    add(EntrySource.API, NONE, ingress(WEB));
    final RuleSpec foreign = from(FILE, ingress(DB));
    assertConflict(
        "[1].source: the rule belongs to source 'file:shop.yaml', not to 'api'",
        () -> PolicyChange.add(List.of(ingress(DB), foreign), NONE));
    assertConflict(
        "[0].source: the rule belongs to source 'api', not to 'cluster'",
        () -> PolicyChange.add(CLUSTER, List.of(ingress(DB)), NONE));
  }

  @Test
  void shouldKeepTheSourcesOfRulesOverARestart() {
    final RuleSpec rule = ingressDeny(WEB, endpoints(DB));
    add(FILE, NONE, rule);
    add(EntrySource.API, NONE, rule);
    engine = open(store);
    assertEquals(List.of(from(FILE, rule), rule), held());
    add(EntrySource.API, NONE, rule);
    add(FILE, NONE, rule);
    assertEquals(List.of(from(FILE, rule), rule), held(), "neither is held twice");
  }

  /** The rules of all sources are lost with it: a person decides that, and no watcher. */
  @Test
  void shouldLetTheApiAloneGiveUpRulesThatCannotBeRead() {
    engine = open(new UnreadableStore());
    assertThrows(OperationException.class, () -> delete(FILE));
    assertThrows(
        OperationException.class, () -> add(FILE, Replacement.of(true, List.of()), ingress(WEB)));
    assertTrue(engine.isHeld());
    delete(EntrySource.API);
    add(FILE, NONE, ingress(WEB));
    assertEquals(List.of(from(FILE, ingress(WEB))), held());
  }

  /** A store of which nothing can be read. */
  private static final class UnreadableStore implements PolicyStore {
    @Override
    public Optional<PolicyState> load(Consumer<PolicyState> check) {
      throw new UnreadableStateException("policy: damaged");
    }

    @Override
    public void save(PolicyState state) {}
  }
}
