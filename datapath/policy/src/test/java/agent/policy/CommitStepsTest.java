package agent.policy;

import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.tcp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Work.Progress;
import agent.datapath.spec.PolicyEntry;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.policy.repository.PolicyState;
import agent.policy.repository.Replacement;
import agent.policy.resolve.EnforcementMode;
import agent.policy.spec.NamedPort;
import agent.policy.spec.RuleSpec;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What happens between the steps of a commit. */
class CommitStepsTest {
  /** More steps than a commit of few rules has. */
  private static final int MOST_STEPS = 100;

  private final FailingPolicyStore store = new FailingPolicyStore();
  private LocalIdentityAllocator identities;
  private PolicyEngine engine;
  private List<Runnable> writes;

  private void open() {
    identities = new LocalIdentityAllocator();
    writes = null;
    engine =
        PolicyEngine.open(
            new PolicyContext()
                .identities(identities)
                .store(store)
                .storing(
                    write ->
                        CompletableFuture.runAsync(
                            write,
                            work -> {
                              if (writes == null) {
                                work.run();
                              } else {
                                writes.add(work);
                              }
                            }))
                .conclude());
    engine.endpointSet(1, identity("app=web"), List.of());
  }

  private Identity identity(String label) {
    return identities.acquire(LabelSet.parse("labels", List.of(label))).join();
  }

  private static List<RuleSpec> rules() {
    return List.of(
        ingress(labels("app", "web"), on(endpoints(labels("app", "db")), tcp(80))),
        ingress(labels("app", "web"), on(cidrs("198.51.100.0/24"), tcp(81))));
  }

  private PolicyCommitting begin() {
    return engine.begin(List.of(PolicyChange.add(rules(), Replacement.of(false, List.of()))));
  }

  private boolean allows(Identity peer) {
    return engine.policyOf(1).orElseThrow().entries().stream()
        .anyMatch(entry -> entry.identity() == peer.id());
  }

  /** Runs steps until the last one, or so many of them; returns whether it was the last one. */
  private static boolean run(PolicyCommitting commit, int most) {
    for (int i = 0; i < most; i++) {
      if (commit.step() == Progress.DONE) {
        return true;
      }
    }
    return false;
  }

  /** It appears or goes after each number of steps, also where the policy is resolved already. */
  @Test
  void shouldFollowAnIdentityBetweenAnyTwoSteps() {
    for (int steps = 1; steps < MOST_STEPS; steps++) {
      open();
      final Identity before = identity("app=db");
      final PolicyCommitting commit = begin();
      if (run(commit, steps)) {
        assertTrue(steps > 3, "steps: " + steps);
        return;
      }
      identities.release(before.id()).join();
      final Identity db =
          identities.acquire(LabelSet.parse("labels", List.of("app=db", "n=" + steps))).join();
      assertTrue(run(commit, MOST_STEPS));
      engine.refresh();
      assertTrue(allows(db), "after step " + steps);
      assertFalse(allows(before), "after step " + steps);
      store.save(new PolicyState(1, List.of(), List.of()));
    }
  }

  /** The same while it changes when policy is enforced. */
  @Test
  void shouldFollowAnIdentityBetweenAnyTwoStepsOfAChangeOfTheMode() {
    for (int steps = 1; steps < MOST_STEPS; steps++) {
      open();
      engine.endpointSet(2, identity("app=other"), List.of());
      assertTrue(run(begin(), MOST_STEPS));
      Changes.enforce(engine, EnforcementMode.NEVER);
      final Identity before = identity("app=db");
      final PolicyCommitting change = engine.beginEnforcing(EnforcementMode.DEFAULT);
      if (run(change, steps)) {
        assertTrue(steps > 2, "steps: " + steps);
        return;
      }
      identities.release(before.id()).join();
      final Identity db =
          identities.acquire(LabelSet.parse("labels", List.of("app=db", "n=" + steps))).join();
      assertTrue(run(change, MOST_STEPS));
      engine.refresh();
      assertTrue(allows(db), "after step " + steps);
      assertFalse(allows(before), "after step " + steps);
      store.save(new PolicyState(1, List.of(), List.of()));
    }
  }

  /** The endpoint whose policy overflows comes last. */
  @Test
  void shouldHaveTheFormerModeWhereAStepIsRefused() {
    identities = new LocalIdentityAllocator();
    engine =
        PolicyEngine.open(
            new PolicyContext()
                .identities(identities)
                .mapCapacity(2)
                .mode(EnforcementMode.NEVER)
                .conclude());
    engine.endpointSet(1, identity("app=other"), List.of());
    engine.endpointSet(2, identity("app=web"), List.of());
    assertTrue(run(begin(), MOST_STEPS));
    identity("app=db");
    engine.refresh();
    final List<PolicyEntry> before = engine.policyOf(2).orElseThrow().entries();
    final PolicyCommitting change = engine.beginEnforcing(EnforcementMode.DEFAULT);
    final Refusal refusal = assertThrows(Refusal.class, () -> run(change, MOST_STEPS));
    assertEquals(Refusal.Kind.EXHAUSTED, refusal.kind());
    assertEquals(EnforcementMode.NEVER, engine.mode());
    assertEquals(before, engine.policyOf(2).orElseThrow().entries());
    identity("app=later");
    assertEquals(List.of(), engine.refresh().endpoints(), "nothing is left of it");
    assertEquals(2, Changes.enforce(engine, EnforcementMode.ALWAYS).endpoints().size());
  }

  @Test
  void shouldListTheSelectorsOfTheRulesThatAreInPlace() {
    open();
    final PolicyCommitting commit = begin();
    while (commit.step() != Progress.DONE) {
      assertEquals(engine.snapshot().rules().size(), engine.selectors().size());
    }
    assertEquals(2, engine.selectors().size());
    final PolicyCommitting deletion = engine.begin(List.of(PolicyChange.delete(List.of())));
    while (deletion.step() != Progress.DONE) {
      assertEquals(engine.snapshot().rules().size(), engine.selectors().size());
    }
    assertEquals(List.of(), engine.selectors());
  }

  @Test
  void shouldHaveTheFormerRulesUntilTheNewOnesAreStored() {
    open();
    writes = new ArrayList<>();
    final long revision = engine.snapshot().revision();
    final PolicyCommitting commit = begin();
    assertFalse(run(commit, MOST_STEPS));
    assertEquals(Progress.WAITING, commit.step());
    assertFalse(commit.awaited().isDone());
    assertEquals(revision, engine.snapshot().revision());
    assertEquals(revision, engine.policyOf(1).orElseThrow().revision());
    assertEquals(1, writes.size());
    writes.getFirst().run();
    assertTrue(commit.awaited().isDone());
    assertTrue(run(commit, MOST_STEPS));
    assertNull(commit.awaited());
    assertEquals(revision + 1, engine.snapshot().revision());
    assertEquals(2, commit.commits().getFirst().results().getFirst().rules().rules().size());
  }

  @Test
  void shouldTakeAllBackWhereTheNewRulesCannotBeStored() {
    open();
    writes = new ArrayList<>();
    final PolicyCommitting commit = begin();
    run(commit, MOST_STEPS);
    store.fails = true;
    writes.getFirst().run();
    assertTrue(run(commit, MOST_STEPS));
    final PolicyCommit failed = commit.commits().getFirst();
    assertEquals("disk full", failed.results().getFirst().refusal().getMessage());
    assertEquals(List.of(), engine.selectors());
    assertTrue(engine.outsidePrefixes().isEmpty());
    assertTrue(failed.update().outside().added().isEmpty());
  }

  private void openHeld() {
    store.save(new PolicyState(0, List.of(), List.of())); // no revision that a store may have
    open();
    assertTrue(engine.isHeld());
    assertEquals(List.of(), engine.policyOf(1).orElseThrow().entries());
    writes = new ArrayList<>();
  }

  private PolicyCommitting beginInPlace() {
    final PolicyCommitting commit =
        engine.begin(List.of(PolicyChange.add(rules(), Replacement.of(true, List.of()))));
    assertFalse(run(commit, MOST_STEPS));
    assertEquals(Progress.WAITING, commit.step());
    return commit;
  }

  /** The disk may have others to answer first, who wait for the engine. */
  @Test
  void shouldAnswerOthersWhileRulesAreStoredInPlaceOfThoseThatCannotBeRead() throws Exception {
    openHeld();
    final PolicyCommitting commit = beginInPlace();
    final Identity db =
        CompletableFuture.supplyAsync(() -> identity("app=db")).get(10, TimeUnit.SECONDS);
    assertTrue(engine.isHeld());
    assertEquals(
        List.of(),
        CompletableFuture.supplyAsync(() -> engine.policyOf(1).orElseThrow().entries())
            .get(10, TimeUnit.SECONDS),
        "an endpoint is closed until the rules are stored");
    final List<NamedPort> none = List.of();
    assertEquals(List.of(), engine.wanted(db, none).entries());
    writes.getFirst().run();
    assertTrue(run(commit, MOST_STEPS));
    assertFalse(engine.isHeld());
    assertTrue(allows(db));
    assertEquals(2, commit.commits().getFirst().results().getFirst().rules().rules().size());
  }

  @Test
  void shouldHoldTheRulesWhereOthersCannotBeStoredInTheirPlace() {
    openHeld();
    final PolicyCommitting commit = beginInPlace();
    store.fails = true;
    writes.getFirst().run();
    assertThrows(OperationException.class, () -> run(commit, MOST_STEPS));
    assertTrue(engine.isHeld());
    engine.refresh();
    assertEquals(List.of(), engine.policyOf(1).orElseThrow().entries());
    assertTrue(engine.outsidePrefixes().isEmpty());
    final Identity db = identity("app=db"); // the commit that failed follows none
    assertEquals(List.of(), engine.refresh().endpoints());
    store.fails = false;
    final PolicyCommitting again = beginInPlace();
    writes.getLast().run();
    assertTrue(run(again, MOST_STEPS));
    assertTrue(allows(db));
  }
}
