package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.output.JsonTreeWriter;
import agent.cli.output.Terminal;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The output formats, and what an output that cannot be written means. */
@Timeout(60)
class FormatTest {
  private static final String METRICS =
      """
      [{"name":"a_total","value":3.0,"labels":{"x":"y"}},{"name":"b","value":0.5},
       {"name":"a_max","value":7.0}]
      """;

  private static final String CONTENTS =
      """
      {"name":"m","entries":4,"cache":[
        {"key":"10.1.0.10:80","value":"identity 9","desired-action":"ok"},
        {"key":"10.1.0.9:80","value":"identity 10","desired-action":"insert","last-error":"ENOSPC"},
        {"key":"10.1.0.9:443","value":"identity 10","desired-action":"ok"},
        {"key":"fd00::7","value":"identity 1","desired-action":"ok"}],"type":"hash"}
      """;

  private CliFixture agent;

  @BeforeEach
  void start() throws IOException {
    agent = new CliFixture();
    agent.on("GET /metrics/", METRICS).on("GET /map/m", CONTENTS);
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private String output(String line) {
    return agent.output(AgentCtl.OK, line);
  }

  private List<String> keys(String options) {
    final String csv = output("map get m -o csv " + options);
    return csv.lines().skip(1).map(line -> line.split(",")[0]).toList();
  }

  @Test
  void shouldPrintYamlCsvAndTheValuesOfAPath() {
    assertTrue(output("metrics list -o yaml").startsWith("- name: a_total\n  value: 3.0\n"));
    assertEquals(
        "METRIC,VALUE,LABELS\na_total,3,x=y\nb,0.5,\na_max,7,\n", output("metrics list -o csv"));
    assertEquals("a_total\nb\na_max\n", output("metrics list -o jsonpath=.[*].name"));
    assertEquals(
        "hash 4", output("map get m -o jsonpath={.type}\u00a0{.entries}").replace('\u00a0', ' '));
    assertEquals("identity 1\n", output("map get m -o jsonpath=.cache[?(@.key=='fd00::7')].value"));
  }

  @Test
  void shouldFilterDocumentsToo() {
    assertEquals("a_total\na_max\n", output("metrics list a_ -o jsonpath=.[*].name"));
    final String json = output("metrics list a_ -o json");
    assertTrue(json.contains("a_max") && json.contains("7.0"), json);
    assertFalse(json.contains("\"b\""), json);
    assertEquals("- name: b\n  value: 0.5\n", output("metrics list b -o yaml"));
    final String contents = output("map get m --filter 443 -o json");
    assertTrue(contents.startsWith("{\n  \"name\": \"m\",\n  \"entries\": 4,"), contents);
    assertTrue(contents.endsWith("],\n  \"type\": \"hash\"\n}\n"), contents);
    assertEquals(1, contents.split("\"key\"", -1).length - 1, contents);
    assertEquals(
        "10.1.0.9:80\n10.1.0.9:443\n",
        output("map get m --filter 10.1.0.9: -o jsonpath=.cache[*].key"));
  }

  @Test
  void shouldFilterSortAndLimitTheEntriesOfAMap() {
    assertEquals(List.of("10.1.0.9:80", "10.1.0.9:443"), keys("--filter identity --filter 0.9"));
    assertEquals(List.of("10.1.0.9:80", "10.1.0.9:443"), keys("--filter identity,0.9"));
    assertEquals(
        List.of("10.1.0.9:80", "10.1.0.9:443", "10.1.0.10:80", "fd00::7"), keys("--sort key"));
    assertEquals(
        List.of("fd00::7", "10.1.0.10:80", "10.1.0.9:80", "10.1.0.9:443"), keys("--sort value"));
    assertEquals("10.1.0.9:80", keys("--sort state").getFirst());
    assertEquals(List.of("10.1.0.10:80", "10.1.0.9:80"), keys("--limit 2"));
    assertEquals(List.of("10.1.0.9:80"), keys("--sort key --limit 1"));
    final String yaml = output("map get m --sort key --limit 1 -o yaml");
    assertTrue(yaml.startsWith("name: m\nentries: 4\ncache:\n  - key: \"10.1.0.9:80\"\n"), yaml);
    agent.output(AgentCtl.USAGE_ERROR, "map get m --limit 0");
    agent.output(AgentCtl.USAGE_ERROR, "map get m --sort size");
  }

  /** A key that another one begins with is before it; digits are before letters. */
  @Test
  void shouldSortKeysThatBeginAlike() {
    agent.on(
        "GET /map/m",
        "{\"cache\":["
            + List.of("b", "a10", "a", "ab", "10.1.0", "a1", "10.1", "a01b", "").stream()
                .map(key -> "{\"key\":\"" + key + "\",\"value\":\"identity\"}")
                .collect(Collectors.joining(","))
            + "]}");
    assertEquals(
        List.of("-", "10.1", "10.1.0", "a", "a1", "a01b", "a10", "ab", "b"), keys("--sort key"));
  }

  @Test
  void shouldSayWhereAPathLeadsToNothing() {
    agent.output(AgentCtl.FAILURE, "map get m -o jsonpath=.nothing");
    assertEquals("Error: the answer contains nothing at the path\n", agent.err());
    agent.output(AgentCtl.USAGE_ERROR, "map get m -o jsonpath=.a[");
    assertTrue(agent.err().startsWith("--output: '.a[': "), agent.err());
  }

  @Test
  void shouldCutAndColourOnATerminalAndShowAllWhereWideIsAskedFor() {
    agent.on(
        "GET /endpoint",
        "[{\"id\":7,\"status\":{\"state\":\"ready\",\"identity\":{\"id\":1,\"labels\":[\""
            + "x".repeat(200)
            + "\"]}}}]");
    agent.on(new Terminal(80, true, false, InstantSource.fixed(CliFixture.NOW)));
    final String cut = output("endpoint list");
    assertTrue(cut.contains("\u001b[32mready\u001b[0m"), cut);
    cut.lines()
        .forEach(line -> assertTrue(line.replaceAll("\u001b\\[[0-9]+m", "").length() <= 80, line));
    assertTrue(cut.contains("…"), cut);
    assertTrue(output("endpoint list -o wide").contains("x".repeat(200)));
    assertFalse(output("endpoint list -o json").contains("\u001b"));
  }

  /** A device that is always full. */
  @Test
  void shouldEndWithOneWhereTheOutputCannotBeWritten() throws IOException {
    for (final String command :
        List.of("metrics list", "metrics list -o json", "version", "help")) {
      agent.err.reset();
      try (OutputStream full = new FileOutputStream("/dev/full");
          PrintStream out = new PrintStream(full, false);
          PrintStream err = new PrintStream(agent.err, true, StandardCharsets.UTF_8)) {
        final List<String> words = List.of((command + " -H " + agent.address()).split(" "));
        assertEquals(AgentCtl.FAILURE, agent.run(out, err, Map.of(), words), command);
      } catch (IOException expected) {
        // closing the device fails, too
      }
      assertEquals(
          "Error: standard output cannot be written: is the disk full?\n", agent.err(), command);
    }
  }

  @Test
  void shouldNotReportAReaderThatLeft(@TempDir Path directory) throws IOException {
    agent.writingTo(Files.createSymbolicLink(directory.resolve("1"), Path.of("pipe:[7]")));
    try (PrintStream out = new PrintStream(new FileOutputStream("/dev/full"), false);
        PrintStream err = new PrintStream(agent.err, true, StandardCharsets.UTF_8)) {
      assertEquals(AgentCtl.FAILURE, agent.run(out, err, Map.of(), List.of("version")));
    }
    assertEquals("", agent.err());
  }

  @Test
  void shouldGiveRulesAsTheyAreTakenInEveryFormat(@TempDir Path directory) throws IOException {
    final String rules =
        "[{\"endpointSelector\":{\"matchLabels\":{\"app\":\"web\",\"v\":\"1.10\"}},\"ingress\":[{}]}]";
    agent.on("GET /policy", "{\"policy\":" + JsonTreeWriter.compact(rules) + ",\"revision\":8}");
    agent.on("PUT /policy", "{\"policy\":\"[]\",\"revision\":9}");
    for (final String format : List.of("", " -o json", " -o yaml", " -o table", " -o wide")) {
      final Path file =
          Files.writeString(directory.resolve("rules"), output("policy get" + format));
      output("policy import " + file);
      assertTrue(agent.requests().getLast().endsWith("\r\n\r\n" + rules), format);
    }
    assertEquals("1.10\n", output("policy get -o jsonpath=.[0].endpointSelector.matchLabels.v"));
    assertEquals(
        """
        LABELS  ENDPOINTS       INGRESS  EGRESS  INGRESS-DENY  EGRESS-DENY  SOURCE  DESCRIPTION
        -       app=web,v=1.10  1        -       -             -            api     -
        """,
        output("policy list"));
    final String more =
        """
        [{"endpointSelector":{},"labels":[{"source":"user","key":"name","value":"x"},{"key":"y"}],
          "egress":[{},{}],"ingressDeny":[{},{},{}],"egressDeny":[{}],"description":"d","source":"file:shop.yaml"},
         {"endpointSelector":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}]
        """;
    agent.on("GET /policy", "{\"policy\":" + JsonTreeWriter.compact(more) + ",\"revision\":8}");
    assertEquals(
        """
        LABELS,ENDPOINTS,INGRESS,EGRESS,INGRESS-DENY,EGRESS-DENY,SOURCE,DESCRIPTION
        "user:name=x,y",all,,2,3,1,file:shop.yaml,d
        -,"[{""key"":""a"",""operator"":""Exists""}]",,,,,api,
        """,
        output("policy list -o csv"));
  }
}
