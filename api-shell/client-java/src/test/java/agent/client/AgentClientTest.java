package agent.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.datapath.PrefilterListModel;
import agent.testkit.CannedHttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class AgentClientTest {
  private static final String CHUNKED =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
          + "6\r\n[{\"id\"\r\nA;note=1\r\n:1234},{\"i\r\n5\r\nd\":5}\r\n1\r\n]\r\n0\r\nLater: x\r\n\r\n";

  private static AgentClient clientOf(CannedHttpServer server) {
    return AgentClient.of("unix://" + server.socket(), Duration.ofSeconds(10));
  }

  @Test
  void shouldSendMethodPathAndBody() throws IOException {
    final String list = "{\"spec\":{\"deny\":[],\"revision\":3}}";
    try (CannedHttpServer server =
            CannedHttpServer.start(request -> CannedHttpServer.answer(200, list));
        AgentClient client = clientOf(server)) {
      final var prefilter =
          client.addToPrefilter(new PrefilterListModel(List.of("10.0.0.0/8", "fd00::/8"), 2L));
      assertEquals(3L, prefilter.spec().revision());
      assertEquals(
          "PATCH /prefilter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              + "Content-Length: 47\r\n\r\n{\"deny\":[\"10.0.0.0/8\",\"fd00::/8\"],\"revision\":2}",
          server.requests().getFirst());
    }
  }

  @Test
  void shouldEncodeWhatGoesIntoThePath() throws IOException {
    try (CannedHttpServer server =
            CannedHttpServer.start(request -> CannedHttpServer.answer(200, "[]"));
        AgentClient client = clientOf(server)) {
      client.deleteEndpoint("container-name:a/b c?d%é");
      client.endpoints(List.of("k8s:app=web&x", "a+b"));
      assertTrue(
          server
              .requests()
              .get(0)
              .startsWith("DELETE /endpoint/container-name:a%2Fb%20c%3Fd%25%C3%A9 HTTP/1.1\r\n"));
      assertTrue(
          server
              .requests()
              .get(1)
              .startsWith("GET /endpoint?labels=k8s:app%3Dweb%26x&labels=a%2Bb HTTP/1.1\r\n"));
    }
  }

  @Test
  void shouldReadChunkedAnswersAndKeepTheConnection() throws IOException {
    try (CannedHttpServer server = CannedHttpServer.start(request -> CHUNKED);
        AgentClient client = clientOf(server)) {
      for (int i = 0; i < 3; i++) {
        final var identities = client.identities(List.of());
        assertEquals(List.of(1234L, 5L), identities.stream().map(one -> one.id()).toList());
      }
    }
  }

  @Test
  void shouldReadAnswersThatEndWithTheConnection() throws IOException {
    final String answer = "HTTP/1.0 200 OK\r\n\r\n[\"what went wrong\"]";
    try (CannedHttpServer server = CannedHttpServer.start(onceThenClose(answer));
        AgentClient client = clientOf(server)) {
      // The canned server keeps the connection open, so the answer ends when it times out.
      try (AgentClient hasty =
          AgentClient.of("unix://" + server.socket(), Duration.ofMillis(200))) {
        final IOException silent = assertThrows(IOException.class, () -> hasty.deleteEndpoint("7"));
        assertTrue(silent.getMessage().contains("did not answer"), silent.getMessage());
      }
      assertThrows(IOException.class, () -> client.deleteEndpoint("7"));
    }
  }

  private static Function<String, String> onceThenClose(String answer) {
    final AtomicInteger asked = new AtomicInteger();
    return request -> asked.getAndIncrement() == 0 ? answer : "";
  }

  @Test
  void shouldPassOverInterimAnswers() throws IOException {
    final String answer = "HTTP/1.1 100 Continue\r\n\r\n" + CannedHttpServer.answer(200, "[]");
    try (CannedHttpServer server = CannedHttpServer.start(request -> answer);
        AgentClient client = clientOf(server)) {
      assertEquals(List.of(), client.deleteEndpoint("7"));
    }
  }

  @Test
  void shouldTellStatusAndMessageOfAnError() throws IOException {
    try (CannedHttpServer server =
            CannedHttpServer.start(
                request -> CannedHttpServer.answer(461, "\"deny[0]: 'x' is not a CIDR\""));
        AgentClient client = clientOf(server)) {
      final AgentException refused =
          assertThrows(
              AgentException.class,
              () -> client.addToPrefilter(new PrefilterListModel(List.of("x"), null)));
      assertEquals(461, refused.status());
      assertEquals("deny[0]: 'x' is not a CIDR", refused.getMessage());
    }
  }

  @Test
  void shouldShowAnErrorThatIsNotJson() throws IOException {
    try (CannedHttpServer server =
            CannedHttpServer.start(request -> CannedHttpServer.answer(400, ""));
        AgentClient client = clientOf(server)) {
      final AgentException refused = assertThrows(AgentException.class, () -> client.maps());
      assertEquals("HTTP status 400", refused.getMessage());
    }
  }

  @Test
  void shouldPassOverFieldsThatItDoesNotKnow() throws IOException {
    try (CannedHttpServer server =
            CannedHttpServer.start(
                request -> CannedHttpServer.answer(200, "{\"id\":7,\"invented-later\":{}}"));
        AgentClient client = clientOf(server)) {
      assertEquals(7, client.endpoint("7").id());
    }
  }

  @Test
  void shouldAskAgainWhereTheConnectionWasClosedMeanwhile() throws IOException {
    final AtomicInteger asked = new AtomicInteger();
    try (CannedHttpServer server =
            CannedHttpServer.start(
                request -> asked.getAndIncrement() == 1 ? "" : CannedHttpServer.answer(200, "{}"));
        AgentClient client = clientOf(server)) {
      client.maps();
      client.maps();
      assertEquals(3, server.requests().size());
    }
  }

  @Test
  void shouldNotRepeatAChange() throws IOException {
    try (CannedHttpServer server = CannedHttpServer.start(request -> "");
        AgentClient client = clientOf(server)) {
      assertThrows(IOException.class, () -> client.deleteEndpoint("7"));
      assertEquals(1, server.requests().size());
    }
  }

  /** The failure names both: that there is no answer, and why the request did not arrive. */
  @Test
  void shouldTellWhyARequestThatHasNoAnswerWasNotSent(@TempDir Path directory) throws Exception {
    final Path socket = directory.resolve("s");
    try (ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        AgentClient client = AgentClient.of(socket.toString(), Duration.ofSeconds(20))) {
      listener.bind(UnixDomainSocketAddress.of(socket));
      final Thread hasty = Thread.ofVirtual().start(() -> acceptAndClose(listener));
      final IOException failed =
          assertThrows(IOException.class, () -> client.importPolicy(" ".repeat(16 << 20)));
      assertEquals(1, failed.getSuppressed().length, failed.toString());
      assertTrue(hasty.join(Duration.ofSeconds(60)));
    }
  }

  private static void acceptAndClose(ServerSocketChannel listener) {
    try {
      listener.accept().close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void shouldNameTheSocketWhereNoAgentListens(@TempDir Path directory) {
    final Path socket = directory.resolve("none.sock");
    try (AgentClient client = AgentClient.of(socket.toString())) {
      final IOException failed = assertThrows(IOException.class, () -> client.maps());
      assertTrue(failed.getMessage().contains(socket.toString()), failed.getMessage());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    assertThrows(IllegalArgumentException.class, () -> AgentClient.of("http://localhost"));
  }

  /** For any answer, a call returns or throws an IOException within the time-out. */
  @Test
  void shouldSurviveBrokenAnswers() throws IOException {
    final Random random = new Random(20261120);
    for (int round = 0; round < 400; round++) {
      final String broken = mutated(random, CHUNKED);
      try (CannedHttpServer server = CannedHttpServer.start(onceThenClose(broken));
          AgentClient client = AgentClient.of(server.socket().toString(), Duration.ofMillis(50))) {
        client.identities(List.of());
      } catch (IOException | AgentException e) {
        assertTrue(e.getMessage() != null, () -> "no message for " + broken);
      }
    }
  }

  private static String mutated(Random random, String text) {
    final byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
    for (int i = random.nextInt(4); i >= 0; i--) {
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(128);
    }
    final int length = random.nextInt(3) == 0 ? random.nextInt(bytes.length) + 1 : bytes.length;
    return new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
  }
}
