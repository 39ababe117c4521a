package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.monitor.MonitorStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;

/** One subscriber on a thread of its own, and the bytes that its client reads and writes. */
final class SubscriberBench implements AutoCloseable {
  static final int ALONE = MonitorStream.KEPT_FIRST | MonitorStream.KEPT_ALONE;

  /** More events than a socket takes whose client does not read. */
  static final int MANY = 1 << 14;

  static final int PACKET_BYTES = 64;
  static final Duration LIMIT = Duration.ofSeconds(20);

  final SocketChannel client = SocketChannel.open(StandardProtocolFamily.UNIX);
  final AgentEvents agent = new AgentEvents(100, true);
  private final Arena memory = Arena.ofShared();
  final Subscriber subscriber;
  final Thread thread;

  /** Whether the thread of the subscriber was interrupted when it had ended. */
  volatile boolean isInterrupted;

  SubscriberBench(Path directory, MonitoredDatapath datapath) throws IOException {
    this(directory, datapath, 100);
  }

  SubscriberBench(Path directory, MonitoredDatapath datapath, int queueEvents) throws IOException {
    final Path socket = directory.resolve("one.sock");
    final SocketChannel accepted;
    try (ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      listener.bind(UnixDomainSocketAddress.of(socket));
      client.connect(UnixDomainSocketAddress.of(socket));
      accepted = listener.accept();
    }
    accepted.configureBlocking(false);
    subscriber =
        new Subscriber(
            accepted,
            new Subscriber.Offer(
                datapath,
                agent,
                queueEvents,
                PACKET_BYTES,
                "1.2.3",
                new String[] {"first-reason", "second"},
                new String[] {"in"}),
            memory);
    thread = Thread.ofPlatform().daemon().unstarted(this::run);
  }

  private void run() {
    subscriber.run();
    isInterrupted = Thread.interrupted();
  }

  /** Starts the subscriber, whose client has sent SUBSCRIBE. */
  SubscriberBench subscribe(int mask) throws IOException {
    client.write(frame(MonitorStream.SUBSCRIBE, mask));
    thread.start();
    return this;
  }

  static ByteBuffer frame(int type, int mask) {
    return ByteBuffer.allocate(12)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(12)
        .putInt(type)
        .putInt(mask)
        .flip();
  }

  /** Returns the next frame, positioned behind its header. */
  static ByteBuffer frame(SocketChannel from) throws IOException {
    final ByteBuffer length = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
    fill(from, length);
    final ByteBuffer frame =
        ByteBuffer.allocate(length.getInt(0)).order(ByteOrder.LITTLE_ENDIAN).position(4);
    fill(from, frame);
    return frame.position(MonitorStream.HEADER_BYTES);
  }

  private static void fill(SocketChannel from, ByteBuffer to) throws IOException {
    while (to.hasRemaining()) {
      assertTrue(from.read(to) >= 0, "the stream has ended");
    }
  }

  /** Returns the next frame, which has this type. */
  ByteBuffer next(int type) throws IOException {
    final ByteBuffer frame = frame(client);
    assertEquals(type, frame.getShort(4));
    assertEquals(0, frame.getShort(6));
    return frame;
  }

  /** Waits for the end of the subscriber, after which the client reads no more bytes. */
  void assertEnds() throws Exception {
    assertTrue(thread.join(LIMIT), "it ends");
    assertEquals(-1, client.read(ByteBuffer.allocate(1)));
  }

  /** Waits for the end of the subscriber, which leaves nothing behind. */
  void assertLeavesNothing(MonitoredDatapath datapath) throws Exception {
    assertTrue(thread.join(LIMIT), "it ends");
    assertEquals(0, datapath.subscribers.size());
    assertFalse(agent.isHeard());
    assertFalse(hasMemory());
  }

  /** Returns whether the memory of the queue is not freed yet. */
  boolean hasMemory() {
    return memory.scope().isAlive();
  }

  @Override
  public void close() throws IOException {
    client.close();
    subscriber.stop();
  }
}
