package agent.server.monitor;

import agent.l7proxy.RequestListener;
import agent.l7proxy.RequestRecord;
import java.util.Map;

/** Publishes what became of HTTP requests that passed the proxy. */
public final class RequestEvents implements RequestListener {
  private final AgentEvents events;

  /** Publishes to those who listen. */
  public RequestEvents(AgentEvents events) {
    this.events = events;
  }

  @Override
  public void onRequest(RequestRecord request) {
    if (!events.hearsRequests()) {
      return;
    }
    final Map<String, Object> fields =
        FlowFields.of(request.flow(), request.protocol(), request.verdict().text());
    fields.put("method", request.method());
    fields.put("path", request.path());
    fields.put("host", request.host());
    fields.put("status", request.status());
    fields.put("duration-ms", request.durationMs());
    events.publishRequest(fields);
  }
}
