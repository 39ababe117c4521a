package agent.server.socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SelectionKey;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.xnio.channels.ReadTimeoutException;
import org.xnio.channels.WriteTimeoutException;
import org.xnio.conduits.ConduitStreamSinkChannel;
import org.xnio.conduits.ConduitStreamSourceChannel;

/** One connection as Undertow uses it, and its client. */
@Timeout(60)
class UnixSocketConduitTest {
  private static final long NEVER_NS = TimeUnit.HOURS.toNanos(1);
  private static final long SHORT_NS = TimeUnit.MILLISECONDS.toNanos(1_100);

  @TempDir private Path directory;
  private final OpenConnections open = new OpenConnections(8, () -> {});
  private AcceptedSockets sockets;
  private UnixIoThread ioThread;

  @BeforeEach
  void start() throws IOException {
    sockets = new AcceptedSockets(directory);
    ioThread = sockets.ioThread;
  }

  @AfterEach
  void end() throws Exception {
    sockets.close();
  }

  /** Connects a client, which is the last one then. */
  private UnixStreamConnection connect(long stallLimitNs) throws IOException {
    return sockets.connect(open, stallLimitNs);
  }

  private void send(String text) throws IOException {
    sockets.last().write(bytes(text));
  }

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Reads what the client gets, up to a number of bytes or the end. */
  private String received(int most) throws IOException {
    final ByteBuffer all = ByteBuffer.allocate(most);
    int count = 0;
    while (count >= 0 && all.hasRemaining()) {
      count = sockets.last().read(all);
    }
    return new String(all.array(), 0, all.position(), StandardCharsets.UTF_8);
  }

  private static void until(BooleanSupplier reached) throws InterruptedException {
    while (!reached.getAsBoolean()) {
      Thread.sleep(1); // the test has a time limit
    }
  }

  @Test
  void shouldReadWhatTheClientSendsAndItsEnd() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final ConduitStreamSourceChannel source = connection.getSourceChannel();
    final ByteBuffer one = ByteBuffer.allocate(3);
    assertEquals(0, source.read(one));
    send("abcdefgh");
    source.awaitReadable();
    assertEquals(3, source.read(one));
    assertEquals("abc", new String(one.array(), StandardCharsets.UTF_8));
    final ByteBuffer[] two = {ByteBuffer.allocate(9), ByteBuffer.allocate(2), one.clear()};
    assertEquals(5, source.read(two, 1, 2));
    assertEquals("de", new String(two[1].array(), StandardCharsets.UTF_8));
    assertEquals("fgh", new String(one.array(), StandardCharsets.UTF_8));
    sockets.last().shutdownOutput();
    source.awaitReadable();
    assertEquals(-1, source.read(one.clear()));
    assertTrue(source.isOpen());
  }

  @Test
  void shouldWriteToTheClientAndEnd() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final ConduitStreamSinkChannel sink = connection.getSinkChannel();
    assertEquals(3, sink.write(bytes("abc")));
    assertEquals(3, sink.write(new ByteBuffer[] {bytes("-"), bytes("d"), bytes("ef")}, 1, 2));
    assertTrue(sink.flush());
    assertEquals(2, sink.writeFinal(bytes("gh")));
    assertEquals("abcdefgh", received(100));
    assertTrue(connection.isWriteShutdown());
    assertFalse(connection.isReadShutdown());
    assertTrue(connection.isOpen(), "the client may still send");
  }

  @Test
  void shouldEndAfterTheLastOfSeveralBuffers() throws Exception {
    final ConduitStreamSinkChannel sink = connect(NEVER_NS).getSinkChannel();
    assertEquals(3, sink.writeFinal(new ByteBuffer[] {bytes("-"), bytes("a"), bytes("bc")}, 1, 2));
    assertEquals("abc", received(100));
    connect(NEVER_NS).getSinkChannel().getConduit().truncateWrites();
    assertEquals("", received(100));
  }

  @Test
  void shouldTransferBetweenTheClientAndAFile() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final Path path = Files.writeString(directory.resolve("file"), "0123456789");
    try (FileChannel file =
        FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      assertEquals(4, connection.getSinkChannel().transferFrom(file, 2, 4));
      assertEquals("2345", received(4));
      send("abcdef");
      connection.getSourceChannel().awaitReadable();
      assertEquals(3, connection.getSourceChannel().transferTo(1, 3, file));
    }
    assertEquals("0abc456789", Files.readString(path));
  }

  @Test
  void shouldTransferBetweenTwoClients() throws Exception {
    final UnixStreamConnection from = connect(NEVER_NS);
    send("abcdefgh");
    from.getSourceChannel().awaitReadable();
    final UnixStreamConnection to = connect(NEVER_NS);
    final ByteBuffer through = ByteBuffer.allocate(16);
    assertEquals(3, from.getSourceChannel().transferTo(3, through, to.getSinkChannel()));
    assertEquals("abc", received(3));
    assertEquals(2, to.getSinkChannel().transferFrom(from.getSourceChannel(), 2, through.clear()));
    assertEquals("de", received(2));
  }

  @Test
  void shouldTellTheReaderOfWhatComesDuringAWorkerAtItsEnd() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final ConduitStreamSourceChannel source = connection.getSourceChannel();
    final BlockingQueue<Thread> called = new LinkedBlockingQueue<>();
    source
        .getReadSetter()
        .set(
            channel -> {
              called.add(Thread.currentThread());
              channel.suspendReads();
            });
    source.resumeReads();
    connection.beginWork();
    assertFalse(source.isReadResumed());
    connection.endWork();
    send("a");
    boolean isBusy; // the I/O thread may be awake for something else, and notice it then
    do {
      connection.beginWork();
      source.resumeReads();
      isBusy = called.poll(100, TimeUnit.MILLISECONDS) != null;
      connection.endWork();
      assertTrue(isBusy || called.take() == ioThread);
      until(() -> !source.isReadResumed());
    } while (isBusy);
    source.resumeReads();
    assertSame(ioThread, called.take(), "without a worker at once");
    connection.beginWork();
    final CompletableFuture<Void> elsewhere = CompletableFuture.runAsync(source::resumeReads);
    elsewhere.join();
    assertSame(ioThread, called.take(), "another thread at once");
    connection.endWork();
  }

  @Test
  void shouldTellTheReaderOnItsThreadAsLongAsItListens() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final ConduitStreamSourceChannel source = connection.getSourceChannel();
    final BlockingQueue<Thread> called = new LinkedBlockingQueue<>();
    source
        .getReadSetter()
        .set(
            channel -> {
              called.add(Thread.currentThread());
              channel.suspendReads();
            });
    assertFalse(source.isReadResumed());
    source.resumeReads();
    assertTrue(source.isReadResumed());
    send("a");
    assertSame(ioThread, called.take());
    until(() -> !source.isReadResumed());
    send("b");
    final CompletableFuture<Integer> later = new CompletableFuture<>();
    ioThread.executeAfter(() -> later.complete(called.size()), 20, TimeUnit.MILLISECONDS);
    assertEquals(0, later.join(), "it does not listen");
    source.wakeupReads();
    assertSame(ioThread, called.take());
    assertSame(ioThread, source.getConduit().getReadThread());
  }

  @Test
  void shouldWakeTheReaderWithoutBytesAndNotOneThatStoppedListening() throws Exception {
    final ConduitStreamSourceChannel source = connect(NEVER_NS).getSourceChannel();
    final BlockingQueue<String> called = new LinkedBlockingQueue<>();
    source.getReadSetter().set(channel -> called.add("read"));
    source.wakeupReads();
    assertEquals("read", called.take());
    source.suspendReads();
    final CompletableFuture<Boolean> resumed = new CompletableFuture<>();
    ioThread.execute(
        () -> {
          source.wakeupReads();
          source.suspendReads();
          ioThread.execute(() -> resumed.complete(source.isReadResumed()));
        });
    assertFalse(resumed.join());
    assertTrue(called.isEmpty(), "it has stopped before its turn");
  }

  @Test
  void shouldTellTheWriterOnItsThreadAsLongAsItListens() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final ConduitStreamSinkChannel sink = connection.getSinkChannel();
    final BlockingQueue<Thread> called = new LinkedBlockingQueue<>();
    sink.getWriteSetter()
        .set(
            channel -> {
              called.add(Thread.currentThread());
              channel.suspendWrites();
            });
    assertFalse(sink.isWriteResumed());
    assertFalse(connection.waitsForClient());
    final CompletableFuture<Boolean> waits = new CompletableFuture<>();
    ioThread.execute(
        () -> {
          sink.resumeWrites();
          waits.complete(sink.isWriteResumed() && connection.waitsForClient());
        });
    assertTrue(waits.join(), "a write that has to go on waits for the client");
    assertSame(ioThread, called.take());
    until(() -> !sink.isWriteResumed());
    assertFalse(connection.waitsForClient());
    sink.wakeupWrites();
    assertSame(ioThread, called.take());
    assertSame(ioThread, sink.getConduit().getWriteThread());
    final CompletableFuture<Boolean> resumed = new CompletableFuture<>();
    ioThread.execute(
        () -> {
          sink.wakeupWrites();
          sink.suspendWrites();
          ioThread.execute(() -> resumed.complete(sink.isWriteResumed()));
        });
    assertFalse(resumed.join());
    final CompletableFuture<Integer> later = new CompletableFuture<>();
    ioThread.executeAfter(() -> later.complete(called.size()), 20, TimeUnit.MILLISECONDS);
    assertEquals(0, later.join(), "it has stopped before its turn");
  }

  @Test
  void shouldTellEachSideOnlyOfWhatItWaitsFor() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final ConduitStreamSourceChannel source = connection.getSourceChannel();
    final ConduitStreamSinkChannel sink = connection.getSinkChannel();
    final BlockingQueue<String> called = new LinkedBlockingQueue<>();
    source
        .getReadSetter()
        .set(
            channel -> {
              channel.suspendReads();
              called.add("read");
            });
    sink.getWriteSetter()
        .set(
            channel -> {
              channel.suspendWrites();
              called.add("write");
            });
    source.resumeReads();
    sink.resumeWrites();
    assertEquals("write", called.take());
    fill(sink);
    sink.resumeWrites();
    send("a");
    assertEquals("read", called.take());
    sockets.ioTasks();
    assertTrue(called.isEmpty(), "there is no room");
    sink.suspendWrites();
    sink.wakeupWrites();
    assertEquals("write", called.take(), "it is woken without room");
  }

  /** The I/O thread would spin on what is ready and not taken. */
  @Test
  void shouldAskTheSelectorOnlyForWhatIsListenedTo() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final SelectionKey key = sockets.key(connection);
    fill(connection.getSinkChannel());
    connection.getSourceChannel().resumeReads();
    connection.getSinkChannel().resumeWrites();
    assertEquals(SelectionKey.OP_READ | SelectionKey.OP_WRITE, key.interestOps());
    connection.getSourceChannel().suspendReads();
    assertEquals(SelectionKey.OP_WRITE, key.interestOps());
    connection.getSinkChannel().suspendWrites();
    assertEquals(0, key.interestOps());
  }

  @Test
  void shouldAskTheSelectorForWhatAWorkerWaitsForUntilItHasCome() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final SelectionKey key = sockets.key(connection);
    final Thread reader = waiter(connection.getSourceChannel()::awaitReadable);
    until(connection::waitsForClient);
    connection.getSourceChannel().suspendReads();
    assertEquals(SelectionKey.OP_READ, key.interestOps());
    send("a");
    reader.join();
    assertEquals(0, key.interestOps(), "its byte is not read yet");
    final int filled = fill(connection.getSinkChannel());
    final Thread writer = waiter(connection.getSinkChannel()::awaitWritable);
    until(connection::waitsForClient);
    connection.getSinkChannel().suspendWrites();
    assertEquals(SelectionKey.OP_WRITE, key.interestOps());
    received(filled);
    writer.join();
    assertEquals(0, key.interestOps());
  }

  /** What a worker waits for. */
  private interface Wait {
    void end() throws IOException;
  }

  private static Thread waiter(Wait wait) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                wait.end();
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });
  }

  @Test
  void shouldSleepWhileAWorkerWaitsAndWaitOnWhenItIsWokenForNothing() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    assertSleeps(connection.getSourceChannel()::awaitReadable, () -> send("a"));
    final int filled = fill(connection.getSinkChannel());
    assertSleeps(connection.getSinkChannel()::awaitWritable, () -> received(filled));
  }

  private static void assertSleeps(Wait wait, Wait end) throws Exception {
    final AtomicBoolean isEnded = new AtomicBoolean();
    final CompletableFuture<Boolean> isEndedBefore = new CompletableFuture<>();
    final Thread waiter =
        waiter(
            () -> {
              wait.end();
              isEndedBefore.complete(isEnded.get());
            });
    for (int i = 0; i < 20; i++) {
      until(() -> waiter.getState() == Thread.State.TIMED_WAITING || isEndedBefore.isDone());
      LockSupport.unpark(waiter);
      Thread.sleep(1);
    }
    isEnded.set(true);
    end.end();
    assertTrue(isEndedBefore.join());
  }

  @Test
  void shouldWaitForBytesNoLongerThanAsked() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final long startNs = System.nanoTime();
    connection.getSourceChannel().awaitReadable(30, TimeUnit.MILLISECONDS);
    assertTrue(System.nanoTime() - startNs >= TimeUnit.MILLISECONDS.toNanos(30));
    assertTrue(connection.isOpen());
    final CompletableFuture<Integer> read = new CompletableFuture<>();
    Thread.ofVirtual().start(() -> read.complete(awaitedRead(connection)));
    until(connection::waitsForClient);
    send("abc");
    assertEquals(3, read.join());
    assertFalse(connection.waitsForClient());
  }

  private static int awaitedRead(UnixStreamConnection connection) {
    try {
      connection.getSourceChannel().awaitReadable();
      return connection.getSourceChannel().read(ByteBuffer.allocate(10));
    } catch (IOException e) {
      return Integer.MIN_VALUE;
    }
  }

  @Test
  void shouldEndTheConnectionOfAClientThatSendsNothing() throws Exception {
    final UnixStreamConnection connection = connect(SHORT_NS);
    final ReadTimeoutException failure =
        assertThrows(
            ReadTimeoutException.class, () -> connection.getSourceChannel().awaitReadable());
    assertEquals("the client sent nothing for 1 s", failure.getMessage());
    assertFalse(connection.isOpen());
    assertEquals("", received(1));
    assertEquals(0, open.counts().open());
  }

  @Test
  void shouldWaitForRoomAndEndTheConnectionOfAClientThatReadsNothing() throws Exception {
    final UnixStreamConnection connection = connect(SHORT_NS);
    final ConduitStreamSinkChannel sink = connection.getSinkChannel();
    final int filled = fill(sink);
    final long startNs = System.nanoTime();
    sink.awaitWritable(30, TimeUnit.MILLISECONDS);
    assertTrue(System.nanoTime() - startNs >= TimeUnit.MILLISECONDS.toNanos(30));
    assertTrue(connection.isOpen());
    final WriteTimeoutException failure =
        assertThrows(WriteTimeoutException.class, sink::awaitWritable);
    assertEquals("the client read nothing for 1 s", failure.getMessage());
    assertFalse(connection.isOpen());
    assertEquals(filled, received(filled + 1).length());
  }

  private static int fill(ConduitStreamSinkChannel sink) throws IOException {
    int filled = 0;
    int written = 1;
    while (written > 0) {
      written = sink.write(ByteBuffer.wrap("x".repeat(4096).getBytes(StandardCharsets.UTF_8)));
      filled += written;
    }
    return filled;
  }

  @Test
  void shouldGoOnWritingWhenTheClientReads() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final ConduitStreamSinkChannel sink = connection.getSinkChannel();
    final int filled = fill(sink);
    final CompletableFuture<Integer> written = new CompletableFuture<>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                sink.awaitWritable();
                written.complete(sink.write(bytes("end")));
              } catch (IOException e) {
                written.completeExceptionally(e);
              }
            });
    until(connection::waitsForClient);
    assertEquals(filled, received(filled).length());
    assertEquals(3, written.join());
    assertEquals("end", received(3));
  }

  @Test
  void shouldReleaseAWaiterWhoseConnectionIsClosed() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final CompletableFuture<Integer> read = new CompletableFuture<>();
    Thread.ofVirtual().start(() -> read.complete(awaitedRead(connection)));
    until(connection::waitsForClient);
    connection.close();
    assertNotEquals(0, read.join());
    final UnixStreamConnection other = connect(NEVER_NS);
    fill(other.getSinkChannel());
    final CompletableFuture<String> released = new CompletableFuture<>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                other.getSinkChannel().awaitWritable();
                released.complete("returned");
              } catch (IOException e) {
                released.complete("failed");
              }
            });
    until(other::waitsForClient);
    other.close();
    assertEquals("returned", released.join());
  }

  /** The kernel would reset a connection with unread bytes, and the client lose its answer. */
  @Test
  void shouldLetTheClientReadItsAnswerWhereItsBodyWasNotRead() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    send("x".repeat(40_000));
    connection.getSinkChannel().write(bytes("refused"));
    connection.close();
    connection.close();
    final CompletableFuture<Boolean> deregistered = new CompletableFuture<>();
    ioThread.executeAfter(() -> deregistered.complete(true), 20, TimeUnit.MILLISECONDS);
    assertTrue(deregistered.join(), "the descriptor is closed after the next selection");
    assertEquals("refused", received(100));
    assertEquals(0, open.counts().open());
  }

  @Test
  void shouldReleaseTheDescriptorOfAClosedConnectionAtOnce() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    sockets.ioTasks();
    connection.close();
    until(this::isGone);
  }

  /** Returns whether the other end of the last client's socket has no descriptor any more. */
  private boolean isGone() {
    try {
      send("x");
      return false;
    } catch (IOException brokenPipe) {
      return true;
    }
  }

  @Test
  void shouldSendARefusalOfTheParserWithABodyAndNothingAfterIt() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final ConduitStreamSinkChannel sink = connection.getSinkChannel();
    final ByteBuffer bodiless =
        bytes("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    final int length = bodiless.remaining();
    assertEquals(length, sink.write(bodiless));
    assertEquals(0, bodiless.remaining());
    assertEquals(3, sink.write(bytes("abc")), "it is passed over");
    connection.close();
    final String answer = received(1000);
    assertTrue(
        answer.endsWith("\r\n\r\n\"request: its line or its headers are malformed or too large\""));
  }

  @Test
  void shouldKeepTheTimeOfTheLastBytes() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final long atFirst = connection.lastActiveNs();
    connection.getSourceChannel().read(ByteBuffer.allocate(1));
    assertEquals(atFirst, connection.lastActiveNs(), "nothing has come");
    final long beforeNs = System.nanoTime();
    send("a");
    connection.getSourceChannel().awaitReadable();
    connection.getSourceChannel().read(ByteBuffer.allocate(1));
    final long afterRead = connection.lastActiveNs();
    assertTrue(afterRead - beforeNs >= 0);
    connection.getSinkChannel().write(bytes("a"));
    final long afterWrite = connection.lastActiveNs();
    assertTrue(afterWrite - afterRead > 0);
    send("bc");
    connection.getSourceChannel().awaitReadable();
    connection.getSourceChannel().read(new ByteBuffer[] {ByteBuffer.allocate(2)}, 0, 1);
    assertTrue(connection.lastActiveNs() - afterWrite > 0);
  }

  @Test
  void shouldCloseWhenBothSidesHaveEnded() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    final AtomicInteger closed = new AtomicInteger();
    connection.setCloseListener(ended -> closed.incrementAndGet());
    connection.getSourceChannel().resumeReads();
    connection.getSinkChannel().resumeWrites();
    connection.getSourceChannel().shutdownReads();
    assertTrue(connection.isReadShutdown());
    assertTrue(connection.getSourceChannel().getConduit().isReadShutdown());
    assertFalse(connection.getSinkChannel().getConduit().isWriteShutdown());
    assertFalse(connection.getSourceChannel().isReadResumed());
    send("a");
    assertEquals(-1, connection.getSourceChannel().read(ByteBuffer.allocate(1)));
    assertEquals(
        -1, connection.getSourceChannel().read(new ByteBuffer[] {ByteBuffer.allocate(1)}, 0, 1));
    assertTrue(connection.isOpen());
    connection.getSinkChannel().shutdownWrites();
    assertTrue(connection.getSinkChannel().getConduit().isWriteShutdown());
    assertFalse(connection.getSinkChannel().isWriteResumed());
    connection.getSinkChannel().flush();
    until(() -> closed.get() == 1);
    assertFalse(connection.isOpen());
    assertEquals("", received(1));
  }

  @Test
  void shouldBeIdleWhileNoRequestIsThere() throws Exception {
    final UnixStreamConnection connection = connect(NEVER_NS);
    assertTrue(connection.isIdle());
    final long before = connection.lastActiveNs();
    send("G");
    assertFalse(connection.isIdle(), "a request has come");
    assertTrue(connection.lastActiveNs() - before > 0);
    connection.getSourceChannel().read(ByteBuffer.allocate(1));
    assertTrue(connection.isIdle());
    connection.beginRequest();
    assertEquals(1, open.counts().inUse());
    assertFalse(connection.isIdle(), "the agent is at work");
    fill(connection.getSinkChannel());
    connection.getSinkChannel().resumeWrites();
    assertTrue(connection.isIdle(), "the client reads nothing");
    connection.endRequest();
    assertEquals(0, open.counts().inUse());
    assertEquals(ProcessHandle.current().pid(), connection.credentials().pid());
    assertSame(connection.credentials(), connection.credentials());
  }
}
