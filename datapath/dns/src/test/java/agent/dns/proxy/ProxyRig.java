package agent.dns.proxy;

import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectedFlow;
import agent.dns.NameResolver.Resolved;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.HttpRequest;
import agent.policy.request.HttpVerdict;
import agent.policy.request.PolicyRedirect;
import agent.policy.request.RequestPolicies;
import agent.types.IpAddress;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Record;
import org.xbill.DNS.Type;

/** A proxy between clients and a scripted server on the loopback interface. */
final class ProxyRig implements AutoCloseable {
  static final DnsProxyContext.Times TIMES =
      new DnsProxyContext.Times(
          Duration.ofSeconds(5),
          Duration.ofSeconds(5),
          Duration.ofSeconds(5),
          Duration.ofSeconds(5));

  /** An answer that waits for the rules. */
  record Found(int endpointId, String name, Resolved answer) {}

  final FakeRedirect redirect = new FakeRedirect();
  private final Socket notListening = new Socket();
  final ScriptedServer server;

  /** The identity of servers that may not be asked. */
  volatile int deniedServer;

  volatile boolean admits = true;

  /** Called before it is judged whether a connection may stay. */
  volatile Runnable beforeJudging = () -> {};

  final Set<String> denied = ConcurrentHashMap.newKeySet();
  final List<Found> found = new CopyOnWriteArrayList<>();
  final List<DnsObserver.Event> events = new CopyOnWriteArrayList<>();
  volatile RedirectKind redirected = RedirectKind.DNS;

  /** Addresses that a limit keeps out of the rules. */
  volatile Set<IpAddress> closed = Set.of();

  volatile CompletableFuture<Void> enforced = CompletableFuture.completedFuture(null);
  DnsProxy proxy;

  private final class Policies implements RequestPolicies {
    @Override
    public HttpVerdict http(RedirectedFlow flow, HttpRequest request) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean dns(RedirectedFlow flow, String name) {
      return !denied.contains(name) && flow.serverIdentity() != deniedServer;
    }

    @Override
    public boolean admits(RedirectedFlow flow) {
      beforeJudging.run();
      return admits && flow.serverIdentity() != deniedServer;
    }

    @Override
    public RedirectKind redirect(RedirectedFlow flow, PolicyDirection direction) {
      return direction == PolicyDirection.EGRESS ? redirected : RedirectKind.NONE;
    }

    @Override
    public List<PolicyRedirect> redirects(int endpointId) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long revision() {
      return 1;
    }
  }

  ProxyRig() throws IOException {
    server = new ScriptedServer();
    redirect.server = server.address();
  }

  DnsProxyContext context() {
    return new DnsProxyContext()
        .redirect(redirect)
        .policies(new Policies())
        .times(TIMES)
        .observer(events::add)
        .gate(
            (endpoint, name, answer) -> {
              found.add(new Found(endpoint, name, answer));
              return enforced.thenApply(
                  done -> {
                    final Set<IpAddress> applied = new HashSet<>(answer.addresses());
                    applied.removeAll(closed);
                    return applied;
                  });
            });
  }

  /** Directs connections to a port that this rig holds, and no server listens on. */
  void connectNowhere() throws IOException {
    notListening.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    redirect.server = (InetSocketAddress) notListening.getLocalSocketAddress();
  }

  ProxyRig start() {
    return start(context());
  }

  ProxyRig start(DnsProxyContext context) {
    proxy = DnsProxy.start(context.conclude());
    return this;
  }

  long count(DnsCounter counter) {
    return proxy.counters().get(counter);
  }

  static byte[] question(String name, int type) throws IOException {
    return Message.newQuery(Record.newRecord(Name.fromString(name), type, DClass.IN)).toWire();
  }

  static byte[] question(String name) throws IOException {
    return question(name, Type.A);
  }

  /** A client over UDP. */
  final class Udp implements AutoCloseable {
    private final DatagramSocket socket;

    Udp() throws IOException {
      socket = new DatagramSocket();
      socket.connect(InetAddress.getLoopbackAddress(), proxy.firstPort());
      socket.setSoTimeout(10_000);
    }

    void send(byte[] message) throws IOException {
      socket.send(new DatagramPacket(message, message.length));
    }

    byte[] receive() throws IOException {
      final DatagramPacket packet = new DatagramPacket(new byte[65_535], 65_535);
      socket.receive(packet);
      return Arrays.copyOf(packet.getData(), packet.getLength());
    }

    /** Returns whether nothing comes for a moment. */
    boolean hasNothing() throws IOException {
      socket.setSoTimeout(150);
      try {
        receive();
        return false;
      } catch (java.net.SocketTimeoutException e) {
        return true;
      } finally {
        socket.setSoTimeout(10_000);
      }
    }

    byte[] ask(byte[] message) throws IOException {
      send(message);
      return receive();
    }

    /** Asks again and again, as a resolver does: a datagram can be lost where sockets are full. */
    byte[] askUntilAnswered(byte[] message) throws IOException {
      socket.setSoTimeout(500);
      for (int i = 1; true; i++) {
        try {
          return ask(message);
        } catch (java.net.SocketTimeoutException e) {
          if (i == 20) {
            throw e;
          }
        }
      }
    }

    @Override
    public void close() {
      socket.close();
    }
  }

  /** A client over TCP. */
  final class Tcp extends TcpPeer {
    Tcp() throws IOException {
      super(new InetSocketAddress(InetAddress.getLoopbackAddress(), proxy.firstPort() + 3));
    }
  }

  static void await(BooleanSupplier condition) throws InterruptedException {
    await(condition, () -> "waited too long");
  }

  static void await(BooleanSupplier condition, Supplier<String> shown) throws InterruptedException {
    for (int i = 0; !condition.getAsBoolean(); i++) {
      assertTrue(i < 1_000, shown);
      Thread.sleep(10);
    }
  }

  @Override
  public void close() throws IOException {
    if (proxy != null) {
      proxy.close();
    }
    notListening.close();
    server.close();
  }
}
