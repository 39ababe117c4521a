package agent.datapath.manager.mutation;

import agent.bindings.bpf.LoadException;
import agent.datapath.manager.mutation.MutationWorker.Verdict;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/** Runs {@code Class#method}, or a class; returns the {@link Verdict} and a message. */
public final class MutationTests implements UnaryOperator<String> {
  private static final List<String> PACKAGES =
      List.of(
          "agent.datapath.programs.scenario.",
          "agent.datapath.manager.",
          "agent.conntrack.",
          "agent.endpoint.");
  private static final String TEST_TIMEOUT = System.getProperty("mutations.timeout", "60 s");

  private final Launcher launcher = LauncherFactory.create();

  @Override
  public String apply(String test) {
    final List<DiscoverySelector> selectors = selectors(test);
    if (selectors.isEmpty()) {
      return Verdict.INVALID + " there is no test " + test;
    }
    final LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(selectors)
            .configurationParameter("junit.jupiter.execution.timeout.default", TEST_TIMEOUT)
            .build();
    final SummaryGeneratingListener listener = new SummaryGeneratingListener();
    launcher.execute(request, listener);
    final TestExecutionSummary summary = listener.getSummary();
    for (final TestExecutionSummary.Failure failure : summary.getFailures()) {
      final Throwable cause = failure.getException();
      return (isRefusedByTheVerifier(cause) ? Verdict.INVALID : Verdict.FAILED) + " " + cause;
    }
    return summary.getTestsSucceededCount() == summary.getTestsFoundCount()
            && summary.getTestsFoundCount() > 0
        ? Verdict.PASSED.name()
        : Verdict.INVALID + " skipped: " + test;
  }

  private static boolean isRefusedByTheVerifier(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof LoadException) {
        return true;
      }
    }
    return false;
  }

  private static List<DiscoverySelector> selectors(String test) {
    final String[] parts = test.split("#");
    for (final String prefix : PACKAGES) {
      try {
        final Class<?> type = Class.forName(prefix + parts[0]);
        if (parts.length == 1) {
          return List.of(DiscoverySelectors.selectClass(type));
        }
        return Arrays.stream(type.getDeclaredMethods())
            .filter(method -> method.getName().equals(parts[1]) && !method.isSynthetic())
            .map(method -> (DiscoverySelector) DiscoverySelectors.selectMethod(type, method))
            .toList();
      } catch (ClassNotFoundException elsewhere) {
        // The class is in another package.
      }
    }
    return List.of();
  }
}
