package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.launcher.options.OptionValues;
import agent.server.Answer;
import agent.server.ApiServer;
import agent.server.Route;
import agent.server.RouteTable;
import agent.server.monitor.AgentEvents;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The options of the API, on a server that is configured with them. */
@Timeout(60)
class ApiSettingsTest {
  @TempDir private Path directory;

  @Test
  void shouldTakeSixteenMebibytesByDefault() throws IOException {
    try (ApiServer _ = start()) {
      assertEquals(200, statusOf(head("PUT", "/policy", 16 << 20) + " ".repeat(16 << 20)));
      assertEquals(413, statusOf(head("PUT", "/policy", (16 << 20) + 1)));
    }
  }

  @Test
  void shouldTakeTheBytesOfTheOption() throws IOException {
    try (ApiServer _ = start("--api-max-body=2000")) {
      assertEquals(200, statusOf(head("PUT", "/policy", 2000) + " ".repeat(2000)));
      assertEquals(413, statusOf(head("PUT", "/policy", 2001)));
    }
  }

  @Test
  void shouldLimitTheRateOfTheNamedClassOnly() throws IOException {
    try (ApiServer _ = start("--api-rate-limit=policy=1/m")) {
      assertEquals(200, statusOf(head("GET", "/endpoint", 0)));
      assertEquals(200, statusOf(head("GET", "/endpoint", 0)));
      assertEquals(200, statusOf(head("PUT", "/policy", 0)));
      assertEquals(429, statusOf(head("PUT", "/policy", 0)));
    }
  }

  @Test
  void shouldLimitNoRateByDefault() throws IOException {
    try (ApiServer _ = start()) {
      for (int i = 0; i < 200; i++) {
        assertEquals(200, statusOf(head("PUT", "/policy", 0)));
      }
    }
  }

  /** Starts a server that answers every call with 200, where nothing is wrong with the call. */
  private ApiServer start(String... arguments) throws IOException {
    final List<String> all = new ArrayList<>(List.of(arguments));
    all.add("--socket-path=" + directory.resolve("api.sock"));
    return ApiServer.start(
        new Settings(OptionValues.read(all, Map.of())).api(new AgentEvents()),
        RouteTable.of(
            handlers -> {
              for (final Route route : Route.values()) {
                handlers.put(route, request -> Answer.ok());
              }
            }));
  }

  private static String head(String method, String path, int bodyBytes) {
    return "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        .formatted(method, path, bodyBytes);
  }

  private int statusOf(String request) throws IOException {
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(UnixDomainSocketAddress.of(directory.resolve("api.sock")));
      Channels.newOutputStream(channel).write(request.getBytes(StandardCharsets.US_ASCII));
      final byte[] line = Channels.newInputStream(channel).readNBytes("HTTP/1.1 200".length());
      final String status = new String(line, StandardCharsets.US_ASCII);
      assertTrue(status.startsWith("HTTP/1.1 "), status);
      return Integer.parseInt(status.substring("HTTP/1.1 ".length()));
    }
  }
}
