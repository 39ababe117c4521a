package agent.datapath.spec;

import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.TranslationEventFlyweight;
import java.util.concurrent.CompletableFuture;

/**
 * Subscriptions to events of drops, policy verdicts and traces, and of translations to backends.
 * The programs emit events only while there is a subscriber for them, but those that the ring of
 * flows wants always; drops are counted always. Thread-safe.
 */
public interface DatapathEvents {
  /**
   * Adds a subscriber. It must not block: the ring buffer is bounded.
   *
   * @return completes when the programs emit events
   */
  CompletableFuture<Void> subscribe(FlowSubscriber subscriber);

  /**
   * Removes a subscriber. It may still receive the events of the current poll after this returns.
   */
  void unsubscribe(FlowSubscriber subscriber);

  /**
   * Returns how many polls of the ring buffer have ended. There is one in each second at least; a
   * removed subscriber receives no event after the next one.
   */
  long polls();

  /** Returns the number of events read from the ring buffer. */
  long received();

  /** Returns the number of events that were lost because the ring buffer was full. */
  long lost();

  /**
   * Returns the number of events that were not emitted, since an endpoint, or the sockets of a
   * network namespace, caused too many.
   */
  long suppressed();

  /**
   * Returns the ring of the last events, without translations. Each event is in it before the
   * subscribers receive it.
   */
  FlowRing flows();

  /** Receives events of the datapath on the thread {@code dp-events}; wants always the same. */
  @FunctionalInterface
  interface FlowSubscriber {
    /**
     * Receives one event of a packet.
     *
     * @param event valid only during the call; copy its fields to keep them
     */
    void onEvent(FlowEventFlyweight event);

    /**
     * Receives one translation.
     *
     * @param event valid only during the call; copy its fields to keep them
     */
    default void onTranslation(TranslationEventFlyweight event) {
      // not wanted
    }

    /** Returns whether the programs are to emit events of packets for it. */
    default boolean hearsPackets() {
      return true;
    }

    /** Returns whether events are to have the first bytes of their packets. */
    default boolean capturesPackets() {
      return false;
    }

    /** Returns whether the programs are to emit translations for it. */
    default boolean hearsTranslations() {
      return false;
    }
  }
}
