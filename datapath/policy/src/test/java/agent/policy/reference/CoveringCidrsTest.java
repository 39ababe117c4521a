package agent.policy.reference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Prefix;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Which addresses CIDRs of rules cover while rules come and go. */
class CoveringCidrsTest {
  private final CoveringCidrs cidrs = new CoveringCidrs();

  private static List<Prefix> prefixes(String... texts) {
    return Stream.of(texts).map(Prefix::parse).toList();
  }

  private boolean covers(String address) {
    return cidrs.cover(Prefix.parse(address));
  }

  @Test
  void shouldCoverWhatARuleNamesUntilTheLastOneIsGone() {
    assertEquals(prefixes("192.0.2.0/24"), cidrs.add(prefixes("192.0.2.0/24", "0.0.0.0/0")));
    assertEquals(prefixes("10.0.0.0/24"), cidrs.add(prefixes("192.0.2.0/24", "10.0.0.0/24")));
    assertTrue(covers("192.0.2.255/32"));
    assertFalse(covers("192.0.3.0/32"));
    assertFalse(covers("2001:db8::1/128"));
    assertEquals(List.of(), cidrs.remove(prefixes("192.0.2.0/24", "0.0.0.0/0")));
    assertTrue(covers("192.0.2.1/32"));
    assertEquals(prefixes("192.0.2.0/24"), cidrs.remove(prefixes("192.0.2.0/24")));
    assertFalse(covers("192.0.2.1/32"));
    assertTrue(covers("10.0.0.1/32"), "another one of the same length");
  }

  @Test
  void shouldCoverByTheShortestAndTheLongest() {
    cidrs.add(prefixes("128.0.0.0/1", "2001:db8::1/128"));
    assertTrue(covers("192.0.2.1/32"));
    assertFalse(covers("10.0.0.1/32"));
    assertTrue(covers("2001:db8::1/128"));
    assertFalse(covers("2001:db8::2/128"));
  }
}
