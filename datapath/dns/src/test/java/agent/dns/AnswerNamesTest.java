package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.NameLookup.Source;
import agent.types.IpAddress;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which answers are already waiting for the rules, by what the rules have and for how long. */
class AnswerNamesTest {
  private static final Instant START = Instant.parse("2026-11-20T10:00:00Z");
  private static final String WWW = "www.example.com.";
  private static final String CDN = "cdn.example.net.";

  private final AtomicReference<Instant> now = new AtomicReference<>(START);
  private final NameCache cache =
      new NameCache(new NameCache.Limits(60, 3, 0), new HeldShares(() -> 0));
  private final EnforcedAddresses enforced = new EnforcedAddresses();
  private final AnswerNames names =
      new AnswerNames(
          new NamesContext().clocks(now::get, System::nanoTime).conclude(), cache, enforced);

  private void add(String name, IpAddress address) {
    cache.add(cache.lookup(7, name, List.of(address), 60, START, Source.LOOKUP));
  }

  /** An address that expires within 5 seconds would be closed before the client has used it. */
  @ParameterizedTest
  @ValueSource(strings = {"192.0.2.1", "2001:db8::1"})
  void shouldNotWaitForAddressesThatStayForMoreThanFiveSeconds(String text) {
    final IpAddress address = IpAddress.parse(text);
    add(WWW, address);
    assertFalse(names.areSettled(List.of(WWW), List.of(address)), "the rules have not got it");
    enforced.restore(WWW, Set.of(address));
    now.set(START.plusSeconds(55).minusNanos(1));
    assertTrue(names.areSettled(List.of(WWW), List.of(address)));
    now.set(START.plusSeconds(55));
    assertFalse(names.areSettled(List.of(WWW), List.of(address)));
  }

  @Test
  void shouldWaitWhereOneNameOrOneAddressIsMissing() {
    final IpAddress one = IpAddress.parse("192.0.2.1");
    final IpAddress other = IpAddress.parse("192.0.2.2");
    add(WWW, one);
    enforced.restore(WWW, Set.of(one));
    assertTrue(names.areSettled(List.of(WWW), List.of(one)));
    assertFalse(names.areSettled(List.of(WWW), List.of(one, other)));
    assertFalse(names.areSettled(List.of(WWW, CDN), List.of(one)));
    assertEquals(Set.of(one), names.applied(List.of(WWW), Set.of(one, other)));
    assertEquals(Set.of(), names.applied(List.of(WWW, CDN), Set.of(one)));
  }
}
