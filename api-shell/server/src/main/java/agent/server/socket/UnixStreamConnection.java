package agent.server.socket;

import agent.bindings.Descriptors;
import agent.bindings.net.PeerCredentials;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.SocketChannel;
import org.xnio.IoUtils;
import org.xnio.StreamConnection;
import sun.nio.ch.SelChImpl;

/** The connection of one client, in the form that Undertow needs. */
public final class UnixStreamConnection extends StreamConnection {
  private final SocketChannel channel;
  private final UnixSocketConduit conduit;
  private final OpenConnections connections;
  private PeerCredentials credentials;
  private Peer peer;
  private volatile boolean isServing;
  private volatile boolean isGone;
  private volatile long lastActiveNs = System.nanoTime();

  UnixStreamConnection(
      UnixIoThread ioThread, SocketChannel channel, long stallLimitNs, OpenConnections connections)
      throws IOException {
    super(ioThread);
    this.channel = channel;
    this.connections = connections;
    conduit = new UnixSocketConduit(this, ioThread, channel, stallLimitNs);
    setSourceConduit(conduit);
    setSinkConduit(conduit);
    conduit.register();
    connections.add(this);
  }

  /** Marks the begin of a request, on the I/O thread: until its end the connection is in use. */
  public void beginRequest() {
    isServing = true;
  }

  /**
   * Marks the begin of the work on a request, on its worker: until {@link #endWork()} the I/O
   * thread takes no further request. Undertow resumes the reads before it is ready for that one
   * (HttpReadListener), so that the I/O thread, once awake, would spin until the worker is.
   */
  public void beginWork() {
    conduit.beginWork();
  }

  /** Marks the end of the work of the calling worker, after the answer. */
  public void endWork() {
    conduit.endWork();
  }

  /** Marks the end of a request. */
  public void endRequest() {
    isServing = false;
  }

  /**
   * Closes the connection soon after the client has closed it, also while a worker is busy or the
   * request waits for one; until the end of the request.
   */
  public void watchHangup() {
    connections.watchHangups();
  }

  /** Returns whether the client has closed the connection while its request was at work. */
  public boolean isGone() {
    return isGone;
  }

  /** Returns whether a request is at work for a client that has gone. */
  boolean isServingGoneClient() {
    return isServing
        && channel.isOpen()
        && Descriptors.isClosedByPeer(((SelChImpl) channel).getFDVal());
  }

  /**
   * Closes the connection if a request is at work for a client that has gone, on its I/O thread.
   */
  void closeIfGone() {
    if (isServingGoneClient()) {
      isGone = true;
      closeNow();
    }
  }

  /** Returns whether a request is at work. */
  boolean isServing() {
    return isServing;
  }

  /** Returns whether the request at work waits for bytes from the client, or for it to read. */
  boolean waitsForClient() {
    return conduit.waitsForClient();
  }

  /** Returns when the client last sent or read bytes. */
  long lastActiveNs() {
    return lastActiveNs;
  }

  void onActivity(long timeNs) {
    lastActiveNs = timeNs;
  }

  /**
   * Returns whether the client waits for nothing; a request that has arrived and was not read yet
   * is activity.
   */
  boolean isIdle() {
    if (isServing) {
      return waitsForClient();
    }
    if (Descriptors.hasUnread(((SelChImpl) channel).getFDVal())) {
      onActivity(System.nanoTime());
      return false;
    }
    return true;
  }

  void execute(Runnable task) {
    getIoThread().execute(task);
  }

  void closeNow() {
    IoUtils.safeClose(this);
  }

  /** Returns the credentials that the kernel recorded when the client connected. */
  public synchronized PeerCredentials credentials() throws IOException {
    if (credentials == null) {
      credentials = PeerCredentials.of(((SelChImpl) channel).getFDVal());
    }
    return credentials;
  }

  /** Returns with whom the client shares what it may ask for at one time. */
  public synchronized Peer peer() throws IOException {
    if (peer == null) {
      peer = Peer.of(((SelChImpl) channel).getFDVal(), credentials());
    }
    return peer;
  }

  void onReadClosed() {
    readClosed();
  }

  void onWriteClosed() {
    writeClosed();
  }

  @Override
  protected void closeAction() throws IOException {
    try {
      conduit.close();
    } finally {
      connections.remove(this);
    }
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
