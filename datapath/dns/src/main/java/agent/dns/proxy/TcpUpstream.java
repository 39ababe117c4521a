package agent.dns.proxy;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/** The connection to the server of one connection of a client. Used in turn ({@link ProxyLoop}). */
final class TcpUpstream implements DnsExchange.Upstream, ProxyLoop.Socket {
  private final TcpClient client;
  private final TcpClients owner;
  private final RedirectedFlow flow;
  private final Outstanding outstanding;
  private final MessageStream messages = new MessageStream();
  private RedirectProxy redirect;
  private SocketChannel channel;
  private SelectionKey key;
  private int port;
  private boolean isPaused;
  private boolean isClosed;

  TcpUpstream(TcpClient client, TcpClients owner, Outstanding.Identifiers identifiers) {
    this.client = client;
    this.owner = owner;
    flow = client.flow();
    outstanding = new Outstanding(identifiers);
  }

  /** Begins to connect. */
  void open(DnsProxyContext context, ProxyLoop loop) throws IOException {
    redirect = context.redirect();
    channel = SocketChannel.open(PortBlock.family(flow.server()));
    channel.configureBlocking(false);
    UdpUpstreams.bind(channel, flow, context.redirect());
    if (flow.serverEndpoint() == 0) {
      connect(loop);
      return;
    }
    port = PortBlock.port(channel);
    context
        .redirect()
        .join(flow, port)
        .whenComplete((done, failure) -> loop.tell(() -> onJoined(loop, failure)));
  }

  private void onJoined(ProxyLoop loop, Throwable failure) {
    if (isClosed) {
      return;
    }
    try {
      if (failure != null) {
        throw new IOException(failure);
      }
      connect(loop);
    } catch (IOException e) {
      onFailed();
    }
  }

  private void connect(ProxyLoop loop) throws IOException {
    UdpUpstreams.permit(flow, redirect);
    final boolean isConnected = channel.connect(flow.server().withPort(flow.serverPort()));
    key = loop.register(channel, SelectionKey.OP_CONNECT, this);
    if (isConnected) {
      onConnected();
      follow();
    }
  }

  @Override
  public boolean ask(DnsExchange exchange) {
    if (isClosed || !outstanding.add(exchange)) {
      return false;
    }
    messages.add(exchange.question.withIdentifier(exchange.identifier));
    if (channel.isConnected()) {
      owner.exchanges().onSent(exchange);
      follow();
    }
    return true;
  }

  /** What was asked before goes out now. */
  private void onConnected() {
    outstanding.forEach(owner.exchanges()::onSent);
  }

  /** Makes the selector wait for what the connection needs now. */
  private void follow() {
    final int read = isPaused ? 0 : SelectionKey.OP_READ;
    key.interestOps(read | (messages.queuedBytes() > 0 ? SelectionKey.OP_WRITE : 0));
  }

  /** The client does not take what there is: no more is read until it does. */
  void pause(boolean value) {
    if (isPaused != value && !isClosed) {
      isPaused = value;
      if (channel.isConnected()) {
        follow();
      }
    }
  }

  /** Returns what waits for the server, which is nothing once the connection has ended. */
  int queuedBytes() {
    return isClosed ? 0 : messages.queuedBytes();
  }

  @Override
  public void forget(DnsExchange exchange) {
    outstanding.remove(exchange);
  }

  @Override
  public void onReady(SelectionKey ready) throws IOException {
    if (ready.isConnectable()) {
      channel.finishConnect();
      onConnected();
    }
    boolean isOpen = true;
    if (ready.isReadable()) {
      isOpen = messages.read(channel);
      for (byte[] next = messages.next(); next != null; next = messages.next()) {
        onMessage(next);
      }
    }
    if (!isOpen) {
      onFailed();
    } else if (!isClosed) {
      messages.write(channel);
      follow();
      client.onRoom();
    }
  }

  private void onMessage(byte[] message) {
    final DnsExchange exchange = outstanding.answered(message);
    if (exchange == null) {
      owner.exchanges().count(DnsCounter.SPOOFED);
    } else {
      owner.exchanges().onAnswer(exchange, message);
    }
  }

  /** The connection has ended: what it was asked has no answer, and the next question opens one. */
  @Override
  public void onFailed() {
    close();
    outstanding.takeAll().forEach(owner.exchanges()::onServerFailed);
  }

  /** What its socket holds is not sent when it closes. */
  void reset() {
    if (!isClosed) {
      PortBlock.discard(channel);
    }
  }

  void close() {
    if (!isClosed) {
      isClosed = true;
      if (channel != null) {
        PortBlock.close(channel);
      }
      if (port != 0) {
        owner.leave(flow, port);
      }
    }
  }

  boolean isClosed() {
    return isClosed;
  }
}
