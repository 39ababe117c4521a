package agent.maps.layout;

import org.agrona.MutableDirectBuffer;

/** Copies of records of the ring buffer {@code events}. */
public final class FlowEvents {
  private FlowEvents() {}

  /**
   * Copies all bytes of an event, and behind them the first bytes of the packet.
   *
   * @param captured so many of them: at most {@link FlowEventFlyweight#capturedLength()}
   */
  public static void copy(
      FlowEventFlyweight event, MutableDirectBuffer to, int index, int captured) {
    to.putBytes(index, event.buffer(), event.offset(), FlowEventFlyweight.LENGTH + captured);
    to.putShort(index + FlowEventFlyweight.CAPTURED_LENGTH_OFFSET, (short) captured);
  }

  /** Copies all bytes of an event. */
  public static void copy(TranslationEventFlyweight event, MutableDirectBuffer to, int index) {
    to.putBytes(index, event.buffer(), event.offset(), TranslationEventFlyweight.LENGTH);
  }
}
