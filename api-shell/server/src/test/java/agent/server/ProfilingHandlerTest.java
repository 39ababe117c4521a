package agent.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** The profiling API of a server that serves it, and of one that does not. */
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
    try (TestServer server = TestServer.start(new ApiContext().profiling(true), Map.of())) {
      assertAnswer(get(server, "/debug/pprof/profile?seconds=1"), 200, "\r\n\r\nFLR\0");
      for (final String seconds : new String[] {"0", "61", "x", "-1"}) {
        assertAnswer(
            get(server, "/debug/pprof/profile?seconds=" + seconds), 400, "a number from 1 to 60");
      }
    }
  }
}
