package agent.server.monitor;

import agent.contract.WireFormat;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * What the agent does, for the subscribers of live events: changes by the API, changes of endpoints
 * and services, and what proxies do with requests, the last of which are kept. Costs nothing while
 * no program listens, unless requests are kept at all times. Thread-safe.
 */
public final class AgentEvents {
  private static final Logger LOGGER = LogManager.getLogger(AgentEvents.class);

  private static final int LONGEST_KEPT_BYTES = 8 * 1024;

  private final List<Subscriber> subscribers = new CopyOnWriteArrayList<>();
  private final int mostKept;
  private final boolean keepsAlways;
  private final Deque<Event> kept = new ArrayDeque<>();
  private volatile Runnable hearing = () -> {};
  private JsonMapper mapper; // made for the first subscriber: most agents never have one

  /**
   * One event.
   *
   * @param timeNs of the monotonic clock
   * @param isRequest whether a proxy did it
   */
  record Event(long timeNs, byte[] json, boolean isRequest) {}

  /** Creates events of which none are kept. */
  public AgentEvents() {
    this(0, false);
  }

  /**
   * Creates events.
   *
   * @param mostKept how many requests are kept for later subscribers
   * @param keepsAlways whether they are kept while no program listens, too
   */
  public AgentEvents(int mostKept, boolean keepsAlways) {
    this.mostKept = mostKept;
    this.keepsAlways = keepsAlways && mostKept > 0;
  }

  /** Adds a subscriber; returns the requests that are kept, which it does not receive. */
  synchronized List<Event> add(Subscriber subscriber) {
    subscribers.add(subscriber);
    hearing.run();
    return kept();
  }

  /** Returns the requests that are kept, the oldest first. */
  synchronized List<Event> kept() {
    return List.copyOf(kept);
  }

  /** The subscriber receives no event after this. */
  synchronized void remove(Subscriber subscriber) {
    subscribers.remove(subscriber);
    hearing.run();
  }

  /** Sets what is called when a program begins to listen, or ends; it does not wait. */
  public void whenHearing(Runnable listener) {
    hearing = listener;
  }

  /** Returns whether a program listens. */
  public boolean isHeard() {
    return !subscribers.isEmpty();
  }

  /** Returns whether requests are kept, or a program listens. */
  public boolean hearsRequests() {
    return keepsAlways || isHeard();
  }

  /**
   * Publishes what a proxy did with a request.
   *
   * @param fields names and values
   */
  void publishRequest(Map<String, ?> fields) {
    if (hearsRequests()) {
      send(fields, true);
    }
  }

  /**
   * Publishes an event.
   *
   * @param fields names and values, of which {@code kind} says what happened
   */
  public void publish(Map<String, ?> fields) {
    if (isHeard()) {
      send(fields, false);
    }
  }

  private synchronized void send(Map<String, ?> fields, boolean isRequest) {
    if (mapper == null) {
      mapper = WireFormat.strictMapper();
    }
    final byte[] json;
    try {
      json = mapper.writeValueAsBytes(fields);
    } catch (JacksonException failure) {
      LOGGER.warn("publishing an event of the agent failed: {}", failure.getMessage());
      return;
    }
    final Event event = new Event(System.nanoTime(), json, isRequest);
    if (isRequest && mostKept > 0 && json.length <= LONGEST_KEPT_BYTES) {
      if (kept.size() == mostKept) {
        kept.removeFirst();
      }
      kept.addLast(event);
    }
    for (final Subscriber subscriber : subscribers) {
      subscriber.onAgentEvent(event);
    }
  }
}
