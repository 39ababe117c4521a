package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RateLimitsTest {
  private final AtomicLong nowNs = new AtomicLong(-5);

  @Test
  void shouldAllowTheRateAndThenTellWhenToComeAgain() {
    final RateLimits limits = RateLimits.parse(Map.of("endpoint", "2/s"), nowNs::get);
    assertEquals(0, limits.secondsUntilAllowed(OperationClass.ENDPOINT));
    assertEquals(0, limits.secondsUntilAllowed(OperationClass.ENDPOINT));
    assertEquals(1, limits.secondsUntilAllowed(OperationClass.ENDPOINT));
    nowNs.addAndGet(TimeUnit.MILLISECONDS.toNanos(500));
    assertEquals(0, limits.secondsUntilAllowed(OperationClass.ENDPOINT));
    assertEquals(1, limits.secondsUntilAllowed(OperationClass.ENDPOINT));
    nowNs.addAndGet(TimeUnit.HOURS.toNanos(1));
    assertEquals(0, limits.secondsUntilAllowed(OperationClass.ENDPOINT));
    assertEquals(0, limits.secondsUntilAllowed(OperationClass.ENDPOINT));
    assertEquals(1, limits.secondsUntilAllowed(OperationClass.ENDPOINT));
    assertEquals(0, limits.secondsUntilAllowed(OperationClass.READ));
  }

  @Test
  void shouldCountByTheMinute() {
    final RateLimits limits = RateLimits.parse(Map.of("policy", "6/m"), nowNs::get);
    assertEquals(0, limits.secondsUntilAllowed(OperationClass.POLICY));
    assertEquals(10, limits.secondsUntilAllowed(OperationClass.POLICY));
    nowNs.addAndGet(TimeUnit.SECONDS.toNanos(5));
    assertEquals(5, limits.secondsUntilAllowed(OperationClass.POLICY));
    nowNs.addAndGet(TimeUnit.SECONDS.toNanos(5));
    assertEquals(0, limits.secondsUntilAllowed(OperationClass.POLICY));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "0/s", "-1", "1/h", "x", "1.5", "/s", "99999999999"})
  void shouldRefuseWhatIsNoRate(String rate) {
    assertThrows(
        IllegalArgumentException.class, () -> RateLimits.parse(Map.of("read", rate), nowNs::get));
  }

  @Test
  void shouldNameTheClassesWhereOneIsUnknown() {
    final IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> RateLimits.parse(Map.of("reads", "1"), nowNs::get));
    assertEquals(
        "'reads' is not one of the operation classes"
            + " [read, endpoint, config, ipam, policy, prefilter, service]",
        refused.getMessage());
  }
}
