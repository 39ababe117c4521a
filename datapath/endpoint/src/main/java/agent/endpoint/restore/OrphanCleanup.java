package agent.endpoint.restore;

import agent.datapath.manager.spec.EndpointProxy;
import agent.datapath.manager.thread.ConductorAgent;
import agent.endpoint.build.Answers;
import agent.endpoint.state.EndpointRegistry;
import agent.ipam.Ipam;
import agent.ipam.Lease;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.InterfaceName;
import agent.node.WorkloadRoutes;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Removes programs, links, maps and leases of endpoints that no longer exist. Sets the interface of
 * such a workload down before it detaches the programs, so that no packet passes without policy.
 */
public final class OrphanCleanup {
  private static final Logger LOGGER = LogManager.getLogger(OrphanCleanup.class);

  private final ConductorAgent conductor;
  private final EndpointProxy datapath;
  private final Ipam ipam;
  private final Devices devices;
  private final WorkloadRoutes routes;

  /** Creates a cleanup of these owners. */
  public OrphanCleanup(
      ConductorAgent conductor,
      EndpointProxy datapath,
      Ipam ipam,
      Devices devices,
      WorkloadRoutes routes) {
    this.conductor = conductor;
    this.datapath = datapath;
    this.ipam = ipam;
    this.devices = devices;
    this.routes = routes;
  }

  /** Removes what belongs to no endpoint of the registry; adds a line for each failure. */
  CompletableFuture<Void> remove(EndpointRegistry registry, List<String> errors) {
    final Set<Integer> kept = new TreeSet<>();
    registry.all().forEach(endpoint -> kept.add(endpoint.id()));
    releaseLeases(kept);
    return Answers.settled(
        errors,
        datapath
            .known()
            .thenComposeAsync(known -> detach(known, kept, registry, errors), conductor::run));
  }

  private CompletableFuture<Void> detach(
      Set<Integer> known, Set<Integer> kept, EndpointRegistry registry, List<String> errors) {
    final List<CompletableFuture<Void>> detached = new ArrayList<>();
    for (final int id : known) {
      if (!kept.contains(id)) {
        detached.add(
            Answers.settled(
                errors,
                datapath
                    .interfaceOf(id)
                    .thenComposeAsync(
                        index -> {
                          setDown(id, index, registry, errors);
                          return datapath.detach(id);
                        },
                        conductor::run)
                    .thenAcceptAsync(errors::addAll, conductor::run)));
      }
    }
    return CompletableFuture.allOf(detached.toArray(CompletableFuture<?>[]::new));
  }

  private void setDown(int id, int index, EndpointRegistry registry, List<String> errors) {
    final Optional<Device> device = index == 0 ? Optional.empty() : devices.byIndex(index);
    final boolean isTaken =
        registry.all().stream().anyMatch(e -> e.record().device().index() == index);
    if (device.isPresent() && device.get().isVeth() && !isTaken) {
      LOGGER.warn(
          "endpoint {} no longer exists: setting interface '{}' down", id, device.get().name());
      errors.addAll(routes.setDown(InterfaceName.check("interface", device.get().name())));
    }
  }

  private void releaseLeases(Set<Integer> kept) {
    final Map<Integer, List<Prefix>> orphans = new HashMap<>();
    for (final Lease lease : ipam.leases()) {
      if (lease.endpointId() != 0 && !kept.contains(lease.endpointId())) {
        orphans
            .computeIfAbsent(lease.endpointId(), id -> new ArrayList<>())
            .add(Prefix.of(lease.address()));
      }
    }
    orphans.forEach(
        (id, addresses) -> {
          LOGGER.warn("endpoint {} no longer exists: releasing its addresses {}", id, addresses);
          ipam.releaseEndpoint(id);
        });
  }
}
