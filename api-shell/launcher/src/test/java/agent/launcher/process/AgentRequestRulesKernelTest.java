package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Rules for the fields of requests, from the API to the wire, and what the API says of them. */
@KernelTest
class AgentRequestRulesKernelTest {
  private static final int PORT = 8080;

  private static final String RULES =
      """
      [{"labels": [{"key": "name", "value": "fields"}],
        "endpointSelector": {"matchLabels": {"app": "server"}},
        "ingress": [{"toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}],
          "rules": {"http": [{"method": "GET", "path": "/fields", "host": "server[0-9]+",
            "headers": ["X-Team: red", "X-Trace"],
            "headerMatches": [{"name": "X-Must", "value": "exact"},
              {"name": "X-Log", "value": "yes", "mismatch": "LOG"},
              {"name": "X-Add", "value": "added", "mismatch": "ADD"},
              {"name": "X-Delete", "value": "kept", "mismatch": "DELETE"},
              {"name": "X-Replace", "value": "right", "mismatch": "REPLACE"}]}]}}]}]}]
      """;

  private static final List<String> MATCHING =
      List.of(
          "Host: server12",
          "X-Team: red",
          "X-Trace: 7",
          "X-Must: exact",
          "X-Delete: other",
          "X-Delete: another",
          "X-Replace: wrong",
          "X-Replace: false");

  @TempDir private Path directory;
  private TestNode node;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;
  private HttpOrigin origin;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    launch();
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    origin = HttpOrigin.start(server.namespace(), PORT);
    node.keep(origin);
  }

  private void launch(String... options) throws Exception {
    final List<String> all = new ArrayList<>(List.of("--access-log=" + log()));
    all.addAll(List.of(options));
    agent = node.launch(all.toArray(String[]::new)).ready();
  }

  private Path log() {
    return directory.resolve("access.log");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private int status(String address, List<String> fields) {
    final List<String> line =
        new ArrayList<>(List.of("curl", "-sS", "-g", "-m", "8", "-o", "/dev/null"));
    line.addAll(List.of("-w", "%{http_code}"));
    fields.forEach(field -> line.addAll(List.of("-H", field)));
    line.add(
        "http://" + (address.indexOf(':') < 0 ? address : "[" + address + "]") + ":8080/fields");
    final String output = client.namespace().attempt(line.toArray(String[]::new)).output().strip();
    return Integer.parseInt(output);
  }

  private static List<String> replaced(String field, String other) {
    return MATCHING.stream()
        .map(each -> each.equals(field) ? other : each)
        .filter(each -> !each.isEmpty())
        .toList();
  }

  private void assertJudged() throws Exception {
    for (final String address : List.of(server.ipv4(), server.ipv6())) {
      assertEquals(200, status(address, MATCHING), agent.log());
      final Map<String, List<String>> fields = origin.lastFields();
      assertEquals(List.of("added"), fields.get("X-add"), fields.toString());
      assertEquals(List.of("right"), fields.get("X-replace"), fields.toString());
      assertEquals(List.of("server12"), fields.get("Host"), fields.toString());
      assertFalse(fields.containsKey("X-delete") || fields.containsKey("X-log"), fields.toString());
      final int reached = origin.requests().size();
      assertEquals(403, status(address, replaced("X-Team: red", "X-Team: blue")));
      assertEquals(403, status(address, replaced("X-Trace: 7", "")));
      assertEquals(403, status(address, replaced("X-Must: exact", "X-Must: exactly")));
      assertEquals(403, status(address, replaced("Host: server12", "Host: server")));
      assertEquals(reached, origin.requests().size());
    }
  }

  /** The lines of the log, when a thread of its own has written that many of them. */
  private List<String> logged(int count) throws Exception {
    final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(8);
    while (Files.readAllLines(log()).size() < count && System.nanoTime() < deadline) {
      Thread.sleep(20);
    }
    final List<String> lines = Files.readAllLines(log());
    assertEquals(count, lines.size(), lines.toString());
    return lines;
  }

  /** The rules are stored, too: the next run does the same. */
  @Test
  void shouldJudgeAndChangeTheFieldsOfRequests() throws Exception {
    agent.expect(200, "PUT", "/policy", RULES);
    assertJudged();
    final List<String> lines = logged(10);
    final JsonNode first = new JsonMapper().readTree(lines.getFirst());
    assertEquals("Forwarded", first.get("verdict").asString(), first.toString());
    assertEquals("X-Log", first.at("/missingHeaders/0").asString(), first.toString());
    assertEquals(1, first.get("missingHeaders").size(), first.toString());
    final JsonNode rules = agent.expect(200, "GET", "/policy", null).json();
    agent.kill();
    launch();
    assertEquals(rules, agent.expect(200, "GET", "/policy", null).json());
    assertJudged();
  }

  /** Returns the status of requests for paths, and whether the server got them as they are. */
  private Map<String, String> answers(String address, List<String> paths) {
    final Map<String, String> answers = new TreeMap<>();
    for (final String path : paths) {
      origin.requests().clear();
      final String url = "http://" + (address.contains(":") ? "[" + address + "]" : address);
      final String status =
          client
              .namespace()
              .attempt(
                  "curl",
                  "-sSg",
                  "--path-as-is",
                  "-m",
                  "8",
                  "-o",
                  "/dev/null",
                  "-w",
                  "%{http_code}",
                  url + ":8080" + path)
              .output()
              .strip();
      answers.put(path, status + (origin.requests().equals(List.of("GET " + path)) ? " sent" : ""));
    }
    return answers;
  }

  @Test
  void shouldSendEscapedSlashesOnWhereTheOptionSaysSo() throws Exception {
    final String rules = RULES.replaceFirst("(?s)\"method\".*REPLACE\"}]", "\"path\": \"/a%2f.*\"");
    final String never = "http[0].path: '/a%2f.*' matches no path";
    final String warned = agent.expect(200, "PUT", "/policy", rules).text();
    assertTrue(warned.contains(never), warned);
    final List<String> paths =
        List.of("/a%2fb", "/a%2F", "/a%252fb", "/a/b", "/a%2f../b", "/a%2fb%5c..%2f");
    for (final String address : List.of(server.ipv4(), server.ipv6())) {
      assertEquals(
          "{/a%252fb=403, /a%2F=400, /a%2f../b=400, /a%2fb=400, /a%2fb%5c..%2f=400, /a/b=403}",
          answers(address, paths).toString());
    }
    agent.kill();
    launch("--http-escaped-slashes=keep");
    final String kept = agent.expect(200, "PUT", "/policy", rules).text();
    assertFalse(kept.contains(never), kept);
    for (final String address : List.of(server.ipv4(), server.ipv6())) {
      assertEquals(
          "{/a%252fb=403, /a%2F=403, /a%2f../b=400, /a%2fb=200 sent, /a%2fb%5c..%2f=400, /a/b=403}",
          answers(address, paths).toString());
    }
  }

  @Test
  void shouldRefuseRulesThatAreNotValidWithTheirPath() throws Exception {
    final JsonNode before = agent.expect(200, "GET", "/policy", null).json();
    final Map<String, String> wrong =
        Map.of(
            "http[0].path", RULES.replace("\"/fields\"", "\"/fields(\""),
            "http[0].host", RULES.replace("server[0-9]+", "server[0-"),
            "http[0].method", RULES.replace("\"GET\"", "\"(?<=G)\""),
            "http[0].headers[1]", RULES.replace("\"X-Trace\"", "\"X Trace\""),
            "http[0].headerMatches[1].mismatch", RULES.replace("\"LOG\"", "\"TELL\""));
    for (final String field : wrong.keySet()) {
      final String refused = agent.expect(400, "PUT", "/policy", wrong.get(field)).text();
      assertTrue(refused.contains("[0].ingress[0].toPorts[0].rules." + field), refused);
      final Path file = directory.resolve("rules.json");
      Files.writeString(file, wrong.get(field));
      final CtlProcess.Outcome reported =
          CtlProcess.run(directory, "policy", "validate", file.toString());
      assertEquals(1, reported.exitCode(), reported.out() + reported.err());
      assertTrue(reported.out().contains(field), reported.out() + reported.err());
    }
    assertEquals(before, agent.expect(200, "GET", "/policy", null).json());
    assertEquals(200, status(server.ipv4(), List.of()));
  }

  @Test
  void shouldExplainTheRequestsThatMayPass() throws Exception {
    agent.expect(200, "PUT", "/policy", RULES);
    final String question = "--from app=client --to app=server --port 8080/TCP --host unix://";
    final CtlProcess.Outcome traced =
        CtlProcess.run(directory, ("policy trace " + question + agent.socket()).split(" "));
    assertEquals(0, traced.exitCode(), traced.err());
    assertTrue(
        traced.out().contains("the HTTP proxy allows requests that match one of these"),
        traced.out());
    assertTrue(traced.out().contains("/fields"), traced.out());
    assertTrue(traced.out().contains("ALLOWED"), traced.out());
    final String resolve =
        """
        {"from": {"labels": ["app=client"]}, "verbose": true,
         "to": {"labels": ["app=server"], "dports": [{"port": 8080, "protocol": "TCP"}]}}
        """;
    final JsonNode answer = agent.expect(200, "GET", "/policy/resolve", resolve).json();
    assertEquals("ALLOWED", answer.get("verdict").asString());
    assertTrue(answer.get("log").toString().contains("/fields"), answer.toString());
  }
}
