package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.fqdns;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.named;
import static agent.policy.RuleSpecs.services;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.identity.CidrIdentityAllocator;
import agent.identity.Identity;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rules whose addresses do not all get an identity are refused, and keep nothing. */
class ExhaustedIdentitiesTest {
  private static final SelectorSpec WEB = labels("app", "web");
  private static final String A = "a.example.com";
  private static final String B = "b.example.com";

  /** Has so many identities and no more. */
  private static final class FewIdentities implements CidrIdentityAllocator {
    private final CidrIdentityAllocator all = new LocalCidrIdentityAllocator();
    private int most;

    @Override
    public Identity acquire(Prefix prefix) {
      final boolean isFull =
          all.list().stream().filter(identity -> identity.cidr().isPresent()).count() >= most;
      if (isFull && all.find(prefix).isEmpty()) {
        throw Refusal.exhausted("identity", "no number is free");
      }
      return all.acquire(prefix);
    }

    @Override
    public Identity restore(int id, Prefix prefix) {
      return all.restore(id, prefix);
    }

    @Override
    public boolean release(int id) {
      return all.release(id);
    }

    @Override
    public Optional<Identity> find(Prefix prefix) {
      return all.find(prefix);
    }

    @Override
    public Optional<Identity> find(int id) {
      return all.find(id);
    }

    @Override
    public List<Identity> list() {
      return all.list();
    }

    @Override
    public void addListener(IdentityListener listener) {
      all.addListener(listener);
    }
  }

  private final FewIdentities few = new FewIdentities();
  private final PolicyEngine engine =
      PolicyEngine.open(
          new PolicyContext()
              .identities(new LocalIdentityAllocator())
              .cidrIdentities(few)
              .store(PolicyStore.inMemory())
              .conclude());

  @BeforeEach
  void resolve() {
    engine.names(Map.of(A + ".", addresses("192.0.2.1", "192.0.2.2")));
    engine.names(Map.of(B + ".", addresses("192.0.2.3")));
  }

  private static Set<IpAddress> addresses(String one, String... others) {
    final Set<IpAddress> all = new TreeSet<>(Set.of(IpAddress.parse(one)));
    List.of(others).forEach(text -> all.add(IpAddress.parse(text)));
    return all;
  }

  private void assertRefused(int most, RuleSpec... rules) {
    few.most = most;
    assertEquals(
        Refusal.Kind.EXHAUSTED,
        assertThrows(Refusal.class, () -> add(engine, List.of(rules), false)).kind());
    assertEquals(List.of(), engine.cidrIdentities());
    assertEquals(Set.of(), engine.wantedNames());
  }

  @Test
  void shouldTakeAllAddressesOfANameOrNone() {
    final RuleSpec rule = named(egress(WEB, fqdns(A)), "n", "a");
    assertRefused(1, rule);
    few.most = 2;
    add(engine, List.of(rule), false);
    assertEquals(2, engine.cidrIdentities().size());
    assertEquals(Set.of(A + "."), engine.wantedNames());
  }

  @Test
  void shouldTakeAllNamesOfRulesOrNone() {
    final RuleSpec first = named(egress(WEB, fqdns(A)), "n", "a");
    final RuleSpec second = named(egress(WEB, fqdns(B)), "n", "b");
    assertRefused(2, first, second);
    few.most = 3;
    add(engine, List.of(first, second), false);
    assertEquals(Set.of(A + ".", B + "."), engine.wantedNames());
    delete(engine, List.of("n=a"));
    assertEquals(1, engine.cidrIdentities().size());
    delete(engine, List.of("n=b"));
    assertEquals(List.of(), engine.cidrIdentities());
  }

  @Test
  void shouldTakeAllNewAddressesOrNone() {
    few.most = 3;
    add(engine, List.of(named(egress(WEB, fqdns(A)), "n", "a")), false);
    final Map<String, Set<IpAddress>> changed =
        Map.of(A + ".", addresses("192.0.2.1", "192.0.2.4", "192.0.2.5"));
    assertThrows(Refusal.class, () -> engine.names(changed));
    assertEquals(2, engine.cidrIdentities().size());
    few.most = 4;
    engine.names(changed);
    assertEquals(3, engine.cidrIdentities().size());
    delete(engine, List.of("n=a"));
    assertEquals(List.of(), engine.cidrIdentities(), "no reference is left over");
  }

  @Test
  void shouldTakeTheNamesOfARuleOnlyWithItsServices() {
    engine.services(Map.of(new ServiceName("cart", "shop"), addresses("192.0.2.6")));
    assertRefused(
        2,
        named(egress(WEB, fqdns(A)), "n", "a"),
        named(egress(WEB, services("shop", "cart")), "n", "s"));
  }

  @Test
  void shouldTakeAllCidrsOrNone() {
    assertRefused(1, named(egress(WEB, cidrs("198.51.100.0/24", "203.0.113.0/24")), "n", "c"));
  }

  @Test
  void shouldTakeTheCidrsOfARuleOnlyWithItsNames() {
    assertRefused(
        2,
        named(egress(WEB, cidrs("198.51.100.0/24")), "n", "c"),
        named(egress(WEB, fqdns(A)), "n", "a"));
  }
}
