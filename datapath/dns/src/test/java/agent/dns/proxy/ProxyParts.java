package agent.dns.proxy;

import agent.datapath.spec.RedirectedFlow;
import agent.types.IpAddress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;

/** The parts of a proxy, whose thread does nothing at its ticks: the test does that work. */
final class ProxyParts implements AutoCloseable {
  private static final IpAddress CLIENT = IpAddress.parse("127.0.0.1");

  final ProxyRig rig = new ProxyRig();
  final ProxyLoop loop;
  final EndpointUse.Table uses = new EndpointUse.Table();
  final Exchanges exchanges;
  final UdpUpstreams upstreams;
  final TcpClients connections;
  private boolean isStarted;

  ProxyParts(DnsProxyContext.Times times, DnsProxyContext.Limits limits) throws IOException {
    this(times, limits, System::nanoTime);
  }

  ProxyParts(DnsProxyContext.Times times, DnsProxyContext.Limits limits, LongSupplier nanoClock)
      throws IOException {
    loop = new ProxyLoop(nanoClock);
    final DnsProxyContext context = rig.context().times(times).limits(limits).conclude();
    final Outstanding.Identifiers identifiers = new Outstanding.Identifiers();
    exchanges = new Exchanges(context, loop, uses);
    upstreams = new UdpUpstreams(context, loop, exchanges, uses, identifiers);
    connections = new TcpClients(context, loop, exchanges, uses, identifiers);
  }

  /** Returns the flow of a client of the loopback interface to the server. */
  RedirectedFlow flow(int protocol, int clientPort) {
    return rig.redirect.find(protocol, CLIENT, clientPort, 0).orElseThrow();
  }

  /** Starts the thread, which waits for the sockets from now on. */
  void start() {
    isStarted = true;
    loop.start(
        () -> {},
        () -> {
          upstreams.closeAll();
          connections.closeAll();
        });
  }

  /** What the thread does for the test. */
  interface Work<T> {
    T run() throws IOException;
  }

  /** Runs a task on the thread, and what that leaves for later; returns its result. */
  <T> T onThread(Work<T> work) {
    final CompletableFuture<T> done = new CompletableFuture<>();
    loop.tell(
        () -> {
          try {
            final T result = work.run();
            loop.later(() -> done.complete(result));
          } catch (IOException | RuntimeException | Error e) {
            done.completeExceptionally(e);
          }
        });
    return done.join();
  }

  /** A client that keeps what it is reported. */
  static final class Asker implements DnsExchange.Client {
    final RedirectedFlow flow;
    final List<byte[]> replies = new ArrayList<>();
    DnsExchange.Upstream upstream;
    int outstanding;

    Asker(RedirectedFlow flow, DnsExchange.Upstream upstream) {
      this.flow = flow;
      this.upstream = upstream;
    }

    @Override
    public RedirectedFlow flow() {
      return flow;
    }

    @Override
    public void refresh() {
      // its ends keep their identities
    }

    @Override
    public void reply(byte[] message) {
      replies.add(message);
    }

    @Override
    public void outstanding(int change) {
      outstanding += change;
    }

    @Override
    public DnsExchange.Upstream upstream() {
      return upstream;
    }

    /** Returns the response codes of the replies. */
    List<Integer> codes() {
      return replies.stream().map(DnsQuestion::codeOf).toList();
    }
  }

  @Override
  public void close() throws IOException {
    if (!isStarted) {
      start();
    }
    loop.close();
    rig.close();
  }
}
