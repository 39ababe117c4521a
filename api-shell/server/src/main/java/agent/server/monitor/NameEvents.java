package agent.server.monitor;

import agent.dns.NameResolver;
import agent.dns.Names;
import java.util.LinkedHashMap;
import java.util.Map;

/** Publishes the answers to the lookups of the agent. */
public final class NameEvents implements Names.Observer {
  private final AgentEvents events;

  public NameEvents(AgentEvents events) {
    this.events = events;
  }

  @Override
  public void onLookup(String name, NameResolver.Resolved answer) {
    if (!events.isHeard()) {
      return;
    }
    final Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("kind", "dns");
    fields.put("fqdn", name);
    fields.put("ips", answer.addresses().stream().map(Object::toString).sorted().toList());
    fields.put("ttl", answer.ttlSec());
    events.publish(fields);
  }
}
