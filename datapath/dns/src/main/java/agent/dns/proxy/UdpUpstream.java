package agent.dns.proxy;

import agent.datapath.spec.RedirectedFlow;
import java.io.IOException;
import java.net.PortUnreachableException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.util.ArrayList;
import java.util.List;

/**
 * The socket of one flow to its server, connected, on a port that the kernel chose. Used in turn
 * ({@link ProxyLoop}).
 */
final class UdpUpstream implements DnsExchange.Upstream, ProxyLoop.Socket {
  private static final int MOST_READ = 32;

  private final UdpUpstreams owner;
  private final DatagramChannel channel;
  private final Outstanding outstanding;
  private final List<DnsExchange> unsent = new ArrayList<>();
  final RedirectedFlow flow;
  final int port;

  /** When the last question ended. */
  long idleSinceNs;

  private boolean isJoined;

  UdpUpstream(
      UdpUpstreams owner,
      DatagramChannel channel,
      RedirectedFlow flow,
      Outstanding.Identifiers identifiers)
      throws IOException {
    this.owner = owner;
    this.channel = channel;
    this.flow = flow;
    port = PortBlock.port(channel);
    outstanding = new Outstanding(identifiers);
    isJoined = flow.serverEndpoint() == 0;
  }

  @Override
  public boolean ask(DnsExchange exchange) {
    if (!outstanding.add(exchange)) {
      return false;
    }
    owner.busy(this);
    if (!isJoined) {
      unsent.add(exchange);
      return true;
    }
    if (!send(exchange)) {
      forget(exchange);
      return false;
    }
    return true;
  }

  private boolean send(DnsExchange exchange) {
    try {
      final byte[] message = exchange.question.withIdentifier(exchange.identifier);
      if (channel.write(ByteBuffer.wrap(message)) < message.length) {
        return false;
      }
      owner.exchanges().onSent(exchange);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** The server's packets come here from now on; where they do not, nothing is ever sent. */
  void onJoined(Throwable failure) {
    if (failure != null) {
      onFailed();
      return;
    }
    isJoined = true;
    for (final DnsExchange exchange : unsent) {
      if (!exchange.isDone && !send(exchange)) {
        outstanding.remove(exchange);
        owner.exchanges().onServerFailed(exchange);
      }
    }
    unsent.clear();
    rest();
  }

  @Override
  public void forget(DnsExchange exchange) {
    outstanding.remove(exchange);
    rest();
  }

  private void rest() {
    if (outstanding.isEmpty()) {
      owner.idle(this);
    }
  }

  @Override
  public void onReady(SelectionKey key) throws IOException {
    for (int i = 0; i < MOST_READ && channel.isOpen(); i++) {
      final byte[] message;
      try {
        message = owner.read(channel);
      } catch (PortUnreachableException e) {
        outstanding.takeAll().forEach(owner.exchanges()::onServerFailed);
        rest();
        continue;
      }
      if (message == null) {
        return;
      }
      final DnsExchange exchange = outstanding.answered(message);
      if (exchange == null) {
        owner.exchanges().count(DnsCounter.SPOOFED);
      } else {
        owner.exchanges().onAnswer(exchange, message);
        rest();
      }
    }
  }

  @Override
  public void onFailed() {
    outstanding.takeAll().forEach(owner.exchanges()::onServerFailed);
    owner.close(this);
  }

  void close() {
    PortBlock.close(channel);
  }
}
