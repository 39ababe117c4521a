package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What ends with the server, and how much of a body it reads. */
@Timeout(60)
class ApiServerTest {
  private static final int LIMIT = 1 << 20;

  @Test
  void shouldEndItsConnectionsAndThreadsWhenItIsClosed() throws Exception {
    final CompletableFuture<Thread> ioThread = new CompletableFuture<>();
    final CompletableFuture<Thread> worker = new CompletableFuture<>();
    final CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    final Map<Route, ApiHandler> handlers =
        Map.of(
            Route.GET_HEALTHZ,
            request -> {
              ioThread.complete(Thread.currentThread());
              return Answer.ok("ready");
            },
            Route.GET_POLICY,
            request -> {
              worker.complete(Thread.currentThread());
              try {
                new CountDownLatch(1).await();
              } catch (InterruptedException e) {
                interrupted.complete(true);
              }
              return Answer.ok("late");
            });
    final TestServer server = TestServer.start(handlers);
    try (RawClient idle = server.connect();
        RawClient waiting = server.connect()) {
      idle.send(TestServer.get("/healthz")).readAnswer();
      waiting.send(TestServer.get("/policy"));
      assertTrue(worker.join().isVirtual());
      assertTrue(worker.join().getName().matches("api-[0-9]+"), worker.join().getName());
      assertEquals(2, server.server().connections().open());
      server.close();
      assertEquals("", idle.readToEnd());
      waiting.readToEnd(); // its answer may have come first
      assertThrows(IOException.class, server::connect);
      assertFalse(ioThread.join().isAlive());
      assertTrue(interrupted.join());
    }
  }

  /** A wait that tells, on the thread that ends it, whether a file is there then. */
  private static final class EndedWait extends AbstractInterruptibleChannel {
    private final CompletableFuture<Boolean> isThere = new CompletableFuture<>();
    private final CountDownLatch begun = new CountDownLatch(1);
    private final Path file;

    EndedWait(Path file) {
      this.file = file;
    }

    void await() throws IOException {
      begin();
      try {
        begun.countDown();
        isThere.join();
      } finally {
        end(true);
      }
    }

    @Override
    protected void implCloseChannel() {
      isThere.complete(Files.exists(file));
    }
  }

  @Test
  void shouldAcceptNoClientWhenItBeginsToEndItsWorkers() throws Exception {
    final AtomicReference<EndedWait> wait = new AtomicReference<>();
    final TestServer server =
        TestServer.start(
            Map.of(
                Route.GET_POLICY,
                request -> {
                  wait.get().await();
                  return Answer.ok("late");
                }));
    wait.set(new EndedWait(server.socket()));
    try (RawClient _ = server.connect().send(TestServer.get("/policy"))) {
      wait.get().begun.await();
      server.close();
      assertFalse(wait.get().isThere.join());
    }
  }

  @Test
  void shouldReadNoMoreThanFourTimesTheLimitOfABodyThatNoHandlerReads() throws IOException {
    try (TestServer server = TestServer.start(new ApiContext().maxBodyBytes(LIMIT), Map.of());
        RawClient client = server.connect()) {
      client.send("PUT /policy HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
      final byte[] chunk = ("10000\r\n" + "x".repeat(LIMIT / 16) + "\r\n").getBytes();
      client.send(chunk, 3 * 16);
      // more than is discarded, and the socket has room for
      assertThrows(IOException.class, () -> client.send(chunk, 4 * 16));
    }
  }
}
