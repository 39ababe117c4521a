package agent.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Connections to a listener whose queue is full, and reads and writes that end after a time. */
@Timeout(60)
class UnixHttpConnectionTest {
  private static final Duration SHORT = Duration.ofMillis(300);
  private static final Duration LONG = Duration.ofSeconds(20);

  /** Less than the time after which a thread that was not ended ends by itself. */
  private static final Duration ENDED_WITHIN = Duration.ofSeconds(10);

  @TempDir private Path directory;
  private Path socket;
  private ServerSocketChannel listener;
  private final List<SocketChannel> queued = new ArrayList<>();

  @BeforeEach
  void listen() throws IOException {
    socket = directory.resolve("s");
    listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    listener.bind(UnixDomainSocketAddress.of(socket), 1);
  }

  @AfterEach
  void close() throws IOException {
    for (final SocketChannel one : queued) {
      one.close();
    }
    listener.close();
  }

  /** Connects until the kernel takes no more. */
  private void fillQueue() throws IOException {
    while (true) {
      final SocketChannel one = SocketChannel.open(StandardProtocolFamily.UNIX);
      one.configureBlocking(false);
      try {
        one.connect(UnixDomainSocketAddress.of(socket));
        queued.add(one);
      } catch (IOException full) {
        one.close();
        return;
      }
    }
  }

  private static boolean isTimerAlive() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().equals("connect-timeout"));
  }

  private static void awaitNoTimer() throws InterruptedException {
    final long endNs = System.nanoTime() + ENDED_WITHIN.toNanos();
    while (isTimerAlive()) {
      assertTrue(System.nanoTime() < endNs, "a thread waits on");
      Thread.sleep(5);
    }
  }

  @Test
  void shouldEndAConnectThatWaitsTooLong() throws Exception {
    fillQueue();
    final long startNs = System.nanoTime();
    assertEquals(
        "no connection accepted within 300 ms",
        assertThrows(IOException.class, () -> UnixHttpConnection.open(socket, SHORT)).getMessage());
    final long ms = (System.nanoTime() - startNs) / 1_000_000;
    assertTrue(ms >= 290 && ms < 5000, ms + " ms");
    assertEquals(
        "no connection accepted within 1 s",
        assertThrows(
                IOException.class, () -> UnixHttpConnection.open(socket, Duration.ofSeconds(1)))
            .getMessage());
    awaitNoTimer();
  }

  @Test
  void shouldWaitForAPlaceInTheQueue() throws Exception {
    fillQueue();
    final Thread acceptor =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    Thread.sleep(200);
                    for (int i = 0; i <= queued.size(); i++) {
                      final SocketChannel one = listener.accept();
                      one.write(ByteBuffer.wrap("hello\n".getBytes(StandardCharsets.US_ASCII)));
                    }
                  } catch (IOException | InterruptedException ended) {
                    // the test says what is missing
                  }
                });
    try (UnixHttpConnection connection = UnixHttpConnection.open(socket, LONG)) {
      assertFalse(isTimerAlive());
      assertEquals("hello", connection.readLine(10));
    }
    assertTrue(acceptor.join(LONG));
  }

  @Test
  void shouldLeaveAWaitThatIsInterrupted() throws Exception {
    fillQueue();
    final List<Object> seen = new ArrayList<>();
    final Thread waiting =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    UnixHttpConnection.open(socket, LONG);
                  } catch (IOException interrupted) {
                    seen.add(interrupted);
                  }
                });
    Thread.sleep(200);
    waiting.interrupt();
    assertTrue(waiting.join(ENDED_WITHIN));
    assertEquals(1, seen.size());
    awaitNoTimer();
  }

  @Test
  void shouldEndAWriteThatIsNotRead() throws Exception {
    try (UnixHttpConnection connection = UnixHttpConnection.open(socket, SHORT);
        SocketChannel _ = listener.accept()) {
      assertEquals(
          "the agent did not answer within 300 ms",
          assertThrows(IOException.class, () -> connection.write(ByteBuffer.allocate(16 << 20)))
              .getMessage());
    }
  }

  @Test
  void shouldWriteWhatIsReadSlowly() throws Exception {
    try (UnixHttpConnection connection = UnixHttpConnection.open(socket, LONG);
        SocketChannel peer = listener.accept()) {
      final int bytes = 2 << 20;
      final int[] received = new int[1];
      final Thread reader =
          Thread.ofPlatform()
              .start(
                  () -> {
                    final ByteBuffer part = ByteBuffer.allocate(64 * 1024);
                    try {
                      Thread.sleep(100);
                      for (int count = 0; count >= 0 && received[0] < bytes; ) {
                        count = peer.read(part.clear());
                        received[0] += Math.max(0, count);
                      }
                    } catch (IOException | InterruptedException ended) {
                      // the count says what is missing
                    }
                  });
      connection.write(ByteBuffer.allocate(bytes));
      assertTrue(reader.join(LONG));
      assertEquals(bytes, received[0]);
    }
  }

  private SocketChannel answering(String text) throws IOException {
    final SocketChannel peer = listener.accept();
    peer.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1)));
    return peer;
  }

  @Test
  void shouldReadLinesUpToTheirLimit() throws Exception {
    try (UnixHttpConnection connection = UnixHttpConnection.open(socket, LONG);
        SocketChannel peer = answering("\nabc\r\n\r\nab\rc\na\0b\nabcd\nabcde\nrest")) {
      assertEquals("", connection.readLine(0));
      assertEquals("abc", connection.readLine(4), "its end counts");
      assertEquals("", connection.readLine(4));
      assertEquals("ab\rc", connection.readLine(4));
      assertEquals("a\0b", connection.readLine(4));
      assertEquals("abcd", connection.readLine(4));
      assertEquals(
          "a line of the answer is too long",
          assertThrows(IOException.class, () -> connection.readLine(4)).getMessage());
      assertEquals("", connection.readLine(4), "what follows is still there");
      peer.shutdownOutput();
      assertEquals(
          "the agent closed the connection",
          assertThrows(EOFException.class, () -> connection.readLine(9)).getMessage());
    }
  }

  @Test
  void shouldReadToTheEnd() throws Exception {
    try (UnixHttpConnection connection = UnixHttpConnection.open(socket, LONG);
        SocketChannel peer = answering("\u00ff\u0001abc")) {
      peer.shutdownOutput();
      final InputStream rest = connection.untilClose();
      assertEquals(0xff, rest.read());
      assertEquals(0, rest.read(new byte[1], 0, 0));
      assertEquals(1, rest.read());
      final byte[] part = new byte[5];
      assertEquals(2, rest.read(part, 1, 2));
      assertEquals("\0ab\0\0", new String(part, StandardCharsets.US_ASCII));
      assertEquals('c', rest.read());
      assertEquals(-1, rest.read());
      assertEquals(-1, rest.read(part, 0, 1));
    }
  }

  @Test
  void shouldEndAReadAfterTheTimeAndTellItInSeconds() throws Exception {
    final UnixHttpConnection connection = UnixHttpConnection.open(socket, Duration.ofSeconds(1));
    try (SocketChannel peer = listener.accept()) {
      assertEquals(
          "the agent did not answer within 1 s",
          assertThrows(IOException.class, connection::read).getMessage());
      peer.write(ByteBuffer.wrap(new byte[] {7}));
      assertEquals(7, connection.read(), "it can be read on");
      connection.close();
      assertEquals(-1, peer.read(ByteBuffer.allocate(1)), "closed for the agent, too");
    }
  }

  @Test
  void shouldLeaveNoDescriptorBehind() throws Exception {
    final Path missing = directory.resolve("missing");
    assertThrows(IOException.class, () -> UnixHttpConnection.open(missing, LONG));
    UnixHttpConnection.open(socket, LONG).close();
    listener.accept().close();
    final long before = descriptors();
    for (int i = 0; i < 20; i++) {
      assertThrows(IOException.class, () -> UnixHttpConnection.open(missing, LONG));
      UnixHttpConnection.open(socket, LONG).close();
      listener.accept().close();
    }
    assertTrue(descriptors() < before + 10, before + " and then " + descriptors());
  }

  private static long descriptors() throws IOException {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return open.count();
    }
  }
}
