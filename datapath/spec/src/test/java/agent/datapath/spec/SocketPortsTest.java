package agent.datapath.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SocketPortsTest {
  @ParameterizedTest
  @CsvSource({
    "32768\t60999, 32768, 28232",
    "' 1024 61439 ', 1024, 60416",
    "1 2000, 1024, 977",
    "40000 40000, 40000, 1",
    "61440 65535, 61440, 4096"
  })
  void shouldReadTheRangeOfTheKernel(String range, int first, int count) {
    assertEquals(new SocketPorts(first, count), SocketPorts.parse(range));
  }

  /** Flows to one destination would have too few ports, and sockets are to have most of theirs. */
  @ParameterizedTest
  @CsvSource({
    "1024 61440, 16128, 45313",
    "1024 65535, 17152, 48384",
    "1 65535, 17152, 48384",
    "4000 65535, 19384, 46152"
  })
  void shouldShareARangeOfNearlyAllPortsWithMasqueradedFlows(String range, int first, int count) {
    assertEquals(new SocketPorts(first, count), SocketPorts.parse(range));
  }

  @Test
  void shouldRefuseARangeThatIsNone() {
    assertThrows(IllegalArgumentException.class, () -> new SocketPorts(1023, 10));
    assertThrows(IllegalArgumentException.class, () -> new SocketPorts(2000, -1));
    assertThrows(IllegalArgumentException.class, () -> new SocketPorts(65_535, 2));
    assertThrows(IllegalArgumentException.class, () -> new SocketPorts(1024, 60_417));
    assertEquals(1, new SocketPorts(65_535, 1).count());
    assertEquals(60_416, new SocketPorts(1024, 60_416).count());
  }
}
