package agent.datapath.manager.spec;

import agent.maps.layout.FlowEventFlyweight;

/** Subscriptions to events of drops, policy verdicts and traces. Thread-safe. */
public interface DatapathEvents {
  /** Adds a subscriber. It must not block: the ring buffer is bounded. */
  void subscribe(FlowSubscriber subscriber);

  /**
   * Removes a subscriber. It may still receive the events of the current poll after this returns.
   */
  void unsubscribe(FlowSubscriber subscriber);

  /** Returns the number of events read from the ring buffer. */
  long received();

  /** Returns the number of events that were lost because the ring buffer was full. */
  long lost();

  /** Receives every event of the datapath on the thread {@code dp-events}. */
  @FunctionalInterface
  interface FlowSubscriber {
    /**
     * Receives one event.
     *
     * @param event valid only during the call; copy its fields to keep them
     */
    void onEvent(FlowEventFlyweight event);
  }
}
