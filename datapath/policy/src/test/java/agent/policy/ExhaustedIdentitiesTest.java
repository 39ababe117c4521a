package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.Changes.delete;
import static agent.policy.OutsideAddresses.addresses;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.fqdns;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.named;
import static agent.policy.RuleSpecs.services;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.identity.CidrIdentityAllocator;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.policy.repository.PolicyStore;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rules whose addresses do not all get an identity are refused, and keep nothing. */
class ExhaustedIdentitiesTest {
  private static final SelectorSpec WEB = labels("app", "web");
  private static final String A = "a.example.com";
  private static final String B = "b.example.com";

  /** Allocates so many identities and no more. */
  private static final class FewIdentities implements CidrIdentityAllocator {
    private final CidrIdentityAllocator all = new LocalCidrIdentityAllocator();
    private int most;

    private void check(boolean isKnown) {
      if (!isKnown && all.list().stream().filter(Identity::isLocal).count() >= most) {
        throw Refusal.exhausted("identity", "no number is free");
      }
    }

    @Override
    public Identity acquire(Prefix prefix) {
      check(all.find(prefix).isPresent());
      return all.acquire(prefix);
    }

    @Override
    public Identity restore(int id, Prefix prefix) {
      return all.restore(id, prefix);
    }

    @Override
    public Identity acquire(LabelSet names) {
      check(all.list().stream().anyMatch(identity -> identity.labels().equals(names)));
      return all.acquire(names);
    }

    @Override
    public Identity restore(int id, LabelSet names) {
      return all.restore(id, names);
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
    engine.names(Map.of(A + ".", addresses("192.0.2.1", "192.0.2.2", "2001:db8::1")));
    engine.names(Map.of(B + ".", addresses("192.0.2.3")));
  }

  private void assertRefused(int most, RuleSpec... rules) {
    few.most = most;
    assertEquals(
        Refusal.Kind.EXHAUSTED,
        assertThrows(Refusal.class, () -> add(engine, List.of(rules), false)).kind());
    assertEquals(Map.of(), engine.outsidePrefixes());
    assertEquals(0, few.list().stream().filter(Identity::isLocal).count());
    assertEquals(Set.of(), engine.wantedNames());
  }

  @Test
  void shouldTakeAllAddressesOfANameOrNone() {
    final RuleSpec rule = named(egress(WEB, fqdns(A)), "n", "a");
    assertRefused(1, rule);
    few.most = 2;
    add(engine, List.of(rule), false);
    assertEquals(3, engine.outsidePrefixes().size());
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
    assertEquals(1, engine.outsidePrefixes().size());
    delete(engine, List.of("n=b"));
    assertEquals(Map.of(), engine.outsidePrefixes());
  }

  @Test
  void shouldTakeAllNewAddressesOrNone() {
    few.most = 3;
    add(
        engine,
        List.of(named(egress(WEB, fqdns(A)), "n", "a"), named(egress(WEB, fqdns(B)), "n", "b")),
        false);
    final Map<String, Set<IpAddress>> changed =
        Map.of(A + ".", addresses("192.0.2.1"), B + ".", addresses("192.0.2.3", "2001:db8::4"));
    few.most = 3;
    engine.names(Map.of(A + ".", addresses("192.0.2.1")));
    final Map<Prefix, Integer> before = engine.outsidePrefixes();
    few.most = 2;
    assertThrows(Refusal.class, () -> engine.names(changed));
    assertEquals(before, engine.outsidePrefixes());
    few.most = 3;
    engine.names(changed);
    assertEquals(3, engine.outsidePrefixes().size());
    delete(engine, List.of("n=a"));
    delete(engine, List.of("n=b"));
    assertEquals(Map.of(), engine.outsidePrefixes(), "no reference is left over");
    assertEquals(0, few.list().stream().filter(Identity::isLocal).count());
  }

  /** Its selectors mean the same without the rule, so it says of its address what is so. */
  @Test
  void shouldKeepAnIdentityOfFormerRulesWhereThereIsNoOther() {
    few.most = 2;
    engine.names(Map.of(A + ".", addresses("192.0.2.1")));
    add(
        engine,
        List.of(
            named(egress(WEB, fqdns(A)), "n", "a"),
            named(egress(WEB, fqdns("*.example.com")), "n", "every")),
        false);
    few.most = 1;
    delete(engine, List.of("n=every"));
    final Map<Prefix, Integer> both = engine.outsidePrefixes();
    assertEquals(Set.of(Prefix.parse("192.0.2.1/32")), both.keySet());
    final List<String> calls = new ArrayList<>();
    engine.observe(() -> calls.add("affected"));
    engine.refresh();
    assertEquals(both, engine.outsidePrefixes());
    assertEquals(1, calls.size(), "it is tried again with the next change");
    few.most = 2;
    engine.refresh();
    assertEquals(Set.of(Prefix.parse("192.0.2.1/32")), engine.outsidePrefixes().keySet());
    assertNotEquals(both, engine.outsidePrefixes());
    assertEquals(1, few.list().stream().filter(Identity::isLocal).count());
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
