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
  private final AccessLog log;
  private Upstream upstream;

  /**
   * Creates the state of a connection.
   *
   * @param log null: requests are not logged
   */
  ClientConnection(
      HttpProxyContext context, RedirectedFlow flow, FlowCounters counters, AccessLog log) {
    this.context = context;
    this.flow = flow;
    this.counters = counters;
    this.log = log;
  }

  /** Sets what the client speaks; the server is spoken to in the same way. */
  void protocol(Channel client, boolean isHttp2) {
    upstream = new Upstream(context, flow, client, isHttp2);
    client.closeFuture().addListener(closed -> upstream.close());
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
