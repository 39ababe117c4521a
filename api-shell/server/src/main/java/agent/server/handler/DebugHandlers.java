package agent.server.handler;

import agent.contract.policy.PolicyModel;
import agent.endpoint.Endpoints;
import agent.endpoint.PolicyService;
import agent.endpoint.state.EndpointSnapshot;
import agent.policy.PolicySnapshot;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.Route;
import agent.server.view.DaemonView;
import agent.server.view.DebugView;
import agent.types.OperationException;
import java.io.Reader;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.json.JsonMapper;

/** Route of the debug information; it is streamed part by part. */
public final class DebugHandlers implements ApiHandler.Group {
  private static final int TO_THE_END = -1;

  private final DaemonView daemon;
  private final DebugView debug;
  private final Endpoints endpoints;
  private final PolicyService policy;
  private final JsonMapper mapper = agent.contract.WireFormat.strictMapper();

  /**
   * Creates the handlers.
   *
   * @param daemon the daemon
   * @param debug its process and subsystems
   * @param endpoints the endpoints
   * @param policy the policy
   */
  public DebugHandlers(
      DaemonView daemon, DebugView debug, Endpoints endpoints, PolicyService policy) {
    this.daemon = daemon;
    this.debug = debug;
    this.endpoints = endpoints;
    this.policy = policy;
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
      json.writePOJO(EndpointEncoder.endpoint(endpoint));
    }
    json.writeEndArray();
    json.writePOJOProperty("environment-variables", debug.environment());
    json.writeStringProperty("kernel-version", debug.kernelRelease());
    try {
      final PolicySnapshot rules = policy.get(List.of());
      json.writePOJOProperty("policy", encode(rules));
    } catch (OperationException unreadable) {
      subsystems.put("policy", unreadable.getMessage());
    }
    json.writeArrayPropertyStart("service-list");
    json.writeEndArray();
    json.writePOJOProperty("subsystem", subsystems);
    json.writeEndObject();
  }

  private PolicyModel encode(PolicySnapshot rules) {
    return new PolicyModel(
        mapper.writeValueAsString(RuleCodec.encode(rules.rules())), rules.revision());
  }
}
