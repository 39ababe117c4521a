package agent.datapath.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The choice of consecutive ports. */
class ProxyPortsTest {
  @Test
  void shouldTryBasesOfTheWholeRangeUntilOneOpens() throws IOException {
    final TreeSet<Integer> tried = new TreeSet<>();
    final int opened =
        ProxyPorts.open(
            100,
            109,
            new Random(1),
            base -> {
              tried.add(base);
              if (tried.size() < 3) {
                throw new IOException("in use");
              }
              return base;
            });
    assertTrue(tried.contains(opened));
    assertEquals(new TreeSet<>(java.util.List.of(100, 101, 102)), tried);
  }

  @Test
  void shouldNameTheLastFailureWhereNoBaseOpens() {
    final IOException failure =
        assertThrows(
            IOException.class,
            () ->
                ProxyPorts.open(
                    10_000,
                    20_000,
                    new Random(1),
                    base -> {
                      throw new IOException("in use");
                    }));
    assertEquals(
        "no 8 consecutive ports from 10000 to 20000 can be bound: in use", failure.getMessage());
  }

  @Test
  void shouldRefuseARangeThatIsTooSmall() {
    for (final int last : new int[] {106, 99, 70_000}) {
      assertThrows(
          IllegalArgumentException.class,
          () -> ProxyPorts.open(100, last, new Random(1), base -> base));
    }
  }
}
