package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectedFlow;
import agent.l7proxy.RequestRecord.Verdict;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The lines of the access log, and its file. */
class AccessLogTest {
  private static final RedirectedFlow FLOW =
      new RedirectedFlow(6, ProxyBench.LOOPBACK, 4000, 1001, 7, ProxyBench.LOOPBACK, 80, 2, 0);

  private static final RedirectedFlow FROM_OUTSIDE =
      new RedirectedFlow(6, ProxyBench.LOOPBACK, 4000, 2, 0, ProxyBench.LOOPBACK, 80, 1001, 7);

  @TempDir Path folder;

  private static RequestRecord record(String path) {
    return new RequestRecord(
        Instant.parse("2026-01-02T03:04:05.6Z"),
        Verdict.DENIED,
        FLOW,
        "HTTP/1.1",
        "GET",
        path,
        "a.test",
        403,
        12,
        List.of());
  }

  @Test
  void shouldWriteALineForARequest() {
    final RecordText text =
        new RecordText(identity -> identity == 2 ? List.of() : List.of("k8s:app=a", "x"));
    assertEquals(
        "{\"time\":\"2026-01-02T03:04:05.600Z\",\"verdict\":\"Denied\",\"direction\":\"egress\","
            + "\"source\":{\"ip\":\"127.0.0.1\",\"port\":4000,\"identity\":1001,"
            + "\"labels\":[\"k8s:app=a\",\"x\"]},"
            + "\"destination\":{\"ip\":\"127.0.0.1\",\"port\":80,\"identity\":2},"
            + "\"protocol\":\"HTTP/1.1\",\"method\":\"GET\",\"path\":\"/\\\"\\\\\",\"host\":\"a.test\","
            + "\"status\":403,\"durationMs\":12}\n",
        text.line(record("/\"\\")).toString());
  }

  @Test
  void shouldWriteTimesOfUtcWhateverTheZoneOfTheNode() {
    final RequestRecord request = record("/");
    final ZoneOffset offset = ZoneId.systemDefault().getRules().getOffset(request.time());
    assertNotEquals(ZoneOffset.UTC, offset, "the zone of the tests");
    final String line = new RecordText(identity -> List.of()).line(request).toString();
    assertTrue(line.startsWith("{\"time\":\"2026-01-02T03:04:05.600Z\","), line);
  }

  @Test
  void shouldNameTheFieldsThatARuleLogs() {
    final RequestRecord request =
        new RequestRecord(
            Instant.EPOCH,
            Verdict.FORWARDED,
            FROM_OUTSIDE,
            "",
            "",
            " ~\u007f",
            "",
            0,
            0,
            List.of("A", "b"));
    final String line = new RecordText(identity -> List.of()).line(request).toString();
    assertTrue(line.contains(",\"direction\":\"ingress\","), line);
    assertTrue(line.endsWith(",\"missingHeaders\":[\"A\",\"b\"]}\n"), line);
    assertTrue(line.contains("\"path\":\" ~\\u007f\""), line);
  }

  @ParameterizedTest
  @CsvSource({"7, 0, egress", "7, 8, egress", "0, 8, ingress"})
  void shouldTakeWhatALocalEndpointAsksForForEgress(
      int clientEndpoint, int serverEndpoint, String direction) {
    final RedirectedFlow flow =
        new RedirectedFlow(
            6,
            ProxyBench.LOOPBACK,
            1,
            2,
            clientEndpoint,
            ProxyBench.LOOPBACK,
            80,
            3,
            serverEndpoint);
    final RequestRecord request =
        new RequestRecord(Instant.EPOCH, Verdict.DENIED, flow, "", "", "", "", 403, 0, List.of());
    assertEquals(direction.equals("egress"), request.isEgress());
    final String line = new RecordText(identity -> List.of()).line(request).toString();
    assertTrue(line.contains(",\"direction\":\"" + direction + "\","), line);
  }

  /** Reads the string of the path back by the grammar of JSON strings. */
  @Test
  void shouldWriteAnyCharactersAsJson() {
    final RecordText text = new RecordText(identity -> List.of());
    final Random random = new Random(5);
    for (int i = 0; i < 2_000; i++) {
      final StringBuilder path = new StringBuilder();
      for (int j = random.nextInt(20); j > 0; j--) {
        path.append((char) (random.nextBoolean() ? random.nextInt(256) : random.nextInt(65_536)));
      }
      final String line = text.line(record(path.toString())).toString();
      assertTrue(line.chars().allMatch(c -> c >= ' ' && c < 0x7f || c == '\n'), line);
      assertEquals(line.length() - 1, line.indexOf('\n'));
      final int from = line.indexOf("\"path\":\"") + 8;
      assertEquals(path.toString(), unquoted(line, from));
    }
  }

  /** Returns the string up to its quote, which the next member follows. */
  private static String unquoted(String line, int from) {
    final StringBuilder text = new StringBuilder();
    int i = from;
    while (line.charAt(i) != '"') {
      char c = line.charAt(i++);
      if (c == '\\') {
        c = line.charAt(i++);
        if (c == 'u') {
          c = (char) Integer.parseInt(line.substring(i, i + 4), 16);
          i += 4;
        } else {
          assertTrue(c == '"' || c == '\\');
        }
      }
      text.append(c);
    }
    assertTrue(line.startsWith("\",\"host\":\"a.test\"", i), line);
    return text.toString();
  }

  @Test
  void shouldWriteRequestsOfTheProxyAndOpenTheFileAgain() throws Exception {
    final Path file = folder.resolve("access.log");
    final Path rotated = folder.resolve("access.log.1");
    try (OriginServer server = OriginServer.answering();
        ProxyBench bench = new ProxyBench(server.port(), context -> context.accessLog(file));
        HttpSocket client = bench.client()) {
      assertEquals(200, client.get("/1").status());
      awaitLines(file, 1);
      Files.move(file, rotated);
      bench.proxy.reopen();
      for (int i = 0; !Files.exists(file); i++) {
        assertEquals(200, client.get("/2").status()); // the writer opens it for one of these
        assertTrue(i < 10_000);
      }
      assertEquals(200, client.get("/last").status());
      bench.proxy.close();
      assertTrue(Files.readString(rotated).contains("\"path\":\"/1\""));
      assertTrue(Files.readString(file).contains("\"path\":\"/last\""));
      assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
      assertEquals(0, bench.proxy.droppedRecords());
    }
  }

  @Test
  void shouldOpenTheFileOfAnotherProcessesRequestsAgain() throws Exception {
    final Path file = folder.resolve("access.log");
    final Path rotated = folder.resolve("access.log.1");
    try (AccessLog log = AccessLog.open(file, identity -> List.of())) {
      log.onRequest(record("/1"));
      awaitLines(file, 1);
      Files.move(file, rotated);
      log.reopen();
      log.onRequest(record("/2")); // the file is opened for this one or for the next
      log.onRequest(record("/last"));
    }
    assertTrue(Files.readString(file).contains("\"path\":\"/last\""));
    assertTrue(Files.readString(rotated).contains("\"path\":\"/1\""));
  }

  private static void awaitLines(Path file, int count) throws IOException {
    while (Files.readAllLines(file).size() < count) {
      Thread.onSpinWait();
    }
  }

  @Test
  void shouldNotWriteThroughASymbolicLink() throws IOException {
    final Path target = Files.writeString(folder.resolve("target"), "");
    final Path link = Files.createSymbolicLink(folder.resolve("link"), target);
    assertThrows(IOException.class, () -> RecordText.open(link, identity -> List.of()));
  }

  @Test
  void shouldNotFollowASymbolicLinkThatIsPutInThePlaceOfItsFile() throws Exception {
    final Path target = Files.writeString(folder.resolve("target"), "");
    final Path file = folder.resolve("access.log");
    final LogFile<RequestRecord> log = RecordText.open(file, identity -> List.of());
    Files.delete(file);
    Files.createSymbolicLink(file, target);
    log.reopen();
    while (log.dropped() == 0) {
      log.write(record("/"));
    }
    log.close();
    assertEquals("", Files.readString(target));
  }

  @Test
  void shouldCountWhatADiskThatFailsDoesNotTake() throws IOException {
    final LogFile<RequestRecord> log = RecordText.open(Path.of("/dev/full"), identity -> List.of());
    for (int i = 0; i < 20_000; i++) {
      log.write(record("/"));
    }
    log.close();
    assertEquals(20_000, log.dropped());
  }
}
