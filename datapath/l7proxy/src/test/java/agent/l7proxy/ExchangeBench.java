package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.HttpRequest;
import agent.policy.request.HttpVerdict;
import agent.policy.request.PolicyRedirect;
import agent.policy.request.RedirectCounters;
import agent.policy.request.RedirectStatistics;
import agent.policy.request.RequestPolicies;
import agent.types.IpAddress;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The connection of a client of HTTP/1, or one stream of a client of HTTP/2, and the connections to
 * its server in memory, on one thread: what is asked, sent, read and closed, step by step. There is
 * a connection to the server as long as {@link #server} has given one; else an attempt to open one
 * fails.
 */
class ExchangeBench implements RedirectProxy, RequestPolicies {
  static final RedirectedFlow FLOW =
      new RedirectedFlow(6, ProxyBench.LOOPBACK, 4000, 1001, 7, ProxyBench.LOOPBACK, 80, 1002, 0);

  static final int PORT = 10_001;

  static final String GET = "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n";
  static final String PUT = "PUT /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\n";
  static final String CHUNKED =
      "POST /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
  static final String OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  static final String HALF = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok";

  final List<RequestRecord> records = new ArrayList<>();
  final List<String> judged = new ArrayList<>();

  /** The flow of each question. */
  final List<RedirectedFlow> flows = new ArrayList<>();

  /** What the datapath knows of the flow, and how often it was asked. */
  Optional<RedirectedFlow> found = Optional.of(FLOW);

  int finds;
  final EmbeddedSocket client = new EmbeddedSocket();
  final ProxyConnections connections = new ProxyConnections(100, client.eventLoop().ticker());
  final CountedConnection counted = connections.add(FLOW, client);
  final RedirectCounters counters = new RedirectCounters(this, RedirectKind.HTTP);
  final ClientConnection connection;
  final ClientHandler handler;
  Function<HttpRequest, HttpVerdict> rule = request -> HttpVerdict.ALLOWED;

  /** The connection that was given last. */
  EmbeddedSocket kept;

  ExchangeBench() {
    this(context -> {});
  }

  ExchangeBench(Consumer<HttpProxyContext> options) {
    this(options, false, false);
  }

  ExchangeBench(Consumer<HttpProxyContext> options, boolean isHttp2, boolean isServerHttp2) {
    final HttpProxyContext context =
        new HttpProxyContext()
            .redirect(this)
            .policies(this)
            .listener(records::add)
            .headTimeout(Duration.ofSeconds(30));
    options.accept(context);
    connection =
        new ClientConnection(
            context.conclude(), FLOW, PORT, client, counters.of(FLOW), counted, null);
    connection.protocol(client, isServerHttp2);
    if (isHttp2) {
      handler = ClientHandler.ofHttp2Stream(connection);
      client.pipeline().addLast(new Http2StreamFrameToHttpObjectCodec(true), handler);
    } else {
      final RequestDecoder decoder = new RequestDecoder(connection);
      final ResponseEncoder encoder = new ResponseEncoder();
      handler = ClientHandler.ofHttp1(connection, decoder, encoder);
      client.pipeline().addLast(decoder, encoder, handler);
    }
  }

  /** Returns the head of a request, as a decoder gives it. */
  static DefaultHttpRequest head() {
    final DefaultHttpRequest head =
        new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/x");
    head.headers().set("Host", "a.test");
    return head;
  }

  /**
   * Provides the next request with an open connection to the server: the one that it has, or a new
   * one.
   */
  EmbeddedSocket server() {
    final EmbeddedSocket server = new EmbeddedSocket();
    Upstream.addHttp1(server.pipeline());
    connection.upstream().keep(counted(server));
    if (!server.isOpen()) {
      return kept;
    }
    kept = server;
    return server;
  }

  /** Counts a connection to the server, as one that a request uses. */
  EmbeddedSocket counted(EmbeddedSocket server) {
    counted.addServer().channel(server);
    return server;
  }

  /** What comes next is answered as on a fresh connection. */
  void assertServes() {
    final EmbeddedSocket next = server();
    next.sent();
    rule = request -> HttpVerdict.ALLOWED;
    client.receive(GET);
    assertEquals(GET, next.sent());
    next.receive(OK);
    assertEquals(OK, client.sent());
    assertTrue(client.isOpen());
  }

  /**
   * Provides streams with an open connection to a server of HTTP/2, which has sent its first frame.
   */
  EmbeddedSocket http2Server() {
    final EmbeddedSocket server = new EmbeddedSocket();
    server
        .pipeline()
        .addLast(
            Http2FrameCodecBuilder.forClient().build(),
            new Http2MultiplexHandler(new ChannelInboundHandlerAdapter()));
    connection.upstream().keep(counted(server));
    server.receive("\0\0\0\4\0\0\0\0\0");
    server.sent();
    return server;
  }

  RedirectStatistics.Messages requests() {
    return counters.statistics(7).getFirst().requests();
  }

  RedirectStatistics.Messages responses() {
    return counters.statistics(7).getFirst().responses();
  }

  @Override
  public Optional<IpAddress> address(boolean ipv6) {
    return ipv6 ? Optional.empty() : Optional.of(ProxyBench.LOOPBACK);
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
    assertEquals(
        List.of(6, FLOW.client(), 4000, PORT), List.of(protocol, client, clientPort, port));
    finds++;
    return found;
  }

  @Override
  public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
    throw new AssertionError("the server is no endpoint");
  }

  @Override
  public Optional<String> refusal(RedirectedFlow flow) {
    return Optional.empty();
  }

  @Override
  public void leave(RedirectedFlow flow, int port) {
    throw new AssertionError("the server is no endpoint");
  }

  @Override
  public HttpVerdict http(RedirectedFlow flow, HttpRequest request) {
    flows.add(flow);
    judged.add(request.method() + " " + request.host() + " " + request.path());
    return rule.apply(request);
  }

  @Override
  public boolean dns(RedirectedFlow flow, String name) {
    throw new AssertionError("not a DNS proxy");
  }

  @Override
  public RedirectKind redirect(RedirectedFlow flow, PolicyDirection direction) {
    return direction == PolicyDirection.EGRESS ? RedirectKind.HTTP : RedirectKind.NONE;
  }

  @Override
  public List<PolicyRedirect> redirects(int endpointId) {
    throw new AssertionError("the status does this");
  }

  @Override
  public long revision() {
    return 1;
  }

  /** Removes the handlers of HTTP/1.1 from the client's connection, whose protocol is open then. */
  void removeHttp1() {
    client.pipeline().remove(RequestDecoder.class);
    client.pipeline().remove(ResponseEncoder.class);
    client.pipeline().remove(ClientHandler.class);
  }
}
