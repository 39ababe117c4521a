package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
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
      assertAnswer(get(server, "/debug/pprof/threads"), 404, "there is no /debug/pprof/threads");
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
    final long before = recordings();
    try (TestServer server = TestServer.start(new ApiContext().profiling(true), Map.of())) {
      for (int i = 0; i < 2; i++) {
        final String answer = get(server, "/debug/pprof/profile?seconds=1");
        assertAnswer(answer, 200, "\r\n\r\nFLR\0");
        assertAnswer(answer, 200, "Content-Type: application/octet-stream\r\n");
      }
      assertEquals(before, recordings(), "no file is left");
      for (final String seconds : new String[] {"0", "61", "x", "-1"}) {
        assertAnswer(
            get(server, "/debug/pprof/profile?seconds=" + seconds), 400, "a number from 1 to 60");
      }
    }
  }

  @Test
  void shouldHaveOneRecordingAtATimeThatEndsWithTheServer() throws Exception {
    final long before = recordings();
    try (TestServer server = TestServer.start(new ApiContext().profiling(true), Map.of());
        RawClient longest = server.connect()) {
      longest.send(TestServer.get("/debug/pprof/profile?seconds=60"));
      while (recordings() == before) {
        Thread.sleep(1);
      }
      assertAnswer(
          get(server, "/debug/pprof/profile?seconds=1"), 409, "another recording is at work");
      while (server.server().connections().inUse() != 1) {
        Thread.sleep(1); // the other one is at its end
      }
    }
    while (recordings() != before) {
      Thread.sleep(1);
    }
  }

  private static long recordings() throws IOException {
    try (Stream<Path> files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
      return files.filter(file -> file.toString().matches(".*/agent-[0-9]+\\.jfr")).count();
    }
  }
}
