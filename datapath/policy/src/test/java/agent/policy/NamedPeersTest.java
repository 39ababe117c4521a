package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static agent.policy.OutsideAddresses.addresses;
import static agent.policy.OutsideAddresses.prefixesOf;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.fqdns;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.named;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.tcp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyEntry;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.maps.layout.PolicyDirection;
import agent.policy.reference.SelectorListing;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.types.OperationException;
import agent.types.Prefix;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** {@code toFQDNs}: the addresses of names as peers. */
class NamedPeersTest {
  private static final SelectorSpec WEB = labels("app", "web");
  private static final RuleSpec WWW = named(egress(WEB, fqdns("www.example.com")), "n", "www");
  private static final RuleSpec EVERY = named(egress(WEB, fqdns("*.example.com")), "n", "every");

  private final FailingPolicyStore store = new FailingPolicyStore();
  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final LocalCidrIdentityAllocator cidrIdentities = new LocalCidrIdentityAllocator();
  private final PolicyEngine engine =
      PolicyEngine.open(
          new PolicyContext()
              .identities(identities)
              .cidrIdentities(cidrIdentities)
              .store(store)
              .conclude());
  private final Identity web = identities.acquire(LabelSet.parse("l", List.of("app=web"))).join();

  private PolicyUpdate resolve(String name, String... texts) {
    return engine.names(Map.of(name, addresses(texts)));
  }

  /** Returns the addresses that the endpoint may reach, by the entries of its policy map. */
  private Set<String> reached(PolicyEngine of) {
    return of.policyOf(1).orElseThrow().entries().stream()
        .filter(entry -> entry.direction() == PolicyDirection.EGRESS && !entry.isDeny())
        .map(PolicyEntry::identity)
        .flatMap(number -> prefixesOf(of, number))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> cidrsOf(Collection<Prefix> prefixes) {
    return prefixes.stream().map(Prefix::toString).collect(Collectors.toCollection(TreeSet::new));
  }

  @Test
  void shouldReachTheAddressesOfANameAndNoOthers() {
    engine.endpointSet(1, web, List.of());
    resolve("www.example.com.", "192.0.2.7", "2001:db8::7");
    resolve("www.example.org.", "192.0.2.8");
    add(engine, List.of(WWW), false);
    assertEquals(Set.of("192.0.2.7/32", "2001:db8::7/128"), reached(engine));
    assertEquals(2, engine.outsidePrefixes().size(), "a name that no rule selects costs nothing");
  }

  @Test
  void shouldReachTheAddressesOfEachKnownNameThatAPatternMatches() {
    engine.endpointSet(1, web, List.of());
    resolve("www.example.com.", "192.0.2.7");
    resolve("db.example.com.", "192.0.2.9");
    resolve("www.example.org.", "192.0.2.8");
    add(engine, List.of(EVERY), false);
    assertEquals(Set.of("192.0.2.7/32", "192.0.2.9/32"), reached(engine));
  }

  @Test
  void shouldReachTheAddressesWhileOneOfTwoRulesSelectsTheName() {
    engine.endpointSet(1, web, List.of());
    resolve("www.example.com.", "192.0.2.7");
    add(engine, List.of(WWW), false);
    add(engine, List.of(named(egress(WEB, fqdns("www.example.com")), "n", "again")), false);
    Changes.delete(engine, List.of("n=www"));
    assertEquals(Set.of("192.0.2.7/32"), reached(engine));
    Changes.delete(engine, List.of("n=again"));
    assertEquals(Map.of(), engine.outsidePrefixes());
  }

  @Test
  void shouldReachNothingBeforeTheNameHasAnAddress() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(WWW), false);
    assertTrue(engine.policyOf(1).orElseThrow().egress().enforced());
    assertEquals(Set.of(), reached(engine));
    final PolicyUpdate update = resolve("www.example.com.", "192.0.2.7");
    assertEquals(Set.of("192.0.2.7/32"), reached(engine));
    assertEquals(Set.of("192.0.2.7/32"), cidrsOf(update.outside().added().keySet()));
    assertEquals(1, update.bridges().size(), "the policy map has it before the ipcache");
    assertEquals(List.of(), update.endpoints());
    assertEquals(2, update.revision(), "the rules are the same");
  }

  @Test
  void shouldFollowAnAddressThatChanges() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(WWW), false);
    resolve("www.example.com.", "192.0.2.7", "192.0.2.9");
    final PolicyUpdate update = resolve("www.example.com.", "192.0.2.8", "192.0.2.9");
    assertEquals(Set.of("192.0.2.8/32", "192.0.2.9/32"), reached(engine));
    assertEquals(Set.of("192.0.2.8/32"), cidrsOf(update.outside().added().keySet()));
    assertEquals(Set.of("192.0.2.7/32"), cidrsOf(update.outside().removed()));
    assertEquals(
        Set.of("192.0.2.8/32", "192.0.2.9/32"), cidrsOf(engine.outsidePrefixes().keySet()));
  }

  @Test
  void shouldKeepAnAddressUntilItsLastNameLosesIt() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(EVERY), false);
    resolve("a.example.com.", "192.0.2.7");
    resolve("b.example.com.", "192.0.2.7");
    assertTrue(resolve("a.example.com.").outside().removed().isEmpty());
    assertEquals(Set.of("192.0.2.7/32"), reached(engine));
    assertEquals(Set.of("192.0.2.7/32"), cidrsOf(resolve("b.example.com.").outside().removed()));
    assertEquals(Set.of(), reached(engine));
    assertEquals(Map.of(), engine.outsidePrefixes());
  }

  @Test
  void shouldKeepAnAddressThatAnotherRuleOrAnotherNameStillHas() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(WWW, EVERY, named(egress(WEB, cidrs("192.0.2.7/32")), "n", "c")), false);
    resolve("www.example.com.", "192.0.2.7");
    delete(engine, List.of("n=every"));
    assertEquals(Set.of("192.0.2.7/32"), reached(engine));
    delete(engine, List.of("n=c"));
    assertEquals(Set.of("192.0.2.7/32"), reached(engine));
    delete(engine, List.of("n=www"));
    assertEquals(Map.of(), engine.outsidePrefixes());
    assertEquals(Set.of(), engine.wantedNames());
  }

  @Test
  void shouldKeepTheAddressOfACidrWhenItsNameIsGone() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(WWW, named(egress(WEB, cidrs("192.0.2.0/24")), "n", "c")), false);
    final PolicyUpdate update = resolve("www.example.com.", "192.0.2.7");
    assertEquals(1, update.bridges().size());
    assertEquals(Set.of("192.0.2.0/24", "192.0.2.7/32"), reached(engine));
    final PolicyUpdate lost = resolve("www.example.com.");
    assertEquals(List.of(), lost.endpoints(), "its packets pass while the ipcache has it");
    assertEquals(1, lost.cleanups().size());
    resolve("www.example.com.", "192.0.2.7");
    delete(engine, List.of("n=www"));
    assertEquals(Set.of("192.0.2.0/24"), reached(engine));
  }

  @Test
  void shouldDenyWhatADenyRuleCovers() {
    engine.endpointSet(1, web, List.of());
    resolve("www.example.com.", "192.0.2.7", "198.51.100.7");
    final RuleSpec deny =
        new RuleSpec(WEB, null, null, null, List.of(cidrs("192.0.2.0/24")), null, null);
    add(engine, List.of(WWW, deny), false);
    assertEquals(Set.of("198.51.100.7/32"), reached(engine));
  }

  @Test
  void shouldChangeNoOtherEndpointAndNothingForTheSameAddresses() {
    engine.endpointSet(1, web, List.of());
    engine.endpointSet(
        2, identities.acquire(LabelSet.parse("l", List.of("app=db"))).join(), List.of());
    add(engine, List.of(WWW), false);
    final PolicyUpdate update = resolve("www.example.com.", "192.0.2.7");
    assertEquals(List.of(1), update.bridges().stream().map(c -> c.endpointId()).toList());
    final PolicyUpdate again = resolve("www.example.com.", "192.0.2.7");
    assertTrue(again.bridges().isEmpty() && again.endpoints().isEmpty(), again.toString());
    final PolicyUpdate other = resolve("other.example.com.", "192.0.2.9");
    assertTrue(other.bridges().isEmpty() && other.outside().added().isEmpty(), other.toString());
  }

  @Test
  void shouldRestrictPortsAndListWhatItSelects() {
    engine.endpointSet(1, web, List.of());
    resolve("www.example.com.", "192.0.2.7");
    add(engine, List.of(egress(WEB, on(fqdns("WWW.example.com."), tcp(443)))), false);
    final List<PolicyEntry> egress =
        engine.policyOf(1).orElseThrow().entries().stream()
            .filter(entry -> entry.direction() == PolicyDirection.EGRESS)
            .toList();
    assertEquals(1, egress.size());
    assertEquals(443, egress.getFirst().port());
    final SelectorListing listing = engine.selectors().getFirst();
    assertEquals("www.example.com.", listing.selector());
    assertEquals(List.of(egress.getFirst().identity()), listing.identities());
  }

  @Test
  void shouldTellWhichNamesAreWantedByTheSameObjectWhileTheyAreTheSame() {
    add(engine, List.of(WWW, EVERY), false);
    final Set<String> wanted = engine.wantedNames();
    assertEquals(Set.of("www.example.com."), wanted);
    assertTrue(engine.selectsName("db.example.com."));
    assertFalse(engine.selectsName("db.example.org."));
    resolve("www.example.com.", "192.0.2.7");
    add(engine, List.of(named(egress(WEB, cidrs("10.0.0.0/8")), "n", "c")), false);
    assertSame(wanted, engine.wantedNames());
    add(engine, List.of(named(egress(WEB, fqdns("b.example.com")), "n", "b")), false);
    assertEquals(Set.of("www.example.com.", "b.example.com."), engine.wantedNames());
  }

  @Test
  void shouldTakeTheReferencesBackOfRulesThatCannotBeStored() {
    engine.endpointSet(1, web, List.of());
    resolve("www.example.com.", "192.0.2.7");
    store.fails = true;
    assertThrows(OperationException.class, () -> add(engine, List.of(WWW), false));
    assertEquals(Map.of(), engine.outsidePrefixes());
    assertEquals(Set.of(), engine.wantedNames());
  }

  @Test
  void shouldTraceAnAddressByItsName() {
    add(engine, List.of(WWW), false);
    final PolicyQuery query =
        new PolicyQuery(
            LabelSet.parse("l", List.of("app=web")),
            LabelSet.parse("l", List.of("cidr:192.0.2.7/32")),
            List.of(),
            false);
    assertFalse(engine.trace(query).isAllowed());
    resolve("www.example.com.", "192.0.2.7");
    final PolicyTrace trace = engine.trace(query);
    assertTrue(trace.isAllowed(), trace.log());
    assertTrue(trace.log().contains("egress of from: allows"), trace.log());
  }

  @Test
  void shouldKeepNamesAndNumbersOverARestart() {
    add(engine, List.of(WWW), false);
    resolve("www.example.com.", "192.0.2.7");
    final int number = engine.outsidePrefixes().values().iterator().next();
    final Prefix known = Prefix.parse("192.0.2.7/32");
    final Prefix other = Prefix.parse("192.0.2.5/32");
    final PolicyEngine after =
        PolicyEngine.open(
            new PolicyContext()
                .identities(identities)
                .store(store)
                .names(Map.of("www.example.com.", addresses("192.0.2.5", "192.0.2.7")))
                .formerNumbers(Map.of(known, number))
                .conclude());
    after.endpointSet(1, web, List.of());
    assertEquals(Set.of("192.0.2.5/32", "192.0.2.7/32"), reached(after));
    assertEquals(Map.of(known, number, other, number), after.outsidePrefixes());
    assertEquals(Set.of("www.example.com."), after.wantedNames());
    after.names(Map.of("www.example.com.", Set.of()));
    assertEquals(Map.of(), after.outsidePrefixes(), "no reference is left over");
  }
}
