package agent.endpoint.restore;

import agent.conductor.ConductorAgent;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.endpoint.build.Answers;
import agent.endpoint.build.HostInterfaces;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRegistry;
import agent.ipam.Ipam;
import agent.ipam.Lease;
import agent.node.Devices.Device;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Removes programs, links, maps and leases of endpoints that no longer exist. Sets the interface of
 * such a workload down before it detaches the programs, so that no packet passes without policy.
 * What cannot be removed is tried again until it is. Runs on the conductor's thread.
 */
public final class OrphanCleanup {
  private static final Logger LOGGER = LogManager.getLogger(OrphanCleanup.class);
  private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

  private final ConductorAgent conductor;
  private final EndpointRegistry registry;
  private final EndpointAttachmentProxy datapath;
  private final Ipam ipam;
  private final HostInterfaces hostInterfaces;
  private final RestoreProgress progress;

  /** Creates a cleanup of these owners. */
  public OrphanCleanup(
      ConductorAgent conductor,
      EndpointRegistry registry,
      EndpointAttachmentProxy datapath,
      Ipam ipam,
      HostInterfaces hostInterfaces,
      RestoreProgress progress) {
    this.conductor = conductor;
    this.registry = registry;
    this.datapath = datapath;
    this.ipam = ipam;
    this.hostInterfaces = hostInterfaces;
    this.progress = progress;
  }

  /**
   * Removes what belongs to no endpoint of the registry; adds a line for each failure.
   *
   * @param known the endpoints that the datapath knows
   * @param remembered the endpoints whose removal the datapath remembers
   */
  CompletableFuture<Void> remove(Set<Integer> known, Set<Integer> remembered, List<String> errors) {
    releaseLeases();
    final Set<Integer> orphans = new TreeSet<>(known);
    orphans.addAll(remembered);
    final List<CompletableFuture<Void>> removed = new ArrayList<>();
    for (final int id : orphans) {
      removed.add(remove(id, FIRST_PAUSE).thenAcceptAsync(errors::addAll, conductor::run));
    }
    return CompletableFuture.allOf(removed.toArray(CompletableFuture<?>[]::new));
  }

  /** Removes one orphan, unless an endpoint has its id; where that fails, tries again later. */
  private CompletableFuture<List<String>> remove(int id, Duration pause) {
    final String subject = "endpoint " + id;
    if (registry.find(id) != null) {
      progress.faults().clear(subject);
      return CompletableFuture.completedFuture(List.of());
    }
    if (registry.isTaken(id)) { // whether an endpoint gets the id is known when it is stored
      conductor.schedule(pause.toNanos(), () -> remove(id, next(pause)));
      return CompletableFuture.completedFuture(List.of());
    }
    return hostInterfaces
        .setDown(id, device -> isOrphan(id, device))
        .thenComposeAsync(errors -> detach(id, errors), conductor::run)
        .exceptionally(failure -> List.of(Answers.unwrapped(failure).getMessage()))
        .thenApplyAsync(
            errors -> {
              if (errors.isEmpty()) {
                progress.faults().clear(subject);
                return errors;
              }
              final String message =
                  subject
                      + " no longer exists, but removing its leftovers failed: "
                      + String.join("; ", errors);
              progress.faults().degraded(subject, message);
              LOGGER.warn("{}; retry in {} ms", message, pause.toMillis());
              conductor.schedule(pause.toNanos(), () -> remove(id, next(pause)));
              return List.of(message);
            },
            conductor::run);
  }

  /** Detaches the programs only where the interface is down, and no endpoint has got the id. */
  private CompletableFuture<List<String>> detach(int id, List<String> errors) {
    if (!errors.isEmpty() || registry.find(id) != null) {
      return CompletableFuture.completedFuture(errors);
    }
    if (registry.isTaken(id)) {
      return CompletableFuture.completedFuture(List.of("an endpoint with its id is being stored"));
    }
    return datapath
        .detach(id)
        .thenCompose(
            failures ->
                failures.isEmpty()
                    ? datapath.forgetRemoval(id).thenApply(done -> failures)
                    : CompletableFuture.completedFuture(failures));
  }

  /** Returns whether no endpoint of the registry is on this interface. */
  private boolean isOrphan(int id, Device device) {
    for (final EndpointRecord record : registry.records()) {
      final EndpointDevice used = record.device();
      if (used.index() == device.index() || used.name().equals(device.name())) {
        return false;
      }
    }
    LOGGER.warn("endpoint {} no longer exists: setting interface '{}' down", id, device.name());
    return true;
  }

  private static Duration next(Duration pause) {
    final Duration twice = pause.multipliedBy(2);
    return twice.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : twice;
  }

  /** The leases are stored later where the store cannot be written now. */
  private void releaseLeases() {
    final Map<Integer, List<String>> orphans = new HashMap<>();
    for (final Lease lease : ipam.leases()) {
      if (lease.endpointId() != 0 && !registry.isTaken(lease.endpointId())) {
        orphans
            .computeIfAbsent(lease.endpointId(), id -> new ArrayList<>())
            .add(lease.address().toString());
      }
    }
    orphans.forEach(
        (id, addresses) -> {
          LOGGER.warn("endpoint {} no longer exists: releasing its addresses {}", id, addresses);
          ipam.releaseEndpoint(id);
        });
  }
}
