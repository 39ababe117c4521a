package agent.testkit;

import java.util.Optional;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Decides whether a kernel test can run here; never in silence. */
final class KernelTestCondition implements ExecutionCondition {
  private static final Optional<String> MISSING = SystemCalls.whyNoKernelTests();

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(final ExtensionContext context) {
    final ConditionEvaluationResult result =
        decide(context.getDisplayName(), MISSING, "true".equalsIgnoreCase(System.getenv("CI")));
    if (result.isDisabled()) {
      System.out.println("SKIPPED " + result.getReason().orElseThrow());
    }
    return result;
  }

  static ConditionEvaluationResult decide(
      final String test, final Optional<String> missing, final boolean mustRun) {
    if (missing.isEmpty()) {
      return ConditionEvaluationResult.enabled("root and BPF are there");
    }
    final String reason = "kernel test " + test + " cannot run: " + missing.get();
    if (mustRun) {
      throw new IllegalStateException(reason + " (CI=true, so this is a failure)");
    }
    return ConditionEvaluationResult.disabled(reason);
  }
}
