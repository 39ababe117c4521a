package agent.datapath.manager.spec;

import agent.maps.layout.FlowEventFlyweight;

/** Receives every event of the datapath on the thread {@code dp-events}. */
@FunctionalInterface
public interface FlowSubscriber {
  /**
   * Receives one event.
   *
   * @param event valid only during the call; copy its fields to keep them
   */
  void onEvent(FlowEventFlyweight event);
}
