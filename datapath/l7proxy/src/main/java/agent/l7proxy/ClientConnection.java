package agent.l7proxy;

import agent.datapath.spec.RedirectedFlow;
import agent.policy.request.HttpRequest;
import agent.policy.request.HttpVerdict;
import agent.policy.request.RedirectCounters.Count;
import agent.policy.request.RedirectCounters.FlowCounters;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.util.concurrent.Ticker;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A connection of a client, and the one to its server; used on one event loop only. */
final class ClientConnection {
  /** The identities of a flow are read again after this time, and before a request is denied. */
  private static final long FRESH_NS = TimeUnit.SECONDS.toNanos(1);

  private final HttpProxyContext context;
  private final int port;
  private final Ticker ticker;
  private final FlowCounters counters;
  private final CountedConnection counted;
  private final LogFile<RequestRecord> log;
  private final TimeLimit head;
  private final TimeLimit idle;
  private final Channel client;

  /**
   * The requests that are allowed and have not ended, and that of a tunnel, as they were judged.
   */
  private final Map<Exchange, JudgedRequest> exchanges = new IdentityHashMap<>(2);

  private RedirectedFlow flow;
  private long readNs;
  private Upstream upstream;
  private int streams;

  /**
   * Creates the state of a connection.
   *
   * @param flow its flow, as it is now
   * @param port the port of the proxy that it came to
   * @param client its channel
   * @param counted the client's connection as it is counted
   * @param log null: requests are not logged
   */
  ClientConnection(
      HttpProxyContext context,
      RedirectedFlow flow,
      int port,
      Channel client,
      FlowCounters counters,
      CountedConnection counted,
      LogFile<RequestRecord> log) {
    this.context = context;
    this.flow = flow;
    this.port = port;
    this.counters = counters;
    this.counted = counted;
    this.log = log;
    this.client = client;
    ticker = client.eventLoop().ticker();
    readNs = ticker.nanoTime();
    head = new TimeLimit(client, context.headTimeout());
    idle = new TimeLimit(client, context.idleTimeout());
    client.closeFuture().addListener(closed -> closed());
  }

  private void closed() {
    head.stop();
    idle.stop();
    if (upstream != null) {
      upstream.close();
    }
  }

  /** Sets what the client speaks; the server is spoken to in the same way. */
  void protocol(Channel client, boolean isHttp2) {
    upstream = new Upstream(context, flow, counted, client, isHttp2);
  }

  /**
   * A request begins: the connection is not idle until {@link #ended}.
   *
   * @return false: the connection is being closed, since it was idle
   */
  boolean begin() {
    return counted.begin();
  }

  /** No request uses the connection any more. */
  void ended() {
    counted.idle();
  }

  /** The first bytes of a request have come. */
  void touch() {
    counted.touch();
  }

  /** Counts a stream of HTTP/2 until it is closed: without any the connection is idle. */
  void opened(Channel stream) {
    streams++;
    idle.stop();
    stream
        .closeFuture()
        .addListener(
            closed -> {
              streams--;
              if (streams == 0) {
                counted.idle();
                idle.start(stream.parent()::close);
              }
            });
  }

  /** The limit of a head, from its first byte to its end; that of the first from the connection. */
  TimeLimit head() {
    return head;
  }

  /** The limit of a connection that no request uses. */
  TimeLimit idle() {
    return idle;
  }

  EscapedSlashes slashes() {
    return context.escapedSlashes();
  }

  HttpProxyContext context() {
    return context;
  }

  RedirectedFlow flow() {
    return flow;
  }

  /** Returns what policy says of a request, by the identities that the ends have now. */
  HttpVerdict judge(HttpRequest request) {
    final boolean isFresh = ticker.nanoTime() - readNs < FRESH_NS;
    if (!isFresh) {
      refresh();
    }
    final HttpVerdict verdict = context.policies().http(flow, request);
    return verdict.allowed() || !isFresh || !refresh()
        ? verdict
        : context.policies().http(flow, request);
  }

  /** Reads the identities of the ends again; returns whether there are others. */
  private boolean refresh() {
    final RedirectedFlow now = context.redirect().refresh(flow, port);
    final boolean isOther = !now.equals(flow);
    flow = now;
    readNs = ticker.nanoTime();
    return isOther;
  }

  /** A request is allowed, and goes on until {@link #left}. */
  void began(Exchange exchange, JudgedRequest request) {
    exchanges.put(exchange, request);
  }

  void left(Exchange exchange) {
    exchanges.remove(exchange);
  }

  Channel client() {
    return client;
  }

  /**
   * Ends what policy does not allow any more: requests, or the connection where none is left. A
   * request that is judged later is not concerned.
   */
  void enforce() {
    if (!client.isOpen()) {
      return;
    }
    refresh();
    if (!context.policies().admits(flow)) {
      reset();
      return;
    }
    final List<Exchange> denied = new ArrayList<>(0);
    exchanges.forEach(
        (exchange, request) -> {
          if (!context.policies().http(flow, request).allowed()) {
            denied.add(exchange);
          }
        });
    if (!denied.isEmpty() && denied.size() == exchanges.size()) {
      reset();
    } else {
      denied.forEach(this::revoke);
    }
  }

  private void revoke(Exchange exchange) {
    left(exchange);
    count(Count.REQUEST_DENIED);
    exchange.revoke();
  }

  /** Ends the connections of both sides, with what their sockets hold. */
  void reset() {
    List.copyOf(exchanges.keySet()).forEach(this::revoke);
    if (upstream != null) {
      upstream.reset();
    }
    if (client.isOpen()) {
      client.config().setOption(ChannelOption.SO_LINGER, 0);
      client.close();
    }
  }

  Upstream upstream() {
    return upstream;
  }

  void count(Count count) {
    counters.add(count);
  }

  void report(RequestRecord request) {
    if (log != null) {
      log.write(request);
    }
    context.listener().onRequest(request);
  }
}
