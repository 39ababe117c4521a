package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static agent.policy.OutsideAddresses.addresses;
import static agent.policy.OutsideAddresses.prefixesOf;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.egressDeny;
import static agent.policy.RuleSpecs.fqdns;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.named;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.services;
import static agent.policy.RuleSpecs.tcp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyEntry;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.maps.layout.PolicyDirection;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.PolicyStore;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.trace.PolicyQuery;
import agent.testkit.OtherThread;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.ServiceName;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** {@code toServices}: the addresses of the backends of services as peers. */
class ServicePeersTest {
  private static final SelectorSpec WEB = labels("app", "web");
  private static final ServiceName CART = new ServiceName("cart", "shop");
  private static final ServiceName OTHER_CART = new ServiceName("cart", "other");
  private static final ServiceName PLAIN = new ServiceName("plain", "");
  private static final RuleSpec TO_CART = named(egress(WEB, services("shop", "cart")), "n", "cart");

  private final PolicyStore store = PolicyStore.inMemory();
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

  private PolicyUpdate back(ServiceName service, String... texts) {
    return engine.services(Map.of(service, addresses(texts)));
  }

  private static Set<String> reached(PolicyEngine of, boolean isDeny) {
    return of.policyOf(1).orElseThrow().entries().stream()
        .filter(entry -> entry.direction() == PolicyDirection.EGRESS && entry.isDeny() == isDeny)
        .map(PolicyEntry::identity)
        .flatMap(number -> prefixesOf(of, number))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  @Test
  void shouldReachTheBackendsOfTheServiceAndNoOthers() {
    engine.endpointSet(1, web, List.of());
    back(CART, "192.0.2.7", "2001:db8::7");
    back(OTHER_CART, "192.0.2.8");
    back(PLAIN, "192.0.2.9");
    add(engine, List.of(TO_CART), false);
    assertEquals(Set.of("192.0.2.7/32", "2001:db8::7/128"), reached(engine, false));
    assertEquals(
        2, engine.outsidePrefixes().size(), "a service that no rule selects costs nothing");
  }

  @Test
  void shouldTakeBackendsAtOnceOnlyWhereNoRuleSelectsTheService() {
    engine.endpointSet(1, web, List.of());
    add(engine, List.of(TO_CART), false);
    back(CART, "192.0.2.7");
    assertTrue(engine.takeUnselected(Map.of(PLAIN, addresses("192.0.2.9"))));
    final Map<ServiceName, Set<IpAddress>> both = new LinkedHashMap<>();
    both.put(PLAIN, addresses("192.0.2.10"));
    both.put(CART, addresses("192.0.2.8"));
    assertFalse(engine.takeUnselected(both));
    assertEquals(Set.of("192.0.2.7/32"), reached(engine, false));
    add(engine, List.of(egress(WEB, services("", "plain"))), false);
    assertEquals(Set.of("192.0.2.7/32", "192.0.2.9/32"), reached(engine, false), "none or all");
    delete(engine, List.of());
    assertTrue(engine.takeUnselected(Map.of(PLAIN, Set.of())));
    add(engine, List.of(egress(WEB, services("", "plain"))), false);
    assertEquals(Set.of(), reached(engine, false));
  }

  /** A thread that changes services would wait for the steps of an import otherwise. */
  @Test
  void shouldTakeBackendsWhileAnotherThreadIsAtWork() throws Exception {
    engine.endpointSet(1, web, List.of());
    synchronized (engine) {
      final OtherThread<Boolean> other =
          OtherThread.call(() -> engine.takeUnselected(Map.of(PLAIN, addresses("192.0.2.9"))));
      assertTrue(other.result());
    }
    add(engine, List.of(egress(WEB, services("", "plain"))), false);
    assertEquals(Set.of("192.0.2.9/32"), reached(engine, false));
  }

  @Test
  void shouldMeanAServiceWithoutANamespaceWhereTheRuleHasNone() {
    engine.endpointSet(1, web, List.of());
    back(PLAIN, "192.0.2.9");
    back(new ServiceName("plain", "shop"), "192.0.2.8");
    for (final String namespace : Arrays.asList(null, "")) {
      add(engine, List.of(egress(WEB, services(namespace, "plain"))), false);
      assertEquals(Set.of("192.0.2.9/32"), reached(engine, false));
      delete(engine, List.of());
    }
  }

  @Test
  void shouldFollowTheBackendsWithoutAnImport() {
    engine.endpointSet(1, web, List.of());
    engine.endpointSet(
        2, identities.acquire(LabelSet.parse("l", List.of("app=db"))).join(), List.of());
    add(engine, List.of(TO_CART), false);
    assertTrue(engine.policyOf(1).orElseThrow().egress().enforced());
    assertEquals(Set.of(), reached(engine, false));
    final PolicyUpdate first = back(CART, "192.0.2.7", "192.0.2.9");
    assertEquals(Set.of("192.0.2.7/32", "192.0.2.9/32"), reached(engine, false));
    assertEquals(List.of(1), first.bridges().stream().map(c -> c.endpointId()).toList());
    back(CART, "192.0.2.9", "192.0.2.10");
    assertEquals(Set.of("192.0.2.10/32", "192.0.2.9/32"), reached(engine, false));
    back(CART);
    assertEquals(Set.of(), reached(engine, false));
    assertEquals(Map.of(), engine.outsidePrefixes());
    final PolicyUpdate other = back(OTHER_CART, "192.0.2.7");
    assertTrue(other.bridges().isEmpty() && other.endpoints().isEmpty(), other.toString());
  }

  @Test
  void shouldKeepAnAddressThatAServiceAndANameAndACidrShare() {
    engine.endpointSet(1, web, List.of());
    add(
        engine,
        List.of(
            TO_CART,
            named(egress(WEB, fqdns("www.example.com")), "n", "www"),
            named(egress(WEB, cidrs("192.0.2.7/32")), "n", "c")),
        false);
    back(CART, "192.0.2.7");
    engine.names(Map.of("www.example.com.", addresses("192.0.2.7")));
    delete(engine, List.of("n=c"));
    back(CART);
    assertEquals(Set.of("192.0.2.7/32"), reached(engine, false));
    back(CART, "192.0.2.7");
    delete(engine, List.of("n=www"));
    assertEquals(Set.of("192.0.2.7/32"), reached(engine, false));
    delete(engine, List.of("n=cart"));
    assertEquals(Map.of(), engine.outsidePrefixes());
  }

  @Test
  void shouldDenyTheBackendsOfAService() {
    engine.endpointSet(1, web, List.of());
    back(CART, "192.0.2.7");
    add(
        engine,
        List.of(
            egress(WEB, cidrs("192.0.2.0/24")),
            egressDeny(WEB, on(services("shop", "cart"), tcp(80)))),
        false);
    assertEquals(Set.of("192.0.2.7/32"), reached(engine, true));
    back(CART, "192.0.2.8");
    assertEquals(Set.of("192.0.2.8/32"), reached(engine, true));
  }

  @Test
  void shouldRestrictPortsAndListWhatItSelects() {
    engine.endpointSet(1, web, List.of());
    back(CART, "192.0.2.7");
    add(engine, List.of(egress(WEB, on(services("shop", "cart"), tcp(443)))), false);
    final List<PolicyEntry> egress =
        engine.policyOf(1).orElseThrow().entries().stream()
            .filter(entry -> entry.direction() == PolicyDirection.EGRESS)
            .toList();
    assertEquals(List.of(443), egress.stream().map(PolicyEntry::port).toList());
    final SelectorListing listing = engine.selectors().getFirst();
    assertEquals("service shop/cart", listing.selector());
    assertEquals(List.of(egress.getFirst().identity()), listing.identities());
  }

  @Test
  void shouldTraceABackendByItsService() {
    add(engine, List.of(TO_CART), false);
    final PolicyQuery query =
        new PolicyQuery(
            LabelSet.parse("l", List.of("app=web")),
            LabelSet.parse("l", List.of("cidr:192.0.2.7/32")),
            List.of(),
            false);
    assertFalse(engine.trace(query).isAllowed());
    back(CART, "192.0.2.7");
    assertTrue(engine.trace(query).isAllowed());
  }

  @Test
  void shouldKeepServicesAndNumbersOverARestart() {
    add(engine, List.of(TO_CART), false);
    back(CART, "192.0.2.7");
    final int number = engine.outsidePrefixes().values().iterator().next();
    final PolicyEngine after =
        PolicyEngine.open(
            new PolicyContext()
                .identities(identities)
                .store(store)
                .services(Map.of(CART, addresses("192.0.2.5", "192.0.2.7")))
                .formerNumbers(Map.of(Prefix.parse("192.0.2.7/32"), number))
                .conclude());
    after.endpointSet(1, web, List.of());
    assertEquals(Set.of("192.0.2.5/32", "192.0.2.7/32"), reached(after, false));
    assertEquals(Set.of(number), Set.copyOf(after.outsidePrefixes().values()));
    after.services(Map.of(CART, Set.of()));
    assertEquals(Map.of(), after.outsidePrefixes(), "no reference is left over");
  }
}
