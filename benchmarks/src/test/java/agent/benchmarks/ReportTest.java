package agent.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class ReportTest {
  @Test
  void shouldAlignTheColumns() {
    final Report report = new Report("Times", "work", "ns");
    report.row("a", "1000");
    report.row("longer", "2");

    assertEquals(
        """
        ## Times

        | work   | ns   |
        |--------|------|
        | a      | 1000 |
        | longer | 2    |
        """,
        report.toString());
    assertThrows(IllegalArgumentException.class, () -> report.row("one cell"));
  }

  @Test
  void shouldRoundFiguresToSignificantDigits() {
    assertEquals("3.2", Report.figure(3.24));
    assertEquals("1034", Report.figure(1033.6));
    assertEquals("–", Report.figure(Double.NaN));
    assertEquals("5.7x", Report.ratio(459, 80));
    assertEquals("–", Report.ratio(459, 0));
  }
}
