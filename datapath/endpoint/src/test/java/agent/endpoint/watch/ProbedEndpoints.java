package agent.endpoint.watch;

import agent.conductor.ConductorAgent;
import agent.datapath.spec.EndpointFaults;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointLookup;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointSnapshots;
import agent.endpoint.state.ExternalIdentifiers;
import agent.endpoint.state.LabelDerivation;
import agent.endpoint.state.WorkloadDescription;
import agent.identity.LabelFilter;
import agent.identity.ReservedIdentity;
import agent.node.AddressProbes;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;

/** Endpoints with programs on their interfaces, without a conductor, and a watch that asks them. */
final class ProbedEndpoints {
  final EndpointRegistry registry =
      new EndpointRegistry(
          new EndpointSnapshots(
              new NodeAddressing(
                  FamilyAddressing.of(null, Prefix.parse("10.5.0.0/16")),
                  FamilyAddressing.DISABLED)),
          new EndpointLookup("c1", "n1"),
          EndpointFaults.NONE,
          snapshot -> {});
  private final EndpointJournal journal =
      new EndpointJournal(
          registry,
          new ConductorAgent("test", System::nanoTime),
          InstantSource.system(),
          Duration.ofSeconds(1),
          Duration.ofSeconds(1),
          true);

  /** Creates a watch of these endpoints whose first walk is due at 0. */
  AddressWatch watch(AddressProbes probes) {
    return new AddressWatch(registry, journal, probes, 0);
  }

  /** Adds an endpoint with an IPv4 address on the interface with index 100 + id. */
  Endpoint add(int id) {
    final IpAddress ipv4 = IpAddress.ofIpv4((10 << 24) + (5 << 16) + id);
    final EndpointRecord record =
        new EndpointRecord(
            id,
            0,
            new EndpointAddressing(ipv4, null, null, null, null, null),
            new ExternalIdentifiers(null, null, null, null, null, null, null, null, false),
            new EndpointDevice("lxc" + id, 100 + id, MacAddress.of(id), MacAddress.of(id)),
            new EndpointRecord.LabelSources(List.of(), List.of()),
            new EndpointRecord.Configuration(
                EndpointOptions.defaults().toMap(), DatapathConfiguration.DEFAULT),
            new WorkloadDescription(null, null, null, null, null),
            List.of(),
            EntrySource.API);
    final Endpoint endpoint =
        journal.begin(record, LabelDerivation.of(record, LabelFilter.defaults()), "created");
    endpoint.identify(ReservedIdentity.INIT.identity());
    endpoint.attached(endpoint.spec());
    return endpoint;
  }
}
