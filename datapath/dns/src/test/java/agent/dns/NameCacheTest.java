package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.NameLookup.Source;
import agent.policy.NamePattern;
import agent.types.IpAddress;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class NameCacheTest {
  private static final Instant START = Instant.parse("2026-11-20T10:00:00Z");
  private static final String WWW = "www.example.com.";

  private final NameCache cache = new NameCache(60, 3);

  private static List<IpAddress> addresses(String... texts) {
    return Arrays.stream(texts).map(IpAddress::parse).toList();
  }

  private boolean add(String name, long ttlSec, long atSec, String... texts) {
    return cache.add(name, addresses(texts), ttlSec, START.plusSeconds(atSec), Source.LOOKUP);
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
    assertFalse(cache.add(WWW, List.of(), 100, START, Source.LOOKUP));
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
  void shouldExpireABoundedNumberInOneCall() {
    for (int i = 0; i < 10; i++) {
      add("n" + i + ".example.com.", 60, i, "192.0.2." + i);
    }
    assertEquals(4, cache.expire(START.plusSeconds(1000), 4).size());
    assertEquals(6, cache.list().size());
    assertEquals(6, cache.expire(START.plusSeconds(1000), 100).size());
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
}
