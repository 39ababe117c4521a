package agent.server.monitor;

import agent.service.Service;
import agent.service.Services;
import java.util.LinkedHashMap;
import java.util.Map;

/** Publishes each change of a service, by whichever client, when it is in force. */
public final class ServiceEvents implements Services.Observer {
  private final AgentEvents events;

  public ServiceEvents(AgentEvents events) {
    this.events = events;
  }

  @Override
  public void onChange(int id, Service before, Service after) {
    if (!events.isHeard()) {
      return;
    }
    final Service shown = after == null ? before : after;
    final Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("kind", "service");
    fields.put("service", id);
    fields.put("change", after == null ? "deleted" : before == null ? "created" : "updated");
    if (shown != null) {
      fields.put("frontend", shown.frontend().toString());
      fields.put("backends", shown.backends().size());
      if (shown.name() != null) {
        fields.put("name", shown.name());
      }
      if (shown.namespace() != null) {
        fields.put("namespace", shown.namespace());
      }
    }
    events.publish(fields);
  }
}
