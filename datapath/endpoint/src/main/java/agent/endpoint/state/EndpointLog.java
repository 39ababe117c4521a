package agent.endpoint.state;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The last status changes of one endpoint. Owned by the conductor's thread. */
public final class EndpointLog {
  /** The number of entries that are kept (decisions.md, section 4). */
  static final int CAPACITY = 256;

  private final Deque<LogEntry> newestFirst = new ArrayDeque<>(CAPACITY);
  private List<LogEntry> snapshot = List.of();

  /** Adds an entry; drops the oldest one of a full log. */
  public void add(LogEntry entry) {
    if (newestFirst.size() == CAPACITY) {
      newestFirst.removeLast();
    }
    newestFirst.addFirst(entry);
    snapshot = null;
  }

  /** Returns the entries, newest first; the same list until the next entry is added. */
  public List<LogEntry> entries() {
    if (snapshot == null) {
      snapshot = List.copyOf(newestFirst);
    }
    return snapshot;
  }

  /**
   * One status change of an endpoint.
   *
   * @param code {@code OK}, {@code Warning} or {@code Failure}
   * @param message the cause of the change
   * @param state the new state
   * @param timestamp the time of the change
   */
  public record LogEntry(String code, String message, EndpointState state, Instant timestamp) {}
}
