package agent.l7proxy;

import agent.datapath.manager.spec.RedirectedFlow;
import agent.policy.request.RedirectCounters.Count;
import agent.policy.request.RedirectCounters.FlowCounters;
import io.netty.channel.Channel;

/** A connection of a client, and the one to its server; used on one event loop only. */
final class ClientConnection {
  private final HttpProxyContext context;
  private final RedirectedFlow flow;
  private final FlowCounters counters;
  private final ClientConnections clients;
  private final LogFile<RequestRecord> log;
  private final TimeLimit head;
  private final TimeLimit idle;
  private Upstream upstream;
  private int streams;

  /**
   * Creates the state of a connection.
   *
   * @param client its channel
   * @param clients all connections
   * @param log null: requests are not logged
   */
  ClientConnection(
      HttpProxyContext context,
      RedirectedFlow flow,
      Channel client,
      FlowCounters counters,
      ClientConnections clients,
      LogFile<RequestRecord> log) {
    this.context = context;
    this.flow = flow;
    this.counters = counters;
    this.clients = clients;
    this.log = log;
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
    upstream = new Upstream(context, flow, clients, client, isHttp2);
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

  HttpProxyContext context() {
    return context;
  }

  RedirectedFlow flow() {
    return flow;
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
