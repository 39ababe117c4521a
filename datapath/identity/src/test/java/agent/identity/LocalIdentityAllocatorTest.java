package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LocalIdentityAllocatorTest {
  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final List<String> heard = new ArrayList<>();

  private static LabelSet labels(String... texts) {
    return LabelSet.parse("labels", List.of(texts));
  }

  private void listen() {
    identities.addListener(
        new IdentityListener() {
          @Override
          public void onIdentityAdded(Identity identity) {
            heard.add("+" + identity.id());
          }

          @Override
          public void onIdentityRemoved(Identity identity) {
            heard.add("-" + identity.id());
          }
        });
  }

  @Test
  void shouldGiveTheSameLabelsTheSameIdentityUntilNobodyHasIt() {
    listen();
    final Identity first = identities.acquire(labels("app=web", "tier=db"));
    final Identity second = identities.acquire(labels("tier=db", "app=web"));
    assertEquals(first, second);
    assertEquals(Identity.CLUSTER_MIN, first.id());
    assertFalse(identities.release(first.id()));
    assertEquals(Optional.of(first), identities.find(first.id()));
    assertTrue(identities.release(first.id()));
    assertEquals(Optional.empty(), identities.find(first.id()));
    assertEquals(Optional.empty(), identities.find(first.labels()));
    assertEquals(List.of("+256", "-256"), heard);
  }

  @Test
  void shouldNotGiveAFreedNumberToOtherLabelsAtOnce() {
    final Identity gone = identities.acquire(labels("app=a"));
    identities.release(gone.id());
    assertNotEquals(gone.id(), identities.acquire(labels("app=b")).id());
  }

  @Test
  void shouldUseEveryNumberAndThenRefuse() {
    for (int i = Identity.CLUSTER_MIN; i <= Identity.CLUSTER_MAX; i++) {
      assertEquals(i, identities.acquire(labels("n=" + i)).id());
    }
    final Refusal refusal =
        assertThrows(Refusal.class, () -> identities.acquire(labels("one=more")));
    assertEquals(Refusal.Kind.EXHAUSTED, refusal.kind());
    assertEquals("identity: all 65280 identities are in use", refusal.getMessage());
    identities.release(300);
    identities.release(40_000);
    assertEquals(300, identities.acquire(labels("one=more")).id());
    identities.release(300);
    assertEquals(40_000, identities.acquire(labels("two=more")).id());
  }

  @Test
  void shouldGiveAnEndpointWithoutLabelsTheInitIdentity() {
    final Identity init = identities.acquire(LabelSet.EMPTY);
    assertEquals(5, init.id());
    assertEquals(List.of("reserved:init"), init.labels().toStrings());
    assertEquals(List.of(new IdentityInUse(init, 1)), identities.inUse());
    identities.release(5);
    assertEquals(List.of(), identities.inUse());
    assertEquals(Optional.of(init), identities.find(5));
  }

  @Test
  void shouldKnowTheReservedIdentities() {
    final Map<Integer, String> expected = new HashMap<>();
    expected.put(1, "reserved:host");
    expected.put(2, "reserved:world");
    expected.put(3, "reserved:unmanaged");
    expected.put(4, "reserved:health");
    expected.put(5, "reserved:init");
    expected.put(6, "reserved:remote-node");
    expected.put(7, "reserved:orch-apiserver");
    expected.put(8, "reserved:ingress");
    expected.put(9, "reserved:world-ipv4");
    expected.put(10, "reserved:world-ipv6");
    final Map<Integer, String> actual = new HashMap<>();
    identities.list().forEach(i -> actual.put(i.id(), String.join(",", i.labels().toStrings())));
    assertEquals(expected, actual);
    assertEquals(Optional.of(ReservedIdentity.HOST), ReservedIdentity.of(1));
    assertEquals(Optional.empty(), ReservedIdentity.of(0));
    assertEquals(Optional.empty(), ReservedIdentity.of(11));
  }

  @Test
  void shouldNumberCidrsFromTwoToThe24th() {
    listen();
    final Prefix prefix = Prefix.parse("2001:db8::/32");
    final Identity identity = identities.acquireCidr(prefix);
    assertEquals(1 << 24, identity.id());
    assertEquals(List.of("cidr:2001:db8::/32", "reserved:world"), identity.labels().toStrings());
    assertEquals(Optional.of(prefix), identity.cidr());
    assertEquals(identity, identities.acquireCidr(prefix));
    assertEquals(List.of(), identities.inUse());
    identities.release(identity.id());
    identities.release(identity.id());
    assertEquals(List.of("+16777216", "-16777216"), heard);
  }

  @Test
  void shouldTakeTheWorldForTheCidrOfLengthZero() {
    listen();
    assertEquals(9, identities.acquireCidr(Prefix.ALL_IPV4).id());
    assertEquals(10, identities.acquireCidr(Prefix.ALL_IPV6).id());
    assertEquals(List.of(), identities.inUse());
    assertTrue(identities.release(9));
    assertEquals(List.of(), heard);
  }

  @Test
  void shouldRestoreNumbersAndGoOnAfterThem() {
    assertEquals(400, identities.restore(400, labels("app=a")).id());
    assertEquals(400, identities.restore(400, labels("app=a")).id());
    assertEquals(401, identities.acquire(labels("app=b")).id());
    assertEquals(5, identities.restore(5, LabelSet.EMPTY).id());
    assertEquals(1 << 24 | 7, identities.restoreCidr(1 << 24 | 7, Prefix.parse("10.0.0.0/8")).id());
    assertEquals(
        List.of(
            new IdentityInUse(ReservedIdentity.INIT.identity(), 1),
            new IdentityInUse(new Identity(400, labels("app=a")), 2),
            new IdentityInUse(new Identity(401, labels("app=b")), 1)),
        identities.inUse());
  }

  @Test
  void shouldRefuseToRestoreWhatContradicts() {
    identities.restore(400, labels("app=a"));
    assertEquals(
        Refusal.Kind.CONFLICT,
        assertThrows(Refusal.class, () -> identities.restore(400, labels("app=b"))).kind());
    assertEquals(
        Refusal.Kind.CONFLICT,
        assertThrows(Refusal.class, () -> identities.restore(401, labels("app=a"))).kind());
    assertEquals(
        Refusal.Kind.INVALID,
        assertThrows(Refusal.class, () -> identities.restore(70_000, labels("app=c"))).kind());
    assertEquals(
        Refusal.Kind.CONFLICT,
        assertThrows(Refusal.class, () -> identities.restore(6, LabelSet.EMPTY)).kind());
    assertEquals(
        Refusal.Kind.NOT_FOUND, assertThrows(Refusal.class, () -> identities.release(401)).kind());
  }

  @Test
  void shouldCountLikeANaiveModel() {
    final Random random = new Random(42);
    final Map<LabelSet, Integer> counts = new HashMap<>();
    final Map<LabelSet, Integer> numbers = new HashMap<>();
    for (int i = 0; i < 50_000; i++) {
      final LabelSet labels = labels("n=" + random.nextInt(40));
      if (random.nextInt(2) == 0) {
        final int id = identities.acquire(labels).id();
        assertEquals(numbers.computeIfAbsent(labels, l -> id), id);
        counts.merge(labels, 1, Integer::sum);
      } else if (counts.containsKey(labels)) {
        final boolean last = counts.merge(labels, -1, Integer::sum) == 0;
        assertEquals(last, identities.release(numbers.get(labels)));
        if (last) {
          counts.remove(labels);
          numbers.remove(labels);
        }
      }
    }
    assertEquals(numbers.size(), identities.list().size() - ReservedIdentity.values().length);
    final Map<LabelSet, Integer> inUse = new HashMap<>();
    identities.inUse().forEach(used -> inUse.put(used.identity().labels(), used.refCount()));
    assertEquals(counts, inUse);
  }
}
