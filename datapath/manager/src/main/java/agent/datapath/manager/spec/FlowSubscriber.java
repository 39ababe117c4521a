package agent.datapath.manager.spec;

import agent.maps.layout.FlowEventFlyweight;

/** Gets every event of the datapath on the {@code dp-events} thread. */
@FunctionalInterface
public interface FlowSubscriber {
  /**
   * Called once an event.
   *
   * @param event valid only during the call; what is kept has to be copied
   */
  void onEvent(FlowEventFlyweight event);
}
