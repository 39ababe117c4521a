package agent.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.IpAddress;
import java.util.HashSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PrefixListTest {
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldDistinguishCoveredFromUncoveredAddresses(boolean ipv6) {
    final PrefixList list = new PrefixList(ipv6, 500);
    assertEquals(500, new HashSet<>(list.prefixes()).size());
    for (int i = 0; i < 500; i++) {
      assertTrue(isCovered(list, list.inside()));
      assertFalse(isCovered(list, list.outside()));
    }
  }

  private static boolean isCovered(PrefixList list, IpAddress address) {
    return list.prefixes().stream().anyMatch(prefix -> prefix.contains(address));
  }
}
