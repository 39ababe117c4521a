package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.policy.request.HttpVerdict;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests over each transport; the other tests are over the best one. */
class SocketTransportTest {
  private static final Path DISABLED = Path.of("/proc/sys/kernel/io_uring_disabled");

  @Test
  void shouldTakeIoUringWhereTheKernelPermitsIt() throws Exception {
    final boolean isPermitted =
        Files.exists(DISABLED) && Files.readString(DISABLED).strip().equals("0");
    assertEquals(
        isPermitted ? SocketTransport.IO_URING : SocketTransport.EPOLL, SocketTransport.best());
    assertEquals("io_uring(7)", SocketTransport.IO_URING.toString());
    final String other = SocketTransport.EPOLL.toString();
    assertTrue(
        isPermitted ? other.equals("epoll(7)") : other.startsWith("epoll(7), without io_uring: "));
  }

  @ParameterizedTest
  @EnumSource
  void shouldAnswerWhatWasAskedBeforeTheEndOfTheInput(SocketTransport transport) throws Exception {
    try (OriginServer server = OriginServer.answering();
        ProxyBench bench = new ProxyBench(server.port(), o -> o.transport(transport));
        HttpSocket client = bench.client()) {
      bench.rule =
          request -> request.path().equals("/no") ? HttpVerdict.DENIED : HttpVerdict.ALLOWED;
      client.send(
          "GET /yes HTTP/1.1\r\nHost: a.test\r\n\r\n"
              + "GET /no HTTP/1.1\r\nHost: a.test\r\n\r\n".repeat(2_000)
              + "POST /no HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nhi");
      client.socket.shutdownOutput();
      assertEquals(200, client.response().status());
      for (int i = 0; i <= 2_000; i++) {
        assertEquals(403, client.response().status());
      }
      assertTrue(client.isEnded());
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldPassAWholeBodyWhoseSenderEndsItsOutput(SocketTransport transport) throws Exception {
    final int length = 8_000_000;
    try (OriginServer server =
            new OriginServer(
                connection -> {
                  final HttpSocket.Message head = connection.head();
                  Thread.sleep(200); // the body fills all buffers
                  connection.exactly(length);
                  connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                });
        ProxyBench bench = new ProxyBench(server.port(), o -> o.transport(transport));
        HttpSocket client = bench.client()) {
      client.send("PUT /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + length + "\r\n\r\n");
      client.send(new byte[length]);
      client.socket.shutdownOutput();
      assertEquals(200, client.response().status());
      assertTrue(client.isEnded());
    }
  }
}
