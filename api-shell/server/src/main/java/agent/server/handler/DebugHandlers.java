package agent.server.handler;

import agent.endpoint.Endpoints;
import agent.endpoint.PolicyService;
import agent.endpoint.state.EndpointSnapshot;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.Route;
import agent.server.view.DaemonView;
import agent.server.view.DebugView;
import agent.server.view.ProxyView;
import agent.service.Service;
import agent.service.Services;
import agent.types.OperationException;
import java.io.Reader;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JsonGenerator;

/** Route of the debug information; it is streamed part by part. */
public final class DebugHandlers implements ApiHandler.Group {
  private static final int TO_THE_END = -1;

  private final DaemonView daemon;
  private final DebugView debug;
  private final Endpoints endpoints;
  private final PolicyDocument document;
  private final Services services;
  private final ProxyView proxies;

  /**
   * Creates the handlers.
   *
   * @param daemon the daemon
   * @param debug its process and subsystems
   * @param endpoints the endpoints
   * @param policy the policy
   * @param services the services
   * @param proxies what the proxies do for the endpoints
   */
  public DebugHandlers(
      DaemonView daemon,
      DebugView debug,
      Endpoints endpoints,
      PolicyService policy,
      Services services,
      ProxyView proxies) {
    this.daemon = daemon;
    this.debug = debug;
    this.endpoints = endpoints;
    document = new PolicyDocument(policy);
    this.services = services;
    this.proxies = proxies;
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.GET_DEBUGINFO, request -> Answer.streamed(this::write));
  }

  private void write(JsonGenerator json) throws Exception {
    final Map<String, String> subsystems = new LinkedHashMap<>(debug.subsystems());
    json.writeStartObject();
    json.writeName("agent-memory-map");
    try (Reader memory = debug.memoryMap()) {
      json.writeString(memory, TO_THE_END);
    }
    json.writePOJOProperty("agent-status", daemon.status(false));
    json.writeStringProperty("agent-version", debug.agentVersion());
    json.writeArrayPropertyStart("endpoint-list");
    for (final EndpointSnapshot endpoint : endpoints.list(List.of())) {
      json.writePOJO(EndpointEncoder.endpoint(endpoint, proxies.of(endpoint.id())));
    }
    json.writeEndArray();
    json.writePOJOProperty("environment-variables", debug.environment());
    json.writeStringProperty("kernel-version", debug.kernelRelease());
    try {
      document.writeProperty(json, "policy");
    } catch (OperationException unreadable) {
      subsystems.put("policy", unreadable.getMessage());
    }
    json.writeArrayPropertyStart("service-list");
    for (final Service service : services.list()) {
      json.writePOJO(ServiceHandlers.encode(service));
    }
    json.writeEndArray();
    json.writePOJOProperty("subsystem", subsystems);
    json.writeEndObject();
  }
}
