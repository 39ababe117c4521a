package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.IpcacheEntry;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class NodePrefixesTest {
  private final NodePrefixes node = new NodePrefixes();

  private static IpcacheEntry entry(Prefix prefix, boolean isHost) {
    return new IpcacheEntry(prefix, 1, 0, isHost);
  }

  @Test
  void shouldTellWhetherItHasChanged() {
    final Prefix prefix = Prefix.parse("10.0.0.0/8");
    assertTrue(node.put(entry(prefix, true)));
    assertFalse(node.put(entry(prefix, true)));
    assertTrue(node.put(entry(prefix, false)));
    assertFalse(node.longest(true, 0, 10 << 24, 32).isHost());
    assertTrue(node.remove(prefix));
    assertFalse(node.remove(prefix));
    assertEquals(null, node.longest(true, 0, 10 << 24, 32));
  }

  /** Random prefixes of which many cover each other, against the answer of the prefixes. */
  @Test
  void shouldFindTheLongestPrefixThatCovers() {
    final Random random = new Random(7);
    final List<Prefix> prefixes = new ArrayList<>();
    int covered = 0;
    for (int i = 0; i < 20_000; i++) {
      if (i % 100 == 0) {
        prefixes.forEach(node::remove);
        prefixes.clear();
        for (int j = 0; j < 10; j++) {
          prefixes.add(random(random));
          node.put(entry(prefixes.getLast(), true));
        }
      }
      final Prefix sought = random(random);
      final Prefix longest =
          prefixes.stream()
              .filter(prefix -> prefix.covers(sought))
              .max(Comparator.comparingInt(Prefix::length))
              .orElse(null);
      final IpAddress address = sought.address();
      final IpcacheEntry found =
          node.longest(sought.isIpv4(), address.high(), address.low(), sought.length());
      assertEquals(longest, found == null ? null : found.prefix(), sought::toString);
      covered += found == null ? 0 : 1;
    }
    assertTrue(covered > 1000, covered + " covered");
  }

  /** Few bits differ, at the lowest and the highest places and at the border of both halves. */
  private static Prefix random(Random random) {
    if (random.nextBoolean()) {
      final int bits = 0x8000_0001 & random.nextInt() | 1 << random.nextInt(32) & random.nextInt();
      return Prefix.of(IpAddress.ofIpv4(bits), random.nextInt(33));
    }
    final long high = 0x8000_0000_0000_0001L & random.nextLong();
    final long low = 0x8000_0000_0000_0001L & random.nextLong();
    return Prefix.of(IpAddress.ofIpv6(high, low), random.nextInt(129));
  }
}
