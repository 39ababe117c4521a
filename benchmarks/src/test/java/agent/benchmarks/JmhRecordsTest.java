package agent.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which runs a run is compared with, and how the table shows it. */
class JmhRecordsTest {
  private static final LocalDateTime NOON = LocalDateTime.of(2026, 11, 29, 12, 0, 0);

  @TempDir private Path folder;

  private Path run(int hour, boolean isProfiled, String... results) throws IOException {
    final Path file = new JmhRecords(folder).next(NOON.withHour(hour), isProfiled);
    return Files.writeString(file, "[" + String.join(",", results) + "]");
  }

  private static String result(String method, String rules, String score, String error) {
    return """
        {"benchmark": "agent.a.B.%s", "params": {"rules": "%s"},
         "primaryMetric": {"score": %s, "scoreError": %s, "scoreUnit": "ns/op"},
         "secondaryMetrics": {"gc.alloc.rate.norm": {"rawData": [[3, 9000, 1], [2, 7]]}}}"""
        .formatted(method, rules, score, error);
  }

  /** Returns the cells of each row. */
  private List<String> rows(Path file) {
    return new JmhRecords(folder)
        .compare(file)
        .toString()
        .lines()
        .skip(4)
        .map(row -> row.replaceAll("^\\| +| +\\|$", "").replaceAll(" +\\| +", "|"))
        .collect(Collectors.toList());
  }

  @Test
  void shouldShowTheLatestScoreOfEachBenchmarkBeforeTheRun() throws IOException {
    run(8, false, result("get", "0", "30", "1"), result("put", "100", "50", "1"));
    run(9, false, result("get", "0", "20", "1"));
    run(13, false, result("get", "0", "1", "0"));
    final Path file =
        run(12, false, result("get", "0", "25", "2"), result("put", "100", "12345", "\"NaN\""));
    assertEquals(
        List.of(
            "B.get|25.00 ns|8 %|3|20.00 ns|1.25x|3|20261129-090000|slower",
            "B.put rules=100|12.3 us|–|3|50.00 ns|246.90x|3|20261129-080000|–"),
        rows(file));
  }

  @Test
  void shouldTellAChangeFromWhatLiesWithinTheErrors() throws IOException {
    run(8, false, result("get", "0", "20", "3"), result("put", "0", "20", "1"));
    final Path file = run(9, false, result("get", "0", "24", "2"), result("put", "0", "17", "1"));
    assertTrue(rows(file).getFirst().endsWith("|1.20x|3|20261129-080000|–"), rows(file).toString());
    assertTrue(rows(file).getLast().endsWith("|0.85x|3|20261129-080000|faster"));
  }

  @Test
  void shouldNotTellParametersApartByTheirClassAlone() throws IOException {
    run(8, false, result("get", "1", "20", "3"));
    assertEquals(
        List.of("B.get rules=100|5000000000.0 ms|1 %|3|–|–|–|–|–"),
        rows(run(9, false, result("get", "100", "5e15", "5e13"))));
  }

  @Test
  void shouldCompareWithNoProfiledAndNoInterruptedRun() throws IOException {
    run(8, false, result("get", "0", "20", "1"));
    run(9, true, result("get", "0", "99", "1"));
    Files.createFile(new JmhRecords(folder).next(NOON.withHour(10), false));
    final Path profiled = run(11, true, result("get", "0", "20", "1"));
    assertEquals(
        List.of("B.get|20.00 ns|5 %|3|20.00 ns|1.00x|3|20261129-080000|–"), rows(profiled));
  }

  @Test
  void shouldKeepTheRecordsWhereTheUserSays() throws IOException {
    final Path chosen = folder.resolve("a/b");
    assertEquals(
        chosen.resolve("jmh-20261129-120000.json"),
        JmhRecords.ofUser(Map.of("JMH_RECORDS", chosen.toString(), "XDG_CACHE_HOME", "/x"))
            .next(NOON, false));
    assertEquals(
        folder.resolve("agent-bench/jmh-20261129-120000.json"),
        JmhRecords.ofUser(Map.of("JMH_RECORDS", "", "XDG_CACHE_HOME", folder.toString()))
            .next(NOON, false));
  }
}
