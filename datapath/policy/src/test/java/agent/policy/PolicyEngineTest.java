package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static agent.policy.RuleSpecs.cidrSet;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.entities;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.ingressDeny;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.named;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.requires;
import static agent.policy.RuleSpecs.snapshot;
import static agent.policy.RuleSpecs.tcp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.maps.layout.PolicyDirection;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.PolicyLimits;
import agent.policy.repository.PolicyState;
import agent.policy.repository.PolicyStore;
import agent.policy.resolve.AllowLocalhost;
import agent.policy.resolve.DirectionSummary;
import agent.policy.resolve.EnforcementMode;
import agent.policy.resolve.ResolvedPolicy;
import agent.policy.rule.DerivedRule;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.trace.PolicyQuery;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class PolicyEngineTest {
  private static final PolicyEntry OPEN_IN = PolicyEntry.allowAll(0, PolicyDirection.INGRESS);
  private static final PolicyEntry OPEN_OUT = PolicyEntry.allowAll(0, PolicyDirection.EGRESS);
  private static final SelectorSpec WEB = labels("app", "web");
  private static final SelectorSpec DB = labels("app", "db");

  private final FailingPolicyStore store = new FailingPolicyStore();
  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final LocalCidrIdentityAllocator cidrIdentities = new LocalCidrIdentityAllocator();

  private PolicyContext context() {
    return new PolicyContext().identities(identities).cidrIdentities(cidrIdentities).store(store);
  }

  private Identity acquire(String... labels) {
    return identities.acquire(LabelSet.parse("l", List.of(labels))).join();
  }

  private final PolicyEngine engine = PolicyEngine.open(context().conclude());
  private final Identity web = acquire("app=web");
  private final Identity db = acquire("app=db", "env=prod");

  private List<PolicyEntry> entries(int endpoint) {
    return engine.policyOf(endpoint).orElseThrow().entries();
  }

  private static PolicyEntry in(Identity peer, int port) {
    return new PolicyEntry(
        peer == null ? 0 : peer.id(), PolicyDirection.INGRESS, 6, port, 64, PolicyVerdict.ALLOW);
  }

  private static PolicyEntry all(int peer, PolicyDirection direction, boolean deny) {
    return new PolicyEntry(
        peer, direction, 0, 0, 40, deny ? PolicyVerdict.DENY : PolicyVerdict.ALLOW);
  }

  @Test
  void shouldAllowEverythingWhileNoRuleSelectsTheEndpoint() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(ingress(DB)), false);
    assertEquals(List.of(OPEN_IN, OPEN_OUT), entries(1));
    assertFalse(engine.policyOf(1).orElseThrow().ingress().enforced());
  }

  @Test
  void shouldEnforceOnlyTheDirectionOfTheRule() {
    engine.endpointSet(1, web, List.of());
    engine.endpointSet(2, db, List.of());
    final PolicyUpdate update =
        add(engine, List.of(ingress(DB, on(endpoints(WEB), tcp(80)))), false);
    assertEquals(2, update.revision());
    assertEquals(1, update.endpoints().size());
    assertEquals(
        new PolicyDelta(List.of(in(web, 80)), List.of(OPEN_IN)),
        update.endpoints().getFirst().diff());
    assertEquals(List.of(in(web, 80), OPEN_OUT), entries(2));
    final DirectionSummary summary = engine.policyOf(2).orElseThrow().ingress();
    assertEquals(List.of(web.id()), summary.allowed());
    assertEquals(
        List.of(new DerivedRule("allow TCP/80 from any:app=web", List.of(List.of()))),
        summary.l4());
  }

  @Test
  void shouldTellNoListFromAnEmptyOneAndFromAnEmptyElement() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(ingress(WEB)), false);
    assertEquals(List.of(OPEN_OUT), entries(1));
    add(engine, List.of(ingress(WEB, PeerRuleSpec.ALL)), false);
    assertEquals(List.of(OPEN_IN, OPEN_OUT), entries(1));
    assertTrue(engine.policyOf(1).orElseThrow().ingress().enforced());
    delete(engine, List.of());
    add(engine, List.of(ingress(WEB, endpoints())), false);
    assertEquals(List.of(OPEN_OUT), entries(1));
    add(engine, List.of(ingress(WEB, on(PeerRuleSpec.ALL, tcp(80)))), false);
    assertEquals(List.of(in(null, 80), OPEN_OUT), entries(1));
  }

  @Test
  void shouldTurnEnforcementOnByADenyRule() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(ingressDeny(WEB, on(endpoints(DB), tcp(80)))), false);
    assertEquals(
        List.of(
            new PolicyEntry(db.id(), PolicyDirection.INGRESS, 6, 80, 64, PolicyVerdict.DENY),
            OPEN_OUT),
        entries(1));
    assertEquals(List.of(db.id()), engine.policyOf(1).orElseThrow().ingress().denied());
  }

  @Test
  void shouldSelectEveryEndpointButNotTheWorldByAnEmptySelector() {
    engine.endpointSet(1, web, List.of());
    add(
        engine,
        List.of(ingress(WEB, endpoints(SelectorSpec.ALL), on(cidrs("1.2.3.0/24"), tcp(80)))),
        false);
    final List<Integer> allowed =
        new ArrayList<>(engine.policyOf(1).orElseThrow().ingress().allowed());
    assertEquals(List.of(3, 4, 5, web.id(), db.id(), 1 << 24), allowed);
    assertTrue(entries(1).contains(in(cidrIdentities.list().getLast(), 80)));
  }

  @Test
  void shouldReachReservedIdentitiesByTheirEntitiesAlone() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(ingress(WEB, endpoints(labels("reserved:world", "")))), false);
    assertEquals(List.of(), engine.policyOf(1).orElseThrow().ingress().allowed());
    delete(engine, List.of());
    add(engine, List.of(ingress(WEB, entities("world"))), false);
    assertEquals(List.of(2, 9, 10), engine.policyOf(1).orElseThrow().ingress().allowed());
    delete(engine, List.of());
    add(engine, List.of(ingress(WEB, endpoints(labels("host", "")))), false);
    assertEquals(List.of(), engine.policyOf(1).orElseThrow().ingress().allowed());
  }

  @Test
  void shouldNarrowPeersByLabelsByWhatOtherRulesRequire() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(ingress(WEB, endpoints(SelectorSpec.ALL))), false);
    add(engine, List.of(ingress(WEB, requires(labels("env", "prod")))), false);
    assertEquals(List.of(db.id()), engine.policyOf(1).orElseThrow().ingress().allowed());
    delete(engine, List.of());
    add(engine, List.of(ingress(WEB, requires(labels("env", "prod")))), false);
    assertEquals(List.of(OPEN_OUT), entries(1));
  }

  @Test
  void shouldFollowTheModes() {
    assertEquals(List.of(OPEN_IN, OPEN_OUT), entriesWithOneRule(EnforcementMode.NEVER));
    assertEquals(List.of(), entriesWithOneRule(EnforcementMode.ALWAYS));
    assertEquals(List.of(OPEN_OUT), entriesWithOneRule(EnforcementMode.DEFAULT));
    assertEquals(EnforcementMode.DEFAULT, engine.mode());
  }

  private List<PolicyEntry> entriesWithOneRule(EnforcementMode mode) {
    final PolicyEngine other =
        PolicyEngine.open(new PolicyContext().identities(identities).mode(mode).conclude());
    other.endpointSet(1, web, List.of());
    add(other, List.of(ingress(WEB)), false);
    return other.policyOf(1).orElseThrow().entries();
  }

  @Test
  void shouldLetTheNodeInOnlyWhereItIsAlwaysAllowed() {
    for (final AllowLocalhost choice : AllowLocalhost.values()) {
      final PolicyEngine other =
          PolicyEngine.open(
              new PolicyContext()
                  .identities(identities)
                  .mode(EnforcementMode.ALWAYS)
                  .allowLocalhost(choice)
                  .conclude());
      other.endpointSet(1, web, List.of());
      assertEquals(
          choice == AllowLocalhost.ALWAYS
              ? List.of(all(1, PolicyDirection.INGRESS, false))
              : List.of(),
          other.policyOf(1).orElseThrow().entries());
      final LabelSet host = LabelSet.parse("from", List.of("reserved:host"));
      assertEquals(
          choice == AllowLocalhost.ALWAYS,
          other.trace(new PolicyQuery(host, web.labels(), List.of(), false)).isAllowed(),
          "a trace says what is enforced");
      add(other, List.of(ingressDeny(WEB, entities("host"))), false);
      assertEquals(
          List.of(all(1, PolicyDirection.INGRESS, true)),
          other.policyOf(1).orElseThrow().entries());
    }
  }

  @Test
  void shouldNotKeepAnAllowUnderADeny() {
    engine.endpointSet(1, web, List.of());
    add(
        engine,
        List.of(
            ingress(
                WEB, on(endpoints(DB), tcp(80)), on(endpoints(DB), new PortSpec("0", null, "UDP"))),
            ingressDeny(WEB, on(endpoints(DB), new PortSpec("1", 1023, "TCP")))),
        false);
    final List<PolicyEntry> denies = entries(1).stream().filter(PolicyEntry::isDeny).toList();
    assertEquals(10, denies.size());
    assertEquals(
        List.of(
            new PolicyEntry(db.id(), PolicyDirection.INGRESS, 17, 0, 48, PolicyVerdict.ALLOW),
            OPEN_OUT),
        entries(1).stream().filter(entry -> !entry.isDeny()).toList());
  }

  @Test
  void shouldWriteOnlyWhatARuleChanges() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(ingress(WEB, on(endpoints(DB), tcp(80), tcp(81)))), false);
    final PolicyUpdate added =
        add(engine, List.of(ingress(WEB, on(endpoints(DB), tcp(82)))), false);
    assertEquals(
        new PolicyDelta(List.of(in(db, 82)), List.of()), added.endpoints().getFirst().diff());
    final PolicyUpdate denied =
        add(engine, List.of(named(ingressDeny(WEB, on(endpoints(DB), tcp(80))), "n", "1")), false);
    assertEquals(
        List.of(new PolicyEntry(db.id(), PolicyDirection.INGRESS, 6, 80, 64, PolicyVerdict.DENY)),
        denied.endpoints().getFirst().diff().upserts());
    assertEquals(List.of(), denied.endpoints().getFirst().diff().deletes());
    final PolicyUpdate back = delete(engine, List.of("n=1"));
    assertEquals(
        new PolicyDelta(List.of(in(db, 80)), List.of()), back.endpoints().getFirst().diff());
  }

  @Test
  void shouldTouchOnlyEndpointsWhoseSelectorsMatchANewIdentity() {
    engine.endpointSet(1, web, List.of());
    engine.endpointSet(2, db, List.of());
    add(
        engine,
        List.of(
            ingress(WEB, endpoints(labels("team", "red"))),
            ingress(DB, endpoints(labels("team", "blue")))),
        false);
    final Identity red = acquire("team=red");
    final PolicyUpdate update = engine.refresh();
    assertEquals(
        List.of(1), update.endpoints().stream().map(EndpointPolicyChange::endpointId).toList());
    assertEquals(
        List.of(all(red.id(), PolicyDirection.INGRESS, false)),
        update.endpoints().getFirst().diff().upserts());
    identities.release(red.id()).join();
    assertEquals(
        List.of(all(red.id(), PolicyDirection.INGRESS, false)),
        engine.refresh().endpoints().getFirst().diff().deletes());
    acquire("team=green");
    assertEquals(List.of(), engine.refresh().endpoints());
  }

  @Test
  void shouldTellWhichCidrsComeAndGo() {
    engine.endpointSet(1, web, List.of());
    final PolicyUpdate added =
        add(
            engine,
            List.of(
                named(ingress(WEB, cidrSet("10.0.0.0/8", "10.1.0.0/16")), "n", "1"),
                named(ingress(WEB, cidrs("10.1.0.0/16", "0.0.0.0/0")), "n", "2")),
            false);
    assertEquals(
        List.of("10.1.0.0/16", "10.0.0.0/8"),
        added.outside().added().keySet().stream().map(Prefix::toString).toList());
    final int wide = added.outside().added().get(Prefix.parse("10.0.0.0/8"));
    assertEquals(List.of(9, 1 << 24, wide), engine.policyOf(1).orElseThrow().ingress().allowed());
    final PolicyUpdate removed = delete(engine, List.of("n=1"));
    assertEquals(List.of(Prefix.parse("10.0.0.0/8")), removed.outside().removed());
    assertEquals(List.of(9, 1 << 24), engine.policyOf(1).orElseThrow().ingress().allowed());
    assertEquals(
        List.of(all(wide, PolicyDirection.INGRESS, false)),
        removed.cleanups().getFirst().diff().deletes());
    assertEquals(1, delete(engine, List.of("n=2")).outside().removed().size());
    assertEquals(10, identities.list().stream().filter(Identity::isReserved).count());
    assertEquals(12, identities.list().size());
    assertEquals(10, cidrIdentities.list().size());
  }

  /** Else an address of the new CIDR loses or gains something between the two. */
  @Test
  void shouldGiveANewCidrFirstWhatTheRulesBeforeSayOfIt() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(named(ingress(WEB, cidrs("10.0.0.0/8")), "n", "1")), false);
    final PolicyUpdate update =
        add(
            engine,
            List.of(named(ingress(WEB, cidrs("10.1.0.0/16", "172.16.0.0/12")), "n", "1")),
            true);
    final int narrow = update.outside().added().get(Prefix.parse("10.1.0.0/16"));
    assertEquals(1, update.bridges().size());
    assertEquals(
        List.of(all(narrow, PolicyDirection.INGRESS, false)),
        update.bridges().getFirst().diff().upserts(),
        "of the wider CIDR, and nothing of the other new one");
    assertEquals(List.of(), update.bridges().getFirst().diff().deletes());
    assertTrue(
        update.endpoints().getFirst().diff().upserts().stream()
            .noneMatch(entry -> entry.identity() == narrow),
        "it has its entry already");
    assertEquals(List.of(), delete(engine, List.of("n=1")).bridges());
  }

  @Test
  void shouldApplyNothingOfARefusedDocument() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(ingress(WEB, endpoints(DB))), false);
    final List<PolicyEntry> before = entries(1);
    final RuleSpec good = ingress(WEB, cidrs("10.0.0.0/8"));
    final RuleSpec bad = ingress(WEB, cidrs("10.0.0.0/99"));
    final Refusal refusal =
        assertThrows(Refusal.class, () -> add(engine, List.of(good, bad), false));
    assertTrue(refusal.getMessage().startsWith("[1].ingress[0].fromCIDR[0]: "));
    store.fails = true;
    assertThrows(OperationException.class, () -> add(engine, List.of(good), false));
    assertThrows(OperationException.class, () -> delete(engine, List.of()));
    store.fails = false;
    assertEquals(before, entries(1));
    assertEquals(snapshot(2, ingress(WEB, endpoints(DB))), engine.snapshot());
    final PolicyUpdate after = engine.refresh();
    assertEquals(List.of(), after.endpoints());
    assertTrue(after.outside().isEmpty());
    assertEquals(Map.of(), engine.outsidePrefixes());
    assertEquals(1, engine.selectors().size());
  }

  @Test
  void shouldRefuseAPolicyThatDoesNotFitIntoTheMap() {
    final PolicyEngine small =
        PolicyEngine.open(context().store(PolicyStore.inMemory()).mapCapacity(16).conclude());
    small.endpointSet(1, web, List.of());
    final RuleSpec range = ingress(WEB, on(entities("host"), new PortSpec("1", 65535, "TCP")));
    final Refusal refusal = assertThrows(Refusal.class, () -> add(small, List.of(range), false));
    assertEquals(
        "policy: endpoint 1 requires 17 policy map entries, the limit is 16"
            + " (--bpf-policy-map-max)",
        refusal.getMessage());
    assertEquals(Refusal.Kind.EXHAUSTED, refusal.kind());
    assertEquals(snapshot(1), small.snapshot());
    small.endpointRemoved(1);
    add(small, List.of(range), false);
    assertThrows(Refusal.class, () -> small.endpointSet(1, web, List.of()));
    assertEquals(Optional.empty(), small.policyOf(1));
  }

  @Test
  void shouldKeepThePolicyOfAnEndpointThatNewIdentitiesOverflow() {
    final PolicyEngine small =
        PolicyEngine.open(context().store(PolicyStore.inMemory()).mapCapacity(3).conclude());
    small.endpointSet(1, web, List.of());
    add(small, List.of(ingress(WEB, endpoints(labels("app", "db"), labels("n", "")))), false);
    final List<PolicyEntry> before = small.policyOf(1).orElseThrow().entries();
    final List<Identity> many = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      many.add(acquire("n", "i=" + i));
    }
    assertEquals(Refusal.Kind.EXHAUSTED, small.refresh().failures().get(1).kind());
    assertEquals(before, small.policyOf(1).orElseThrow().entries());
    many.forEach(identity -> identities.release(identity.id()).join());
    assertEquals(Map.of(), small.refresh().failures());
  }

  @Test
  void shouldForbidWhatIsForbiddenWhereTheRestDoesNotFit() {
    final PolicyEngine small =
        PolicyEngine.open(context().store(PolicyStore.inMemory()).mapCapacity(3).conclude());
    small.endpointSet(1, web, List.of());
    add(
        small,
        List.of(
            ingress(WEB, endpoints(labels("app", "db"), labels("n", ""))),
            ingressDeny(WEB, endpoints(labels("bad", "")))),
        false);
    final Identity bad = acquire("bad");
    small.refresh();
    final List<PolicyEntry> full = small.policyOf(1).orElseThrow().entries();
    assertEquals(3, full.size());
    final Identity worse = acquire("bad", "i=1");
    final PolicyUpdate update = small.refresh();
    assertEquals(Refusal.Kind.EXHAUSTED, update.failures().get(1).kind());
    final List<PolicyEntry> closed = small.policyOf(1).orElseThrow().entries();
    assertEquals(3, closed.size());
    assertEquals(
        List.of(bad.id(), worse.id()),
        closed.stream().filter(PolicyEntry::isDeny).map(PolicyEntry::identity).toList());
    assertEquals(1, update.endpoints().getFirst().diff().deletes().size());
    assertEquals(List.of(), update.endpoints().getFirst().diff().upserts());
    assertEquals(1, update.cleanups().getFirst().diff().upserts().size());
    assertEquals(List.of(), update.cleanups().getFirst().diff().deletes());
    assertEquals(List.of(), small.refresh().endpoints());
    for (int i = 2; i < 4; i++) {
      acquire("bad", "i=" + i);
    }
    small.refresh();
    assertEquals(List.of(), small.policyOf(1).orElseThrow().entries());
    for (int i = 1; i < 4; i++) {
      identities
          .release(
              identities.find(LabelSet.parse("l", List.of("bad", "i=" + i))).orElseThrow().id())
          .join();
    }
    assertEquals(Map.of(), small.refresh().failures());
    assertEquals(full, small.policyOf(1).orElseThrow().entries());
  }

  @Test
  void shouldSelectLabelsOfEverySourceWithAnyAndWithoutASource() {
    engine.endpointSet(1, web, List.of());
    for (final String key : List.of("app", "any:app")) {
      add(engine, List.of(ingress(labels(key, "web"), endpoints(labels(key, "db")))), false);
      assertEquals(
          List.of(all(db.id(), PolicyDirection.INGRESS, false), OPEN_OUT), entries(1), key);
      delete(engine, List.of());
    }
    add(engine, List.of(ingress(labels("k8s:app", "web"))), false);
    assertEquals(List.of(OPEN_IN, OPEN_OUT), entries(1));
  }

  @Test
  void shouldFindAndDeleteRulesByLabels() {
    add(
        engine,
        List.of(
            named(ingress(WEB), "team", "red"), named(egress(WEB), "team", "blue"), ingress(DB)),
        false);
    assertEquals(1, engine.snapshot(List.of("team=red")).rules().size());
    assertEquals(1, engine.snapshot(List.of("unspec:team=red")).rules().size());
    assertEquals(1, engine.snapshot(List.of("any:team=red")).rules().size());
    assertEquals(3, engine.snapshot(List.of()).rules().size());
    assertEquals(
        Refusal.Kind.NOT_FOUND,
        assertThrows(Refusal.class, () -> delete(engine, List.of("k8s:team=red"))).kind());
    assertThrows(Refusal.class, () -> engine.snapshot(List.of("team")));
    assertEquals(3, delete(engine, List.of("team=red")).revision());
    assertEquals(2, engine.snapshot().rules().size());
    assertEquals(4, delete(engine, List.of()).revision());
    assertEquals(4, delete(engine, List.of()).revision());
    assertEquals(List.of(), store.load(any -> {}).orElseThrow().rules());
  }

  @Test
  void shouldReplaceRulesWithTheSameLabelsWhenAsked() {
    add(engine, List.of(named(ingress(WEB), "n", "1"), named(ingress(DB), "n", "2")), false);
    add(engine, List.of(named(egress(WEB), "n", "1")), true);
    assertEquals(
        List.of(named(ingress(DB), "n", "2"), named(egress(WEB), "n", "1")),
        engine.snapshot().rules());
    add(engine, List.of(named(egress(WEB, endpoints(DB)), "n", "1")), false);
    assertEquals(3, engine.snapshot().rules().size());
  }

  @Test
  void shouldTakeUpRulesAndNumbersAfterARestart() {
    cidrIdentities.acquire(Prefix.parse("9.0.0.0/8"));
    add(engine, List.of(ingress(WEB, cidrs("10.0.0.0/8"))), false);
    final Map<Prefix, Integer> numbers =
        Map.of(
            Prefix.parse("10.0.0.0/8"), engine.outsidePrefixes().get(Prefix.parse("10.0.0.0/8")));
    final LocalIdentityAllocator fresh = new LocalIdentityAllocator();
    final PolicyEngine after =
        PolicyEngine.open(new PolicyContext().identities(fresh).store(store).conclude());
    assertEquals(engine.snapshot(), after.snapshot());
    assertEquals(numbers, after.outsidePrefixes());
    assertEquals(numbers, after.refresh().outside().added());
    final Identity restored = fresh.restore(web.id(), web.labels()).join();
    after.endpointSet(1, restored, List.of());
    engine.endpointSet(1, web, List.of());
    assertEquals(entries(1), after.policyOf(1).orElseThrow().entries());
  }

  private PolicyEngine reopenedWith(PolicyState state) {
    store.save(state);
    return PolicyEngine.open(
        new PolicyContext().identities(identities).store(store).mapCapacity(16).conclude());
  }

  @Test
  void shouldHoldEveryRuleBackWhereOneOfThemIsNotValid() {
    final RuleSpec good = ingress(WEB, cidrs("10.0.0.0/8"));
    final List<RuleSpec> rules = new ArrayList<>(List.of(ingress(WEB, cidrs("10.0.0.0/33"))));
    rules.add(null);
    rules.add(good);
    final PolicyState stored =
        new PolicyState(
            7,
            rules,
            List.of(
                new PolicyState.CidrIdentity("10.0.0.0/8", -5),
                new PolicyState.CidrIdentity("nothing", 1 << 24)));
    final PolicyEngine held = reopenedWith(stored);
    final String why = assertThrows(OperationException.class, held::snapshot).getMessage();
    assertTrue(why.contains("rules[0].ingress[0].fromCIDR[0]: '10.0.0.0/33' is not a CIDR"), why);
    assertTrue(why.contains("; rules[1]: is missing; cidrIdentities[1]: "), why);
    for (final Executable call :
        List.<Executable>of(
            () -> add(held, List.of(good), false),
            () -> delete(held, List.of("any:name=x")),
            () -> held.snapshot(List.of("any:name=x")),
            () -> Changes.enforce(held, EnforcementMode.ALWAYS),
            () -> held.trace(new PolicyQuery(LabelSet.EMPTY, LabelSet.EMPTY, List.of(), false)))) {
      assertEquals(why, assertThrows(OperationException.class, call).getMessage());
    }
    assertEquals(stored, store.load(any -> {}).orElseThrow());
    assertTrue(reopenedWith(new PolicyState(0, null, null)).isHeld());
  }

  @Test
  void shouldCloseNewEndpointsAndKeepOthersWhileTheRulesAreHeld() {
    final PolicyEngine held = reopenedWith(new PolicyState(0, List.of(), List.of()));
    held.keep(1);
    assertThrows(
        OperationException.class, () -> held.endpointSet(1, acquire("app=web"), List.of()));
    assertTrue(held.keeps(1));
    held.endpointSet(2, acquire("app=db"), List.of());
    final ResolvedPolicy closed = held.policyOf(2).orElseThrow();
    assertEquals(List.of(), closed.entries());
    assertTrue(closed.ingress().enforced() && closed.egress().enforced());
    held.keepCidr(Prefix.parse("10.0.0.0/8"), (1 << 24) + 5);
    held.keepCidr(Prefix.parse("192.0.2.7/32"), (1 << 24) + 7);
    held.keepCidr(Prefix.parse("192.0.2.8/32"), (1 << 24) + 7);
    assertEquals(
        Map.of(
            Prefix.parse("10.0.0.0/8"),
            (1 << 24) + 5,
            Prefix.parse("192.0.2.7/32"),
            (1 << 24) + 7,
            Prefix.parse("192.0.2.8/32"),
            (1 << 24) + 7),
        held.outsidePrefixes(),
        "names may have an identity in common");
    assertEquals(held.outsidePrefixes(), held.refresh().outside().added());

    store.fails = true;
    assertThrows(OperationException.class, () -> delete(held, List.of()));
    assertTrue(held.isHeld() && held.keeps(1));
    store.fails = false;
    final PolicyUpdate update = delete(held, List.of());
    assertFalse(held.isHeld() || held.keeps(1));
    assertEquals(List.of(2), update.endpoints().stream().map(e -> e.endpointId()).toList());
    assertEquals(2, held.policyOf(2).orElseThrow().entries().size(), "everything is allowed");
    assertEquals(3, update.outside().removed().size());
    assertEquals(Map.of(), held.outsidePrefixes());
    held.endpointSet(1, acquire("app=web"), List.of());
    add(held, List.of(ingress(WEB, endpoints(DB))), false);
    assertEquals(1, held.snapshot().rules().size());
  }

  @Test
  void shouldReplaceRulesThatCannotBeReadByNoMoreThanTheLimitsAllow() {
    store.save(new PolicyState(0, List.of(), List.of()));
    final PolicyEngine held =
        PolicyEngine.open(
            new PolicyContext()
                .identities(identities)
                .store(store)
                .limits(new PolicyLimits(1, 9, 9, 9, 900))
                .conclude());
    final List<RuleSpec> rules = List.of(ingress(WEB), ingress(DB));
    assertThrows(Refusal.class, () -> add(held, rules, true));
    assertTrue(held.isHeld());
    add(held, List.of(ingress(WEB)), true);
    assertFalse(held.isHeld());
  }

  /** Endpoints that are closed are never open between the two. */
  @Test
  void shouldReplaceRulesThatCannotBeReadInOneStep() {
    final PolicyEngine held = reopenedWith(new PolicyState(0, List.of(), List.of()));
    held.keep(1);
    held.endpointSet(2, acquire("app=web"), List.of());
    final List<RuleSpec> rules =
        List.of(ingress(WEB, on(PeerRuleSpec.ALL, tcp(80)), cidrs("192.0.2.0/24")));
    assertThrows(OperationException.class, () -> add(held, rules, false));
    store.fails = true;
    assertThrows(OperationException.class, () -> add(held, rules, true));
    assertTrue(held.isHeld() && held.keeps(1));
    assertEquals(List.of(), held.policyOf(2).orElseThrow().entries());
    assertEquals(Map.of(), held.outsidePrefixes());
    store.fails = false;
    final PolicyUpdate update = add(held, rules, true);
    assertFalse(held.isHeld() || held.keeps(1));
    assertEquals(List.of(2), update.endpoints().stream().map(e -> e.endpointId()).toList());
    final ResolvedPolicy policy = held.policyOf(2).orElseThrow();
    assertTrue(policy.ingress().enforced() && !policy.egress().enforced());
    assertFalse(policy.entries().contains(OPEN_IN));
    assertTrue(policy.entries().contains(in(null, 80)));
    assertEquals(Set.of(Prefix.parse("192.0.2.0/24")), held.outsidePrefixes().keySet());
    assertEquals(1, held.snapshot().rules().size());
    held.endpointSet(1, acquire("app=web"), List.of());
    assertEquals(policy.entries(), held.policyOf(1).orElseThrow().entries());
  }

  @Test
  void shouldForgetAnEndpointThatIsRemovedWhileTheRulesAreHeld() {
    final PolicyEngine held = reopenedWith(new PolicyState(0, List.of(), List.of()));
    held.keep(1);
    held.endpointRemoved(1);
    held.endpointSet(1, acquire("app=web"), List.of());
    assertEquals(List.of(), held.policyOf(1).orElseThrow().entries());
  }

  @Test
  void shouldListSelectorsWithWhatTheySelect() {
    add(
        engine,
        List.of(
            named(ingress(WEB, endpoints(DB)), "n", "1"),
            named(egress(WEB, endpoints(DB), cidrSet("10.0.0.0/8", "10.1.0.0/16")), "n", "2")),
        false);
    assertEquals(
        List.of(
            new SelectorListing(
                "any:app=db",
                List.of(db.id()),
                2,
                List.of(List.of("unspec:n=1"), List.of("unspec:n=2"))),
            new SelectorListing(
                "10.0.0.0/8 except [10.1.0.0/16]",
                List.of(engine.outsidePrefixes().get(Prefix.parse("10.0.0.0/8"))),
                1,
                List.of(List.of("unspec:n=2")))),
        engine.selectors());
    identities.release(db.id()).join();
    assertEquals(List.of(), engine.selectors().getFirst().identities());
    delete(engine, List.of("n=2"));
    assertEquals(1, engine.selectors().size());
    assertEquals(1, engine.selectors().getFirst().users());
  }

  @Test
  void shouldFollowAnEndpointToItsNewIdentity() {
    add(engine, List.of(ingress(WEB, on(PeerRuleSpec.ALL, tcp(80)))), false);
    engine.endpointSet(1, db, List.of());
    assertEquals(List.of(OPEN_IN, OPEN_OUT), entries(1));
    final PolicyUpdate update = engine.endpointSet(1, web, List.of());
    assertEquals(
        new PolicyDelta(List.of(in(null, 80)), List.of(OPEN_IN)),
        update.endpoints().getLast().diff());
    assertEquals(web.id(), update.endpoints().getLast().policy().identity());
  }

  @Test
  void shouldChangeThePolicyOfAllEndpointsWithTheMode() {
    engine.endpointSet(1, web, List.of());
    engine.endpointSet(2, db, List.of());
    assertEquals(List.of(OPEN_IN, OPEN_OUT), entries(1));
    final PolicyUpdate closed = Changes.enforce(engine, EnforcementMode.ALWAYS);
    assertEquals(
        List.of(1, 2),
        closed.endpoints().stream().map(PolicyUpdate.EndpointPolicyChange::endpointId).toList());
    assertEquals(EnforcementMode.ALWAYS, engine.mode());
    assertFalse(entries(1).contains(OPEN_IN) || entries(2).contains(OPEN_OUT));
    Changes.enforce(engine, EnforcementMode.NEVER);
    assertEquals(List.of(OPEN_IN, OPEN_OUT), entries(2));
  }
}
