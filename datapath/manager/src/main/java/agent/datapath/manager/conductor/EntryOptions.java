package agent.datapath.manager.conductor;

import agent.maps.layout.EndpointOption;
import agent.maps.layout.EventType;
import java.util.Set;

/**
 * The options that an endpoint's entry has in the kernel: its own, without the notifications that
 * have no subscriber, since these would cost the programs something, and those of the node. For the
 * conductor's thread.
 */
public final class EntryOptions {
  private static final int HOST_ROUTING = EndpointOption.HOST_ROUTING.number();
  private static final int SERVICES = EndpointOption.SERVICES.number();
  private static final int CAPTURE = EndpointOption.CAPTURE.number();

  /** The options that the node has and not the endpoint. */
  static final int OF_NODE = HOST_ROUTING | SERVICES | CAPTURE;

  /** What programs emit only while there is a subscriber. */
  private static final int NOTIFICATIONS =
      EndpointOption.DROP_NOTIFICATION.number()
          | EndpointOption.TRACE_NOTIFICATION.number()
          | EndpointOption.POLICY_VERDICT_NOTIFICATION.number();

  private final int unheardMask;
  private int mask;
  private int ofNode;

  /**
   * Creates the options of a node without services, where events have no subscriber.
   *
   * @param always events that are emitted while they have no subscriber
   * @param bypassesStack whether flows bypass the stack
   */
  public EntryOptions(Set<EventType> always, boolean bypassesStack) {
    unheardMask = ~NOTIFICATIONS | notifications(always);
    mask = unheardMask;
    ofNode = bypassesStack ? HOST_ROUTING : 0;
  }

  private static int notifications(Set<EventType> types) {
    int options = 0;
    for (final EventType type : types) {
      options |=
          switch (type) {
            case DROP -> EndpointOption.DROP_NOTIFICATION.number();
            case VERDICT -> EndpointOption.POLICY_VERDICT_NOTIFICATION.number();
            case TRACE -> EndpointOption.TRACE_NOTIFICATION.number();
            case TRANSLATION -> 0; // no option of endpoints
          };
    }
    return options;
  }

  /** Returns what the entry of an endpoint with these options has. */
  int written(int options) {
    return options & mask | ofNode;
  }

  /** Returns whether flows go another way with other options of their entry. */
  static boolean isOtherWay(int before, int after) {
    return ((before ^ after) & (NOTIFICATIONS | HOST_ROUTING)) != 0;
  }

  /** Keeps the services of a previous run until they are restored. */
  void keepServices(int optionsOfEntry) {
    ofNode |= optionsOfEntry & SERVICES;
  }

  /** Sets whether flows bypass the stack; returns whether that changes entries. */
  boolean bypassStack(boolean bypassesStack) {
    return set(bypassesStack ? ofNode | HOST_ROUTING : ofNode & ~HOST_ROUTING, mask);
  }

  /** Sets whether the node has services; returns whether that changes entries. */
  boolean serve(boolean hasServices) {
    return set(hasServices ? ofNode | SERVICES : ofNode & ~SERVICES, mask);
  }

  /**
   * Sets whether events have a subscriber and packets, too; returns whether that changes entries.
   */
  boolean listen(boolean isHeard, boolean isCapturing) {
    return set(isCapturing ? ofNode | CAPTURE : ofNode & ~CAPTURE, isHeard ? -1 : unheardMask);
  }

  private boolean set(int nextOfNode, int nextMask) {
    final boolean isChanged = nextOfNode != ofNode || nextMask != mask;
    ofNode = nextOfNode;
    mask = nextMask;
    return isChanged;
  }
}
