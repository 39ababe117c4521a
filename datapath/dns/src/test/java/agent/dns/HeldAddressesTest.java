package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.HealthBoard;
import agent.conductor.ModuleHealth.Level;
import agent.dns.NameLookup.Source;
import agent.policy.rule.NamePattern;
import agent.types.IpAddress;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Addresses whose time is over, in the cache that has them while connections are open. */
class HeldAddressesTest {
  private static final Instant START = Instant.parse("2026-11-20T10:00:00Z");
  private static final Instant LATER = START.plusSeconds(60);
  private static final String WWW = "www.example.com.";
  private static final String API = "api.example.com.";

  private long nowNs = 1_000_000;
  private final HeldShares shares = new HeldShares(() -> nowNs);
  private NameCache cache = new NameCache(new NameCache.Limits(60, 2, 3, 100, 3), shares);

  private static Set<IpAddress> addresses(String... texts) {
    final Set<IpAddress> addresses = new TreeSet<>();
    Arrays.stream(texts).map(IpAddress::parse).forEach(addresses::add);
    return addresses;
  }

  private boolean add(int endpoint, String name, Instant at, String... texts) {
    return cache.add(
        cache.lookup(endpoint, name, List.copyOf(addresses(texts)), 5, at, Source.LOOKUP));
  }

  private void assertHas(String name, String... texts) {
    assertEquals(addresses(texts), cache.addressesOf(name));
  }

  private Set<String> expire(Instant now) {
    return cache.expire(now, 100);
  }

  /** A round of sweeps that finds connections to these addresses. */
  private void sweep(String... inUse) {
    cache.asked();
    cache.found(addresses(inUse));
  }

  @Test
  void shouldKeepAnAddressWithoutTimeWhileConnectionsToItAreOpen() {
    add(7, WWW, START, "192.0.2.1", "192.0.2.2");
    assertEquals(Set.of(), cache.asked());
    assertEquals(Set.of(), expire(LATER));
    assertHas(WWW, "192.0.2.1", "192.0.2.2");
    assertEquals(addresses("192.0.2.1", "192.0.2.2"), cache.asked());
    cache.found(addresses("192.0.2.2"));
    assertEquals(Set.of(WWW), expire(LATER));
    assertHas(WWW, "192.0.2.2");
    assertEquals(Map.of(WWW, addresses("192.0.2.2")), cache.addresses());
    final NameLookup held = cache.list().getFirst();
    assertEquals(Source.CONNECTION, held.source());
    assertEquals(List.of(held), cache.list(7));
    assertEquals(List.of(), cache.list(8));
    assertEquals(START, held.lookupTime());
    assertEquals(LATER, held.expirationTime());
    assertEquals(5, held.ttlSec());
    assertEquals(0, cache.size());
    assertEquals(addresses("192.0.2.2"), cache.asked());
    cache.found(addresses("192.0.2.2"));
    assertEquals(Set.of(), expire(LATER));
    sweep();
    assertEquals(Set.of(WWW), expire(LATER));
    assertHas(WWW);
    assertEquals(List.of(), cache.list());
    assertEquals(Map.of(), cache.addresses());
  }

  /** A connection that was opened while the sweeps ran may not have been seen. */
  @Test
  void shouldNotJudgeWhatCameAfterTheSweepsBegan() {
    add(7, WWW, START, "192.0.2.1");
    add(7, API, START.plusSeconds(1), "192.0.2.1");
    expire(LATER);
    assertEquals(addresses("192.0.2.1"), cache.asked());
    expire(LATER.plusSeconds(1));
    cache.found(addresses());
    assertHas(WWW);
    assertHas(API, "192.0.2.1");
    sweep();
    assertHas(API);
  }

  @Test
  void shouldGiveAnAddressItsTimeAgain() {
    add(7, WWW, START, "192.0.2.1");
    expire(LATER);
    sweep("192.0.2.1");
    assertFalse(cache.has(WWW, addresses("192.0.2.1"), LATER));
    assertTrue(add(7, WWW, LATER, "192.0.2.1"), "it has to be stored");
    assertFalse(add(7, WWW, LATER, "192.0.2.1"));
    assertTrue(cache.has(WWW, addresses("192.0.2.1"), LATER));
    assertEquals(Set.of(), cache.asked());
    cache.found(addresses());
    assertEquals(Set.of(), expire(LATER));
    assertEquals(List.of(Source.LOOKUP), cache.list().stream().map(NameLookup::source).toList());
    add(8, WWW, START, "192.0.2.1");
    expire(LATER);
    assertFalse(add(9, WWW, LATER, "192.0.2.1"), "another endpoint's lookup does not matter");
    assertEquals(addresses("192.0.2.1"), cache.asked());
  }

  @Test
  void shouldKeepInUseWhatTheLimitsOfTheCacheRemove() {
    add(7, WWW, START, "192.0.2.1", "192.0.2.2");
    assertTrue(add(7, WWW, START.plusSeconds(5), "192.0.2.3", "192.0.2.4", "192.0.2.5"));
    assertHas(WWW, "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4");
    assertEquals(addresses("192.0.2.1", "192.0.2.2"), cache.asked());
    cache.found(addresses("192.0.2.1"));
    assertHas(WWW, "192.0.2.1", "192.0.2.3", "192.0.2.4");
    assertEquals(
        START.plusSeconds(5),
        cache.list().stream()
            .filter(one -> one.source() == Source.CONNECTION)
            .findFirst()
            .orElseThrow()
            .expirationTime());
    add(7, "b.example.com.", START, "192.0.2.6");
    add(7, "c.example.com.", START, "192.0.2.7");
    add(7, "d.example.com.", START, "192.0.2.8");
    assertEquals(addresses("192.0.2.1", "192.0.2.3", "192.0.2.4"), cache.asked());
    cache.found(addresses("192.0.2.3"));
    assertHas(WWW, "192.0.2.3");
  }

  @Test
  void shouldGiveUpThoseInUseThatCameFirst() {
    for (int i = 1; i <= 5; i++) {
      add(7 + i, WWW, START.plusSeconds(i), "192.0.2." + i);
      expire(LATER.plusSeconds(i));
    }
    assertHas(WWW, "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5");
    final String[] all = {"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"};
    sweep(all);
    assertHas(WWW, "192.0.2.3", "192.0.2.4", "192.0.2.5");
    assertEquals(Set.of(WWW), expire(LATER));
    add(9, API, START, "192.0.2.6");
    expire(LATER);
    sweep("192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6");
    assertHas(WWW, "192.0.2.4", "192.0.2.5");
    assertHas(API, "192.0.2.6");
  }

  private void assertTheFirstOfFourIsGivenUp() {
    assertHas("1.example.com.");
    assertHas("2.example.com.", "192.0.2.2");
    assertHas("3.example.com.", "192.0.2.3");
    assertHas("4.example.com.", "192.0.2.4");
  }

  @Test
  void shouldGiveUpTheFirstOfAllWhereTwoEndpointsHoldAsMany() {
    int at = 0;
    for (final int endpoint : new int[] {7, 8, 8, 7}) {
      at++;
      add(endpoint, at + ".example.com.", START.plusSeconds(at), "192.0.2." + at);
      expire(LATER.plusSeconds(at));
      sweep("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4");
    }
    assertTheFirstOfFourIsGivenUp();
  }

  @Test
  void shouldGiveUpTheFirstOfAllAmongThoseThatOneSearchHasFound() {
    int at = 0;
    for (final int endpoint : new int[] {8, 7, 7, 8}) {
      at++;
      add(endpoint, at + ".example.com.", START.plusSeconds(at), "192.0.2." + at);
      expire(LATER.plusSeconds(at));
    }
    sweep("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4");
    assertTheFirstOfFourIsGivenUp();
  }

  private void assertHealth(Level level, String message) {
    assertEquals(new HealthBoard.Reading(level, message), shares.read());
  }

  @Test
  void shouldLeaveOthersTheAddressesThatTheyHoldWhenOneEndpointTakesAllItCan() {
    cache = new NameCache(new NameCache.Limits(60, 2, 3, 100, 4), shares);
    add(8, API, START, "2001:db8::8");
    expire(LATER);
    sweep("2001:db8::8");
    final Set<String> used = new TreeSet<>(Set.of("2001:db8::8"));
    for (int i = 1; i <= 9; i++) {
      used.add("192.0.2." + i);
      add(7, "n" + i + ".example.com.", START.plusSeconds(i), "192.0.2." + i);
      expire(LATER.plusSeconds(i));
      sweep(used.toArray(String[]::new));
    }
    assertHas(API, "2001:db8::8");
    assertHas("n6.example.com.");
    assertHas("n7.example.com.", "192.0.2.7");
    assertHas("n8.example.com.", "192.0.2.8");
    assertHas("n9.example.com.", "192.0.2.9");
    assertEquals(4, shares.held());
    assertEquals(6, shares.givenUp());
    assertHealth(
        Level.DEGRADED,
        "share of expired addresses in use exhausted:"
            + " endpoint 7 (6 dropped that connections may still use)");
    add(8, WWW, START.plusSeconds(10), "2001:db8::9");
    expire(LATER.plusSeconds(10));
    used.add("2001:db8::9");
    sweep(used.toArray(String[]::new));
    assertHas(WWW, "2001:db8::9");
    assertHas(API, "2001:db8::8");
    assertHas("n7.example.com.");
    assertHas("n8.example.com.", "192.0.2.8");
    assertHas("n9.example.com.", "192.0.2.9");
  }

  @Test
  void shouldLeaveOthersTheirPlacesAmongThoseThatWaitForASearch() {
    cache = new NameCache(new NameCache.Limits(60, 10_000, 10), shares);
    add(8, API, START, "2001:db8::8", "192.0.2.8");
    expire(LATER);
    final int most = HeldAddresses.MOST_WAITING;
    fill(0, most);
    assertHas(API, "2001:db8::8", "192.0.2.8");
    assertEquals(most - 2, cache.addressesOf(WWW).size());
    assertFalse(cache.addressesOf(WWW).contains(IpAddress.ofIpv4(1)), "it waited longest");
    assertEquals(most, shares.held());
    assertEquals(2, shares.givenUp());
    sweep("2001:db8::8", "192.0.2.8");
    assertHas(API, "2001:db8::8", "192.0.2.8");
    assertEquals(2, shares.held());
    assertEquals(2, shares.givenUp(), "what no connection uses is no loss");
  }

  @Test
  void shouldTellEndpointsThatGaveUpAddressesForHalfAMinute() {
    assertHealth(Level.OK, "no endpoint has exhausted its share of expired addresses in use");
    shares.onGivenUp(9);
    nowNs += 29_000_000_000L;
    shares.onGivenUp(0);
    shares.onGivenUp(9);
    nowNs += 29_999_999_999L;
    assertHealth(
        Level.DEGRADED,
        "share of expired addresses in use exhausted: no endpoint (1 dropped that connections may still use),"
            + " endpoint 9 (2 dropped that connections may still use)");
    nowNs++;
    assertHealth(Level.OK, "no endpoint has exhausted its share of expired addresses in use");
    shares.onGivenUp(5);
    assertHealth(
        Level.DEGRADED,
        "share of expired addresses in use exhausted:"
            + " endpoint 5 (1 dropped that connections may still use)");
    assertEquals(4, shares.givenUp());
  }

  @Test
  void shouldForgetWhoGaveUpAddressesBeforeAlsoWhereItWasNotReadMeanwhile() {
    shares.onGivenUp(9);
    nowNs += 30_000_000_000L;
    shares.onGivenUp(5);
    assertHealth(
        Level.DEGRADED,
        "share of expired addresses in use exhausted:"
            + " endpoint 5 (1 dropped that connections may still use)");
  }

  @Test
  void shouldNotCountWhatEndsByItself() {
    add(7, WWW, START, "192.0.2.1", "192.0.2.2");
    expire(LATER);
    assertEquals(2, shares.held());
    add(7, WWW, LATER, "192.0.2.1");
    assertEquals(1, shares.held());
    cache.remove(NamePattern.parse("p", "*"));
    assertEquals(0, shares.held());
    assertEquals(0, shares.givenUp());
  }

  @Test
  void shouldWantSweepsSoonAndBoundWhatWaitsForThem() {
    cache = new NameCache(new NameCache.Limits(60, 10_000, 10), shares);
    final int most = HeldAddresses.MOST_WAITING;
    assertEquals(Set.of(), fill(0, most / 2));
    assertFalse(cache.isPressing());
    fill(most / 2, 1);
    assertTrue(cache.isPressing());
    assertEquals(Set.of(WWW), fill(most / 2 + 1, most / 2));
    assertEquals(most, cache.addressesOf(WWW).size());
    assertFalse(cache.addressesOf(WWW).contains(IpAddress.ofIpv4(0)), "it waited longest");
    sweep();
    assertFalse(cache.isPressing());
    assertHas(WWW);
  }

  /** Results of a search are taken in parts, and what they end is handed out in parts, too. */
  @Test
  void shouldJudgeThousandsByOneSearch() {
    cache = new NameCache(new NameCache.Limits(60, 10, 2_000), shares);
    final Set<IpAddress> odd = new TreeSet<>();
    for (int i = 0; i < 1_000; i++) {
      final IpAddress address = IpAddress.ofIpv4(i);
      cache.add(cache.lookup(7, i + ".example.com.", List.of(address), 5, START, Source.LOOKUP));
      if (i % 2 == 1) {
        odd.add(address);
      }
    }
    assertEquals(Set.of(), cache.expire(LATER, 1_000));
    for (int search = 0; search < 2; search++) {
      assertEquals(search == 0 ? 1_000 : 500, cache.asked().size());
      cache.found(odd);
    }
    final Set<String> lost = new TreeSet<>(cache.expire(LATER, 400));
    assertEquals(400, lost.size());
    assertTrue(cache.hasEnding(START), "names that have lost addresses");
    lost.addAll(cache.expire(LATER, 400));
    assertEquals(500, lost.size());
    assertEquals(Set.of(), cache.expire(LATER, 400));
    assertEquals(odd, cache.asked());
    assertEquals(500, cache.addresses().size());
    lost.forEach(name -> assertHas(name));
  }

  /** Addresses whose time ends; returns the names that have lost one. */
  private Set<String> fill(int first, int count) {
    final List<IpAddress> some =
        IntStream.range(first, first + count).mapToObj(IpAddress::ofIpv4).toList();
    cache.add(cache.lookup(7, WWW, some, 5, START, Source.LOOKUP));
    return expire(LATER);
  }

  @Test
  void shouldRemoveWhatIsInUseByTheNameAlone() {
    add(7, WWW, START, "192.0.2.1");
    add(7, API, START, "192.0.2.1");
    expire(LATER);
    sweep("192.0.2.1");
    final List<NameLookup> removed = cache.remove(NamePattern.parse("p", "www.example.com"));
    assertEquals(1, removed.size());
    assertHas(WWW);
    assertHas(API, "192.0.2.1");
    removed.forEach(cache::add);
    assertHas(WWW, "192.0.2.1");
    assertEquals(Source.CONNECTION, cache.list().getLast().source());
    sweep();
    assertHas(WWW);
  }

  @Test
  void shouldKeepOfARemovedEndpointWhatConnectionsUse() {
    add(7, WWW, START, "192.0.2.1", "192.0.2.2");
    expire(LATER);
    sweep("192.0.2.1", "192.0.2.2");
    add(7, API, LATER, "192.0.2.3", "192.0.2.4");
    add(8, API, LATER, "192.0.2.4");
    assertEquals(3, cache.removeOf(id -> id == 7, LATER.plusSeconds(5)).size());
    assertEquals(List.of(), cache.list(7));
    assertHas(WWW, "192.0.2.1", "192.0.2.2");
    assertEquals(addresses("192.0.2.1", "192.0.2.2", "192.0.2.3"), cache.asked());
    cache.found(addresses("192.0.2.1"));
    assertEquals(Set.of(WWW, API), expire(LATER));
    assertHas(WWW, "192.0.2.1");
    assertHas(API, "192.0.2.4");
    assertEquals(0, cache.list().getLast().endpointId());
    cache.removeOf(id -> true, LATER);
    sweep();
    assertHas(WWW);
    assertHas(API);
  }
}
