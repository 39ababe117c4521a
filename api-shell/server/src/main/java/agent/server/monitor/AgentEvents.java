package agent.server.monitor;

import agent.contract.WireFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * What the agent does, for the subscribers of live events: changes by the API, and changes of
 * endpoints and services. Costs nothing while no program listens. Thread-safe.
 */
public final class AgentEvents {
  private static final Logger LOGGER = LogManager.getLogger(AgentEvents.class);

  private final List<Subscriber> subscribers = new CopyOnWriteArrayList<>();
  private JsonMapper mapper; // made for the first subscriber: most agents never have one

  void add(Subscriber subscriber) {
    subscribers.add(subscriber);
  }

  /** The subscriber receives no event after this. */
  synchronized void remove(Subscriber subscriber) {
    subscribers.remove(subscriber);
  }

  /** Returns whether a program listens. */
  public boolean isHeard() {
    return !subscribers.isEmpty();
  }

  /**
   * Publishes an event.
   *
   * @param fields names and values, of which {@code kind} says what happened
   */
  public void publish(Map<String, ?> fields) {
    if (isHeard()) {
      send(fields);
    }
  }

  private synchronized void send(Map<String, ?> fields) {
    if (mapper == null) {
      mapper = WireFormat.strictMapper();
    }
    final byte[] json;
    try {
      json = mapper.writeValueAsBytes(fields);
    } catch (JacksonException failure) {
      LOGGER.warn("an event of the agent is not published: {}", failure.getMessage());
      return;
    }
    final long nowNs = System.nanoTime();
    for (final Subscriber subscriber : subscribers) {
      subscriber.onAgentEvent(nowNs, json);
    }
  }
}
