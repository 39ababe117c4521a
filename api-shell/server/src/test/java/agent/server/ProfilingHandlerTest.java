package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import jdk.jfr.RecordingState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The profiling API of a server that serves it, and of one that does not. */
@Timeout(60)
class ProfilingHandlerTest {
  private static String get(TestServer server, String path) throws Exception {
    return server.exchange(
        "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  }

  private static void assertAnswer(String answer, int status, String part) {
    assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), answer);
    assertTrue(answer.contains(part), answer);
  }

  @Test
  void shouldNotBeServedUnlessAnOptionAsksForIt() throws Exception {
    try (TestServer server = TestServer.start(new ApiContext(), Map.of())) {
      assertAnswer(get(server, "/debug/pprof/threads"), 404, "/debug/pprof/threads does not exist");
    }
  }

  @Test
  void shouldShowThreadsAndClassesAndLeaveTheApiAlone() throws Exception {
    try (TestServer server = TestServer.start(new ApiContext().profiling(true), Map.of())) {
      assertAnswer(get(server, "/debug/pprof/threads"), 200, "\"main\" #");
      assertAnswer(get(server, "/debug/pprof/heap"), 200, "java.lang.String");
      assertAnswer(get(server, "/debug/pprof/"), 200, "GET /debug/pprof/profile");
      assertAnswer(get(server, "/debug/pprof/nosuch"), 404, "GET /debug/pprof/profile");
      assertAnswer(get(server, "/healthz"), 200, Route.GET_HEALTHZ.operationId());
      assertAnswer(
          server.exchange(
              "POST /debug/pprof/heap HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                  + "Connection: close\r\n\r\n"),
          405,
          "Allow: GET");
    }
  }

  @Test
  void shouldRecordForABoundedTime() throws Exception {
    final int before = recordings().size();
    try (TestServer server = TestServer.start(new ApiContext().profiling(true), Map.of())) {
      for (int i = 0; i < 2; i++) {
        long startNs;
        String answer;
        do { // the recording before may end after its answer
          startNs = System.nanoTime();
          answer = get(server, "/debug/pprof/profile?seconds=1");
        } while (i > 0 && answer.startsWith("HTTP/1.1 409 "));
        final long tookNs = System.nanoTime() - startNs;
        assertTrue(tookNs >= TimeUnit.SECONDS.toNanos(1), tookNs + " ns");
        assertAnswer(answer, 200, "\r\n\r\nFLR\0");
        assertAnswer(answer, 200, "Content-Type: application/octet-stream\r\n");
      }
      while (recordings().size() != before) {
        Thread.sleep(1); // the file is deleted after the answer
      }
      for (final String seconds : new String[] {"0", "61", "x", "-1"}) {
        assertAnswer(
            get(server, "/debug/pprof/profile?seconds=" + seconds), 400, "a number from 1 to 60");
      }
    }
  }

  @Test
  void shouldHaveOneRecordingAtATimeThatEndsWithTheServer() throws Exception {
    final int before = recordings().size();
    try (TestServer server = TestServer.start(new ApiContext().profiling(true), Map.of());
        RawClient longest = server.connect()) {
      longest.send(TestServer.get("/debug/pprof/profile?seconds=60"));
      while (recordings().size() == before) {
        Thread.sleep(1);
      }
      while (mostBytes().isEmpty()) {
        Thread.sleep(1);
      }
      assertEquals(List.of(64L << 20), mostBytes());
      assertAnswer(
          get(server, "/debug/pprof/profile?seconds=1"), 409, "another recording is running");
      while (server.server().connections().inUse() != 1) {
        Thread.sleep(1); // the other one is at its end
      }
    }
    while (recordings().size() != before) {
      Thread.sleep(1);
    }
  }

  @Test
  void shouldTellThatARecordingCannotBeWritten() throws Exception {
    final Set<Path> before = recordings();
    try (TestServer server = TestServer.start(new ApiContext().profiling(true), Map.of());
        RawClient client = server.connect()) {
      client.send(TestServer.get("/debug/pprof/profile?seconds=1"));
      final Set<Path> added = recordings();
      while (added.size() == before.size()) {
        added.addAll(recordings());
      }
      added.removeAll(before);
      final Path file = added.iterator().next();
      Files.delete(file);
      Files.createDirectory(file);
      assertAnswer(client.readAnswer(), 500, "\r\n\r\nprofiling: " + file);
      assertFalse(Files.exists(file));
    }
  }

  /** Returns how large the recordings of this process may become. */
  private static List<Long> mostBytes() {
    return FlightRecorder.getFlightRecorder().getRecordings().stream()
        .filter(recording -> recording.getState() == RecordingState.RUNNING)
        .map(Recording::getMaxSize)
        .toList();
  }

  private static Set<Path> recordings() throws IOException {
    try (Stream<Path> files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
      return files
          .filter(file -> file.toString().matches(".*/agent-[0-9]+\\.jfr"))
          .collect(Collectors.toCollection(HashSet::new));
    }
  }
}
