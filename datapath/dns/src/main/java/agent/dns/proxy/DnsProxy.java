package agent.dns.proxy;

import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectCounters;
import agent.types.IoFailure;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Asks DNS servers for the endpoints whose questions the datapath sends here. A question is passed
 * on as it is, but for the identifier, where policy allows the name; an answer goes back when the
 * rules use its addresses. One thread, {@code dns-proxy}, does the work and waits for nothing but
 * its sockets.
 */
public final class DnsProxy implements AutoCloseable {
  /** Name of its thread. */
  public static final String THREAD = "dns-proxy";

  private static final Logger LOGGER = LogManager.getLogger(DnsProxy.class);

  private final ProxyLoop loop = new ProxyLoop();
  private final EndpointUse.Table uses = new EndpointUse.Table();
  private final PortBlock ports;
  private final Exchanges exchanges;
  private final UdpUpstreams upstreams;
  private final TcpClients connections;

  private DnsProxy(DnsProxyContext context, PortBlock ports) {
    this.ports = ports;
    final Outstanding.Identifiers identifiers = new Outstanding.Identifiers();
    exchanges = new Exchanges(context, loop, uses);
    upstreams = new UdpUpstreams(context, loop, exchanges, uses, identifiers);
    connections = new TcpClients(context, loop, exchanges, uses, identifiers);
  }

  /**
   * Binds the ports and serves them.
   *
   * @param context concluded
   * @return the proxy; then the datapath may send flows
   * @throws OperationException naming the option where a port is not free, or where this node has
   *     no address for the proxy
   */
  public static DnsProxy start(DnsProxyContext context) {
    if (!context.isConcluded()) {
      throw new IllegalStateException("the context of the DNS proxy is not concluded");
    }
    final List<IpAddress> addresses = new ArrayList<>();
    for (final boolean isIpv6 : new boolean[] {false, true}) {
      final Optional<IpAddress> address = context.redirect().address(isIpv6);
      address.ifPresent(addresses::add);
    }
    if (addresses.isEmpty()) {
      throw new OperationException("DNS proxy: this node has no address to listen on");
    }
    final PortBlock ports =
        PortBlock.bind(
            addresses, context.port(), context.redirect().previousPort(RedirectKind.DNS));
    final DnsProxy proxy = new DnsProxy(context, ports);
    try {
      proxy.serve(context);
    } catch (IOException e) {
      ports.close();
      throw new OperationException("DNS proxy: " + IoFailure.reason(e), e);
    }
    LOGGER.info("DNS proxy: ports {} to {} of {}", ports.first(), ports.last(), addresses);
    return proxy;
  }

  private void serve(DnsProxyContext context) throws IOException {
    for (final DatagramChannel datagrams : ports.datagrams()) {
      final UdpClients clients = new UdpClients(datagrams, context.redirect(), upstreams);
      loop.register(datagrams, SelectionKey.OP_READ, clients);
    }
    for (final ServerSocketChannel server : ports.servers()) {
      connections.serve(server);
    }
    loop.start(this::step, this::end);
  }

  private void step() {
    exchanges.expire();
    upstreams.closeIdle();
    connections.step();
  }

  private void end() {
    upstreams.closeAll();
    connections.closeAll();
    ports.close();
  }

  /**
   * Enforces the published policies on what is open: connections that are denied end at once in
   * both directions, and answers to questions that are denied are not given.
   *
   * @return complete when that is so
   */
  public CompletableFuture<Void> enforce() {
    final CompletableFuture<Void> done = new CompletableFuture<>();
    loop.tell(
        () -> {
          exchanges.policiesChanged();
          connections.enforce();
          done.complete(null);
        });
    return done;
  }

  /** Returns the first of the consecutive ports. */
  public int firstPort() {
    return ports.first();
  }

  /** Returns how often things happened since the start; any thread may call. */
  public Map<DnsCounter, Long> counters() {
    final Map<DnsCounter, Long> counted = new EnumMap<>(DnsCounter.class);
    for (final DnsCounter counter : DnsCounter.values()) {
      counted.put(counter, exchanges.counted(counter));
    }
    return counted;
  }

  /** Returns the counters of the messages of redirects. */
  public RedirectCounters redirectCounters() {
    return exchanges.redirectCounters();
  }

  /** Closes all sockets and ends the thread. */
  @Override
  public void close() {
    loop.close();
  }
}
