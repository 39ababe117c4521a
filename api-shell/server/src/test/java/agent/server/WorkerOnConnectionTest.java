package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.WireFormat;
import agent.server.socket.SleepingIoThread;
import agent.server.socket.UnixSocketListener;
import agent.testkit.RecordedLog;
import io.undertow.UndertowOptions;
import io.undertow.server.DefaultByteBufferPool;
import io.undertow.server.protocol.http.HttpOpenListener;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.xnio.OptionMap;
import org.xnio.StreamConnection;
import org.xnio.conduits.ConduitStreamSourceChannel;
import org.xnio.conduits.ReadReadyHandler;
import org.xnio.conduits.StreamSourceConduit;

/** What the connection of a request learns of the worker that serves it. */
@Timeout(60)
class WorkerOnConnectionTest {
  @TempDir private Path directory;
  private final CompletableFuture<StreamConnection> connection = new CompletableFuture<>();
  private final CompletableFuture<StreamSourceConduit> conduit = new CompletableFuture<>();
  private final CountDownLatch atWork = new CountDownLatch(1);
  private final CountDownLatch nextSent = new CountDownLatch(1);

  /** Returns whether the I/O thread reads the next request once the calling worker wants it to. */
  private boolean isReadDuringWork() throws InterruptedException {
    final ConduitStreamSourceChannel source = connection.join().getSourceChannel();
    final BlockingQueue<Thread> readers = new ArrayBlockingQueue<>(1);
    conduit.join().setReadReadyHandler(new Recorder(readers));
    atWork.countDown();
    nextSent.await();
    awaitSleep(source);
    conduit.join().resumeReads();
    final boolean isRead = readers.poll(200, TimeUnit.MILLISECONDS) != null;
    conduit.join().setReadReadyHandler(new ReadReadyHandler.ChannelListenerHandler<>(source));
    return isRead;
  }

  /** Returns after the I/O thread has noticed what has come before, and waits for more. */
  private static void awaitSleep(ConduitStreamSourceChannel source) throws InterruptedException {
    final CountDownLatch noticed = new CountDownLatch(1);
    source.getIoThread().execute(noticed::countDown);
    noticed.await();
    SleepingIoThread.await(source.getIoThread());
  }

  /** Records that bytes are readable, and reads none. */
  private record Recorder(BlockingQueue<Thread> readers) implements ReadReadyHandler {
    @Override
    public void readReady() {
      readers.offer(Thread.currentThread());
    }

    @Override
    public void forceTermination() {}

    @Override
    public void terminated() {}
  }

  /** Serves one client whose requests the handler answers. */
  private void serve(ExecutorService workers, ApiHandler handler, Conversation client)
      throws Exception {
    final Path socket = directory.resolve("agent.sock");
    try (DefaultByteBufferPool buffers = new DefaultByteBufferPool(true, 16 << 10)) {
      // The date of answers is kept by a timer, which wakes the I/O thread too.
      final HttpOpenListener http =
          new HttpOpenListener(buffers, OptionMap.create(UndertowOptions.ALWAYS_SET_DATE, false));
      http.setRootHandler(
          new ApiDispatcher(
              new ApiContext().socketPath(socket).conclude(),
              RouteTable.of(TestServer.withNames(Map.of(Route.PUT_POLICY, handler))),
              WireFormat.strictMapper(),
              workers,
              workers));
      try (UnixSocketListener listener =
          new UnixSocketListener(
              socket,
              null,
              1,
              TimeUnit.HOURS.toMillis(1),
              8,
              opened -> {
                connection.complete(opened);
                conduit.complete(opened.getSourceChannel().getConduit());
                http.handleEvent(opened);
              })) {
        listener.start();
        try (RawClient raw = new RawClient(socket)) {
          client.holdWith(raw);
        }
        http.closeConnections();
      }
    }
  }

  private interface Conversation {
    void holdWith(RawClient client) throws Exception;
  }

  /** Otherwise the I/O thread spins until the worker has ended. */
  @Test
  void shouldReadTheNextRequestWhenTheWorkerHasEnded() throws Exception {
    try (ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor()) {
      serve(
          workers,
          request -> Answer.ok(isReadDuringWork()),
          client -> {
            client.send(TestServer.request("PUT", "/policy", "[]"));
            atWork.await();
            client.send(TestServer.get("/healthz"));
            nextSent.countDown();
            final String first = client.readAnswer();
            assertTrue(first.endsWith("\r\n\r\nfalse"), first);
            final String second = client.readAnswer();
            assertTrue(second.endsWith("\"getHealthz\""), second);
          });
    }
  }

  /** Otherwise the I/O thread sleeps on when this thread later wants the connection to be read. */
  @Test
  void shouldNotTakeAThreadForAWorkerThatWasOneBefore() throws Exception {
    try (ExecutorService worker = Executors.newSingleThreadExecutor()) {
      serve(
          worker,
          request -> Answer.ok(true),
          client -> {
            client.send(TestServer.request("PUT", "/policy", "[]"));
            client.readAnswer();
            worker.submit(() -> {}).get(); // after the end of the work
            final ConduitStreamSourceChannel source = connection.join().getSourceChannel();
            final BlockingQueue<Thread> readers = new ArrayBlockingQueue<>(1);
            source.suspendReads();
            conduit.join().setReadReadyHandler(new Recorder(readers));
            client.send(TestServer.get("/healthz"));
            awaitSleep(source);
            worker.submit(() -> conduit.join().resumeReads()).get();
            assertSame(source.getIoThread(), readers.take());
          });
    }
  }

  @Test
  void shouldLogAChangeWhosePeerHasGone() throws Exception {
    try (RecordedLog log = RecordedLog.of(ApiDispatcher.class)) {
      final CountDownLatch gone = new CountDownLatch(1);
      try (ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor()) {
        serve(
            workers,
            request -> {
              connection.join().close();
              gone.await();
              return Answer.ok(true);
            },
            client -> {
              client.send(TestServer.request("PUT", "/policy", "[]"));
              assertThrows(IOException.class, () -> sendToEnd(client));
              gone.countDown();
            });
      }
      assertEquals(
          1,
          log.take().stream()
              .filter(line -> line.startsWith("INFO api: PUT /policy 200 by pid="))
              .count());
    }
  }

  /** Returns with an exception when the server has no descriptor of the connection any more. */
  private static void sendToEnd(RawClient client) throws IOException {
    while (true) {
      client.send("x");
    }
  }
}
