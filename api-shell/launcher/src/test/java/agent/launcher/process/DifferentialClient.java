package agent.launcher.process;

import agent.launcher.process.DifferentialModel.Request;
import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.io.InputStream;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Record;
import org.xbill.DNS.Type;

/** What clients in namespaces do: requests and questions, and attempts that must have no answer. */
final class DifferentialClient {
  static final int ANSWER_MS = 3000;

  private DifferentialClient() {}

  /** The response to a request: its status, and the lines of its body by their names. */
  record Response(int status, Map<String, List<String>> lines) {
    String line(String name) {
      return lines.getOrDefault(name, List.of("")).getFirst();
    }
  }

  /**
   * Where a client sends from and to.
   *
   * @param source its address; null for any
   * @param sourcePort its port, which other sockets may have, too; 0 for any
   */
  record Target(NetworkNamespace client, String source, int sourcePort, String address, int port) {
    InetSocketAddress remote() {
      return new InetSocketAddress(InetAddress.ofLiteral(address), port);
    }

    private InetSocketAddress local() {
      return source == null
          ? new InetSocketAddress(sourcePort)
          : new InetSocketAddress(InetAddress.ofLiteral(source), sourcePort);
    }
  }

  /** A connection for requests. */
  static final class Connection implements AutoCloseable {
    private final SocketChannel channel;

    private Connection(SocketChannel channel) {
      this.channel = channel;
    }

    Response request(Request request, int timeoutMs) throws IOException {
      channel.socket().setSoTimeout(timeoutMs);
      channel.socket().getOutputStream().write(written(request));
      return read(channel.socket().getInputStream());
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  /** Opens a connection; empty where it does not come to be. */
  static Optional<Connection> connect(Target target) throws Exception {
    final SocketChannel channel = open(target);
    try {
      channel.socket().connect(target.remote(), ANSWER_MS);
      channel.socket().setTcpNoDelay(true);
      channel.socket().setSoLinger(true, 0); // once closed, nothing is sent again
      return Optional.of(new Connection(channel));
    } catch (IOException failure) {
      channel.close();
      if (failure instanceof SocketTimeoutException) {
        return Optional.empty();
      }
      throw failure;
    }
  }

  private static SocketChannel open(Target target) throws Exception {
    return target.client.run(() -> SocketChannel.open().bind(target.local()));
  }

  private static byte[] written(Request request) {
    final StringBuilder head = new StringBuilder();
    head.append(request.method()).append(' ').append(request.path()).append(" HTTP/1.1\r\n");
    head.append("Host: ").append(request.authority()).append("\r\n");
    request
        .fields()
        .forEach(
            (name, values) ->
                values.forEach(
                    value -> head.append(name).append(": ").append(value).append("\r\n")));
    return head.append("Content-Length: 0\r\n\r\n").toString().getBytes(StandardCharsets.US_ASCII);
  }

  private static Response read(InputStream in) throws IOException {
    final HttpHead head = HttpHead.read(in);
    final String body =
        new String(in.readNBytes(Math.max(0, head.length())), StandardCharsets.UTF_8);
    final Map<String, List<String>> lines = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    body.lines()
        .filter(line -> line.contains("="))
        .map(line -> line.split("=", 2))
        .forEach(
            parts -> lines.computeIfAbsent(parts[0], first -> new ArrayList<>()).add(parts[1]));
    return new Response(head.status(), lines);
  }

  /** A socket for questions. */
  static final class Asker implements AutoCloseable {
    private final DatagramChannel channel;

    private Asker(DatagramChannel channel) {
      this.channel = channel;
    }

    /** Returns the answer; empty where none comes. */
    Optional<Message> ask(String name, boolean isIpv6, int timeoutMs) throws IOException {
      channel.write(ByteBuffer.wrap(question(name, isIpv6)));
      channel.socket().setSoTimeout(timeoutMs);
      final byte[] octets = new byte[1500];
      final DatagramPacket packet = new DatagramPacket(octets, octets.length);
      try {
        channel.socket().receive(packet);
      } catch (SocketTimeoutException unanswered) {
        return Optional.empty();
      }
      return Optional.of(new Message(Arrays.copyOf(octets, packet.getLength())));
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  /** Opens a socket for questions. */
  static Asker asker(Target target) throws Exception {
    return new Asker(socket(target));
  }

  private static DatagramChannel socket(Target target) throws Exception {
    final DatagramChannel channel = target.client.run(() -> DatagramChannel.open());
    try {
      channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      channel.bind(target.local());
      channel.connect(target.remote());
      return channel;
    } catch (IOException failure) {
      channel.close();
      throw failure;
    }
  }

  /** Sends a question, and does not wait. */
  static DatagramChannel send(Target target, String name, boolean isIpv6) throws Exception {
    final DatagramChannel channel = socket(target);
    channel.configureBlocking(false);
    channel.write(ByteBuffer.wrap(question(name, isIpv6)));
    return channel;
  }

  static byte[] question(String name, boolean isIpv6) throws IOException {
    final int type = isIpv6 ? Type.AAAA : Type.A;
    return Message.newQuery(Record.newRecord(Name.fromString(name + "."), type, DClass.IN))
        .toWire();
  }

  /** Begins a connection, and does not wait. */
  static SocketChannel begin(Target target) throws Exception {
    final SocketChannel channel = open(target);
    channel.configureBlocking(false);
    try {
      channel.connect(target.remote());
    } catch (IOException failure) {
      channel.close();
      throw failure;
    }
    return channel;
  }

  /** Returns whether an attempt has had an answer. */
  static boolean isAnswered(SelectableChannel attempt) throws IOException {
    return attempt instanceof final SocketChannel connection
        ? connection.finishConnect()
        : ((DatagramChannel) attempt).read(ByteBuffer.allocate(1500)) > 0;
  }
}
