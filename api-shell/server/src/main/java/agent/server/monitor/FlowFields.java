package agent.server.monitor;

import agent.datapath.spec.RedirectedFlow;
import agent.types.IpAddress;
import java.util.LinkedHashMap;
import java.util.Map;

/** The members of an event that say whose request it was. */
final class FlowFields {
  private static final int TCP = 6;

  private FlowFields() {}

  /** Returns the first members of an event of layer 7. */
  static Map<String, Object> of(RedirectedFlow flow, String protocol, String verdict) {
    final Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("kind", "l7");
    fields.put("protocol", protocol);
    fields.put("transport", flow.protocol() == TCP ? "TCP" : "UDP");
    fields.put("verdict", verdict);
    fields.put(
        "source",
        end(flow.client(), flow.clientPort(), flow.clientIdentity(), flow.clientEndpoint()));
    fields.put(
        "destination",
        end(flow.server(), flow.serverPort(), flow.serverIdentity(), flow.serverEndpoint()));
    return fields;
  }

  private static Map<String, Object> end(IpAddress address, int port, int identity, int endpoint) {
    final Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("ip", address.toString());
    fields.put("port", port);
    fields.put("identity", Integer.toUnsignedLong(identity));
    if (endpoint != 0) {
      fields.put("endpoint-id", endpoint);
    }
    return fields;
  }
}
