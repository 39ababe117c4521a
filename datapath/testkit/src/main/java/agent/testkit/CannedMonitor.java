package agent.testkit;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A server of live events for tests of clients: it answers a subscription with prepared frames and
 * then ends the stream. The frames are written here by number, apart from the code under test.
 */
public final class CannedMonitor implements AutoCloseable {
  private final Path socket;
  private final ServerSocketChannel server;
  private final List<Integer> masks = new CopyOnWriteArrayList<>();
  private final ByteArrayOutputStream frames = new ByteArrayOutputStream();

  private int protocol = 6;
  private volatile boolean isOpen;
  private int fromPort = 43_210;
  private int toPort = 80;
  private int fromIdentity = 256;
  private int toIdentity = 257;
  private long timeNs = 1_000_000_123;

  private CannedMonitor(Path socket) throws IOException {
    this.socket = socket;
    server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(socket));
    Thread.ofVirtual().start(this::accept);
  }

  /** Starts a server; frames are added before a client subscribes. */
  public static CannedMonitor start(Path socket) throws IOException {
    return new CannedMonitor(socket);
  }

  /** Returns the masks of the subscriptions. */
  public List<Integer> masks() {
    return masks;
  }

  /** Adds HELLO of an agent before 0.6.0, whose flow events have so many bytes. */
  public CannedMonitor hello(int version, int flowBytes) {
    return frame(1, helloBody(version, flowBytes));
  }

  /** Adds HELLO of an agent that captures so many bytes of a packet, and keeps no events. */
  public CannedMonitor capturingHello(int packetBytes) {
    return frame(1, helloBody(1, 72).putInt(packetBytes).putInt(0));
  }

  /** Adds HELLO of an agent that keeps so many events. */
  public CannedMonitor hello(int version, int flowBytes, int kept) {
    return frame(1, helloBody(version, flowBytes).putInt(0).putInt(kept));
  }

  /** Adds HELLO of an agent that tells translations, of so many bytes. */
  public CannedMonitor translatingHello(int bytes) {
    return frame(1, helloBody(1, 72).putInt(0).putInt(0).putShort((short) bytes));
  }

  private static ByteBuffer helloBody(int version, int flowBytes) {
    final ByteBuffer body = body(128);
    body.putShort((short) version).putShort((short) flowBytes).putInt(1000).putLong(5_000_000_000L);
    text(body, "9.9.9");
    body.put((byte) 3);
    List.of("none", "policy-denied", "malformed").forEach(reason -> text(body, reason));
    body.put((byte) 3);
    List.of("ingress", "egress", "network").forEach(direction -> text(body, direction));
    return body;
  }

  /**
   * Adds a packet of endpoint 7 from one address to another of the same family.
   *
   * @param type 1 drop, 2 verdict, 3 trace
   * @param more bytes that a later version has appended
   */
  public CannedMonitor flow(int type, int reason, String from, String to, int flags, int more) {
    return frame(2, flowBody(type, reason, from, to, flags, more).position(72 + more));
  }

  /** Adds a packet of endpoint 7 as {@link #flow} does, with its first bytes. */
  public CannedMonitor packet(int type, int reason, String from, String to, byte[] bytes) {
    final ByteBuffer body = flowBody(type, reason, from, to, 0, bytes.length);
    return frame(2, body.putShort(38, (short) bytes.length).position(72).put(bytes));
  }

  /**
   * Adds a translation by service 7 of TCP from port 43210 of the source to port 80 of the frontend
   * and 8080 of the backend, which are of one family.
   *
   * @param place 1 of a socket in the namespace 4711, 2 of endpoint 7, 3 of a client outside, 4 one
   *     of endpoint 7 that is masqueraded as the frontend, by no service
   * @param from null: of a socket
   * @param more bytes that a later version has appended
   */
  public CannedMonitor translation(
      int place, String from, String frontend, String backend, int more) {
    final boolean isSocket = from == null;
    final byte[] frontendBytes = InetAddress.ofLiteral(frontend).getAddress();
    final ByteBuffer body = body(96 + more);
    body.putLong(timeNs).put((byte) 4).put((byte) place);
    body.put((byte) (frontendBytes.length == 4 ? 4 : 6)).put((byte) protocol);
    body.putShort((short) (place % 2 == 0 ? 7 : 0)).putShort((short) 0).putInt(place == 4 ? 0 : 7);
    body.putInt(isSocket ? 0 : fromIdentity).putInt(isSocket ? 0 : toIdentity);
    body.order(ByteOrder.BIG_ENDIAN).putShort((short) (isSocket ? 0 : fromPort));
    body.putShort((short) toPort).putShort((short) 8080);
    body.order(ByteOrder.LITTLE_ENDIAN).position(40).putLong(isSocket ? 4711 : 0);
    if (!isSocket) {
      body.put(InetAddress.ofLiteral(from).getAddress());
    }
    body.position(64).put(frontendBytes);
    body.position(80).put(InetAddress.ofLiteral(backend).getAddress());
    return frame(6, body.position(96 + more));
  }

  private ByteBuffer flowBody(int type, int reason, String from, String to, int flags, int more) {
    final InetAddress source = InetAddress.ofLiteral(from);
    final InetAddress destination = InetAddress.ofLiteral(to);
    final ByteBuffer body = body(72 + more);
    body.putLong(timeNs).put((byte) type).put((byte) reason).put((byte) 1);
    body.put((byte) (source.getAddress().length == 4 ? 4 : 6))
        .put((byte) protocol)
        .put((byte) 0x12);
    body.putShort((short) 7).putInt(fromIdentity).putInt(toIdentity).putInt(60).putInt(12);
    body.order(ByteOrder.BIG_ENDIAN).putShort((short) fromPort).putShort((short) toPort);
    body.order(ByteOrder.LITTLE_ENDIAN).put((byte) flags);
    return body.position(40).put(source.getAddress()).position(56).put(destination.getAddress());
  }

  /** Sets the protocol of the packets that are added next; it is TCP at first. */
  public CannedMonitor protocol(int number) {
    protocol = number;
    return this;
  }

  /** Sets the ports of the packets that are added next; they are 43210 and 80 at first. */
  public CannedMonitor ports(int from, int to) {
    fromPort = from;
    toPort = to;
    return this;
  }

  /** Sets the identities of the packets that are added next; they are 256 and 257 at first. */
  public CannedMonitor identities(int from, int to) {
    fromIdentity = from;
    toIdentity = to;
    return this;
  }

  /** Sets the time of the packets that are added next; the clock of the frames is 5 s behind. */
  public CannedMonitor time(long nanoseconds) {
    timeNs = nanoseconds;
    return this;
  }

  /** Adds an event of the agent. */
  public CannedMonitor agent(String json) {
    final byte[] text = json.getBytes(StandardCharsets.UTF_8);
    return frame(3, body(8 + text.length).putLong(2_000_000_000L).put(text));
  }

  /** Adds totals of lost events. */
  public CannedMonitor lost(long byRing, long byQueue) {
    return frame(4, body(16).putLong(byRing).putLong(byQueue));
  }

  /** Adds a frame of any type. */
  public CannedMonitor frame(int type, int bytes) {
    return frame(type, body(bytes).position(bytes));
  }

  /** Keeps the stream open after the frames, until the client ends it. */
  public CannedMonitor staysOpen() {
    isOpen = true;
    return this;
  }

  private static ByteBuffer body(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static void text(ByteBuffer to, String text) {
    to.put((byte) text.length()).put(text.getBytes(StandardCharsets.US_ASCII));
  }

  private CannedMonitor frame(int type, ByteBuffer body) {
    final ByteBuffer head = body(8);
    head.putInt(8 + body.position()).putShort((short) type).putShort((short) 0);
    frames.writeBytes(head.array());
    frames.write(body.array(), 0, body.position());
    return this;
  }

  private void accept() {
    try {
      while (true) {
        try (SocketChannel client = server.accept()) {
          final ByteBuffer subscription = body(12);
          while (subscription.hasRemaining() && client.read(subscription) >= 0) {
            // the rest follows
          }
          if (subscription.getInt(0) == 12 && subscription.getShort(4) == 16) {
            masks.add(subscription.getInt(8));
          }
          final ByteBuffer all = ByteBuffer.wrap(frames.toByteArray());
          while (all.hasRemaining()) {
            client.write(all);
          }
          while (isOpen && client.read(body(1)) >= 0) {
            // the client stays, too
          }
        }
      }
    } catch (IOException closed) {
      // the test is over
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
    Files.deleteIfExists(socket);
  }
}
