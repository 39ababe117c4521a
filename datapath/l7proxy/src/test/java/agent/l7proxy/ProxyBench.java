package agent.l7proxy;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.HttpRequest;
import agent.policy.request.HttpVerdict;
import agent.policy.request.PolicyRedirect;
import agent.policy.request.RequestPolicies;
import agent.types.IpAddress;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;

/** A proxy on loopback whose flows all go to one server, and what it was asked. */
final class ProxyBench implements RedirectProxy, RequestPolicies, AutoCloseable {
  static final IpAddress LOOPBACK = IpAddress.parse("127.0.0.1");

  final LinkedBlockingQueue<RequestRecord> records = new LinkedBlockingQueue<>();
  final List<String> judged = Collections.synchronizedList(new ArrayList<>());
  final List<Integer> joined = new CopyOnWriteArrayList<>();
  final LinkedBlockingQueue<Integer> left = new LinkedBlockingQueue<>();
  final HttpProxy proxy;
  volatile Function<HttpRequest, HttpVerdict> rule = request -> HttpVerdict.ALLOWED;
  volatile Set<PolicyDirection> redirecting = EnumSet.of(PolicyDirection.EGRESS);
  volatile boolean isKnown = true;
  volatile boolean admits = true;
  final AtomicInteger failingJoins = new AtomicInteger();
  volatile int serverPort;
  volatile int clientEndpoint = 7;
  volatile int serverEndpoint;

  /** The flows that were found. */
  final Queue<WeakReference<RedirectedFlow>> found = new ConcurrentLinkedQueue<>();

  /** The endpoints of clients that are not {@link #clientEndpoint}, by their ports. */
  private final Map<Integer, Integer> others = new ConcurrentHashMap<>();

  /** The address of this node where it connects to endpoints. */
  volatile Optional<IpAddress> own = Optional.of(LOOPBACK);

  /** Where it listens and connects with IPv6. */
  volatile Optional<IpAddress> ownIpv6 = Optional.empty();

  /** The address of the server of flows that begin from now on. */
  volatile IpAddress server = LOOPBACK;

  /** What joining gives; null: it throws. */
  volatile CompletableFuture<Void> joins = CompletableFuture.completedFuture(null);

  ProxyBench(int serverPort) throws IOException {
    this(serverPort, context -> {});
  }

  /** Why no server may be reached; null: it may. */
  volatile String refusal;

  ProxyBench(int serverPort, Consumer<HttpProxyContext> options) throws IOException {
    this.serverPort = serverPort;
    final HttpProxyContext context =
        new HttpProxyContext().redirect(this).policies(this).listener(records::add).threads(2);
    options.accept(context);
    proxy = HttpProxy.start(context);
  }

  HttpSocket client() throws IOException {
    return new HttpSocket(new Socket("127.0.0.1", proxy.firstPort()));
  }

  /** Connects a client that is another endpoint. */
  HttpSocket client(int endpoint) throws IOException {
    final Socket socket = new Socket();
    socket.bind(new InetSocketAddress("127.0.0.1", 0));
    others.put(socket.getLocalPort(), endpoint);
    socket.connect(new InetSocketAddress("127.0.0.1", proxy.firstPort()));
    return new HttpSocket(socket);
  }

  /** The record of the next request that has ended. */
  RequestRecord record() throws InterruptedException {
    final RequestRecord next = records.poll(10, java.util.concurrent.TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("no request has ended");
    }
    return next;
  }

  @Override
  public Optional<IpAddress> address(boolean ipv6) {
    return ipv6 ? ownIpv6 : own;
  }

  @Override
  public int previousPort(RedirectKind kind) {
    return 0;
  }

  @Override
  public CompletableFuture<Void> serve(RedirectKind kind, int firstPort) {
    throw new AssertionError("the launcher does this");
  }

  @Override
  public Optional<RedirectedFlow> find(int protocol, IpAddress client, int clientPort, int port) {
    if (!isKnown || protocol != 6 || client.isIpv6() || port < proxy.firstPort()) {
      return Optional.empty();
    }
    final RedirectedFlow flow =
        new RedirectedFlow(
            protocol,
            client,
            clientPort,
            1001,
            others.getOrDefault(clientPort, clientEndpoint),
            server,
            serverPort,
            1002,
            serverEndpoint);
    found.add(new WeakReference<>(flow));
    return Optional.of(flow);
  }

  @Override
  public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
    joined.add(port);
    if (joins == null) {
      throw new IllegalStateException("closed");
    }
    return failingJoins.getAndUpdate(more -> Math.max(0, more - 1)) > 0
        ? CompletableFuture.failedFuture(new IOException("map full"))
        : joins;
  }

  @Override
  public Optional<String> refusal(RedirectedFlow flow) {
    return Optional.ofNullable(refusal);
  }

  @Override
  public void leave(RedirectedFlow flow, int port) {
    left.add(port);
  }

  @Override
  public HttpVerdict http(RedirectedFlow flow, HttpRequest request) {
    judged.add(request.method() + " " + request.host() + " " + request.path());
    return rule.apply(request);
  }

  @Override
  public boolean dns(RedirectedFlow flow, String name) {
    throw new AssertionError("not a DNS proxy");
  }

  @Override
  public boolean admits(RedirectedFlow flow) {
    return admits;
  }

  @Override
  public RedirectKind redirect(RedirectedFlow flow, PolicyDirection direction) {
    return redirecting.contains(direction) ? RedirectKind.HTTP : RedirectKind.NONE;
  }

  @Override
  public List<PolicyRedirect> redirects(int endpointId) {
    throw new AssertionError("the status does this");
  }

  @Override
  public long revision() {
    return 1;
  }

  @Override
  public void close() {
    proxy.close();
  }
}
