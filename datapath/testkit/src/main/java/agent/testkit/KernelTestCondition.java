package agent.testkit;

import java.lang.module.ModuleDescriptor.Version;
import java.util.Optional;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** Decides whether a kernel test can run; prints the reason of a skip. */
final class KernelTestCondition implements ExecutionCondition {
  private static final Optional<String> MISSING = SystemCalls.whyNoKernelTests();

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    final String since =
        AnnotationSupport.findAnnotation(context.getElement(), KernelTest.class)
            .map(KernelTest::since)
            .orElse("");
    final String test = context.getDisplayName();
    final ConditionEvaluationResult result =
        isOlder(System.getProperty("os.version"), since)
            ? ConditionEvaluationResult.disabled(
                "kernel test " + test + " needs a feature of Linux " + since)
            : decide(test, MISSING, "true".equalsIgnoreCase(System.getenv("CI")));
    if (result.isDisabled()) {
      System.out.println("SKIPPED " + result.getReason().orElseThrow());
    }
    return result;
  }

  /** Returns whether a kernel release, as {@code uname -r} prints it, is older than a version. */
  static boolean isOlder(String release, String version) {
    return !version.isEmpty()
        && Version.parse(release.replaceFirst("^(\\d+\\.\\d+).*", "$1"))
                .compareTo(Version.parse(version))
            < 0;
  }

  static ConditionEvaluationResult decide(String test, Optional<String> missing, boolean mustRun) {
    if (missing.isEmpty()) {
      return ConditionEvaluationResult.enabled("root and BPF are available");
    }
    final String reason = "kernel test " + test + " cannot run: " + missing.get();
    if (mustRun) {
      throw new IllegalStateException(reason + " (CI=true, so this is a failure)");
    }
    return ConditionEvaluationResult.disabled(reason);
  }
}
