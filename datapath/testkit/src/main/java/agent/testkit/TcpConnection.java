package agent.testkit;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.Socket;
import java.net.SocketTimeoutException;

/** A TCP client in a namespace: whether a connection comes about, and one that keeps talking. */
public final class TcpConnection implements AutoCloseable {
  /** How an attempt to connect ended. */
  public enum Outcome {
    CONNECTED,
    /** Somebody answered with a reset. */
    REFUSED,
    /** Somebody answered with an ICMP error. */
    UNREACHABLE,
    /** Nobody answered in time: what a policy drop looks like. */
    HANGS
  }

  private static final int STEP_MS = 2;

  private final Socket socket;
  private final Thread talker;
  private volatile boolean isStopped;
  private volatile long exchanged;
  private volatile long longestGapNs;
  private volatile IOException failure;

  private TcpConnection(Socket socket) {
    this.socket = socket;
    this.talker = Thread.ofPlatform().name("tcp-talker").daemon().unstarted(this::talk);
  }

  /** Tries to connect once, for at most so long. */
  public static Outcome attempt(NetworkNamespace from, String address, int port, int timeoutMs) {
    try (Socket socket = connect(from, address, port, timeoutMs)) {
      return socket.isConnected() ? Outcome.CONNECTED : Outcome.HANGS;
    } catch (SocketTimeoutException nobodyAnswered) {
      return Outcome.HANGS;
    } catch (ConnectException refused) {
      return Outcome.REFUSED;
    } catch (NoRouteToHostException unreachable) {
      return Outcome.UNREACHABLE;
    } catch (Exception other) {
      throw new IllegalStateException("connect to " + address + " port " + port, other);
    }
  }

  /** Connects to an echo server and exchanges numbered messages until it is closed. */
  public static TcpConnection open(NetworkNamespace from, String address, int port) {
    try {
      final TcpConnection connection = new TcpConnection(connect(from, address, port, 5000));
      connection.talker.start();
      return connection;
    } catch (Exception failure) {
      throw new IllegalStateException("connect to " + address + " port " + port, failure);
    }
  }

  /** Messages that came back so far. */
  public long exchanged() {
    return exchanged;
  }

  /** The longest time between two answers. */
  public long longestGapMs() {
    return longestGapNs / 1_000_000;
  }

  /** What ended the connection, or null while it runs. */
  public IOException failure() {
    return failure;
  }

  /** Whether so many more messages come back in the given time. */
  public boolean exchangesMore(long messages, int withinMs) {
    final long goal = exchanged + messages;
    final long deadline = System.nanoTime() + withinMs * 1_000_000L;
    while (exchanged < goal) {
      if (failure != null || System.nanoTime() > deadline) {
        return false;
      }
      pause(STEP_MS);
    }
    return true;
  }

  /** Whether the connection stands still for the given time: what a cut looks like. */
  public boolean isCutFor(int quietMs) {
    pause(100); // what was on the wire arrives
    final long before = exchanged;
    pause(quietMs);
    return exchanged == before;
  }

  private static Socket connect(NetworkNamespace from, String address, int port, int timeoutMs)
      throws Exception {
    return from.run(
        () -> {
          final Socket socket = new Socket();
          try {
            socket.setTcpNoDelay(true);
            socket.connect(new InetSocketAddress(InetAddress.ofLiteral(address), port), timeoutMs);
            return socket;
          } catch (IOException failure) {
            socket.close();
            throw failure;
          }
        });
  }

  private void talk() {
    try {
      final DataOutputStream out = new DataOutputStream(socket.getOutputStream());
      final DataInputStream in = new DataInputStream(socket.getInputStream());
      long last = System.nanoTime();
      for (long number = 1; !isStopped; number++) {
        out.writeLong(number);
        if (in.readLong() != number) {
          throw new IOException("message " + number + " came back changed");
        }
        final long now = System.nanoTime();
        longestGapNs = Math.max(longestGapNs, now - last);
        last = now;
        exchanged = number;
        pause(STEP_MS);
      }
    } catch (IOException ended) {
      if (!isStopped) {
        failure = ended;
      }
    }
  }

  static void join(Thread thread) {
    try {
      thread.join(5000);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  static void pause(int milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() throws IOException {
    isStopped = true;
    socket.close();
  }
}
