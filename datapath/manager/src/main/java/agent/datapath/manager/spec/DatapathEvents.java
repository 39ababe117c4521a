package agent.datapath.manager.spec;

/** Notifications of drops, verdicts and traces. Thread-safe. */
public interface DatapathEvents {
  /** Adds a subscriber. It must not block: the ring behind it is bounded. */
  void subscribe(FlowSubscriber subscriber);

  /** Takes a subscriber away; after this returns it may still get the events of one poll. */
  void unsubscribe(FlowSubscriber subscriber);

  /** Events read from the ring. */
  long received();

  /** Events that found the ring full. */
  long lost();
}
