package agent.server.socket;

import agent.bindings.PeerCredentials;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.SocketChannel;
import org.xnio.StreamConnection;
import sun.nio.ch.SelChImpl;

/** The connection of one client, in the form that Undertow needs. */
public final class UnixStreamConnection extends StreamConnection {
  private final SocketChannel channel;
  private final UnixSocketConduit conduit;
  private PeerCredentials credentials;

  UnixStreamConnection(UnixIoThread ioThread, SocketChannel channel, long stallLimitNs)
      throws IOException {
    super(ioThread);
    this.channel = channel;
    conduit = new UnixSocketConduit(this, ioThread, channel, stallLimitNs);
    setSourceConduit(conduit);
    setSinkConduit(conduit);
    conduit.register();
  }

  /** Returns the credentials that the kernel recorded when the client connected. */
  public synchronized PeerCredentials credentials() throws IOException {
    if (credentials == null) {
      credentials = PeerCredentials.of(((SelChImpl) channel).getFDVal());
    }
    return credentials;
  }

  void onReadClosed() {
    readClosed();
  }

  void onWriteClosed() {
    writeClosed();
  }

  @Override
  protected void closeAction() throws IOException {
    conduit.close();
  }

  /** Returns null: the client side of a Unix socket has no address. */
  @Override
  public SocketAddress getPeerAddress() {
    return null;
  }

  /** Returns null: no caller needs the path. */
  @Override
  public SocketAddress getLocalAddress() {
    return null;
  }
}
