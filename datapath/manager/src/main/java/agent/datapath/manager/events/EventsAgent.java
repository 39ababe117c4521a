package agent.datapath.manager.events;

import agent.bindings.EventPoll;
import agent.datapath.manager.spec.DatapathEvents;
import agent.datapath.manager.spec.FlowSubscriber;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.LostEvents;
import agent.maps.kernel.RingBufferReader;
import agent.maps.layout.FlowEventFlyweight;
import java.util.Arrays;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.UnsafeBuffer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Hands each event of the ring to every subscriber; waits by epoll where there is none. */
public final class EventsAgent implements Agent, DatapathEvents {
  private static final Logger LOGGER = LogManager.getLogger(EventsAgent.class);
  private static final int EVENTS_PER_CYCLE = 4096;
  private static final int WAIT_MS = 1000;

  private final RingBufferReader ring;
  private final LostEvents lost;
  private final EventPoll poll = new EventPoll();
  private final FlowEventFlyweight event = new FlowEventFlyweight();
  private final RingBufferReader.RecordHandler handler = this::onRecord;
  private volatile FlowSubscriber[] subscribers = {};
  private volatile long received;
  private volatile boolean isClosing;

  /** Maps the ring; nothing is read before an AgentRunner runs it. */
  public EventsAgent(BpfMap events, BpfMap eventsLost) {
    ring = new RingBufferReader(events);
    lost = new LostEvents(eventsLost);
    poll.add(ring.fd(), 0);
  }

  @Override
  public int doWork() {
    final int count = ring.poll(handler, EVENTS_PER_CYCLE);
    if (count == 0 && !isClosing) {
      poll.await(WAIT_MS);
    }
    return count;
  }

  @Override
  public String roleName() {
    return "dp-events";
  }

  /** Ends the current wait, so that closing the runner does not take a second. */
  public void wakeForClose() {
    isClosing = true;
    poll.wakeUp();
  }

  @Override
  public void onClose() {
    poll.close();
    ring.close();
  }

  @Override
  public synchronized void subscribe(FlowSubscriber subscriber) {
    final FlowSubscriber[] more = Arrays.copyOf(subscribers, subscribers.length + 1);
    more[subscribers.length] = subscriber;
    subscribers = more;
  }

  @Override
  public synchronized void unsubscribe(FlowSubscriber subscriber) {
    subscribers =
        Arrays.stream(subscribers)
            .filter(other -> other != subscriber)
            .toArray(FlowSubscriber[]::new);
  }

  @Override
  public long received() {
    return received;
  }

  @Override
  public synchronized long lost() {
    return Math.max(0, lost.read());
  }

  private void onRecord(UnsafeBuffer buffer, int offset, int length) {
    if (length < FlowEventFlyweight.LENGTH) {
      return;
    }
    received = received + 1; // one writer
    event.wrap(buffer, offset);
    final FlowSubscriber[] current = subscribers;
    for (int i = 0; i < current.length; i++) {
      try {
        current[i].onEvent(event);
      } catch (RuntimeException failure) {
        unsubscribe(current[i]);
        LOGGER.error("a subscriber of events failed and gets no more", failure);
      }
    }
  }
}
