package agent.state;

import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.ExternalIdentifiers;
import agent.endpoint.state.WorkloadDescription;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.MacAddress;
import java.util.List;
import java.util.Map;

/** Records of endpoints for tests. */
final class EndpointRecords {
  private EndpointRecords() {}

  /** Returns the record of an endpoint; all have the same but for the id. */
  static EndpointRecord endpoint(int id) {
    return endpoint(id, EntrySource.API);
  }

  /** Returns the record of an endpoint of a source. */
  static EndpointRecord endpoint(int id, EntrySource source) {
    return new EndpointRecord(
        id,
        256,
        new EndpointAddressing(IpAddress.parse("10.1.0.7"), null, "default", null, null, null),
        new ExternalIdentifiers("demo", null, "eth0", null, null, null, null, null, false),
        new EndpointDevice(
            "wl0", 3, MacAddress.parse("02:00:00:00:00:01"), MacAddress.parse("02:00:00:00:00:02")),
        new EndpointRecord.LabelSources(List.of("app=a"), List.of()),
        new EndpointRecord.Configuration(
            Map.of(), new DatapathConfiguration(null, null, null, null, null, null)),
        new WorkloadDescription(null, null, null, null, null),
        List.of(),
        source);
  }
}
