package agent.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;

class KernelTestConditionTest {
  @Test
  void shouldRunWhereNothingIsMissing() {
    assertFalse(KernelTestCondition.decide("t", Optional.empty(), true).isDisabled());
  }

  @Test
  void shouldSkipWithTheReason() {
    final ConditionEvaluationResult result =
        KernelTestCondition.decide("t", Optional.of("not root"), false);
    assertTrue(result.isDisabled());
    assertEquals("kernel test t cannot run: not root", result.getReason().orElseThrow());
  }

  @Test
  void shouldFailInsteadOfSkippingWhereTheTestMustRun() {
    assertThrows(
        IllegalStateException.class,
        () -> KernelTestCondition.decide("t", Optional.of("not root"), true));
  }

  @Test
  void shouldCompareKernelsByNumbers() {
    assertTrue(KernelTestCondition.isOlder("6.1.0-56-amd64", "6.6"));
    assertFalse(KernelTestCondition.isOlder("6.6.0", "6.6"));
    assertFalse(KernelTestCondition.isOlder("6.18.44", "6.6"));
    assertTrue(KernelTestCondition.isOlder("5.15-rc1", "6.6"));
    assertFalse(KernelTestCondition.isOlder("6.1.0", ""));
  }
}
