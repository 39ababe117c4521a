package agent.launcher.process;

import agent.testkit.NetworkNamespace;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.xbill.DNS.AAAARecord;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/**
 * The servers of one host, for HTTP and for DNS, on all its addresses. They count what reaches
 * them, and a response says which host it is of, whom it has seen, and the fields of the request.
 */
final class CountingServers implements AutoCloseable {
  private static final int TTL_SEC = 3600;

  private final String host;
  private final Map<String, Set<String>> records;
  private final List<HttpServer> servers = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Selector selector;
  private final Map<Integer, AtomicInteger> arrived = new ConcurrentHashMap<>();

  private CountingServers(String host, Map<String, Set<String>> records, Selector selector) {
    this.host = host;
    this.records = records;
    this.selector = selector;
  }

  /**
   * Starts servers at the ports of {@link DifferentialGenerator}.
   *
   * @param records the addresses by names
   */
  static CountingServers start(
      NetworkNamespace namespace,
      String host,
      List<String> addresses,
      Map<String, Set<String>> records)
      throws Exception {
    return namespace.run(
        () -> {
          final CountingServers servers = new CountingServers(host, records, Selector.open());
          for (int i = 0; i < DifferentialGenerator.PORTS; i++) {
            servers.listen(DifferentialGenerator.FIRST_TCP + i);
            servers.bind("::", DifferentialGenerator.FIRST_UDP + i);
            for (final String address : addresses) {
              servers.bind(address, DifferentialGenerator.FIRST_UDP + i);
            }
          }
          Thread.ofPlatform().name("dns-" + host).daemon().start(servers::answerQuestions);
          return servers;
        });
  }

  private void listen(int port) throws IOException {
    final HttpServer server = HttpServer.create(new InetSocketAddress("::", port), 0);
    server.setExecutor(threads);
    server.createContext("/", exchange -> answer(port, exchange));
    server.start();
    servers.add(server);
  }

  private void bind(String address, int port) throws IOException {
    final DatagramChannel channel = DatagramChannel.open();
    channel.setOption(StandardSocketOptions.SO_REUSEADDR, true); // beside that of any address
    channel.bind(new InetSocketAddress(InetAddress.ofLiteral(address), port));
    channel.configureBlocking(false).register(selector, SelectionKey.OP_READ, port);
  }

  private void answer(int port, HttpExchange exchange) throws IOException {
    exchange.getRequestBody().readAllBytes();
    count(port);
    final StringBuilder body = new StringBuilder();
    body.append("Server=").append(host).append('\n');
    body.append("From=")
        .append(exchange.getRemoteAddress().getAddress().getHostAddress())
        .append('\n');
    exchange
        .getRequestHeaders()
        .forEach(
            (name, values) ->
                values.forEach(value -> body.append(name).append('=').append(value).append('\n')));
    final byte[] octets = body.toString().getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(200, octets.length);
    exchange.getResponseBody().write(octets);
    exchange.close();
  }

  private void count(int port) {
    arrived.computeIfAbsent(port, first -> new AtomicInteger()).incrementAndGet();
  }

  /** Returns what has reached each port, and begins to count anew. */
  Map<Integer, AtomicInteger> takeArrived() {
    final Map<Integer, AtomicInteger> taken = Map.copyOf(arrived);
    arrived.clear();
    return taken;
  }

  private void answerQuestions() {
    final ByteBuffer buffer = ByteBuffer.allocate(1500);
    try {
      while (selector.isOpen()) {
        selector.select();
        for (final SelectionKey key : selector.selectedKeys()) {
          final DatagramChannel channel = (DatagramChannel) key.channel();
          for (SocketAddress from = channel.receive(buffer.clear());
              from != null;
              from = channel.receive(buffer.clear())) {
            count((int) key.attachment());
            channel.send(ByteBuffer.wrap(answer(new Message(buffer.flip()))), from);
          }
        }
        selector.selectedKeys().clear();
      }
    } catch (IOException | ClosedSelectorException ended) {
      // The host ends.
    }
  }

  private byte[] answer(Message question) {
    final Record asked = question.getQuestion();
    final Name name = asked.getName();
    final Message answer = new Message(question.getHeader().getID());
    answer.getHeader().setFlag(Flags.QR);
    answer.addRecord(asked, Section.QUESTION);
    for (final String each : records.getOrDefault(name.toString(true), Set.of())) {
      final InetAddress address = InetAddress.ofLiteral(each);
      final boolean isIpv6 = each.indexOf(':') >= 0;
      if (isIpv6 == (asked.getType() == Type.AAAA)) {
        answer.addRecord(
            isIpv6
                ? new AAAARecord(name, DClass.IN, TTL_SEC, address)
                : new ARecord(name, DClass.IN, TTL_SEC, address),
            Section.ANSWER);
      }
    }
    return answer.toWire();
  }

  @Override
  public void close() throws IOException {
    servers.forEach(server -> server.stop(0));
    threads.shutdownNow();
    for (final SelectionKey key : selector.keys()) {
      key.channel().close();
    }
    selector.close();
  }
}
