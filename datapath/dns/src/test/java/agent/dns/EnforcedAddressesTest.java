package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.IpAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What rules use for certain of a name whose addresses change. */
class EnforcedAddressesTest {
  private static final String WWW = "www.example.com.";

  private final EnforcedAddresses enforced = new EnforcedAddresses();

  private static Set<IpAddress> addresses(String... texts) {
    return Arrays.stream(texts).map(IpAddress::parse).collect(Collectors.toSet());
  }

  private boolean has(String address) {
    return enforced.hasForCertain(WWW, List.of(IpAddress.parse(address)));
  }

  /** An answer with an address that is on its way out would be released, and then be of no use. */
  @Test
  void shouldHaveForCertainWhatANameHasBeforeAndAfterAChange() {
    final Map<String, Set<IpAddress>> change = Map.of(WWW, addresses("192.0.2.2", "2001:db8::3"));
    enforced.restore(WWW, addresses("192.0.2.1", "192.0.2.2"));
    assertTrue(has("192.0.2.1") && has("192.0.2.2"));
    enforced.begin(change);
    assertTrue(has("192.0.2.2"));
    assertFalse(has("192.0.2.1"), "it goes");
    assertFalse(has("2001:db8::3"), "it comes");
    assertEquals(change.get(WWW), enforced.of(WWW));
    enforced.settle(change);
    enforced.end(change.keySet());
    assertTrue(has("192.0.2.2") && has("2001:db8::3"));
    assertFalse(has("192.0.2.1"));
  }
}
