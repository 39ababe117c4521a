package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static agent.policy.OutsideAddresses.addresses;
import static agent.policy.RuleSpecs.cidrSet;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.entities;
import static agent.policy.RuleSpecs.fqdns;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.named;
import static agent.policy.RuleSpecs.services;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.maps.layout.PolicyDirection;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.ServiceName;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Which addresses of names have an identity in common, and when one has its own. */
class SharedIdentitiesTest {
  private static final SelectorSpec WEB = labels("app", "web");
  private static final RuleSpec A = named(egress(WEB, fqdns("a.example.com")), "n", "a");
  private static final RuleSpec EVERY = named(egress(WEB, fqdns("*.example.com")), "n", "every");
  private static final RuleSpec CIDR = named(egress(WEB, cidrs("192.0.2.0/24")), "n", "cidr");
  private static final Prefix ONE = Prefix.parse("192.0.2.1/32");
  private static final Prefix TWO = Prefix.parse("192.0.2.2/32");
  private static final Prefix SIX = Prefix.parse("2001:db8::1/128");
  private static final int FIRST = Identity.LOCAL_MIN;

  private final FailingPolicyStore store = new FailingPolicyStore();
  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final LocalCidrIdentityAllocator afterRestart = new LocalCidrIdentityAllocator();
  private final LocalCidrIdentityAllocator local = new LocalCidrIdentityAllocator();
  private final PolicyEngine engine =
      PolicyEngine.open(
          new PolicyContext().identities(identities).cidrIdentities(local).store(store).conclude());
  private final Identity web = identities.acquire(LabelSet.parse("l", List.of("app=web"))).join();

  private PolicyUpdate resolve(String name, String... texts) {
    return engine.names(Map.of(name, addresses(texts)));
  }

  private int identityOf(Prefix prefix) {
    return engine.outsidePrefixes().getOrDefault(prefix, 0);
  }

  private List<String> labelsOf(Prefix prefix) {
    return local.find(identityOf(prefix)).orElseThrow().labels().toStrings();
  }

  private Set<Integer> allowed() {
    return engine.policyOf(1).orElseThrow().entries().stream()
        .filter(entry -> entry.direction() == PolicyDirection.EGRESS && !entry.isDeny())
        .map(entry -> entry.identity())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static void assertNoPolicy(PolicyUpdate update) {
    assertTrue(update.bridges().isEmpty() && update.endpoints().isEmpty(), update.toString());
    assertTrue(update.cleanups().isEmpty(), update.toString());
  }

  @Test
  void shouldChangeNoPolicyForAFurtherAddressAndForOneThatGoes() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(EVERY), false);
    final PolicyUpdate first = resolve("a.example.com.", "192.0.2.1");
    assertEquals(1, first.bridges().size());
    assertEquals(Set.of(identityOf(ONE)), first.outside().newIdentities());
    final PolicyUpdate second = resolve("b.example.com.", "192.0.2.2");
    assertNoPolicy(second);
    assertEquals(Map.of(TWO, identityOf(ONE)), second.outside().added());
    assertEquals(Set.of(), second.outside().newIdentities());
    final PolicyUpdate gone = resolve("a.example.com.");
    assertNoPolicy(gone);
    assertEquals(List.of(ONE), gone.outside().removed());
    assertEquals(Set.of(identityOf(TWO)), allowed());
    assertEquals(1, resolve("b.example.com.").cleanups().size());
    assertEquals(Set.of(), allowed());
  }

  @Test
  void shouldHaveOneIdentityForEachSetOfSelectorsAndFamily() {
    engine.endpointSet(1, web, List.of());
    engine.services(Map.of(new ServiceName("cart", "shop"), addresses("192.0.2.2")));
    add(engine, List.of(A, EVERY, egress(WEB, services("shop", "cart"))), false);
    resolve("a.example.com.", "192.0.2.1", "2001:db8::1");
    resolve("b.example.com.", "192.0.2.2", "192.0.2.3");
    assertEquals(
        List.of(
            "fqdn:*.example.com.", "fqdn:a.example.com.", "reserved:world", "reserved:world-ipv4"),
        labelsOf(ONE));
    assertEquals(
        List.of(
            "fqdn:*.example.com.", "fqdn:a.example.com.", "reserved:world", "reserved:world-ipv6"),
        labelsOf(SIX));
    assertEquals(
        List.of(
            "fqdn:*.example.com.", "reserved:world", "reserved:world-ipv4", "service:shop/cart"),
        labelsOf(TWO));
    assertEquals(Set.copyOf(engine.outsidePrefixes().values()), allowed());
    assertEquals(4, allowed().size());
  }

  @Test
  void shouldGiveAddressesOfAServiceThatCanHaveNoLabelTheirOwnIdentities() {
    engine.endpointSet(1, web, List.of());
    final ServiceName plain = new ServiceName("b", "a");
    for (final ServiceName odd :
        List.of(
            new ServiceName("a/b", ""),
            new ServiceName("b", "a;"),
            new ServiceName("x".repeat(2000), "a"))) {
      engine.services(
          Map.of(plain, addresses("192.0.2.1"), odd, addresses("192.0.2.2", "192.0.2.3")));
      add(engine, List.of(egress(WEB, services(odd.namespace(), odd.name()))), false);
      add(engine, List.of(egress(labels("app", "db"), services("a", "b"))), false);
      assertEquals(List.of("cidr:192.0.2.2/32", "reserved:world"), labelsOf(TWO));
      assertEquals(List.of("reserved:world", "reserved:world-ipv4", "service:a/b"), labelsOf(ONE));
      assertFalse(allowed().contains(identityOf(ONE)));
      delete(engine, List.of());
      engine.services(Map.of(odd, Set.of()));
    }
  }

  @Test
  void shouldGiveAnAddressItsOwnIdentityWhileACidrOfARuleCoversIt() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(EVERY), false);
    resolve("a.example.com.", "192.0.2.1", "2001:db8::1");
    final int shared = identityOf(ONE);
    final int six = identityOf(SIX);
    add(engine, List.of(CIDR), false);
    assertEquals(List.of("cidr:192.0.2.1/32", "reserved:world"), labelsOf(ONE));
    assertEquals(six, identityOf(SIX));
    resolve("b.example.com.", "192.0.2.2");
    assertEquals(List.of("cidr:192.0.2.2/32", "reserved:world"), labelsOf(TWO));
    assertTrue(allowed().containsAll(engine.outsidePrefixes().values()));
    delete(engine, List.of("n=cidr"));
    assertTrue(allowed().containsAll(engine.outsidePrefixes().values()));
    engine.refresh();
    assertEquals(identityOf(ONE), identityOf(TWO));
    assertNotEquals(shared, identityOf(ONE), "a number that was freed is the last to return");
    assertEquals(Set.of(identityOf(ONE), six), allowed());
  }

  @Test
  void shouldGiveAnExceptionOfACidrItsOwnIdentity() {
    engine.endpointSet(1, web, List.of());
    add(
        engine,
        List.of(EVERY, named(egress(WEB, cidrSet("0.0.0.0/0", "192.0.2.1/32")), "n", "c")),
        false);
    resolve("a.example.com.", "192.0.2.1", "192.0.2.2");
    assertEquals(List.of("cidr:192.0.2.1/32", "reserved:world"), labelsOf(ONE));
    assertTrue(allowed().contains(identityOf(TWO)), "all addresses cover it");
    delete(engine, List.of("n=every"));
    assertEquals(0, identityOf(TWO));
    assertFalse(allowed().contains(identityOf(ONE)));
  }

  @Test
  void shouldSelectAddressesOfNamesByTheirEntityAndByTheirCidr() {
    engine.endpointSet(1, web, List.of());
    resolve("a.example.com.", "192.0.2.1", "192.0.2.2");
    add(engine, List.of(EVERY), false);
    final RuleSpec labelled = named(egress(WEB, cidrs("192.0.2.1/32")), "n", "label");
    add(engine, List.of(labelled), false);
    assertNotEquals(identityOf(ONE), identityOf(TWO));
    delete(engine, List.of("n=every"));
    assertEquals(Set.of(identityOf(ONE)), allowed());
    final RuleSpec world = named(egress(WEB, entities("world-ipv4")), "n", "world");
    add(engine, List.of(EVERY, world), false);
    delete(engine, List.of("n=every"));
    add(engine, List.of(named(egress(labels("app", "db"), fqdns("*")), "n", "db")), false);
    assertTrue(allowed().containsAll(List.of(identityOf(ONE), identityOf(TWO))));
  }

  @Test
  void shouldNotSelectWhatASelectorSelectedBeforeItWasDropped() {
    reuseASelector(() -> {});
  }

  @Test
  void shouldNotSelectItAfterRulesThatCannotBeStoredEither() {
    reuseASelector(
        () -> {
          store.fails = true;
          assertThrows(OperationException.class, () -> add(engine, List.of(CIDR), false));
          store.fails = false;
        });
  }

  private void reuseASelector(Runnable meanwhile) {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(A, EVERY), false);
    resolve("a.example.com.", "192.0.2.1");
    resolve("b.example.com.", "192.0.2.1");
    delete(engine, List.of("n=a"));
    resolve("a.example.com.");
    meanwhile.run();
    add(
        engine,
        List.of(named(egress(labels("app", "db"), fqdns("a.example.com")), "n", "a")),
        false);
    engine.endpointSet(
        2, identities.acquire(LabelSet.parse("l", List.of("app=db"))).join(), List.of());
    assertTrue(
        engine.policyOf(2).orElseThrow().entries().stream()
            .noneMatch(entry -> entry.identity() == identityOf(ONE)));
    assertEquals(
        List.of("fqdn:*.example.com.", "reserved:world", "reserved:world-ipv4"), labelsOf(ONE));
  }

  @Test
  void shouldLeaveEachAddressItsIdentityWhereRulesCannotBeStored() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(EVERY), false);
    resolve("a.example.com.", "192.0.2.1");
    resolve("b.example.com.", "192.0.2.2");
    final Map<Prefix, Integer> before = engine.outsidePrefixes();
    store.fails = true;
    for (final RuleSpec rule : List.of(A, CIDR)) {
      assertThrows(OperationException.class, () -> add(engine, List.of(rule), false));
      assertEquals(before, engine.outsidePrefixes());
      final PolicyUpdate after = engine.refresh();
      assertTrue(after.outside().isEmpty(), after.toString());
      assertEquals(1, local.list().stream().filter(Identity::isLocal).count());
    }
    store.fails = false;
    add(engine, List.of(A), false);
    assertNotEquals(before.get(ONE), identityOf(ONE));
    assertEquals(before.get(TWO), identityOf(TWO));
  }

  @Test
  void shouldTraceWhatNamesHaveInCommonByItsLabels() {
    add(engine, List.of(EVERY), false);
    for (final String name : List.of("fqdn:*.example.com.", "fqdn:*.example.org.")) {
      for (final String family : List.of("reserved:world-ipv4", "reserved:world-ipv6")) {
        final PolicyTrace trace =
            engine.trace(
                new PolicyQuery(
                    LabelSet.parse("l", List.of("app=web")),
                    LabelSet.parse("l", List.of(name, "reserved:world", family)),
                    List.of(),
                    false));
        assertEquals(name.endsWith("com."), trace.isAllowed(), trace.log());
      }
    }
  }

  private PolicyEngine restarted(
      Map<String, Set<IpAddress>> names, Map<Prefix, Integer> former, RuleSpec... rules) {
    add(engine, List.of(rules), false);
    return PolicyEngine.open(
        new PolicyContext()
            .identities(identities)
            .cidrIdentities(afterRestart)
            .store(store)
            .names(names)
            .formerNumbers(former)
            .conclude());
  }

  @Test
  void shouldCallTheObserverWhileAddressesHaveTheIdentityOfFormerRules() {
    final String[] many = new String[1100];
    for (int i = 0; i < many.length; i++) {
      many[i] = "198.51.%d.%d".formatted(100 + i / 256, i % 256);
    }
    resolve("a.example.com.", many);
    add(engine, List.of(A, EVERY), false);
    final int both = engine.outsidePrefixes().values().iterator().next();
    final List<String> calls = new ArrayList<>();
    engine.observe(() -> calls.add("affected"));
    delete(engine, List.of("n=a"));
    assertEquals(1, calls.size());
    assertEquals(1024, engine.refresh().outside().added().size());
    assertEquals(2, calls.size());
    assertEquals(76, engine.refresh().outside().added().size());
    assertEquals(2, calls.size());
    assertFalse(engine.outsidePrefixes().containsValue(both));
  }

  @Test
  void shouldTakeASelectorFromAnAddressThatHasItsOwnIdentity() {
    engine.endpointSet(1, web, List.of());
    final SelectorSpec db = labels("app", "db");
    engine.endpointSet(
        2, identities.acquire(LabelSet.parse("l", List.of("app=db"))).join(), List.of());
    resolve("a.example.com.", "192.0.2.1");
    resolve("b.example.com.", "192.0.2.1");
    add(
        engine,
        List.of(
            A,
            egress(db, fqdns("*.example.com")),
            egress(labels("app", "other"), cidrs("192.0.2.0/24"))),
        false);
    assertEquals(Set.of(identityOf(ONE)), allowed());
    resolve("a.example.com.");
    assertEquals(Set.of(), allowed());
    assertTrue(
        engine.policyOf(2).orElseThrow().entries().stream()
            .anyMatch(entry -> entry.identity() == identityOf(ONE)));
  }

  @Test
  void shouldLeaveAddressesTheirIdentityWhereTheFirstChangeAfterARestartFails() {
    final PolicyEngine after =
        restarted(Map.of("a.example.com.", addresses("192.0.2.1")), Map.of(ONE, FIRST), EVERY);
    store.fails = true;
    assertThrows(
        OperationException.class,
        () -> add(after, List.of(egress(WEB, fqdns("b.example.org"))), false));
    assertEquals(Map.of(ONE, FIRST), after.outsidePrefixes());
  }

  /** As up to release 0.8.0, each address has a number of its own. */
  @Test
  void shouldKeepOneOfTheNumbersThatAddressesHadAndGiveTheOthersToNoOther() {
    final PolicyEngine after =
        restarted(
            Map.of(
                "a.example.com.",
                addresses("192.0.2.1", "192.0.2.2"),
                "b.example.org.",
                addresses("198.51.100.1")),
            Map.of(ONE, FIRST + 3, TWO, FIRST + 1, SIX, FIRST + 4),
            EVERY,
            named(egress(WEB, fqdns("b.example.org")), "n", "b"));
    assertEquals(
        Map.of(ONE, FIRST + 1, TWO, FIRST + 1, Prefix.parse("198.51.100.1/32"), FIRST + 5),
        after.outsidePrefixes());
    delete(after, List.of());
    assertEquals(0, afterRestart.list().stream().filter(Identity::isLocal).count());
  }

  @Test
  void shouldGiveANumberToNoneOfTwoGroupsThatHadIt() {
    final PolicyEngine after =
        restarted(
            Map.of(
                "a.example.com.", addresses("192.0.2.1"), "b.example.com.", addresses("192.0.2.2")),
            Map.of(ONE, FIRST, TWO, FIRST),
            A,
            EVERY);
    assertEquals(2, Set.copyOf(after.outsidePrefixes().values()).size());
    assertFalse(after.outsidePrefixes().containsValue(FIRST));
  }
}
