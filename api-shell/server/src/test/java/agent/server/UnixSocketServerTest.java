package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.AlreadyInUseException;
import agent.types.OperationException;
import java.io.IOException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class UnixSocketServerTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final ApiHandler COUNT_LABELS =
      request -> Answer.ok(request.bodyList(String.class).size());
  private static final ApiHandler LARGE_LIST =
      request ->
          Answer.streamed(
              json -> {
                json.writeStartArray();
                for (int i = 0; i < 500_000; i++) {
                  json.writeString("an element of a list that is long enough " + i);
                }
                json.writeEndArray();
              });

  @Test
  void shouldServeManyRequestsOnOneConnection() throws IOException {
    try (TestServer server = TestServer.start(Map.of());
        RawClient client = server.connect()) {
      for (int i = 0; i < 1000; i++) {
        final String path = i % 2 == 0 ? "/healthz" : "/policy";
        final String answer = client.send(TestServer.get(path)).readAnswer();
        assertTrue(answer.endsWith(i % 2 == 0 ? "\"getHealthz\"" : "\"getPolicy\""), answer);
      }
    }
  }

  @Test
  void shouldAnswerPipelinedRequestsInTheirOrder() throws IOException {
    try (TestServer server = TestServer.start(Map.of());
        RawClient client = server.connect()) {
      final StringBuilder requests = new StringBuilder();
      for (int i = 0; i < 200; i++) {
        requests.append(TestServer.get(i % 3 == 0 ? "/healthz" : i % 3 == 1 ? "/policy" : "/map"));
      }
      client.send(requests.toString());
      for (int i = 0; i < 200; i++) {
        final String expected = i % 3 == 0 ? "getHealthz" : i % 3 == 1 ? "getPolicy" : "listMaps";
        final String answer = client.readAnswer();
        assertTrue(answer.endsWith("\"" + expected + "\""), answer);
      }
    }
  }

  @Test
  void shouldReadChunkedBodies() throws IOException {
    try (TestServer server = TestServer.start(Map.of(Route.PUT_POLICY, COUNT_LABELS));
        RawClient client = server.connect()) {
      client.send(
          "PUT /policy HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
              + "5\r\n[\"a\",\r\n");
      client.send("6;x=y\r\n\"b\",\"c\r\n2\r\n\"]\r\n0\r\n\r\n");
      assertTrue(client.readAnswer().endsWith("\r\n\r\n3"));
      assertTrue(client.send(TestServer.get("/healthz")).readAnswer().endsWith("\"getHealthz\""));
    }
  }

  @Test
  void shouldReadBodiesUpToTheLimit() throws IOException {
    try (TestServer server = TestServer.start(Map.of(Route.PUT_POLICY, COUNT_LABELS))) {
      final String body = "[\"" + "x".repeat(15 * MEBIBYTE) + "\"]";
      final String answer = server.exchange(TestServer.request("PUT", "/policy", body));
      assertTrue(answer.endsWith("\r\n\r\n1"), answer);
    }
  }

  @Test
  void shouldRefuseALargerBodyBeforeItIsSent() throws IOException {
    try (TestServer server = TestServer.start(Map.of(Route.PUT_POLICY, COUNT_LABELS));
        RawClient client = server.connect()) {
      client.send("PUT /policy HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20971520\r\n\r\n");
      final String answer = client.readAnswer();
      assertTrue(answer.startsWith("HTTP/1.1 413 "), answer);
      assertTrue(answer.endsWith("\"body: larger than 16777216 bytes\""), answer);
    }
  }

  @Test
  void shouldRefuseALargerBodyOfAClientThatSendsAllOfItFirst() throws IOException {
    try (TestServer server = TestServer.start(Map.of(Route.PUT_POLICY, COUNT_LABELS))) {
      final String body = "[\"" + "x".repeat(20 * MEBIBYTE) + "\"]";
      final String answer = server.exchange(TestServer.request("PUT", "/policy", body));
      assertTrue(answer.startsWith("HTTP/1.1 413 "), answer);
    }
  }

  @Test
  void shouldRefuseAChunkedBodyThatGrowsOverTheLimit() throws IOException {
    try (TestServer server = TestServer.start(Map.of(Route.PUT_POLICY, COUNT_LABELS));
        RawClient client = server.connect()) {
      client.send(
          "PUT /policy HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
              + "2\r\n[\"\r\n");
      final byte[] chunk = ("100000\r\n" + "x".repeat(MEBIBYTE) + "\r\n").getBytes();
      for (int i = 0; i < 20; i++) {
        client.send(chunk);
      }
      final String answer = client.readAnswer();
      assertTrue(answer.startsWith("HTTP/1.1 413 "), answer);
    }
  }

  /** A status that was sent cannot be changed: what the client gets is visibly not whole. */
  @Test
  void shouldNotEndAnAnswerWhoseSourceFailed() throws IOException {
    final ApiHandler failing =
        request ->
            Answer.streamed(
                json -> {
                  json.writeStartArray();
                  final int elements = request.path("name").equals("large") ? 500_000 : 10;
                  for (int i = 0; i < elements; i++) {
                    json.writeString("an element of a list that is long enough " + i);
                  }
                  throw new OperationException("map large: walk (all entries): EFAULT");
                });
    try (TestServer server = TestServer.start(Map.of(Route.GET_MAP, failing))) {
      try (RawClient client = server.connect()) {
        final String answer = client.send(TestServer.get("/map/large")).readToEnd();
        assertTrue(answer.startsWith("HTTP/1.1 200 "), answer.substring(0, 20));
        assertFalse(answer.endsWith("0\r\n\r\n"), "the last chunk is there");
        assertFalse(answer.endsWith("]"), "the array is closed");
      }
      final String answer = server.exchange(TestServer.get("/map/small"));
      assertTrue(answer.startsWith("HTTP/1.1 500 "), answer);
      assertTrue(answer.endsWith("\"map large: walk (all entries): EFAULT\""), answer);
    }
  }

  @Test
  void shouldWaitForASlowReader() throws Exception {
    try (TestServer server = TestServer.start(Map.of(Route.GET_MAP, LARGE_LIST));
        RawClient client = server.connect()) {
      client.send(TestServer.get("/map/policy"));
      Thread.sleep(300);
      client.shutdownOutput();
      final String answer = client.readToEnd();
      assertTrue(answer.contains("long enough 499999\""), "the end of the list is missing");
      assertTrue(answer.endsWith("\r\n0\r\n\r\n"), "the last chunk is missing");
    }
  }

  @Test
  void shouldServeOthersWhileAReaderStandsStill() throws IOException {
    try (TestServer server = TestServer.start(Map.of(Route.GET_MAP, LARGE_LIST));
        RawClient still = server.connect()) {
      still.send(TestServer.get("/map/policy"));
      still.read(1);
      for (int i = 0; i < 20; i++) {
        assertTrue(server.exchange(TestServer.get("/policy")).endsWith("\"getPolicy\""));
      }
    }
  }

  @Test
  void shouldEndAConnectionWhoseClientStandsStill() throws Exception {
    try (TestServer server =
            TestServer.start(
                new ApiContext().stallLimitMs(200),
                Map.of(Route.GET_MAP, LARGE_LIST, Route.PUT_POLICY, COUNT_LABELS));
        RawClient writer = server.connect();
        RawClient reader = server.connect()) {
      reader.send(TestServer.get("/map/policy"));
      writer.send("PUT /policy HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n[");
      assertEquals("", writer.readToEnd());
      while (server.server().connections().open() > 0) {
        Thread.sleep(1); // the test has a time limit
      }
      assertFalse(reader.readToEnd().contains("499999"));
    }
  }

  @Test
  void shouldAnswerAClientThatHasClosedItsSide() throws IOException {
    try (TestServer server = TestServer.start(Map.of(Route.PUT_POLICY, COUNT_LABELS));
        RawClient client = server.connect()) {
      client.send(TestServer.request("PUT", "/policy", "[\"a\"]")).shutdownOutput();
      assertTrue(client.readToEnd().endsWith("\r\n\r\n1"));
    }
  }

  @Test
  void shouldCloseAConnectionThatEndsInTheMiddleOfARequest() throws IOException {
    final AtomicInteger served = new AtomicInteger();
    final ApiHandler counting =
        request -> {
          final List<String> labels = request.bodyList(String.class);
          served.incrementAndGet();
          return Answer.ok(labels.size());
        };
    try (TestServer server = TestServer.start(Map.of(Route.PUT_POLICY, counting))) {
      final String whole = TestServer.request("PUT", "/policy", "[\"a\",\"b\"]");
      for (int length = 1; length < whole.length(); length++) {
        try (RawClient client = server.connect()) {
          client.send(whole.substring(0, length)).shutdownOutput();
          final String answer = client.readToEnd();
          assertFalse(answer.startsWith("HTTP/1.1 200"), answer);
        }
      }
      assertEquals(0, served.get(), "a handler has seen half a request");
      assertTrue(server.exchange(whole).endsWith("\r\n\r\n2"));
    }
  }

  @Test
  void shouldKeepNoDescriptorOfClientsThatDied() throws Exception {
    try (TestServer server =
        TestServer.start(Map.of(Route.GET_MAP, LARGE_LIST, Route.PUT_POLICY, COUNT_LABELS))) {
      die(server, 5); // the JVM opens the files of classes where they are used first
      while (server.server().connections().open() > 0) {
        Thread.sleep(1); // the test has a time limit
      }
      final long before = descriptors();
      die(server, 200);
      awaitDescriptors(before);
    }
  }

  /** Clients of five kinds close their connections, most of them before they have an answer. */
  private static void die(TestServer server, int clients) throws IOException {
    for (int i = 0; i < clients; i++) {
      try (RawClient client = server.connect()) {
        switch (i % 5) {
          case 0 -> client.send(TestServer.get("/map/policy")).read(100);
          case 1 -> client.send("PUT /policy HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n[");
          case 2 -> client.send("GET /heal");
          case 3 -> client.send(TestServer.get("/healthz"));
          default -> client.send(TestServer.get("/healthz")).readAnswer();
        }
      }
    }
  }

  @Test
  void shouldKeepNoDescriptorAfterItIsClosed() throws Exception {
    try (TestServer first = TestServer.start(Map.of())) {
      first.exchange(TestServer.get("/healthz"));
    }
    final long before = descriptors();
    final List<RawClient> clients = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      try (TestServer server = TestServer.start(Map.of())) {
        final RawClient client = server.connect();
        client.send(TestServer.get("/healthz")).readAnswer();
        clients.add(client);
      }
    }
    for (final RawClient client : clients) {
      client.close();
    }
    awaitDescriptors(before);
  }

  private static void awaitDescriptors(long expected) throws Exception {
    final long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (descriptors() > expected && System.nanoTime() < deadlineNs) {
      Thread.sleep(20);
    }
    assertTrue(descriptors() <= expected, descriptors() + " descriptors, before " + expected);
  }

  private static long descriptors() throws IOException {
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      return descriptors.count();
    }
  }

  @Test
  void shouldServeManyClientsAtOnce() throws Exception {
    try (TestServer server = TestServer.start(Map.of(Route.PUT_POLICY, COUNT_LABELS))) {
      final int clients = 64;
      final AtomicInteger good = new AtomicInteger();
      final CountDownLatch done = new CountDownLatch(clients);
      for (int i = 0; i < clients; i++) {
        Thread.ofVirtual()
            .start(
                () -> {
                  try (RawClient client = server.connect()) {
                    for (int n = 0; n < 50; n++) {
                      final String body = "[" + "\"x\",".repeat(n) + "\"x\"]";
                      client.send(TestServer.request("PUT", "/policy", body));
                      if (client.readAnswer().endsWith("\r\n\r\n" + (n + 1))) {
                        good.incrementAndGet();
                      }
                    }
                  } catch (IOException e) {
                    good.set(Integer.MIN_VALUE);
                  } finally {
                    done.countDown();
                  }
                });
      }
      assertTrue(done.await(30, TimeUnit.SECONDS));
      assertEquals(clients * 50, good.get());
    }
  }

  @Test
  void shouldCreateTheSocketForItsOwnerAndGroupAlone() throws IOException {
    try (TestServer server = TestServer.start(Map.of())) {
      assertEquals(
          "rw-rw----",
          PosixFilePermissions.toString(Files.getPosixFilePermissions(server.socket())));
      try (Stream<Path> beside = Files.list(server.socket().getParent())) {
        assertEquals(List.of(server.socket()), beside.toList());
      }
    }
  }

  @Test
  void shouldReplaceASocketWithoutAListener(@TempDir Path directory) throws IOException {
    final Path socket = directory.resolve("agent.sock");
    try (var stale = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      stale.bind(UnixDomainSocketAddress.of(socket));
    }
    assertTrue(Files.exists(socket));
    try (ApiServer _ = start(socket, null);
        RawClient client = new RawClient(socket)) {
      assertTrue(client.send(TestServer.get("/healthz")).readAnswer().endsWith("\"getHealthz\""));
    }
    assertFalse(Files.exists(socket));
  }

  @Test
  void shouldRefuseAPlaceThatIsTaken(@TempDir Path directory) throws IOException {
    final Path socket = directory.resolve("agent.sock");
    try (ApiServer _ = start(socket, null)) {
      final AlreadyInUseException second =
          assertThrows(AlreadyInUseException.class, () -> start(socket, null).close());
      assertEquals(
          "socket " + socket + ": process " + ProcessHandle.current().pid() + " listens on it",
          second.getMessage());
    }
    Files.writeString(socket, "precious");
    final IOException file = assertThrows(IOException.class, () -> start(socket, null).close());
    assertEquals("socket " + socket + ": the file exists and is not a socket", file.getMessage());
    assertEquals("precious", Files.readString(socket));
  }

  @Test
  void shouldNeitherReplaceNorRemoveAFileOfOthers(@TempDir Path directory) throws Exception {
    final Map<String, String> others =
        Map.of(
            "pipe", "mkfifo pipe",
            "device", "mknod device c 1 3",
            "directory", "mkdir directory",
            "link", "ln -s /no/such/file link",
            "linked", "mkfifo target; ln -s target linked");
    for (final Map.Entry<String, String> other : others.entrySet()) {
      final Process made =
          new ProcessBuilder("sh", "-c", other.getValue()).directory(directory.toFile()).start();
      assertEquals(0, made.waitFor(), other.getKey());
      final Path path = directory.resolve(other.getKey());
      final String before = kind(path);
      final IOException refused =
          assertThrows(IOException.class, () -> start(path, null).close(), other.getKey());
      assertEquals(
          "socket " + path + ": the file exists and is not a socket", refused.getMessage());
      assertEquals(before, kind(path), other.getKey());
    }
  }

  private static String kind(Path path) throws IOException {
    final Map<String, Object> attributes =
        Files.readAttributes(path, "unix:mode,dev,ino,rdev", LinkOption.NOFOLLOW_LINKS);
    return new TreeMap<>(attributes).toString();
  }

  @Test
  void shouldRefuseASocketWhoseProcessAcceptsNoClient(@TempDir Path directory) throws Exception {
    final Path socket = directory.resolve("agent.sock");
    final List<SocketChannel> queued = new ArrayList<>();
    try (ServerSocketChannel silent = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      silent.bind(UnixDomainSocketAddress.of(socket), 1);
      boolean isQueued = true;
      while (isQueued) {
        final SocketChannel client = SocketChannel.open(StandardProtocolFamily.UNIX);
        queued.add(client);
        client.configureBlocking(false);
        try {
          client.connect(UnixDomainSocketAddress.of(socket));
        } catch (SocketException full) {
          isQueued = false;
        }
      }
      final AlreadyInUseException refused =
          assertThrows(AlreadyInUseException.class, () -> start(socket, null).close());
      assertEquals("socket " + socket + ": a process listens on it", refused.getMessage());
      assertTrue(Files.exists(socket));
    } finally {
      for (final SocketChannel client : queued) {
        client.close();
      }
    }
  }

  @Test
  void shouldRemoveOnlyTheSocketThatItBound(@TempDir Path directory) throws IOException {
    final Path socket = directory.resolve("agent.sock");
    try (ApiServer _ = start(socket, null)) {
      Files.delete(socket);
      Files.writeString(socket, "precious");
    }
    assertEquals("precious", Files.readString(socket));
    Files.delete(socket);
    final Path moved = directory.resolve("moved.sock");
    try (ApiServer _ = start(socket, null)) {
      Files.move(socket, moved);
      Files.createSymbolicLink(socket, moved);
    }
    assertTrue(Files.isSymbolicLink(socket));
    assertTrue(Files.exists(moved));
  }

  @Test
  void shouldRefuseAGroupThatDoesNotExist(@TempDir Path directory) throws IOException {
    final Path socket = directory.resolve("agent.sock");
    final IOException refused =
        assertThrows(IOException.class, () -> start(socket, "no-such-group").close());
    assertEquals(
        "socket " + socket + ": group 'no-such-group' does not exist", refused.getMessage());
    try (Stream<Path> left = Files.list(directory)) {
      assertEquals(0, left.count());
    }
  }

  private static ApiServer start(Path socket, String group) throws IOException {
    return ApiServer.start(
        new ApiContext().socketPath(socket).socketGroup(group),
        RouteTable.of(TestServer.withNames(Map.of())));
  }
}
