package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.RedirectKind;
import agent.testkit.RecordedLog;
import agent.types.IpAddress;
import io.netty.util.ResourceLeakDetector;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Where the proxy listens, on which threads, and what is left of it. */
@Timeout(60)
class HttpProxyStartTest {
  private static final int PORTS = 8;

  private Optional<IpAddress> ipv4 = Optional.of(ProxyBench.LOOPBACK);
  private Optional<IpAddress> ipv6 = Optional.empty();
  private int previous;

  private HttpProxy start() throws IOException {
    return start(options -> {});
  }

  private HttpProxy start(Consumer<HttpProxyContext> options) throws IOException {
    final ExchangeBench bench =
        new ExchangeBench() {
          @Override
          public Optional<IpAddress> address(boolean isIpv6) {
            return isIpv6 ? ipv6 : ipv4;
          }

          @Override
          public int previousPort(RedirectKind kind) {
            return kind == RedirectKind.HTTP ? previous : 0;
          }
        };
    final HttpProxyContext context =
        new HttpProxyContext().redirect(bench).policies(bench).threads(2).descriptors(2);
    options.accept(context);
    return HttpProxy.start(context);
  }

  private static void listen(String address, int port) throws IOException {
    new ServerSocket(port, 1, InetAddress.getByName(address)).close();
  }

  private static List<Thread> threads(String name) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith(name))
        .toList();
  }

  private static List<Thread> threads() {
    return threads("l7-http-");
  }

  /** The last thing that a thread does may be to say that it has ended. */
  private static void awaitEnd(String name) throws InterruptedException {
    for (final Thread thread : threads(name)) {
      thread.join();
    }
  }

  @BeforeEach
  void awaitOthers() throws InterruptedException {
    awaitEnd("l7-http-");
  }

  @ParameterizedTest
  @EnumSource
  void shouldListenOnEightPortsOfEachFamilyAndLeaveThem(SocketTransport transport)
      throws Exception {
    ipv6 = Optional.of(IpAddress.parse("::1"));
    final int first;
    try (HttpProxy proxy = start(options -> options.transport(transport))) {
      first = proxy.firstPort();
      for (final String address : List.of("127.0.0.1", "::1")) {
        for (int port = first; port < first + PORTS; port++) {
          final int taken = port;
          assertThrows(IOException.class, () -> listen(address, taken));
          new Socket(address, port).close();
        }
        listen(address, first + PORTS);
      }
    }
    for (int port = first; port < first + PORTS; port++) {
      listen("127.0.0.1", port);
      listen("::1", port);
    }
  }

  @Test
  void shouldTakeThePortsOfTheFormerRun() throws Exception {
    try (HttpProxy proxy = start()) {
      previous = proxy.firstPort();
    }
    try (HttpProxy proxy = start()) {
      assertEquals(previous, proxy.firstPort());
    }
  }

  @Test
  void shouldLeaveTheOtherPortsOfABlockThatItCannotHave() throws Exception {
    try (HttpProxy proxy = start()) {
      previous = proxy.firstPort();
    }
    try (ServerSocket _ = new ServerSocket(previous + 3, 1, InetAddress.getByName("127.0.0.1"));
        HttpProxy proxy = start()) {
      assertTrue(Math.abs(proxy.firstPort() - previous) > 3);
      listen("127.0.0.1", previous);
    }
  }

  @Test
  void shouldSayWhyItCannotListen() throws Exception {
    ipv4 = Optional.of(IpAddress.parse("192.0.2.1"));
    final String message = assertThrows(IOException.class, this::start).getMessage();
    assertTrue(message.matches(".*192\\.0\\.2\\.1 port \\d+: .*[Cc]annot assign.*"), message);
    ipv4 = Optional.empty();
    assertTrue(
        assertThrows(IOException.class, this::start)
            .getMessage()
            .endsWith("HTTP proxy: this node has no address"));
    awaitEnd("l7-http-");
  }

  @Test
  void shouldServeOnDaemonThreadsThatEndWithIt() throws Exception {
    try (HttpProxy proxy = start()) {
      assertEquals(0, proxy.connections());
      final List<Thread> serving = threads();
      assertEquals(
          List.of("l7-http-0", "l7-http-1"),
          IntStream.range(0, 2).mapToObj(i -> serving.get(i).getName()).sorted().toList());
      assertTrue(serving.stream().allMatch(Thread::isDaemon));
    }
    awaitEnd("l7-http-");
  }

  @Test
  void shouldSayWhereItListens() throws Exception {
    try (RecordedLog log = RecordedLog.of(HttpProxy.class);
        HttpProxy proxy = start(options -> options.transport(SocketTransport.EPOLL))) {
      assertEquals(
          List.of(
              "INFO HTTP proxy: ports %d to %d, at most 2 descriptors, %s"
                  .formatted(
                      proxy.firstPort(), proxy.firstPort() + PORTS - 1, SocketTransport.EPOLL)),
          log.take());
    }
  }

  @Test
  void shouldCountNoDroppedRecordsWithoutALogAndThoseOfAFullDisk() throws Exception {
    try (HttpProxy proxy = start()) {
      proxy.reopen();
      assertEquals(0, proxy.droppedRecords());
    }
    try (OriginServer server = OriginServer.answering();
        ProxyBench bench =
            new ProxyBench(server.port(), options -> options.accessLog(Path.of("/dev/full")))) {
      try (HttpSocket client = bench.client()) {
        assertEquals(200, client.get("/").status());
        assertTrue(bench.proxy.bufferBytes() > 0);
      }
      bench.proxy.close();
      assertEquals(1, bench.proxy.droppedRecords());
    }
    awaitEnd("access-log");
  }

  @Test
  void shouldLogTheRequestsThatItsEndCutsOff(@TempDir Path folder) throws Exception {
    final Path file = folder.resolve("access.log");
    final CountDownLatch asked = new CountDownLatch(1);
    try (OriginServer server =
            new OriginServer(
                connection -> {
                  connection.request();
                  asked.countDown();
                  connection.line(); // it does not answer
                });
        ProxyBench bench = new ProxyBench(server.port(), options -> options.accessLog(file));
        HttpSocket client = bench.client()) {
      client.send("GET /cut HTTP/1.1\r\nHost: a.test\r\n\r\n");
      asked.await();
      bench.proxy.close();
      assertTrue(Files.readString(file).contains("\"path\":\"/cut\""));
      assertEquals(0, bench.proxy.droppedRecords());
    }
  }

  @Test
  void shouldTakeNoStackTracesOfBuffers() throws Exception {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.SIMPLE);
    start().close();
    assertEquals(ResourceLeakDetector.Level.DISABLED, ResourceLeakDetector.getLevel());
  }
}
