package agent.client;

import agent.contract.monitor.MonitorStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A subscriber of live events, whose format is that of {@link MonitorStream}. For one thread. */
public final class MonitorClient implements AutoCloseable {
  /** Of {@link Inet6Address}: none is named. */
  private static final int NO_SCOPE = -1;

  private static final int FIRST_BUFFER = 64 * 1024;
  private static final int LONGEST_FRAME = 1 << 20;
  private static final long NANOS_PER_SECOND = 1_000_000_000;
  private static final int IPV4 = 4;
  private static final int IPV6 = 6;
  private static final int AUDIT = 1 << 2;

  private final SocketChannel channel;
  private final Selector selector;
  private ByteBuffer in = ByteBuffer.allocate(FIRST_BUFFER).order(ByteOrder.LITTLE_ENDIAN).flip();
  private int flowBytes = MonitorStream.FLOW_BYTES;
  private long clockOffsetNs;
  private String version;
  private int queueEvents;
  private int packetBytes;
  private int keptEvents;
  private int translationBytes;
  private List<String> reasons = List.of();
  private List<String> directions = List.of();

  private MonitorClient(SocketChannel channel) throws IOException {
    this.channel = channel;
    selector = Selector.open();
    channel.configureBlocking(false);
    channel.register(selector, SelectionKey.OP_READ);
  }

  /**
   * Subscribes; returns when the programs emit what was asked for.
   *
   * @param socket the socket of live events: {@link MonitorStream#socketBeside} that of the API
   * @param mask bits of {@link MonitorStream}, such as {@link MonitorStream#DROPS}
   * @param timeout how long the agent may take
   */
  public static MonitorClient open(Path socket, int mask, Duration timeout) throws IOException {
    final SocketChannel channel = connect(socket, timeout);
    MonitorClient client = null;
    try {
      client = new MonitorClient(channel);
      client.subscribe(mask, timeout);
      return client;
    } catch (IOException | RuntimeException failure) {
      if (client != null) {
        client.selector.close();
      }
      channel.close();
      throw failure;
    }
  }

  private static SocketChannel connect(Path socket, Duration timeout) throws IOException {
    try {
      return UnixHttpConnection.connect(socket, timeout);
    } catch (IOException e) {
      throw new IOException("no agent serves events on " + socket + ": " + e.getMessage(), e);
    }
  }

  private void subscribe(int mask, Duration timeout) throws IOException {
    final int length = MonitorStream.HEADER_BYTES + Integer.BYTES;
    final ByteBuffer frame = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    frame.putInt(length).putShort((short) MonitorStream.SUBSCRIBE).putShort((short) 0);
    channel.write(frame.putInt(mask).flip()); // a new socket takes so few bytes at once
    final ByteBuffer hello = frame(timeout);
    if (hello == null) {
      throw new IOException("the agent did not answer within " + timeout.toMillis() + " ms");
    }
    if (hello.getShort(Integer.BYTES) != MonitorStream.HELLO) {
      throw new IOException("the peer does not speak the event stream protocol");
    }
    final int spoken = hello.getShort() & 0xffff;
    if (spoken != MonitorStream.VERSION) {
      throw new IOException(
          "the agent speaks version %d of the event stream protocol, this program version %d"
              .formatted(spoken, MonitorStream.VERSION));
    }
    flowBytes = hello.getShort() & 0xffff;
    queueEvents = hello.getInt();
    clockOffsetNs = hello.getLong();
    version = text(hello);
    reasons = texts(hello);
    directions = texts(hello);
    packetBytes = hello.hasRemaining() ? hello.getInt() : 0; // older agents capture nothing
    final boolean knowsKept = hello.remaining() >= Integer.BYTES;
    keptEvents = knowsKept ? hello.getInt() : 0;
    translationBytes = hello.remaining() >= Short.BYTES ? hello.getShort() & 0xffff : 0;
    if ((mask & MonitorStream.KEPT_FIRST) != 0 && !knowsKept) {
      throw new IOException("the agent has version " + version + ", which does not keep events");
    }
  }

  private static List<String> texts(ByteBuffer from) {
    final int count = from.get() & 0xff;
    final List<String> texts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      texts.add(text(from));
    }
    return texts;
  }

  private static String text(ByteBuffer from) {
    final byte[] bytes = new byte[from.get() & 0xff];
    from.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Returns the version of the agent. */
  public String agentVersion() {
    return version;
  }

  /** Returns how many events of packets the agent keeps for this subscriber. */
  public int queueEvents() {
    return queueEvents;
  }

  /** Returns how many bytes of a packet the agent captures at most; 0: it captures none. */
  public int packetBytes() {
    return packetBytes;
  }

  /** Returns how many events of packets the agent keeps for later subscribers; 0: none. */
  public int keptEvents() {
    return keptEvents;
  }

  /** Returns whether the agent tells translations; those before 0.9.0 do not. */
  public boolean tellsTranslations() {
    return translationBytes > 0;
  }

  /** Returns the reasons that a packet may have. */
  public List<String> reasons() {
    return reasons;
  }

  /**
   * Returns the next event, or null where none comes in time.
   *
   * @throws EOFException where the agent has ended the stream
   */
  public MonitorEvent next(Duration timeout) throws IOException {
    final long endNs = System.nanoTime() + timeout.toNanos();
    while (true) {
      final ByteBuffer frame = frame(Duration.ofNanos(Math.max(0, endNs - System.nanoTime())));
      if (frame == null) {
        return null;
      }
      switch (frame.getShort(Integer.BYTES)) {
        case MonitorStream.FLOW -> {
          return packet(frame);
        }
        case MonitorStream.TRANSLATION -> {
          return translation(frame);
        }
        case MonitorStream.AGENT -> {
          final Instant time = time(frame.getLong());
          return new MonitorEvent.Activity(time, StandardCharsets.UTF_8.decode(frame).toString());
        }
        case MonitorStream.LOST -> {
          return new MonitorEvent.Lost(frame.getLong(), frame.getLong());
        }
        case MonitorStream.KEPT -> {
          return new MonitorEvent.KeptEnd();
        }
        default -> {
          // of a later version
        }
      }
    }
  }

  private Instant time(long monotonicNs) {
    final long ns = monotonicNs + clockOffsetNs;
    return Instant.ofEpochSecond(ns / NANOS_PER_SECOND, ns % NANOS_PER_SECOND);
  }

  /** {@code struct flow_event} of maps/event_map.h. */
  private MonitorEvent.Packet packet(ByteBuffer frame) throws IOException {
    if (frame.remaining() < flowBytes || flowBytes < MonitorStream.FLOW_BYTES) {
      throw new IOException("an event is too short");
    }
    final int end = frame.position() + flowBytes;
    final Instant time = time(frame.getLong());
    final int kind = frame.get();
    final int reason = frame.get() & 0xff;
    final int direction = frame.get() & 0xff;
    final int family = frame.get();
    final int protocol = frame.get() & 0xff;
    final int tcpFlags = frame.get() & 0xff;
    final int endpoint = frame.getShort() & 0xffff;
    final long sourceIdentity = frame.getInt() & 0xffffffffL;
    final long destinationIdentity = frame.getInt() & 0xffffffffL;
    final long length = frame.getInt() & 0xffffffffL;
    final long interfaceIndex = frame.getInt() & 0xffffffffL;
    final int sourcePort = Short.toUnsignedInt(Short.reverseBytes(frame.getShort()));
    final int destinationPort = Short.toUnsignedInt(Short.reverseBytes(frame.getShort()));
    final int flags = frame.get();
    frame.position(frame.position() + 3); // reserved
    final InetAddress source = address(frame, family);
    final InetAddress destination = address(frame, family);
    return new MonitorEvent.Packet(
        time,
        kind(kind),
        name(reasons, reason),
        name(directions, direction),
        protocol,
        tcpFlags,
        endpoint,
        new MonitorEvent.End(source, sourcePort, sourceIdentity),
        new MonitorEvent.End(destination, destinationPort, destinationIdentity),
        length,
        interfaceIndex,
        (flags & AUDIT) != 0,
        copy(frame.position(end)));
  }

  /** {@code struct translation_event} of maps/event_map.h. */
  private MonitorEvent.Translation translation(ByteBuffer frame) throws IOException {
    if (frame.remaining() < MonitorStream.TRANSLATION_BYTES) {
      throw new IOException("a translation is too short");
    }
    final Instant time = time(frame.getLong());
    frame.get(); // its type
    final MonitorEvent.Place place = place(frame.get());
    final int family = frame.get();
    final int protocol = frame.get() & 0xff;
    final int endpoint = frame.getShort() & 0xffff;
    frame.getShort(); // reserved
    final long service = frame.getInt() & 0xffffffffL;
    final long sourceIdentity = frame.getInt() & 0xffffffffL;
    final long backendIdentity = frame.getInt() & 0xffffffffL;
    final int sourcePort = Short.toUnsignedInt(Short.reverseBytes(frame.getShort()));
    final int frontendPort = Short.toUnsignedInt(Short.reverseBytes(frame.getShort()));
    final int backendPort = Short.toUnsignedInt(Short.reverseBytes(frame.getShort()));
    frame.position(frame.position() + 6); // reserved
    final long cookie = frame.getLong();
    final InetAddress source = address(frame, family);
    final InetAddress frontend = address(frame, family);
    final InetAddress backend = address(frame, family);
    final boolean isSocket = place == MonitorEvent.Place.SOCKET;
    return new MonitorEvent.Translation(
        time,
        place,
        protocol,
        service,
        endpoint,
        cookie,
        new MonitorEvent.End(isSocket ? null : source, sourcePort, sourceIdentity),
        new MonitorEvent.End(frontend, frontendPort, 0),
        new MonitorEvent.End(backend, backendPort, backendIdentity));
  }

  private static MonitorEvent.Place place(int number) throws IOException {
    final MonitorEvent.Place[] places = MonitorEvent.Place.values();
    if (number < 1 || number > places.length) {
      throw new IOException("a translation has the unknown place " + number);
    }
    return places[number - 1];
  }

  private static ByteBuffer copy(ByteBuffer from) {
    return ByteBuffer.allocate(from.remaining()).put(from).flip().asReadOnlyBuffer();
  }

  private static MonitorEvent.Kind kind(int number) throws IOException {
    final MonitorEvent.Kind[] kinds = MonitorEvent.Kind.values();
    if (number < 1 || number > kinds.length) {
      throw new IOException("an event has the unknown type " + number);
    }
    return kinds[number - 1];
  }

  private static String name(List<String> names, int number) {
    return number < names.size() ? names.get(number) : Integer.toString(number);
  }

  /**
   * Reads a numeric address. An IPv4-mapped one stays one of IPv6, as in events, where {@link
   * InetAddress#ofLiteral} returns one of IPv4.
   *
   * @throws IllegalArgumentException where the text is no address
   */
  public static InetAddress address(String literal) {
    final byte[] bytes = InetAddress.ofLiteral(literal).getAddress();
    try {
      if (bytes.length == 16 || literal.indexOf(':') < 0) {
        return bytes.length == 4
            ? InetAddress.getByAddress(bytes)
            : Inet6Address.getByAddress(null, bytes, NO_SCOPE);
      }
      final ByteBuffer mapped = ByteBuffer.allocate(16).position(10);
      mapped.putShort((short) -1).put(bytes);
      return Inet6Address.getByAddress(null, mapped.array(), NO_SCOPE);
    } catch (UnknownHostException e) {
      throw new IllegalStateException(e); // it has 4 or 16 bytes
    }
  }

  private static InetAddress address(ByteBuffer frame, int family) throws UnknownHostException {
    final byte[] all = new byte[16];
    frame.get(all);
    return switch (family) {
      case IPV4 -> InetAddress.getByAddress(Arrays.copyOf(all, 4));
      case IPV6 -> Inet6Address.getByAddress(null, all, NO_SCOPE); // also an IPv4-mapped one
      default -> null;
    };
  }

  /** Returns the next frame, positioned behind its header, or null where none comes in time. */
  private ByteBuffer frame(Duration timeout) throws IOException {
    final long endNs = System.nanoTime() + timeout.toNanos();
    while (!isComplete()) {
      if (in.position() > 0) {
        in.compact().flip();
      }
      in.position(in.limit()).limit(in.capacity());
      final int count = channel.read(in);
      in.flip();
      if (count < 0) {
        throw new EOFException("the agent closed the event stream");
      }
      if (count == 0) {
        final long leftMs = (endNs - System.nanoTime()) / 1_000_000;
        if (leftMs <= 0) {
          return null;
        }
        selector.select(leftMs);
        selector.selectedKeys().clear();
        if (Thread.currentThread().isInterrupted()) {
          return null;
        }
      }
    }
    final int length = in.getInt(in.position());
    final ByteBuffer frame = in.slice(in.position(), length).order(ByteOrder.LITTLE_ENDIAN);
    in.position(in.position() + length);
    return frame.position(MonitorStream.HEADER_BYTES);
  }

  /** Returns whether a whole frame is there; makes room where its length needs it. */
  private boolean isComplete() throws IOException {
    if (in.remaining() < MonitorStream.HEADER_BYTES) {
      return false;
    }
    final int length = in.getInt(in.position());
    if (length < MonitorStream.HEADER_BYTES || length > LONGEST_FRAME) {
      throw new IOException("a frame of " + length + " bytes");
    }
    if (length > in.capacity()) {
      in = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN).put(in).flip();
    }
    return in.remaining() >= length;
  }

  @Override
  public void close() throws IOException {
    selector.close();
    channel.close();
  }
}
