package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The scripts by which targets of the Makefile fail where a test did not run or found too little,
 * and print which ones took long.
 */
class BuildScriptsTest {
  private static final Path SCRIPTS = Path.of("../../.build").toAbsolutePath().normalize();
  private static final String REPORT = "<testsuite name=\"a.FooTest\" tests=\"3\" skipped=\"%d\">";

  @TempDir private Path project;

  private record Ended(int status, String output) {}

  private Ended run(String script, String... arguments) throws Exception {
    final List<String> line = new ArrayList<>(List.of(SCRIPTS.resolve(script).toString()));
    line.addAll(List.of(arguments));
    final ProcessBuilder builder = new ProcessBuilder(line).redirectErrorStream(true);
    builder.environment().put("PROJECT", project.toString());
    builder.environment().put("FLOOR", "95");
    final Process process = builder.start();
    final String output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Ended(process.waitFor(), output);
  }

  private Path write(String file, String content) throws IOException {
    final Path path = project.resolve(file);
    Files.createDirectories(path.getParent());
    return Files.writeString(path, content);
  }

  private Ended runFooTest(String command) throws Exception {
    return run("named-tests", "module/FooTest", "--", "sh", "-c", command);
  }

  @Test
  void shouldFailWhereANamedTestDidNotRun() throws Exception {
    final String ran = write("ran.xml", REPORT.formatted(1)).toString();
    final String skipped = write("skipped.xml", REPORT.formatted(3)).toString();
    final Path report =
        write("module/target/surefire-reports/TEST-a.FooTest.xml", REPORT.formatted(1));
    final Ended stale = runFooTest("true");
    assertEquals(1, stale.status(), "the report of an earlier run");
    assertEquals("module/FooTest: no test of it ran\n", stale.output());
    assertEquals(0, runFooTest("cp " + ran + " " + report).status());
    assertEquals(1, runFooTest("cp " + skipped + " " + report).status(), "all were skipped");
    assertEquals(7, runFooTest("cp " + ran + " " + report + "; exit 7").status());
  }

  /** Writes a report so many seconds after the epoch. */
  private void report(String module, String name, String seconds, long at) throws IOException {
    final Path report =
        write(
            module + "/target/surefire-reports/TEST-a." + name + ".xml",
            """
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuite version="3.0.2" name="a.%s" time="%s" tests="3" errors="0" skipped="0">
          <testcase name="shouldDoIt" classname="a.%s" time="99.5"/>
        </testsuite>
        """
                .formatted(name, seconds, name));
    Files.setLastModifiedTime(report, FileTime.from(at, TimeUnit.SECONDS));
  }

  @Test
  void shouldPrintTheSlowestClassesOfARun() throws Exception {
    final Path start = write("target/test-start", "");
    Files.setLastModifiedTime(start, FileTime.from(1000, TimeUnit.SECONDS));
    report("maps", "StaleTest", "900.0", 999);
    report("maps", "FastTest", "0.125", 1001);
    report("datapath/manager", "SlowTest", "1,234.5", 1001);
    report("api-shell/launcher", "MiddleTest", "45.678", 1002);
    assertEquals(
        """
        The slowest test classes, in seconds:
           1234.5  a.SlowTest
             45.7  a.MiddleTest
        """,
        run("slowest-classes", start.toString(), "2").output());
    final String all = run("slowest-classes", start.toString()).output();
    assertTrue(all.endsWith("      0.1  a.FastTest\n"), all);
  }

  private void mutations(String module, String part, int killed, int survived) throws IOException {
    write(
        module + "/target/pit-reports" + part + "/mutations.csv",
        "A.java,a.A,M,m,1,KILLED,t\n".repeat(killed)
            + "A.java,a.A,M,m,2,SURVIVED,none\n".repeat(survived));
  }

  @Test
  void shouldFailBelowTheFloorOfAModule() throws Exception {
    assertEquals(1, run("mutation-scores").status(), "no report");
    mutations("maps", "", 19, 1);
    assertEquals(0, run("mutation-scores").status(), "95 % are enough");
    mutations("conntrack", "", 189, 11);
    final Ended below = run("mutation-scores");
    assertEquals(1, below.status());
    assertTrue(below.output().contains("  94.5%     94.5%  BELOW 95%"), below.output());
    assertEquals(1, below.output().split("BELOW", -1).length - 1, below.output());
  }

  @Test
  void shouldAddUpTheReportsOfTheParts() throws Exception {
    mutations("server", "/first", 100, 0);
    mutations("server", "/second", 90, 10);
    final Ended passed = run("mutation-scores");
    assertEquals(0, passed.status(), "95 % of all: " + passed.output());
    assertTrue(passed.output().contains("server   "), passed.output());
    assertTrue(passed.output().contains(" 200     200      190  95.0%"), passed.output());
    mutations("server", "/third", 9, 1);
    assertEquals(1, run("mutation-scores").status());
  }
}
