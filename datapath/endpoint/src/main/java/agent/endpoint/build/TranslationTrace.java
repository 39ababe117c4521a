package agent.endpoint.build;

import agent.datapath.spec.DatapathEvents;
import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.TranslationEventFlyweight;
import agent.types.IpAddress;
import java.util.function.Consumer;
import org.agrona.collections.IntHashSet;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Logs the backend of a service, or the source of a masqueraded flow, that each new flow of an
 * endpoint is given, while the option {@code DebugLB} of the endpoint asks for it. The programs
 * emit translations for it only then. What a socket is given before there is a packet is no
 * endpoint's. Enabled by the conductor's thread.
 */
public final class TranslationTrace implements DatapathEvents.FlowSubscriber {
  private static final Logger LOGGER = LogManager.getLogger(TranslationTrace.class);

  private final DatapathEvents events;
  private final Consumer<String> log;
  private volatile IntHashSet endpoints = new IntHashSet();

  /** Creates it without a subscription. */
  public TranslationTrace(DatapathEvents events) {
    this(events, LOGGER::info);
  }

  TranslationTrace(DatapathEvents events, Consumer<String> log) {
    this.events = events;
    this.log = log;
  }

  /** Logs the translations of one endpoint from now on, or stops. */
  public void enable(int endpoint, boolean isEnabled) {
    final IntHashSet before = endpoints;
    if (before.contains(endpoint) == isEnabled) {
      return;
    }
    final IntHashSet after = new IntHashSet();
    after.addAll(before);
    if (isEnabled) {
      after.add(endpoint);
    } else {
      after.remove(endpoint);
    }
    endpoints = after;
    if (before.isEmpty()) {
      events.subscribe(this).exceptionally(TranslationTrace::failed);
    } else if (after.isEmpty()) {
      events.unsubscribe(this);
    }
  }

  private static Void failed(Throwable failure) {
    LOGGER.warn("the programs emit no translations: {}", failure.getMessage());
    return null;
  }

  @Override
  public void onEvent(FlowEventFlyweight event) {
    // of a packet, for other subscribers
  }

  @Override
  public void onTranslation(TranslationEventFlyweight event) {
    if (endpoints.contains(event.endpointId())) {
      log.accept(line(event));
    }
  }

  private static String line(TranslationEventFlyweight event) {
    final boolean isIpv4 = event.family() == 4;
    return "balancing trace: endpoint %d: %s, protocol %d, from %s port %d by %s port %d to %s port %d"
        .formatted(
            event.endpointId(),
            event.serviceId() == 0 ? "masqueraded" : "service " + event.serviceId(),
            event.protocol(),
            IpAddress.ofWords(isIpv4, event.sourceAddressHigh(), event.sourceAddressLow()),
            event.sourcePort(),
            IpAddress.ofWords(isIpv4, event.frontendAddressHigh(), event.frontendAddressLow()),
            event.frontendPort(),
            IpAddress.ofWords(isIpv4, event.backendAddressHigh(), event.backendAddressLow()),
            event.backendPort());
  }

  @Override
  public boolean hearsPackets() {
    return false;
  }

  @Override
  public boolean hearsTranslations() {
    return true;
  }
}
