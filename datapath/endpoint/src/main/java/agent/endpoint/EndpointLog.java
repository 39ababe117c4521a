package agent.endpoint;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The last status changes of one endpoint. Owned by the conductor's thread. */
final class EndpointLog {
  /** How many entries are kept (decisions.md, section 4). */
  static final int CAPACITY = 256;

  private final Deque<LogEntry> newestFirst = new ArrayDeque<>(CAPACITY);
  private List<LogEntry> snapshot = List.of();

  void add(LogEntry entry) {
    if (newestFirst.size() == CAPACITY) {
      newestFirst.removeLast();
    }
    newestFirst.addFirst(entry);
    snapshot = null;
  }

  /** The entries, newest first; the same list until the next one is added. */
  List<LogEntry> entries() {
    if (snapshot == null) {
      snapshot = List.copyOf(newestFirst);
    }
    return snapshot;
  }
}
