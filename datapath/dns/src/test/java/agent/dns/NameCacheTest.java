package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.NameLookup.Source;
import agent.policy.rule.NamePattern;
import agent.testkit.OtherThread;
import agent.types.IpAddress;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class NameCacheTest {
  private static final Instant START = Instant.parse("2026-11-20T10:00:00Z");
  private static final String WWW = "www.example.com.";

  private final NameCache cache =
      new NameCache(new NameCache.Limits(60, 3, 0), new HeldShares(() -> 0));

  private static List<IpAddress> addresses(String... texts) {
    return Arrays.stream(texts).map(IpAddress::parse).toList();
  }

  private boolean add(String name, long ttlSec, long atSec, String... texts) {
    return cache.add(
        cache.lookup(0, name, addresses(texts), ttlSec, START.plusSeconds(atSec), Source.LOOKUP));
  }

  private Set<String> expire(long atSec) {
    return cache.expire(START.plusSeconds(atSec), 100);
  }

  private void assertHas(String... texts) {
    assertEquals(Set.copyOf(addresses(texts)), cache.addressesOf(WWW));
  }

  @Test
  void shouldKeepAnAddressForItsTimeToLiveAndForTheLeastTime() {
    assertTrue(add(WWW, 100, 0, "192.0.2.7"));
    assertTrue(add(WWW, 10, 0, "192.0.2.8"));
    assertEquals(Set.of(), expire(59));
    assertHas("192.0.2.7", "192.0.2.8");
    assertEquals(Set.of(WWW), expire(60));
    assertHas("192.0.2.7");
    assertEquals(Set.of(), expire(99));
    assertEquals(Set.of(WWW), expire(100));
    assertHas();
    assertEquals(List.of(), cache.list());
    assertEquals(Map.of(), cache.addresses());
  }

  @Test
  void shouldTellWhetherTheAddressesAreOthers() {
    assertTrue(add(WWW, 100, 0, "192.0.2.7", "2001:db8::7"));
    assertFalse(add(WWW, 100, 5, "2001:db8::7", "192.0.2.7"));
    assertTrue(add(WWW, 100, 5, "192.0.2.9"));
    assertFalse(add(WWW, 100, 0));
  }

  @Test
  void shouldKeepTheLatestLookupOfAnAddress() {
    add(WWW, 100, 0, "192.0.2.7", "192.0.2.8");
    add(WWW, 100, 50, "192.0.2.8");
    assertEquals(
        List.of(List.of(150L, "[192.0.2.8]"), List.of(100L, "[192.0.2.7]")),
        cache.list().stream()
            .map(
                one ->
                    List.<Object>of(
                        one.expirationTime().getEpochSecond() - START.getEpochSecond(),
                        one.addresses().toString()))
            .toList());
    assertEquals(Set.of(WWW), expire(100));
    assertHas("192.0.2.8");
    add(WWW, 60, 101, "192.0.2.8");
    add(WWW, 1000, 101, "192.0.2.8");
    add(WWW, 60, 102, "192.0.2.8");
    assertEquals(Set.of(), expire(1000), "a shorter time does not end a longer one");
    assertEquals(1, cache.list().size());
  }

  @Test
  void shouldKeepSoManyAddressesThatExpireLast() {
    add(WWW, 100, 0, "192.0.2.1", "192.0.2.2");
    add(WWW, 100, 10, "192.0.2.3", "192.0.2.4");
    assertHas("192.0.2.1", "192.0.2.3", "192.0.2.4");
    add(WWW, 100, 20, "192.0.2.5", "192.0.2.6", "192.0.2.7", "192.0.2.8");
    assertHas("192.0.2.5", "192.0.2.6", "192.0.2.7");
  }

  @Test
  void shouldListAllNamesInOrder() {
    for (int names = 1; names <= 1024; names++) {
      add("n%04d.example.com.".formatted(names), 100, 0, "192.0.2.7");
      if (names % 256 <= 1) {
        final List<String> listed = cache.list().stream().map(NameLookup::name).toList();
        assertEquals(names, Set.copyOf(listed).size());
        assertEquals(listed.stream().sorted().toList(), listed);
        assertEquals(names, listed.size());
      }
    }
  }

  @Test
  void shouldExpireABoundedNumberInOneCall() {
    for (int i = 0; i < 10; i++) {
      add("n" + i + ".example.com.", 60, i, "192.0.2." + i);
    }
    assertFalse(cache.hasEnding(START));
    assertEquals(4, cache.expire(START.plusSeconds(1000), 4).size());
    assertTrue(cache.hasEnding(START.plusSeconds(1000)));
    assertEquals(6, cache.list().size());
    assertEquals(6, cache.expire(START.plusSeconds(1000), 100).size());
    assertFalse(cache.hasEnding(START.plusSeconds(1000)));
    assertEquals(Set.of(), cache.expire(START.plusSeconds(1000), 100));
  }

  @Test
  void shouldRemoveNamesThatMatch() {
    add(WWW, 60, 0, "192.0.2.1");
    add("example.org.", 60, 0, "192.0.2.2");
    final List<NameLookup> removed = cache.remove(NamePattern.parse("p", "*.example.com"));
    assertEquals(List.of(WWW), removed.stream().map(NameLookup::name).toList());
    assertEquals(Set.of("example.org."), cache.addresses().keySet());
    removed.forEach(cache::add);
    assertHas("192.0.2.1");
    assertEquals(Set.of(WWW, "example.org."), expire(60));
  }

  private static NameLookup found(NameCache in, int endpoint, String name, String... texts) {
    return in.lookup(endpoint, name, addresses(texts), 60, START, Source.LOOKUP);
  }

  private static List<String> names(List<NameLookup> lookups) {
    return lookups.stream().map(NameLookup::name).toList();
  }

  @Test
  void shouldKeepWhatEachEndpointLookedUp() {
    assertTrue(cache.add(found(cache, 7, WWW, "192.0.2.1", "192.0.2.2", "192.0.2.3")));
    assertFalse(cache.add(found(cache, 8, WWW, "192.0.2.3")));
    assertTrue(cache.add(found(cache, 8, WWW, "192.0.2.4")));
    assertHas("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4");
    assertEquals(List.of(WWW), names(cache.list(7)));
    assertEquals(List.of(WWW, WWW), names(cache.list(8)));
    assertEquals(List.of(), cache.list(9));
    assertEquals(1, cache.removeOf(id -> id == 7, START).size());
    assertHas("192.0.2.3", "192.0.2.4");
    assertEquals(List.of(), cache.list(7));
    add(WWW, 60, 0, "192.0.2.9");
    cache.removeOf(id -> true, START);
    assertHas("192.0.2.9");
  }

  @Test
  void shouldForgetTheNamesThatWereLookedUpLongestAgo() {
    final NameCache small =
        new NameCache(new NameCache.Limits(60, 3, 3, 5, 0), new HeldShares(() -> 0));
    for (int i = 0; i < 3; i++) {
      small.add(found(small, 7, i + ".example.com.", "192.0.2.1"));
    }
    small.add(found(small, 7, "0.example.com.", "192.0.2.1"));
    small.add(found(small, 7, "3.example.com.", "192.0.2.1"));
    assertEquals(
        List.of("0.example.com.", "2.example.com.", "3.example.com."), names(small.list(7)));
    assertEquals(Set.of("1.example.com."), small.expire(START, 10));
    for (int i = 4; i < 7; i++) {
      small.add(found(small, 8, i + ".example.com.", "192.0.2.1"));
    }
    assertEquals(List.of("0.example.com.", "3.example.com."), names(small.list(7)));
    assertEquals(5, small.size());
    assertEquals(Set.of("2.example.com."), small.expire(START, 10));
    assertEquals(5, small.expire(START.plusSeconds(60), 10).size());
    assertEquals(0, small.size());
  }

  /** Otherwise one endpoint could take the places of those that have few. */
  @Test
  void shouldForgetANameOfTheEndpointThatHasTheMost() {
    final NameCache full =
        new NameCache(new NameCache.Limits(60, 3, 10, 4, 0), new HeldShares(() -> 0));
    full.add(found(full, 8, "d.", "192.0.2.1"));
    for (final String name : List.of("a.", "b.", "c.")) {
      full.add(found(full, 7, name, "192.0.2.1"));
    }
    full.add(found(full, 8, "e.", "192.0.2.1"));
    assertEquals(List.of("b.", "c."), names(full.list(7)));
    assertEquals(List.of("d.", "e."), names(full.list(8)));
  }

  /** The names of rules, and those that are there from the start, are no endpoint's. */
  @Test
  void shouldKeepNamesOfNoEndpointBeyondTheLimitOfOne() {
    final NameCache small =
        new NameCache(new NameCache.Limits(60, 3, 3, 5, 0), new HeldShares(() -> 0));
    for (int i = 0; i < 6; i++) {
      small.add(found(small, 0, i + ".example.com.", "192.0.2.1"));
    }
    assertEquals(
        IntStream.rangeClosed(1, 5).mapToObj(i -> i + ".example.com.").toList(),
        names(small.list()));
  }

  /** The limits that hold where only those of one name are set. */
  @Test
  void shouldKeep25000NamesOfAnEndpointAnd200000OfAll() {
    for (int endpoint = 1; endpoint <= 9; endpoint++) {
      for (int i = 0; i <= 25_000; i++) {
        cache.add(found(cache, endpoint, endpoint + "-" + i + ".", "192.0.2.1"));
      }
      assertEquals(Math.min(200_000, 25_000 * endpoint), cache.size());
    }
  }

  @Test
  void shouldForgetNamesOfTheEndpointThatHasTooManyAlone() {
    final NameCache small =
        new NameCache(new NameCache.Limits(60, 3, 3, 100, 0), new HeldShares(() -> 0));
    small.add(found(small, 8, "0.example.com.", "192.0.2.1"));
    small.add(found(small, 8, "1.example.com.", "192.0.2.1"));
    for (int i = 0; i < 5; i++) {
      small.add(found(small, 7, i + ".example.com.", "192.0.2.1"));
    }
    assertEquals(
        List.of("2.example.com.", "3.example.com.", "4.example.com."), names(small.list(7)));
    assertEquals(List.of("0.example.com.", "1.example.com."), names(small.list(8)));
  }

  @Test
  void shouldTellWhetherItHasAddressesForLonger() {
    cache.add(found(cache, 7, WWW, "192.0.2.1"));
    cache.add(found(cache, 8, WWW, "192.0.2.2"));
    assertTrue(cache.has(WWW, addresses("192.0.2.1", "192.0.2.2"), START.plusSeconds(59)));
    assertFalse(cache.has(WWW, addresses("192.0.2.1"), START.plusSeconds(60)));
    assertFalse(cache.has(WWW, addresses("192.0.2.1", "192.0.2.3"), START));
    assertFalse(cache.has("b.example.com.", addresses("192.0.2.1"), START));
  }

  /** Lookups come while the cache is written to its file, or shown. */
  @Test
  void shouldListEachNameOnceWhileOthersAreAddedAndExpire() throws Exception {
    add(WWW, 1_000_000, 0, "192.0.2.7");
    OtherThread.race(
        12,
        () -> {
          for (int number = 0; number < 500; number++) {
            add("n%d.example.com.".formatted(number), 60, 0, "192.0.2.8");
          }
          cache.expire(START.plusSeconds(61), 1_000);
        },
        () -> {
          for (int time = 0; time < 20; time++) {
            assertEquals(1, cache.list().stream().filter(one -> one.name().equals(WWW)).count());
          }
        });
    assertEquals(1, cache.list().size());
  }
}
