package agent.endpoint.restore;

import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.EndpointAttachmentProxy.KernelEntry;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.PolicyMapProxy;
import agent.endpoint.build.Answers;
import agent.endpoint.build.IdentityArrival;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.ExternalIdentifiers;
import agent.endpoint.state.LabelDerivation;
import agent.endpoint.state.WorkloadDescription;
import agent.identity.LabelFilter;
import agent.ipam.Ipam;
import agent.ipam.Lease;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.types.EntrySource;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * Enters the endpoints whose records cannot be read, in state invalid: their programs, map entries
 * and routes stay, but their policy maps are emptied, which closes them, and they answer to DELETE
 * only. Without their labels neither their own policy nor what peers deny them is known, now or
 * after a change of the rules. Interface, MAC addresses and identity are read from the map {@code
 * endpoints}, addresses from the ipcache and the leases, so that no other endpoint gets them.
 */
final class UnreadableEndpoints {
  private final EndpointAttachmentProxy datapath;
  private final PolicyMapProxy policyMaps;
  private final Ipam ipam;
  private final Devices devices;
  private final EndpointJournal journal;
  private final IdentityArrival arrival;
  private final LabelFilter labelFilter;

  UnreadableEndpoints(
      EndpointAttachmentProxy datapath,
      PolicyMapProxy policyMaps,
      Ipam ipam,
      Devices devices,
      EndpointJournal journal,
      IdentityArrival arrival,
      LabelFilter labelFilter) {
    this.datapath = datapath;
    this.policyMaps = policyMaps;
    this.ipam = ipam;
    this.devices = devices;
    this.journal = journal;
    this.arrival = arrival;
    this.labelFilter = labelFilter;
  }

  /**
   * Enters endpoints.
   *
   * @param unreadable the reason by id
   * @param held the entries of the ipcache in the kernel
   * @param owner runs what changes the endpoints
   */
  CompletableFuture<Void> enter(
      Map<Integer, String> unreadable,
      List<IpcacheEntry> held,
      Executor owner,
      List<String> errors) {
    final List<CompletableFuture<Void>> entered = new ArrayList<>();
    unreadable.forEach(
        (id, reason) ->
            entered.add(
                Answers.settled(
                    errors,
                    datapath
                        .entryOf(id)
                        .thenComposeAsync(
                            entry -> enter(id, entry, addressing(id, held), reason, errors),
                            owner))));
    return CompletableFuture.allOf(entered.toArray(CompletableFuture<?>[]::new));
  }

  private CompletableFuture<?> enter(
      int id,
      KernelEntry entry,
      EndpointAddressing addressing,
      String reason,
      List<String> errors) {
    final String name =
        entry.ifindex() == 0 ? "" : devices.byIndex(entry.ifindex()).map(Device::name).orElse("");
    final EndpointRecord record =
        new EndpointRecord(
            id,
            entry.identity(),
            addressing,
            new ExternalIdentifiers(null, null, null, null, null, null, null, null, false),
            new EndpointDevice(name, entry.ifindex(), entry.mac(), entry.hostMac()),
            new EndpointRecord.LabelSources(List.of(), List.of()),
            new EndpointRecord.Configuration(
                EndpointOptions.defaults().toMap(), DatapathConfiguration.DEFAULT),
            new WorkloadDescription(null, null, null, null, null),
            List.of(),
            EntrySource.API); // its own source is not known
    final Endpoint endpoint =
        journal.restore(record, LabelDerivation.of(record, labelFilter), "its record is damaged");
    endpoint.recordUnreadable();
    journal.invalid(endpoint, reason);
    Answers.attempt(errors, () -> arrival.keep(endpoint));
    for (final IpAddress address : endpoint.addresses()) {
      if (ipam.pools().stream().anyMatch(pool -> pool.contains(address))) {
        Answers.attempt(errors, () -> ipam.reclaim(address, id));
      }
    }
    return close(id, entry);
  }

  /** Empties the policy maps of endpoints that the kernel has; adds a line for each failure. */
  CompletableFuture<Void> close(List<Integer> ids, List<String> errors) {
    final List<CompletableFuture<Void>> closed = new ArrayList<>();
    for (final int id : ids) {
      closed.add(
          Answers.settled(errors, datapath.entryOf(id).thenCompose(entry -> close(id, entry))));
    }
    return CompletableFuture.allOf(closed.toArray(CompletableFuture<?>[]::new));
  }

  private CompletableFuture<?> close(int id, KernelEntry entry) {
    return entry.ifindex() == 0
        ? CompletableFuture.completedFuture(null)
        : policyMaps.synchronize(id, List.of());
  }

  private EndpointAddressing addressing(int id, List<IpcacheEntry> held) {
    IpAddress ipv4 = null;
    IpAddress ipv6 = null;
    final List<IpAddress> found = new ArrayList<>();
    for (final Lease lease : ipam.leases()) {
      if (lease.endpointId() == id) {
        found.add(lease.address());
      }
    }
    for (final IpcacheEntry entry : held) {
      if (entry.endpointId() == id) {
        found.add(entry.prefix().address());
      }
    }
    for (final IpAddress address : found) {
      if (address.isIpv4()) {
        ipv4 = address;
      } else {
        ipv6 = address;
      }
    }
    return new EndpointAddressing(ipv4, null, null, ipv6, null, null);
  }
}
