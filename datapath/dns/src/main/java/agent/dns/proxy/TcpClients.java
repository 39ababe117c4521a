package agent.dns.proxy;

import agent.datapath.spec.RedirectedFlow;
import agent.types.IpAddress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The connections of clients. Used in turn ({@link ProxyLoop}). */
final class TcpClients {
  private static final int TCP = 6;
  private static final int MOST_ACCEPTED = 16;

  private final DnsProxyContext context;
  private final ProxyLoop loop;
  private final Exchanges exchanges;
  private final EndpointUse.Table uses;
  private final Outstanding.Identifiers identifiers;
  private final Set<TcpClient> clients = new LinkedHashSet<>();
  private final Set<SelectionKey> paused = new LinkedHashSet<>();

  TcpClients(
      DnsProxyContext context,
      ProxyLoop loop,
      Exchanges exchanges,
      EndpointUse.Table uses,
      Outstanding.Identifiers identifiers) {
    this.context = context;
    this.loop = loop;
    this.exchanges = exchanges;
    this.uses = uses;
    this.identifiers = identifiers;
  }

  /** A port of the proxy over TCP. */
  private final class Port implements ProxyLoop.Socket {
    private final ServerSocketChannel server;
    private final int number;

    private Port(ServerSocketChannel server, int number) {
      this.server = server;
      this.number = number;
    }

    @Override
    public void onReady(SelectionKey key) {
      try {
        SocketChannel channel = server.accept();
        for (int i = 1; channel != null; i++) {
          accept(channel, number);
          channel = i < MOST_ACCEPTED ? server.accept() : null;
        }
      } catch (IOException e) {
        // No descriptor is free: the connection waits until the next tick.
        exchanges.count(DnsCounter.ERROR);
        key.interestOps(0);
        paused.add(key);
      }
    }

    @Override
    public void onFailed() {
      exchanges.count(DnsCounter.ERROR);
    }
  }

  void serve(ServerSocketChannel server) throws IOException {
    loop.register(server, SelectionKey.OP_ACCEPT, new Port(server, PortBlock.port(server)));
  }

  private void accept(SocketChannel channel, int port) {
    try {
      final InetSocketAddress from = (InetSocketAddress) channel.getRemoteAddress();
      final IpAddress address = IpAddress.of(from.getAddress().getAddress());
      final Optional<RedirectedFlow> flow =
          context.redirect().find(TCP, address, from.getPort(), port);
      if (flow.isEmpty()) {
        exchanges.count(DnsCounter.UNKNOWN_FLOW);
      } else if (!hasRoom(uses.of(flow.get().clientEndpoint()))) {
        exchanges.problem(DnsCounter.ERROR, flow.get(), "too many connections");
      } else {
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        final TcpClient client = new TcpClient(this, channel, flow.get(), port, loop.nowNs());
        client.register(loop);
        clients.add(client);
        count(client, 1);
        return;
      }
    } catch (IOException | RuntimeException e) {
      exchanges.count(DnsCounter.ERROR);
    }
    PortBlock.close(channel);
  }

  private boolean hasRoom(EndpointUse use) {
    return use.connections < context.limits().connectionsOfEndpoint()
        && uses.all.connections < context.limits().connections();
  }

  private void count(TcpClient client, int change) {
    uses.of(client.flow().clientEndpoint()).connections += change;
    uses.all.connections += change;
  }

  /** Begins a connection to the server of a client; null where that is not possible. */
  TcpUpstream connect(TcpClient client) {
    final TcpUpstream upstream = new TcpUpstream(client, this, identifiers);
    try {
      upstream.open(context, loop);
      return upstream;
    } catch (IOException | RuntimeException e) {
      upstream.close();
      return null;
    }
  }

  Exchanges exchanges() {
    return exchanges;
  }

  long nowNs() {
    return loop.nowNs();
  }

  void later(Runnable work) {
    loop.later(work);
  }

  RedirectedFlow refresh(RedirectedFlow flow, int port) {
    return context.redirect().refresh(flow, port);
  }

  void leave(RedirectedFlow flow, int port) {
    context.redirect().leave(flow, port);
  }

  void closed(TcpClient client) {
    if (clients.remove(client)) {
      count(client, -1);
    }
  }

  /** Ends the connections whose flow policy does not allow any more. */
  void enforce() {
    for (final TcpClient client : List.copyOf(clients)) {
      client.refresh();
      if (!context.policies().admits(client.flow())) {
        exchanges.problem(DnsCounter.DENIED, client.flow(), "the connection is no longer allowed");
        client.reset();
      }
    }
  }

  /** Closes connections that were not used for a while, and accepts again. */
  void step() {
    paused.forEach(key -> key.interestOps(SelectionKey.OP_ACCEPT));
    paused.clear();
    final long mostNs = context.times().idleConnection().toNanos();
    for (final TcpClient client : List.copyOf(clients)) {
      client.closeIdle(loop.nowNs(), mostNs);
    }
  }

  void closeAll() {
    List.copyOf(clients).forEach(TcpClient::close);
  }
}
