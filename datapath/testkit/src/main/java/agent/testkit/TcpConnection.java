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

/**
 * A TCP client in a namespace for single connection attempts and for a connection with steady
 * traffic.
 */
public final class TcpConnection implements AutoCloseable {
  /** How an attempt to connect ended. */
  public enum Outcome {
    CONNECTED,
    /** The peer answered with a reset. */
    REFUSED,
    /** The peer or a router answered with an ICMP error. */
    UNREACHABLE,
    /** No answer came before the time-out, as after a policy drop. */
    UNANSWERED
  }

  private static final int STEP_MS = 2;

  private final Socket socket;
  private final int intervalMs;
  private final Thread talker;
  private volatile boolean isStopped;
  private volatile long exchanged;
  private volatile IOException failure;

  private TcpConnection(Socket socket, int intervalMs) {
    this.socket = socket;
    this.intervalMs = intervalMs;
    this.talker = Thread.ofPlatform().name("tcp-talker").daemon().unstarted(this::talk);
  }

  /** Tries to connect once, for at most {@code timeoutMs}. */
  public static Outcome attempt(NetworkNamespace from, String address, int port, int timeoutMs) {
    try (Socket socket = connect(from, address, port, timeoutMs)) {
      return socket.isConnected() ? Outcome.CONNECTED : Outcome.UNANSWERED;
    } catch (SocketTimeoutException timedOut) {
      return Outcome.UNANSWERED;
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
    return open(from, address, port, STEP_MS);
  }

  /** As {@link #open(NetworkNamespace, String, int)}, with a pause after each message. */
  public static TcpConnection open(
      NetworkNamespace from, String address, int port, int intervalMs) {
    try {
      final TcpConnection connection =
          new TcpConnection(connect(from, address, port, 5000), intervalMs);
      connection.talker.start();
      return connection;
    } catch (Exception failure) {
      throw new IllegalStateException("connect to " + address + " port " + port, failure);
    }
  }

  /** Returns the exception that ended the connection, or null while it is open. */
  public IOException failure() {
    return failure;
  }

  /**
   * Returns whether this number of messages is sent and echoed from now on, in the given time. The
   * one that is under way does not count, since what counts packets may have seen it already.
   */
  public boolean exchangesMore(long messages, int withinMs) {
    final long goal = exchanged + 1 + messages;
    final long deadline = System.nanoTime() + withinMs * 1_000_000L;
    while (exchanged < goal) {
      if (failure != null || System.nanoTime() > deadline) {
        return false;
      }
      pause(STEP_MS);
    }
    return true;
  }

  /**
   * Returns whether no message arrives for the given time, as after a policy cut the flow. The one
   * that was under way is counted late where the thread of this connection has no CPU.
   */
  public boolean isCutFor(int quietMs) {
    pause(100); // messages in flight arrive
    final long before = exchanged;
    pause(quietMs);
    final long after = exchanged;
    if (after != before + 1) {
      return after == before;
    }
    pause(quietMs);
    return exchanged == after;
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
      for (long number = 1; !isStopped; number++) {
        out.writeLong(number);
        if (in.readLong() != number) {
          throw new IOException("message " + number + " came back changed");
        }
        exchanged = number;
        pause(intervalMs);
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
