package agent.testkit;

import agent.testkit.TcpConnection.Outcome;
import java.util.Map;
import java.util.Scanner;
import java.util.StringJoiner;
import java.util.TreeMap;

/**
 * Whether TCP connections are answered. Where one that should be is not, the message says how far
 * packets come: the counters of both network stacks that change during a second attempt, and the
 * neighbours that they know.
 */
public final class ConnectionCheck {
  /** Covers four retransmissions of a segment that is lost. */
  private static final int ANSWERED_MS = 10_000;

  private static final int UNANSWERED_MS = 400;

  private ConnectionCheck() {}

  /** Fails unless a connection between two namespaces is established, or else not answered. */
  public static void expect(
      boolean isReached, NetworkNamespace from, NetworkNamespace to, String address, int port) {
    final long startNs = System.nanoTime();
    final Outcome outcome =
        TcpConnection.attempt(from, address, port, isReached ? ANSWERED_MS : UNANSWERED_MS);
    if (outcome != (isReached ? Outcome.CONNECTED : Outcome.UNANSWERED)) {
      throw new AssertionError(
          "%s to %s port %d: %s after %d ms%s"
              .formatted(
                  from.name(),
                  address,
                  port,
                  outcome,
                  (System.nanoTime() - startNs) / 1_000_000,
                  isReached ? secondAttempt(from, to, address, port) : ""));
    }
  }

  private static String secondAttempt(
      NetworkNamespace from, NetworkNamespace to, String address, int port) {
    final Map<String, Long> client = counters(from);
    final Map<String, Long> server = counters(to);
    final Outcome outcome = TcpConnection.attempt(from, address, port, 3000);
    return "; a second attempt: %s\n%s: %s\n%s\n%s: %s\n%s"
        .formatted(
            outcome,
            from.name(),
            changed(client, counters(from)),
            from.exec("ip", "neighbour"),
            to.name(),
            changed(server, counters(to)),
            to.exec("ip", "neighbour"));
  }

  private static String changed(Map<String, Long> before, Map<String, Long> after) {
    final StringJoiner text = new StringJoiner(", ");
    after.forEach(
        (name, value) -> {
          final long more = value - before.getOrDefault(name, 0L);
          if (more != 0) {
            text.add(name + " " + more);
          }
        });
    return text.toString();
  }

  /** Reads the counters of {@code /proc/net}, whose files name columns in one line of two. */
  private static Map<String, Long> counters(NetworkNamespace namespace) {
    final Map<String, Long> counters = new TreeMap<>();
    final String[] lines = namespace.exec("cat", "/proc/net/snmp", "/proc/net/netstat").split("\n");
    for (int i = 0; i + 1 < lines.length; i += 2) {
      final String[] names = lines[i].split(" ");
      final String[] values = lines[i + 1].split(" ");
      for (int column = 1; column < names.length; column++) {
        counters.put(names[0] + names[column], Long.parseLong(values[column]));
      }
    }
    try (Scanner devices = new Scanner(namespace.exec("cat", "/proc/net/dev"))) {
      devices.nextLine();
      devices.nextLine();
      while (devices.hasNext()) {
        final String[] words = devices.nextLine().strip().split("\\s+");
        counters.put(words[0] + "received", Long.parseLong(words[2]));
        counters.put(words[0] + "receive-dropped", Long.parseLong(words[4]));
        counters.put(words[0] + "sent", Long.parseLong(words[10]));
        counters.put(words[0] + "send-dropped", Long.parseLong(words[12]));
      }
    }
    return counters;
  }
}
