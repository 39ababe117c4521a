package agent.dns.proxy;

import agent.datapath.spec.RedirectedFlow;
import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/**
 * A connection of a client. Its questions are asked as they come, and answered in the order of the
 * answers (RFC 7766 section 6.2.1.1). Used in turn ({@link ProxyLoop}).
 */
final class TcpClient implements DnsExchange.Client, ProxyLoop.Socket {
  private static final int MOST_OUTSTANDING = 128;
  private static final int MOST_QUEUED_BYTES = 256 << 10;

  private final TcpClients owner;
  private final SocketChannel channel;
  private final int port;
  private final MessageStream messages = new MessageStream();
  private RedirectedFlow flow;
  private SelectionKey key;
  private TcpUpstream upstream;
  private int outstanding;
  private boolean isInputEnded;
  private boolean isClosed;
  private boolean isFollowing;

  /** When the last question began or ended; one that no server is asked ends with its reply. */
  private long usedNs;

  TcpClient(TcpClients owner, SocketChannel channel, RedirectedFlow flow, int port, long nowNs) {
    this.owner = owner;
    this.channel = channel;
    this.flow = flow;
    this.port = port;
    usedNs = nowNs;
  }

  void register(ProxyLoop loop) throws IOException {
    key = loop.register(channel, SelectionKey.OP_READ, this);
  }

  @Override
  public RedirectedFlow flow() {
    return flow;
  }

  @Override
  public DnsExchange.Upstream upstream() {
    if (upstream == null || upstream.isClosed()) {
      upstream = owner.connect(this);
    }
    return upstream;
  }

  @Override
  public void outstanding(int change) {
    outstanding += change;
    usedNs = owner.nowNs();
    onRoom();
  }

  @Override
  public void reply(byte[] message) {
    if (!isClosed) {
      messages.add(message);
      usedNs = owner.nowNs();
      onRoom();
    }
  }

  /** There may be something to send or room for more questions: looked at after this cycle. */
  void onRoom() {
    if (!isFollowing && !isClosed) {
      isFollowing = true;
      owner.later(this::follow);
    }
  }

  @Override
  public void onReady(SelectionKey ready) throws IOException {
    if (ready.isReadable() && !messages.read(channel)) {
      isInputEnded = true;
    }
    onRoom();
  }

  private void follow() {
    isFollowing = false;
    if (isClosed) {
      return;
    }
    try {
      step();
    } catch (IOException e) {
      close();
    }
  }

  private void step() throws IOException {
    if (messages.hasMessage()) {
      refresh();
    }
    while (hasRoom() && messages.hasMessage()) {
      owner.exchanges().onMessage(this, messages.next());
    }
    messages.write(channel);
    if (messages.hasMessage() && hasRoom()) {
      onRoom(); // what was sent has made room, and no other event may follow
    }
    if (isInputEnded && outstanding == 0 && !messages.hasMessage()) {
      if (messages.queuedBytes() == 0) {
        close();
        return;
      }
    }
    final boolean isSlow = messages.queuedBytes() > MOST_QUEUED_BYTES;
    if (upstream != null) {
      upstream.pause(isSlow);
    }
    final boolean wantsMore = !isInputEnded && !messages.hasMessage();
    key.interestOps(
        (wantsMore ? SelectionKey.OP_READ : 0)
            | (messages.queuedBytes() > 0 ? SelectionKey.OP_WRITE : 0));
  }

  private boolean hasRoom() {
    return outstanding < MOST_OUTSTANDING
        && messages.queuedBytes() <= MOST_QUEUED_BYTES
        && (upstream == null || upstream.queuedBytes() <= MOST_QUEUED_BYTES);
  }

  @Override
  public void onFailed() {
    close();
  }

  /** Closes the connection where it was not used for a while. */
  void closeIdle(long nowNs, long mostNs) {
    if (outstanding == 0 && nowNs - usedNs >= mostNs) {
      close();
    }
  }

  /** Reads the identities of its ends again. */
  @Override
  public void refresh() {
    flow = owner.refresh(flow, port);
  }

  /** Closes both connections, and sends nothing of what their sockets hold. */
  void reset() {
    if (upstream != null) {
      upstream.reset();
    }
    PortBlock.discard(channel);
    close();
  }

  void close() {
    if (!isClosed) {
      isClosed = true;
      PortBlock.close(channel);
      if (upstream != null) {
        upstream.onFailed();
      }
      owner.closed(this);
    }
  }
}
