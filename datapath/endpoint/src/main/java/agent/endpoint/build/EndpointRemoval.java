package agent.endpoint.build;

import agent.conductor.ConductorAgent;
import agent.conductor.StepSequence;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.EndpointAttachmentProxy.HostInterface;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRecordWriter;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.ipam.Ipam;
import agent.ipcache.Ipcache;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.WorkloadRoutes;
import agent.types.OperationException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Removes an endpoint and continues after failed steps. Sets the interface down before it detaches
 * the programs, so that no packet passes unfiltered. A removal with failed steps is repeated until
 * all have succeeded; every step can be repeated. Runs on the conductor's thread.
 */
public final class EndpointRemoval {
  private static final Logger LOGGER = LogManager.getLogger(EndpointRemoval.class);

  /**
   * The owners of the resources of an endpoint.
   *
   * @param records has its record stored
   * @param ipam leases its addresses
   * @param ipcache holds its ipcache entries
   * @param routes holds the routes to it
   * @param devices finds its interface
   * @param datapath holds its programs, links and maps
   */
  public record Owners(
      EndpointRecordWriter records,
      Ipam ipam,
      Ipcache ipcache,
      WorkloadRoutes routes,
      Devices devices,
      EndpointAttachmentProxy datapath) {}

  private final ConductorAgent conductor;
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final EndpointPolicies policies;
  private final Owners owners;
  private final Set<Endpoint> scheduled = new HashSet<>();
  private Consumer<Endpoint> retry = endpoint -> {};

  /** Creates a removal. */
  public EndpointRemoval(
      ConductorAgent conductor,
      EndpointRegistry registry,
      EndpointJournal journal,
      EndpointPolicies policies,
      Owners owners) {
    this.conductor = conductor;
    this.registry = registry;
    this.journal = journal;
    this.policies = policies;
    this.owners = owners;
  }

  /** Sets the function that starts an operation that removes the endpoint again. */
  public void onRetry(Consumer<Endpoint> remove) {
    retry = remove;
  }

  /**
   * Removes an endpoint; part of an operation on the endpoint.
   *
   * @param endpoint a live endpoint, or one whose removal has not finished
   * @param why the reason, for the log
   * @return the errors of the steps that failed; where there are any, the endpoint stays in state
   *     disconnecting and the removal is repeated until it has finished
   */
  public CompletableFuture<List<String>> remove(Endpoint endpoint, String why) {
    final List<String> errors = new ArrayList<>();
    final CompletableFuture<List<String>> result = new CompletableFuture<>();
    if (!endpoint.is(EndpointState.DISCONNECTING)) {
      journal.note(endpoint, EndpointState.DISCONNECTING, why);
      endpoint.identified().completeExceptionally(new OperationException("removed: " + why));
      endpoint.await(null); // an identity that arrives later is released
    }
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .thenAwait(() -> removeRecord(endpoint, errors))
            .thenAwait(
                () ->
                    Answers.settled(
                        errors,
                        owners
                            .ipcache()
                            .removeEndpoint(endpoint.id(), endpoint.addresses())
                            .thenCompose(removed -> policies.enforceOnOpenFlows())))
            .thenAwait(() -> disconnect(endpoint, errors))
            .thenAwait(() -> detach(endpoint, errors))
            .thenAwait(() -> Answers.settled(errors, policies.remove(endpoint)))
            .then(() -> releaseAddresses(endpoint, errors))
            .thenAwait(() -> forget(endpoint, errors))
            .onDone(
                () -> {
                  end(endpoint, why, errors);
                  result.complete(List.copyOf(errors));
                })
            .onFailure(
                failure -> {
                  errors.add(String.valueOf(failure.getMessage()));
                  end(endpoint, why, errors);
                  result.complete(List.copyOf(errors));
                }));
    return result;
  }

  /**
   * Removes the record first. Where the store refuses, the datapath remembers the removal, so that
   * the next run of the agent continues it instead of restoring the endpoint.
   */
  private CompletableFuture<?> removeRecord(Endpoint endpoint, List<String> errors) {
    return owners
        .records()
        .remove(endpoint.id())
        .handle(
            (done, failure) ->
                failure == null
                    ? CompletableFuture.<Void>completedFuture(null)
                    : rememberRemoval(endpoint, Answers.unwrapped(failure), errors))
        .thenCompose(remembered -> remembered);
  }

  private CompletableFuture<Void> rememberRemoval(
      Endpoint endpoint, RuntimeException failure, List<String> errors) {
    final String what =
        "endpoint %d: removing its record failed: %s; the removal will be retried"
            .formatted(endpoint.id(), failure.getMessage());
    return owners
        .datapath()
        .rememberRemoval(endpoint.id())
        .handleAsync(
            (done, refused) -> {
              if (refused == null) {
                endpoint.removalRemembered(true);
              }
              errors.add(
                  refused == null
                      ? what + ", also after a restart of the agent"
                      : what
                          + ", but a restart of the agent before that would restore the endpoint: "
                          + Answers.unwrapped(refused).getMessage());
              return null;
            },
            conductor::run);
  }

  /** Removes the routes and sets the host side down, unless its name belongs to another one now. */
  private CompletableFuture<?> disconnect(Endpoint endpoint, List<String> errors) {
    final EndpointDevice device = endpoint.record().device();
    return Answers.settled(
        errors,
        owners
            .datapath()
            .hostInterfaceOf(endpoint.id())
            .thenAcceptAsync(
                side -> {
                  final Device present = owners.devices().byName(device.name()).orElse(null);
                  final boolean isOwn =
                      endpoint.isInterfaceLost()
                          ? device.isIndexAndMacOf(present)
                          : present == null || !isOther(present, device, side);
                  if (isOwn) {
                    errors.addAll(owners.routes().remove(endpoint.wantedRoute()));
                  }
                },
                conductor::run));
  }

  private static boolean isOther(Device present, EndpointDevice device, HostInterface side) {
    return present.index() != device.index()
        || side.ifindex() == present.index() && !side.is(present.index(), present.mac());
  }

  private CompletableFuture<?> detach(Endpoint endpoint, List<String> errors) {
    final int id = endpoint.id();
    return Answers.settled(
        errors,
        Answers.named("endpoint " + id + ": detach", owners.datapath().detach(id))
            .thenAcceptAsync(
                failures -> {
                  errors.addAll(failures);
                  if (failures.isEmpty()) {
                    endpoint.detached();
                  }
                },
                conductor::run));
  }

  /** No other endpoint gets the addresses before nothing in the kernel or the store uses them. */
  private void releaseAddresses(Endpoint endpoint, List<String> errors) {
    if (errors.isEmpty()) {
      Answers.attempt(errors, () -> owners.ipam().releaseEndpoint(endpoint.id()));
    }
  }

  private CompletableFuture<?> forget(Endpoint endpoint, List<String> errors) {
    return errors.isEmpty() && endpoint.isRemovalRemembered()
        ? Answers.settled(errors, owners.datapath().forgetRemoval(endpoint.id()))
        : null;
  }

  private void end(Endpoint endpoint, String why, List<String> errors) {
    if (errors.isEmpty()) {
      policies.releaseIdentities(endpoint);
      journal.note(endpoint, EndpointState.DISCONNECTED, "removed");
      registry.remove(endpoint);
      LOGGER.info("endpoint {}: removed: {}", endpoint.id(), why);
      return;
    }
    final String message = String.join("; ", errors);
    final Duration pause = journal.removalFailed(endpoint, message);
    if (scheduled.add(endpoint)) {
      LOGGER.warn(
          "endpoint {}: removal incomplete: {}; retry in {} ms",
          endpoint.id(),
          message,
          pause.toMillis());
      conductor.schedule(
          pause.toNanos(),
          () -> {
            scheduled.remove(endpoint);
            if (registry.holds(endpoint)) {
              retry.accept(endpoint);
            }
          });
    }
  }
}
