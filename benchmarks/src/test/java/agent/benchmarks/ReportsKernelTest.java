package agent.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import org.junit.jupiter.api.Test;

/** The packets that the reports measure with have the verdicts of the packets that they are for. */
@KernelTest
class ReportsKernelTest {
  private static final int ABOVE_ROWS = 4;

  private static void assertRows(int rows, Report report) {
    final String text = report.toString();
    assertEquals(rows, text.lines().count() - ABOVE_ROWS, text);
    assertTrue(text.contains("of 4,000"), text);
  }

  @Test
  void shouldMeasureTheLoadBalancer() throws Exception {
    assertRows(12, BalancerReport.run());
  }

  @Test
  void shouldMeasureThePrograms() throws Exception {
    assertRows(23, ProgramReport.run());
  }
}
