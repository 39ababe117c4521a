package agent.cli.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TableTest {
  private static String printed(Terminal terminal, Object[]... rows) {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8)) {
      final Table table = new Table(out, terminal, "ID", "NAME", "LABELS");
      for (final Object[] row : rows) {
        table.row(row);
      }
      table.end();
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private static Terminal terminal(int columns, boolean hasColors) {
    return new Terminal(columns, hasColors, false, InstantSource.system());
  }

  private static final Object[] LONG = {
    7, "a-name-of-some-length", List.of("unspec:app=web", "unspec:tier=frontend")
  };

  @Test
  void shouldCutTheWidestColumnsUntilARowFits() {
    for (int columns = 24; columns <= 70; columns++) {
      final String text = printed(terminal(columns, false), LONG, new Object[] {12, "b", null});
      for (final String line : text.lines().toList()) {
        assertTrue(line.length() <= columns, columns + ": " + line);
      }
      assertEquals(columns < 62, text.contains("…"), columns + ": " + text);
    }
    assertEquals(
        """
        ID  NAME           LABELS
        7   a-name-of-so…  unspec:app=w…
        """,
        printed(terminal(32, false), new Object[][] {LONG}));
  }

  /** Of columns of one width the last gives way first. */
  @Test
  void shouldCutTheLastOfTheWidestColumns() {
    final Object[] row = {"abcdefghijklmnop", "abcdefghijklmnop", "abcdefghijklmnop"};
    assertEquals(
        "abcdefghijklmnop  abcdefghijklmnop  abcdefghijklmn…",
        printed(terminal(51, false), new Object[][] {row}).lines().toList().get(1).strip());
  }

  @Test
  void shouldKeepNarrowColumnsReadableAndCutNothingElsewhere() {
    final String text = printed(terminal(5, false), new Object[][] {LONG});
    assertEquals("7   a-name-…  unspec:…", text.lines().toList().get(1));
    assertTrue(
        printed(terminal(0, false), new Object[][] {LONG})
            .endsWith("7   a-name-of-some-length  unspec:app=web,unspec:tier=frontend\n"));
    assertEquals(0, terminal(40, true).unlimited().columns());
  }

  @Test
  void shouldColourStatesWithoutMovingTheColumns() {
    final String plain = printed(terminal(60, false), new Object[] {1, "ready", "x"});
    final String text = printed(terminal(60, true), new Object[] {1, "ready", "x"});
    assertTrue(text.contains("\u001b[32mready\u001b[0m"), text);
    assertEquals(plain, text.replaceAll("\u001b\\[[0-9]+m", ""));
    assertTrue(
        printed(terminal(60, true), new Object[] {1, "not-ready", "Warning"})
            .contains("\u001b[31mnot-ready\u001b[0m  \u001b[33mWarning\u001b[0m"));
  }

  @Test
  void shouldTakeWidthAndColoursFromTheEnvironment() {
    final Map<String, String> terminal = Map.of("AGENTCTL_COLUMNS", "100", "TERM", "xterm");
    assertEquals(100, Terminal.of(terminal).columns());
    assertTrue(Terminal.of(terminal).hasColors());
    assertTrue(Terminal.of(terminal).isInteractive());
    for (final Map<String, String> plain :
        List.of(
            Map.of("AGENTCTL_COLUMNS", "100", "NO_COLOR", "1"),
            Map.of("AGENTCTL_COLUMNS", "100", "TERM", "dumb"),
            Map.of("AGENTCTL_COLUMNS", ""),
            Map.of("AGENTCTL_COLUMNS", "x"),
            Map.<String, String>of())) {
      assertEquals(false, Terminal.of(plain).hasColors(), plain.toString());
    }
    assertTrue(
        Terminal.of(Map.of("AGENTCTL_COLUMNS", "100", "NO_COLOR", "")).hasColors(),
        "an empty NO_COLOR is none");
    assertTrue(Terminal.of(Map.of("AGENTCTL_PROGRESS", "yes")).showsProgress());
    assertEquals(false, Terminal.of(Map.of()).showsProgress());
  }

  @ParameterizedTest
  @CsvSource({
    "2026-11-20T06:05:00.000Z,0s",
    "2026-11-20T06:03:01.000Z,119s",
    "2026-11-20T06:03:00.000Z,2m",
    "2026-11-20T04:05:01.000Z,119m",
    "2026-11-20T04:05:00.000Z,2h",
    "2026-11-18T06:05:01.000Z,47h",
    "2026-11-18T06:05:00.000Z,2d",
    "2026-11-20T06:06:00.000Z,0s",
    "later,later"
  })
  void shouldShowTheTimeSince(String timestamp, String age) {
    assertEquals(age, Text.age(timestamp, Instant.parse("2026-11-20T06:05:00.000Z")));
    assertEquals("-", Text.age(null, Instant.EPOCH));
  }

  @Test
  void shouldQuoteValuesOfCsvWhereTheyNeedIt() {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8)) {
      new CsvRows(out, "A", "B").row("a,b", "say \"x\"").row(null, "c\nd").row("é", 5).end();
    }
    assertEquals(
        "A,B\n\"a,b\",\"say \"\"x\"\"\"\n,c?d\né,5\n", bytes.toString(StandardCharsets.UTF_8));
  }
}
