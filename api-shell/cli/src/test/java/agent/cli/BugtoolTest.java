package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.output.AnswerPrinter;
import agent.cli.output.JsonTreeWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The archive for a report. */
@Timeout(60)
class BugtoolTest {
  @TempDir private Path directory;
  private CliFixture agent;

  @BeforeEach
  void start() throws IOException {
    agent = new CliFixture();
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private static Map<String, String> entries(Path archive) throws IOException {
    final Map<String, String> entries = new TreeMap<>();
    try (ZipInputStream zip = new ZipInputStream(Files.newInputStream(archive))) {
      for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
        entries.put(entry.getName(), new String(zip.readAllBytes(), StandardCharsets.UTF_8));
      }
    }
    return entries;
  }

  @Test
  void shouldCollectAnswersMapsAndTheNodeWithoutSecrets() throws IOException {
    agent
        .on("GET /endpoint", "[{\"id\":7}]")
        .on("GET /endpoint/7/log", "[{\"message\":\"built\"}]");
    agent.on("GET /map", "{\"maps\":[{\"name\":\"m\"}]}");
    agent.on(
        "GET /map/m",
        "{\"cache\":[{\"key\":\"k1\",\"value\":\"v1\"},{\"key\":\"k2\",\"value\":\"v2\"},{\"key\":\"k3\",\"value\":\"v3\"}]}");
    agent.on(
        "GET /debuginfo",
        "{\"environment-variables\":[\"ETCD_PASSWORD=hunter2\",\"PATH=/bin\"],\"api-token\":\"hunter2\"}");
    final Path archive = directory.resolve("report.zip");
    assertEquals(
        archive + "\n", agent.output(AgentCtl.OK, "bugtool " + archive + " --map-entries 2"));
    assertEquals(
        "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(archive)));
    final Map<String, String> entries = entries(archive);
    assertEquals("k1\tv1\nk2\tv2\n", entries.get("maps/m.txt"));
    assertTrue(entries.get("agent/endpoint-7-log.json").contains("built"));
    assertTrue(entries.get("node/uname-a.txt").startsWith("Linux"), entries.toString());
    assertTrue(entries.get("node/proc/meminfo.txt").contains("MemTotal"));
    assertTrue(entries.get("about.txt").contains("collected " + CliFixture.NOW));
    final String debug = entries.get("agent/debuginfo.json");
    assertTrue(debug.contains("ETCD_PASSWORD=***") && debug.contains("PATH=/bin"), debug);
    assertFalse(entries.toString().contains("hunter2"));
    assertTrue(entries.get("errors.txt").contains("agent/prefilter.json: path: unexpected"));
    assertTrue(
        agent
            .err()
            .matches(
                "Warning: [0-9]+ of its parts could not be collected: errors.txt in it says why\n"),
        agent.err());
  }

  @Test
  void shouldCollectTheNodeWhereNoAgentRuns() throws IOException {
    final Path archive = directory.resolve("report.zip");
    final String host = "-H " + directory.resolve("none.sock");
    agent.output(AgentCtl.OK, "bugtool " + archive + " " + host);
    final Map<String, String> entries = entries(archive);
    assertTrue(entries.containsKey("node/ip-address.txt"), entries.keySet().toString());
    final String errors = entries.get("errors.txt");
    assertEquals(
        1,
        errors.lines().filter(line -> line.startsWith("agent/")).count(),
        "asked once: " + errors);
    assertTrue(errors.contains("cannot reach the agent on"), errors);
  }

  @Test
  void shouldNotWriteOverAnotherFile() throws IOException {
    final Path archive = Files.writeString(directory.resolve("report.zip"), "mine");
    agent.output(AgentCtl.FAILURE, "bugtool " + archive);
    assertEquals("mine", Files.readString(archive));
    agent.output(AgentCtl.USAGE_ERROR, "bugtool x --map-entries -1");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"password\":\"x\"} | {\"password\":\"***\"}",
        "{\"etcd.secret\":{\"a\":1,\"b\":[\"x\"]},\"c\":2} | {\"etcd.secret\":{\"a\":\"***\",\"b\":[\"***\"]},\"c\":2}",
        "{\"API_KEY\":5,\"a\":5} | {\"API_KEY\":\"***\",\"a\":5}",
        "{\"tokens\":null} | {\"tokens\":\"***\"}",
        "{\"key\":\"10.1.0.7\",\"keys\":1} | {\"key\":\"10.1.0.7\",\"keys\":1}",
        "{\"a\":\"TOKEN=abc; x=1\"} | {\"a\":\"TOKEN=***; x=1\"}",
        "{\"a\":\"--kvstore-password hunter\"} | {\"a\":\"--kvstore-password ***\"}",
        "{\"a\":\"etcd.password: hunter\"} | {\"a\":\"etcd.password: ***\"}",
        "{\"a\":\"https://me:pw@host/x\"} | {\"a\":\"https://me:***@host/x\"}",
        "{\"a\":\"Bearer abcdefghijk\"} | {\"a\":\"Bearer ***\"}",
        "[\"-----BEGIN RSA PRIVATE KEY-----\\nabc\\n-----END RSA PRIVATE KEY-----\"] | [\"***\"]",
        "{\"bypass\":\"x\",\"compass\":1} | {\"bypass\":\"x\",\"compass\":1}",
      })
  void shouldMaskSecrets(String json, String masked) {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(bytes, false, StandardCharsets.UTF_8)) {
      final Masking masking = new Masking(new JsonTreeWriter(out));
      AnswerPrinter.copy(new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8)), masking);
      masking.end();
    }
    final String seen = bytes.toString(StandardCharsets.UTF_8);
    assertEquals(masked.replaceAll("\\s", ""), seen.replaceAll("\\s", ""));
  }
}
