package agent.datapath.events;

import agent.bindings.EventPoll;
import agent.datapath.spec.DatapathEvents;
import agent.datapath.spec.DatapathEvents.FlowSubscriber;
import agent.datapath.spec.FlowRing;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointRates;
import agent.maps.kernel.LostEvents;
import agent.maps.kernel.RingBufferReader;
import agent.maps.layout.EventGate;
import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.TranslationEventFlyweight;
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
  private static final byte TRANSLATION = (byte) EventType.TRANSLATION.number();

  private final RingBufferReader ring;
  private final LostEvents lost;
  private final EndpointRates rates;
  private final EndpointRates namespaces;
  private final EventPoll poll = new EventPoll();
  private final FlowEventFlyweight event = new FlowEventFlyweight();
  private final TranslationEventFlyweight translation = new TranslationEventFlyweight();
  private final RingBufferReader.RecordHandler handler = this::onRecord;
  private final Listening listening;
  private final FlowRing flows;
  private volatile FlowSubscriber[] subscribers = {};
  private volatile long received;
  private volatile long polls;
  private volatile boolean isClosing;

  /**
   * What subscribers want.
   *
   * @param packets events of packets
   * @param packetBytes with their first bytes
   * @param translations translations to backends
   */
  public record Wanted(boolean packets, boolean packetBytes, boolean translations) {
    /** Returns the bits of {@code event_gate}. */
    public int gate() {
      return translations ? EventGate.TRANSLATIONS.number() : 0;
    }
  }

  /** Switches the events of the programs on or off. */
  @FunctionalInterface
  public interface Listening {
    /** Starts or ends the events; completes when the programs have it. */
    CompletableFuture<Void> set(Wanted wanted);
  }

  /**
   * Maps the ring buffer; an AgentRunner starts the reading.
   *
   * @param rates of endpoints
   * @param namespaces rates of network namespaces
   */
  public EventsAgent(
      BpfMap events,
      BpfMap eventsLost,
      EndpointRates rates,
      EndpointRates namespaces,
      FlowRing flows,
      Listening listening) {
    this.rates = rates;
    this.namespaces = namespaces;
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
        new Wanted(
            Arrays.stream(subscribers).anyMatch(FlowSubscriber::hearsPackets),
            Arrays.stream(subscribers).anyMatch(FlowSubscriber::capturesPackets),
            Arrays.stream(subscribers).anyMatch(FlowSubscriber::hearsTranslations)));
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
    return rates.eventsSuppressed() + namespaces.eventsSuppressed();
  }

  @Override
  public FlowRing flows() {
    return flows;
  }

  private void onRecord(UnsafeBuffer buffer, int offset, int length) {
    if (length < FlowEventFlyweight.LENGTH) {
      return;
    }
    if (buffer.getByte(offset + FlowEventFlyweight.TYPE_OFFSET) == TRANSLATION) {
      onTranslation(buffer, offset, length);
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
        remove(current[i], failure);
      }
    }
  }

  private void onTranslation(UnsafeBuffer buffer, int offset, int length) {
    if (length < TranslationEventFlyweight.LENGTH) {
      return;
    }
    translation.wrap(buffer, offset);
    received = received + 1; // one writer
    final FlowSubscriber[] current = subscribers;
    for (int i = 0; i < current.length; i++) {
      try {
        current[i].onTranslation(translation);
      } catch (RuntimeException failure) {
        remove(current[i], failure);
      }
    }
  }

  private void remove(FlowSubscriber subscriber, RuntimeException failure) {
    unsubscribe(subscriber);
    LOGGER.error("an event subscriber failed and is unsubscribed", failure);
  }
}
