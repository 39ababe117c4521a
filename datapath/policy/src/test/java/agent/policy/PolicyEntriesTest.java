package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static agent.policy.RuleSpecs.cidrSet;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.enforcing;
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

import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.maps.layout.PolicyDirection;
import agent.policy.read.RuleReader;
import agent.policy.repository.PolicyState;
import agent.policy.repository.PolicyStore;
import agent.policy.resolve.DirectionSummary;
import agent.policy.rule.DerivedRule;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.DefaultDenySpec;
import agent.policy.spec.SelectorSpec;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Entries and summaries of resolved policies, and changes that are taken back. */
class PolicyEntriesTest {
  private static final SelectorSpec WEB = labels("app", "web");
  private static final SelectorSpec DB = labels("app", "db");
  private static final PolicyEntry OPEN_OUT = PolicyEntry.allowAll(0, PolicyDirection.EGRESS);

  private final PolicyStore store = PolicyStore.inMemory();
  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final LocalCidrIdentityAllocator cidrIdentities = new LocalCidrIdentityAllocator();
  private final Identity web = acquire("app=web");
  private final Identity db = acquire("app=db", "env=prod");

  private Identity acquire(String... labels) {
    return identities.acquire(LabelSet.parse("l", List.of(labels))).join();
  }

  private PolicyEngine open() {
    return open(16_384);
  }

  private PolicyEngine open(int capacity) {
    final PolicyEngine engine =
        PolicyEngine.open(
            new PolicyContext()
                .identities(identities)
                .cidrIdentities(cidrIdentities)
                .store(store)
                .mapCapacity(capacity)
                .conclude());
    engine.endpointSet(1, web, List.of());
    return engine;
  }

  private static PolicyEntry tcp80(int peer, PolicyVerdict verdict) {
    return new PolicyEntry(peer, PolicyDirection.INGRESS, 6, 80, 64, verdict);
  }

  private static DirectionSummary ingressOf(PolicyEngine engine) {
    return engine.policyOf(1).orElseThrow().ingress();
  }

  private static List<PolicyEntry> entriesOf(PolicyEngine engine) {
    return engine.policyOf(1).orElseThrow().entries();
  }

  private static List<String> lines(List<DerivedRule> rules) {
    return rules.stream().map(DerivedRule::rule).toList();
  }

  @Test
  void shouldDenyEverybodyByOneEntryThatCoversTheOthers() {
    final PolicyEngine engine = open();
    add(
        engine,
        List.of(
            ingress(WEB, PeerRuleSpec.ALL),
            ingressDeny(WEB, on(PeerRuleSpec.ALL, tcp(80))),
            ingressDeny(WEB, on(endpoints(DB), tcp(80)))),
        false);
    assertEquals(
        List.of(
            PolicyEntry.allowAll(0, PolicyDirection.INGRESS),
            tcp80(0, PolicyVerdict.DENY),
            OPEN_OUT),
        entriesOf(engine));
  }

  @Test
  void shouldEnforceAndAllowNoPeerByAnEmptyElement() {
    final PolicyEngine engine = open();
    add(engine, List.of(ingress(WEB, PeerRuleSpec.NO_PEER)), false);
    assertTrue(ingressOf(engine).enforced());
    assertEquals(List.of(), ingressOf(engine).allowed());
    assertEquals(List.of(OPEN_OUT), entriesOf(engine));
  }

  @Test
  void shouldRefuseADenyThatNamesNothing() {
    assertEquals(
        "[0].ingressDeny[0]: has no peers to deny; use fromEntities: [all] to deny everything",
        assertThrows(
                Refusal.class, () -> RuleReader.read(0, ingressDeny(WEB, PeerRuleSpec.NO_PEER)))
            .getMessage());
  }

  @Test
  void shouldNarrowElementsWithoutPeersAndThoseByEntityByWhatTheirSectionRequires() {
    for (final PeerRuleSpec everybody :
        List.of(on(PeerRuleSpec.NO_PEER, tcp(80)), on(PeerRuleSpec.ALL, tcp(80)))) {
      final PolicyEngine engine = open();
      add(engine, List.of(ingress(WEB, everybody, requires(DB))), false);
      assertEquals(List.of(tcp80(db.id(), PolicyVerdict.ALLOW), OPEN_OUT), entriesOf(engine));
      delete(engine, List.of());
    }
  }

  /** It has no list of peers, which means all of them. */
  @Test
  void shouldMeanAllPeersThatHaveWhatAnElementWithPortsRequires() {
    final PeerRuleSpec element = on(requires(DB), tcp(80));
    final PolicyEngine engine = open();
    add(engine, List.of(ingress(WEB, element)), false);
    assertEquals(List.of(tcp80(db.id(), PolicyVerdict.ALLOW), OPEN_OUT), entriesOf(engine));
    delete(engine, List.of());
    add(engine, List.of(ingress(WEB, PeerRuleSpec.ALL), ingressDeny(WEB, element)), false);
    assertTrue(entriesOf(engine).contains(tcp80(db.id(), PolicyVerdict.DENY)));
    delete(engine, List.of());
    add(engine, List.of(ingress(WEB, requires(DB))), false);
    assertEquals(List.of(OPEN_OUT), entriesOf(engine), "without ports it means no peer");
  }

  @Test
  void shouldAddItsDeniesWithoutTurningEnforcementOn() {
    final PolicyEngine engine = open();
    final RuleSpec deny = ingressDeny(WEB, on(endpoints(DB), tcp(80)));
    add(engine, List.of(enforcing(deny, new DefaultDenySpec(false, null))), false);
    assertFalse(ingressOf(engine).enforced());
    assertEquals(
        List.of(
            PolicyEntry.allowAll(0, PolicyDirection.INGRESS),
            tcp80(db.id(), PolicyVerdict.DENY),
            OPEN_OUT),
        entriesOf(engine));
    add(engine, List.of(enforcing(deny, new DefaultDenySpec(null, true))), false);
    assertTrue(ingressOf(engine).enforced());
    assertTrue(engine.policyOf(1).orElseThrow().egress().enforced());
  }

  /** What a deny section requires narrows the peers of deny sections only. */
  @Test
  void shouldNotNarrowAllowsByWhatDeniesRequire() {
    final PolicyEngine engine = open();
    final PeerRuleSpec denied =
        new PeerRuleSpec(
            List.of(SelectorSpec.ALL),
            List.of(labels("env", "prod")),
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            null);
    add(
        engine,
        List.of(ingress(WEB, on(endpoints(SelectorSpec.ALL), tcp(80))), ingressDeny(WEB, denied)),
        false);
    assertEquals(List.of(db.id()), ingressOf(engine).denied());
    assertTrue(ingressOf(engine).allowed().contains(web.id()));
    assertFalse(ingressOf(engine).allowed().contains(db.id()));
  }

  @Test
  void shouldSummarizeEveryKindOfPeerInItsList() {
    final PolicyEngine engine = open();
    add(
        engine,
        List.of(
            ingress(WEB, on(PeerRuleSpec.ALL, new PortSpec("80", null, null))),
            ingress(WEB, on(entities("host"), tcp(81))),
            ingress(WEB, on(cidrSet("10.0.0.0/8", "10.1.0.0/16"), tcp(82))),
            named(ingressDeny(WEB, on(cidrs("192.0.2.0/24"), tcp(83))), "name", "x")),
        false);
    assertEquals(
        List.of("allow ANY/80 from everybody", "allow TCP/81 from host"),
        lines(ingressOf(engine).l4()));
    assertEquals(
        List.of(
            "allow TCP/82 from 10.0.0.0/8 except [10.1.0.0/16]", "deny TCP/83 from 192.0.2.0/24"),
        lines(ingressOf(engine).cidr()));
    assertEquals(
        List.of(List.of("unspec:name=x")), ingressOf(engine).cidr().getLast().derivedFrom());
  }

  @Test
  void shouldSelectCidrsThatOthersHaveAcquiredBefore() {
    final Identity cidr = cidrIdentities.acquire(Prefix.parse("198.51.100.0/24"));
    final PolicyEngine engine = open();
    add(engine, List.of(ingress(WEB, on(entities("world-ipv4"), tcp(80)))), false);
    assertTrue(ingressOf(engine).allowed().contains(cidr.id()));
  }

  /** Two selectors of one prefix are followed each for itself. */
  @Test
  void shouldFollowASelectorWhoseTwinIsDropped() {
    final PolicyEngine engine = open();
    add(
        engine,
        List.of(
            named(ingress(WEB, cidrSet("10.0.0.0/8", "10.1.0.0/16")), "name", "hole"),
            named(ingress(WEB, cidrs("10.0.0.0/8")), "name", "whole")),
        false);
    delete(engine, List.of("name=hole"));
    final Identity later = cidrIdentities.acquire(Prefix.parse("10.2.0.0/16"));
    engine.refresh();
    assertTrue(ingressOf(engine).allowed().contains(later.id()));
    delete(engine, List.of("name=whole"));
    assertEquals(List.of(), engine.selectors());
  }

  @Test
  void shouldNotSelectACidrThatWasReleasedBefore() {
    final PolicyEngine engine = open();
    final Identity gone = cidrIdentities.acquire(Prefix.parse("10.2.0.0/16"));
    cidrIdentities.release(gone.id());
    engine.refresh();
    add(engine, List.of(ingress(WEB, cidrs("10.0.0.0/8"))), false);
    assertFalse(ingressOf(engine).allowed().contains(gone.id()));
    assertEquals(1, ingressOf(engine).allowed().size());
  }

  @Test
  void shouldTakeTheLastChangeBackAndNoOther() {
    final PolicyEngine engine = open();
    final RuleSpec first = named(ingress(WEB, on(endpoints(DB), tcp(80))), "name", "first");
    final RuleSpec second = named(ingress(WEB, on(endpoints(DB), tcp(81))), "name", "second");
    assertEquals(Optional.empty(), Changes.undo(engine, 1));
    final long added = add(engine, List.of(first), false).revision();
    final long changed = add(engine, List.of(second), false).revision();
    assertEquals(Optional.empty(), Changes.undo(engine, added));
    final PolicyUpdate back = Changes.undo(engine, changed).orElseThrow();
    assertEquals(changed + 1, back.revision());
    assertEquals(snapshot(changed + 1, first), engine.snapshot());
    assertEquals(List.of(first), store.load(any -> {}).orElseThrow().rules());
    assertEquals(List.of(tcp80(db.id(), PolicyVerdict.ALLOW), OPEN_OUT), entriesOf(engine));
    assertEquals(1, back.endpoints().getFirst().diff().deletes().size());
    assertEquals(Optional.empty(), Changes.undo(engine, changed));
    final long deleted = delete(engine, List.of("name=first")).revision();
    Changes.undo(engine, deleted).orElseThrow();
    assertEquals(List.of(first), engine.snapshot().rules());
  }

  @Test
  void shouldReportWhatChangedMeanwhileWhereAnEndpointIsRemoved() {
    final PolicyEngine engine = open();
    engine.endpointSet(2, db, List.of());
    add(engine, List.of(ingress(WEB, on(endpoints(labels("role", "new")), tcp(80)))), false);
    final Identity late = acquire("role=new");
    final PolicyUpdate update = engine.endpointRemoved(2);
    assertEquals(
        List.of(tcp80(late.id(), PolicyVerdict.ALLOW)),
        update.endpoints().getFirst().diff().upserts());
    assertEquals(Optional.empty(), engine.policyOf(2));
  }

  /** As many denies as the map can hold are all written. */
  @Test
  void shouldFillTheMapWithDenies() {
    final PolicyEngine small = open(3);
    add(
        small,
        List.of(ingress(WEB, endpoints(DB)), ingressDeny(WEB, endpoints(labels("bad", "")))),
        false);
    final List<Integer> bad = new ArrayList<>();
    bad.add(acquire("bad").id());
    bad.add(acquire("bad", "i=1").id());
    small.refresh();
    final List<PolicyEntry> reduced = entriesOf(small);
    assertEquals(bad, reduced.stream().filter(PolicyEntry::isDeny).map(e -> e.identity()).toList());
    assertTrue(reduced.contains(OPEN_OUT), "what everybody may is kept before what one may");
    assertEquals(3, reduced.size());
    bad.add(acquire("bad", "i=2").id());
    small.refresh();
    assertEquals(bad, entriesOf(small).stream().map(PolicyEntry::identity).toList());
    acquire("bad", "i=3");
    small.refresh();
    assertEquals(List.of(), entriesOf(small), "without an entry nothing is allowed");
  }

  @Test
  void shouldListTheFirstProblemsOfStoredRulesAndCountTheOthers() {
    store.save(new PolicyState(1, Collections.nCopies(3, null), List.of()));
    final String few = messageOfHeld();
    assertTrue(few.contains("rules[0]: is missing; rules[1]: is missing; rules[2]: is"), few);
    assertFalse(few.contains("more"), few);
    store.save(new PolicyState(1, Collections.nCopies(5, null), List.of()));
    final String many = messageOfHeld();
    assertTrue(many.contains("rules[2]: is missing; and 2 more"), many);
    store.save(new PolicyState(1, List.of(), List.of()));
    assertFalse(open().isHeld(), "1 is the first revision");
  }

  private String messageOfHeld() {
    final PolicyEngine held = open();
    return assertThrows(OperationException.class, held::snapshot).getMessage();
  }
}
