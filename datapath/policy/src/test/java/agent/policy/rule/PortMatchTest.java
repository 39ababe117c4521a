package agent.policy.rule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.PolicyPrefix;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PortMatchTest {
  @Test
  void shouldCoverARangeExactlyAndWithoutOverlap() {
    final Random random = new Random(16);
    for (int i = 0; i < 3_000; i++) {
      final int first = random.nextInt(65536);
      final int last = first + random.nextInt(65536 - first);
      final List<PortMatch> matches = PortMatch.range(6, first, last);
      assertTrue(matches.size() <= 30, matches::toString);
      int next = first;
      for (final PortMatch match : matches) {
        final int size = 1 << PolicyPrefix.PORT - match.prefixLength();
        assertEquals(next, match.port());
        assertEquals(0, match.port() % size);
        next += size;
      }
      assertEquals(last + 1, next);
    }
  }

  @Test
  void shouldUseTheFewestPrefixes() {
    assertEquals(List.of(PortMatch.ofProtocol(6)), PortMatch.range(6, 0, 65535));
    assertEquals(List.of(PortMatch.of(6, 80)), PortMatch.range(6, 80, 80));
    assertEquals(List.of(new PortMatch(6, 8192, 51)), PortMatch.range(6, 8192, 16383));
    assertEquals(16, PortMatch.range(6, 1, 65535).size());
  }

  @Test
  void shouldWidenStepByStepUpToEverything() {
    PortMatch match = PortMatch.of(17, 0xffff);
    for (int length = 63; length >= 48; length--) {
      match = match.parent();
      assertEquals(length, match.prefixLength());
      assertEquals(0xffff & 0xffff << 64 - length, match.port());
    }
    assertEquals(PortMatch.ofProtocol(17), match);
    assertEquals(PortMatch.ALL, match.parent());
    assertEquals(null, PortMatch.ALL.parent());
  }
}
