package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.call.LocalParts;
import agent.cli.call.Masking;
import agent.cli.output.AnswerPrinter;
import agent.cli.output.JsonTreeWriter;
import agent.testkit.CannedMonitor;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
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
                "Warning: [0-9]+ parts could not be collected; see errors.txt in the archive\n"),
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
  void shouldShowPinnedMapsWhereNoAgentRuns() throws IOException {
    agent.with(
        new LocalParts() {
          @Override
          public List<Map<String, Object>> maps(Path bpfRoot) {
            return List.of(Map.of("name", "m"), Map.of("name", "long"));
          }

          @Override
          public boolean read(Path bpfRoot, String name, EntryVisitor visitor) throws IOException {
            assertEquals(Path.of("/sys/fs/bpf"), bpfRoot);
            int i = 0;
            while (visitor.onEntry(name + i, "v" + i)) {
              if (++i == 5) {
                throw new IOException("asked for too many");
              }
            }
            return true;
          }

          @Override
          public RuleFault check(String rule) {
            throw new AssertionError(rule);
          }
        });
    final Path archive = directory.resolve("report.zip");
    final String host = " -H " + directory.resolve("none.sock");
    agent.output(AgentCtl.OK, "bugtool " + archive + " --map-entries 3" + host);
    final Map<String, String> entries = entries(archive);
    assertEquals(
        "[{\"name\":\"m\"},{\"name\":\"long\"}]\n",
        entries.get("pinned.json").replaceAll("[ \n]", "") + "\n");
    assertTrue(entries.get("pinned.json").endsWith("\n]\n"), entries.get("pinned.json"));
    assertEquals("m0\tv0\nm1\tv1\nm2\tv2\n", entries.get("pinned/m.txt"));
    assertEquals(3, entries.get("pinned/long.txt").lines().count());
    assertFalse(entries.get("errors.txt").contains("pinned"), entries.get("errors.txt"));
    final Path without = directory.resolve("without.zip");
    agent.output(AgentCtl.OK, "bugtool " + without + " --map-entries 0" + host);
    assertFalse(entries(without).containsKey("pinned.json"));
  }

  @Test
  void shouldShowTheMapsOfTheAgentThatRunsAlone() throws IOException {
    agent.on("GET /map", "{\"maps\":[{\"name\":\"m\"}]}");
    agent.on("GET /map/m", "{\"cache\":[{\"key\":\"k1\",\"value\":\"v1\"}]}");
    agent.on("GET /healthz", "{\"agent\":{\"state\":\"Ok\"}}");
    final Path archive = directory.resolve("report.zip");
    agent.output(AgentCtl.OK, "bugtool " + archive);
    final Map<String, String> entries = entries(archive);
    assertEquals("k1\tv1\n", entries.get("maps/m.txt"));
    assertFalse(entries.containsKey("pinned.json"));
    final String healthz = "{\n  \"agent\": {\n    \"state\": \"Ok\"\n  }\n}\n";
    assertEquals(healthz, entries.get("agent/healthz.json"));
    for (final String part : List.of("about", "agent/healthz", "maps/m", "node/uname")) {
      assertTrue(
          entries.get("errors.txt").lines().noneMatch(line -> line.startsWith(part)),
          entries.get("errors.txt"));
    }
  }

  @Test
  void shouldCollectTheEventsThatAreKept() throws IOException {
    try (EventsFixture fixture = new EventsFixture()) {
      fixture.agent.on("GET /identity", "[{\"id\":256,\"labels\":[\"orch:db-token=hunter2\"]}]");
      final CannedMonitor events = fixture.startEvents().hello(1, 72, 4096);
      for (int i = 0; i < 30; i++) {
        events.ports(40_000 + i, 80).flow(1, 1, "10.1.0.9", "10.1.0.7", 0, 0);
      }
      events.frame(5, 0);
      final Path archive = directory.resolve("report.zip");
      fixture.agent.output(AgentCtl.OK, "bugtool " + archive);
      final Map<String, String> entries = entries(archive);
      final List<String> kept = entries.get("agent/observe.txt").lines().toList();
      assertEquals(30, kept.size(), "all that are kept");
      assertEquals(
          "00:00:06.000000 drop    egress  policy-denied: 10.1.0.9:40000 (orch:db-token=*** ->"
              + " 10.1.0.7:80 (shop/web) TCP SYN,ACK, 60 bytes, endpoint 7",
          kept.getFirst());
      assertFalse(entries.get("errors.txt").contains("observe"), entries.get("errors.txt"));

      fixture.startEvents().hello(1, 72, 0);
      final Path without = directory.resolve("without.zip");
      fixture.agent.output(AgentCtl.OK, "bugtool " + without);
      assertTrue(
          entries(without)
              .get("errors.txt")
              .contains("agent/observe.txt: the agent keeps no events: its option"));
    }
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
        "{\"a\":{\"b\":1},\"secret\":{\"c\":\"x\",\"d\":[]},\"e\":\"f\"} | {\"a\":{\"b\":1},\"secret\":{\"c\":\"***\",\"d\":[]},\"e\":\"f\"}",
        "{\"secret\":[\"x\",[\"y\"],\"z\"],\"e\":\"f\"} | {\"secret\":[\"***\",[\"***\"],\"***\"],\"e\":\"f\"}",
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
