package agent.testkit;

import agent.testkit.TcpConnection.Outcome;
import java.util.stream.Collectors;

/**
 * Whether TCP connections are answered. Where one that should be is not, the message says how far
 * packets come: the counters of both network stacks that change during the attempt and during a
 * second one, and the neighbours that they know.
 */
public final class ConnectionCheck {
  /** Covers four retransmissions of a segment that is lost. */
  private static final int ANSWERED_MS = 10_000;

  private static final int UNANSWERED_MS = 400;

  private ConnectionCheck() {}

  /** Fails unless a connection between two namespaces is established, or else not answered. */
  public static void expect(
      boolean isReached, NetworkNamespace from, NetworkNamespace to, String address, int port) {
    final NetworkCounters client = NetworkCounters.of(from);
    final NetworkCounters server = NetworkCounters.of(to);
    final long startNs = System.nanoTime();
    final Outcome outcome =
        TcpConnection.attempt(from, address, port, isReached ? ANSWERED_MS : UNANSWERED_MS);
    if (outcome != (isReached ? Outcome.CONNECTED : Outcome.UNANSWERED)) {
      throw new AssertionError(
          "%s to %s port %d: %s after %d ms\n%s%s"
              .formatted(
                  from.name(),
                  address,
                  port,
                  outcome,
                  (System.nanoTime() - startNs) / 1_000_000,
                  counters(client, from, server, to),
                  isReached ? secondAttempt(from, to, address, port) : ""));
    }
  }

  private static String secondAttempt(
      NetworkNamespace from, NetworkNamespace to, String address, int port) {
    final NetworkCounters client = NetworkCounters.of(from);
    final NetworkCounters server = NetworkCounters.of(to);
    final Outcome outcome = TcpConnection.attempt(from, address, port, 3000);
    return "\na second attempt: %s\n%s".formatted(outcome, counters(client, from, server, to));
  }

  private static String counters(
      NetworkCounters client, NetworkNamespace from, NetworkCounters server, NetworkNamespace to) {
    return "%s: %s\n%s\n%s: %s\n%s"
        .formatted(
            from.name(),
            changed(client, from),
            from.exec("ip", "neighbour"),
            to.name(),
            changed(server, to),
            to.exec("ip", "neighbour"));
  }

  private static String changed(NetworkCounters before, NetworkNamespace namespace) {
    return NetworkCounters.of(namespace).since(before).entrySet().stream()
        .map(counter -> counter.getKey() + " " + counter.getValue())
        .collect(Collectors.joining(", "));
  }
}
