package agent.server.monitor;

import agent.dns.proxy.DnsObserver;
import java.util.Map;

/** Publishes what became of DNS questions that passed the proxy. */
public final class QuestionEvents implements DnsObserver {
  private final AgentEvents events;

  /** Publishes to those who listen. */
  public QuestionEvents(AgentEvents events) {
    this.events = events;
  }

  @Override
  public void onQuestion(Event event) {
    if (!events.hearsRequests()) {
      return;
    }
    final Map<String, Object> fields = FlowFields.of(event.flow(), "DNS", verdict(event.verdict()));
    fields.put("fqdn", event.name());
    fields.put("type", event.type());
    if (event.responseCode() >= 0) {
      fields.put("response-code", event.responseCode());
    }
    fields.put("ips", event.addresses().stream().map(Object::toString).toList());
    fields.put("ttl", event.ttlSec());
    events.publishRequest(fields);
  }

  private static String verdict(Verdict verdict) {
    return switch (verdict) {
      case FORWARDED -> "Forwarded";
      case DENIED -> "Denied";
      case ERROR -> "Error";
    };
  }
}
