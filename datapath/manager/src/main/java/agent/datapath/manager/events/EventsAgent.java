package agent.datapath.manager.events;

import agent.bindings.EventPoll;
import agent.datapath.manager.spec.DatapathEvents;
import agent.datapath.manager.spec.DatapathEvents.FlowSubscriber;
import agent.datapath.manager.spec.FlowRing;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointRates;
import agent.maps.kernel.LostEvents;
import agent.maps.kernel.RingBufferReader;
import agent.maps.layout.FlowEventFlyweight;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The agent {@code dp-events}: reads the ring buffer of events, appends each to the ring of flows,
 * and calls every subscriber. Its idle strategy waits by epoll.
 */
public final class EventsAgent implements Agent, DatapathEvents {
  private static final Logger LOGGER = LogManager.getLogger(EventsAgent.class);
  private static final int EVENTS_PER_CYCLE = 4096;
  private static final int WAIT_MS = 1000;

  private final RingBufferReader ring;
  private final LostEvents lost;
  private final EndpointRates rates;
  private final EventPoll poll = new EventPoll();
  private final FlowEventFlyweight event = new FlowEventFlyweight();
  private final RingBufferReader.RecordHandler handler = this::onRecord;
  private final Listening listening;
  private final FlowRing flows;
  private volatile FlowSubscriber[] subscribers = {};
  private volatile long received;
  private volatile long polls;
  private volatile boolean isClosing;

  /** Has the programs emit events, or not. */
  @FunctionalInterface
  public interface Listening {
    /**
     * Starts or ends the events, with the first bytes of packets or without; completes when the
     * programs have it.
     */
    CompletableFuture<Void> set(boolean isHeard, boolean isCapturing);
  }

  /** Maps the ring buffer; an AgentRunner starts the reading. */
  public EventsAgent(
      BpfMap events, BpfMap eventsLost, EndpointRates rates, FlowRing flows, Listening listening) {
    this.rates = rates;
    this.flows = flows;
    this.listening = listening;
    ring = new RingBufferReader(events);
    lost = new LostEvents(eventsLost);
    poll.add(ring.fd());
  }

  @Override
  public int doWork() {
    final int count = ring.poll(handler, EVENTS_PER_CYCLE);
    polls = polls + 1; // one writer
    return count;
  }

  /**
   * Returns an idle strategy that waits by epoll until an event arrives, the agent is closed, or
   * one second has passed.
   */
  public IdleStrategy idleStrategy() {
    return new IdleStrategy() {
      @Override
      public void idle(int workCount) {
        if (workCount == 0) {
          idle();
        }
      }

      @Override
      public void idle() {
        if (!isClosing) {
          poll.await(WAIT_MS);
        }
      }

      @Override
      public void reset() {
        // stateless
      }
    };
  }

  @Override
  public String roleName() {
    return "dp-events";
  }

  /** Ends the current wait, so that closing the runner does not wait for its timeout. */
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
  public synchronized CompletableFuture<Void> subscribe(FlowSubscriber subscriber) {
    final FlowSubscriber[] more = Arrays.copyOf(subscribers, subscribers.length + 1);
    more[subscribers.length] = subscriber;
    subscribers = more;
    return listen();
  }

  @Override
  public synchronized void unsubscribe(FlowSubscriber subscriber) {
    subscribers =
        Arrays.stream(subscribers)
            .filter(other -> other != subscriber)
            .toArray(FlowSubscriber[]::new);
    listen();
  }

  private CompletableFuture<Void> listen() {
    return listening.set(
        subscribers.length > 0,
        Arrays.stream(subscribers).anyMatch(FlowSubscriber::capturesPackets));
  }

  @Override
  public long polls() {
    return polls;
  }

  @Override
  public long received() {
    return received;
  }

  @Override
  public synchronized long lost() {
    return Math.max(0, lost.read());
  }

  @Override
  public long suppressed() {
    return rates.eventsSuppressed();
  }

  @Override
  public FlowRing flows() {
    return flows;
  }

  private void onRecord(UnsafeBuffer buffer, int offset, int length) {
    if (length < FlowEventFlyweight.LENGTH) {
      return;
    }
    event.wrap(buffer, offset);
    if (length < FlowEventFlyweight.LENGTH + event.capturedLength()) {
      return;
    }
    received = received + 1; // one writer
    flows.append(event); // first: who subscribes now finds it there, or receives it
    final FlowSubscriber[] current = subscribers;
    for (int i = 0; i < current.length; i++) {
      try {
        current[i].onEvent(event);
      } catch (RuntimeException failure) {
        unsubscribe(current[i]);
        LOGGER.error("an event subscriber failed and is unsubscribed", failure);
      }
    }
  }
}
