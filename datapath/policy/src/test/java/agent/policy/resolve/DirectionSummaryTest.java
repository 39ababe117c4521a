package agent.policy.resolve;

import static agent.policy.Changes.add;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.ingressDeny;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.tcp;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.policy.PolicyContext;
import agent.policy.PolicyEngine;
import agent.policy.PolicyUpdate;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.SelectorSpec;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A summary says what the entries enforce: identities by number, and every identity apart. */
class DirectionSummaryTest {
  private static final SelectorSpec WEB = labels("app", "web");
  private static final SelectorSpec DB = labels("app", "db");
  private static final SelectorSpec LATE = labels("app", "late");

  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final Identity web = acquire("app=web");
  private final Identity db = acquire("app=db");

  private Identity acquire(String... labels) {
    return identities.acquire(LabelSet.parse("l", List.of(labels))).join();
  }

  private PolicyEngine open(int capacity) {
    final PolicyEngine engine =
        PolicyEngine.open(
            new PolicyContext().identities(identities).mapCapacity(capacity).conclude());
    engine.endpointSet(1, web, List.of());
    return engine;
  }

  private static void assertSummary(
      PolicyEngine engine,
      boolean anyAllowed,
      boolean anyDenied,
      List<Integer> allowed,
      List<Integer> denied) {
    final DirectionSummary ingress = engine.policyOf(1).orElseThrow().ingress();
    assertEquals(anyAllowed, ingress.anyAllowed());
    assertEquals(anyDenied, ingress.anyDenied());
    assertEquals(allowed, ingress.allowed());
    assertEquals(denied, ingress.denied());
  }

  @Test
  void shouldAllowAnyIdentityWhereNothingIsEnforced() {
    assertSummary(open(16), true, false, List.of(), List.of());
  }

  @Test
  void shouldAllowNoIdentityWhereARuleAllowsNone() {
    final PolicyEngine engine = open(16);
    add(engine, List.of(ingress(WEB)), false);
    assertSummary(engine, false, false, List.of(), List.of());
  }

  @Test
  void shouldNameWhatEverybodyHasApartFromIdentities() {
    final PolicyEngine engine = open(16);
    add(
        engine,
        List.of(
            ingress(WEB, on(PeerRuleSpec.ALL, tcp(80)), on(endpoints(DB), tcp(81))),
            ingressDeny(WEB, on(endpoints(DB), tcp(82)))),
        false);
    assertSummary(engine, true, false, List.of(db.id()), List.of(db.id()));
    add(engine, List.of(ingressDeny(WEB, on(PeerRuleSpec.ALL, tcp(83)))), false);
    assertSummary(engine, true, true, List.of(db.id()), List.of(db.id()));
    add(engine, List.of(ingressDeny(WEB, PeerRuleSpec.ALL)), false);
    assertSummary(engine, false, true, List.of(), List.of(db.id()));
  }

  /** The entries of the second peer do not fit beside those of the first. */
  @Test
  void shouldSayOfAReducedPolicyWhatIsLeftOfIt() {
    final PolicyEngine engine = open(3);
    add(engine, List.of(ingress(WEB, on(endpoints(DB, LATE), tcp(80), tcp(81)))), false);
    final Identity late = acquire("app=late");
    final PolicyUpdate update = engine.refresh();
    assertEquals(1, update.failures().size());
    assertSummary(engine, false, false, List.of(db.id()), List.of());
    final DirectionSummary wanted = engine.wanted(web, List.of()).ingress();
    assertEquals(List.of(db.id(), late.id()), wanted.allowed());
    assertEquals(1, wanted.l4().stream().filter(line -> line.rule().contains("late")).count());
  }

  @Test
  void shouldSayThatNothingIsAllowedWhereNotEvenTheDeniesFit() {
    final PolicyEngine engine = open(3);
    add(
        engine,
        List.of(ingress(WEB, PeerRuleSpec.ALL), ingressDeny(WEB, on(endpoints(DB, LATE), tcp(80)))),
        false);
    assertSummary(engine, true, false, List.of(), List.of(db.id()));
    final Identity late = acquire("app=late");
    engine.refresh();
    assertSummary(engine, true, false, List.of(), List.of(db.id(), late.id()));
    acquire("app=late", "i=1");
    acquire("app=late", "i=2");
    engine.refresh();
    assertSummary(engine, false, false, List.of(), List.of());
    assertEquals(4, engine.wanted(web, List.of()).ingress().denied().size());
  }
}
