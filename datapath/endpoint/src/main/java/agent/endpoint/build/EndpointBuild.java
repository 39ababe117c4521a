package agent.endpoint.build;

import agent.conductor.ConductorAgent;
import agent.conductor.StepSequence;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.EndpointSpec;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRecordWriter;
import agent.endpoint.state.EndpointState;
import agent.ipcache.Ipcache;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.WorkloadRoutes;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.types.OperationException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Builds one endpoint: brings the datapath to the requested state. Every step is idempotent, so a
 * failed build is repeated as a whole. The first step closes the workload: until the datapath opens
 * its interface, programs drop all its packets, or the interface is down. The ipcache entry and the
 * route follow the programs: no packet reaches an endpoint that does not enforce its policy. The
 * last step stores a record that the store does not hold yet. Runs on the conductor's thread.
 */
public final class EndpointBuild {
  private static final Logger LOGGER = LogManager.getLogger(EndpointBuild.class);

  private final ConductorAgent conductor;
  private final EndpointJournal journal;
  private final EndpointPolicies policies;
  private final EndpointAttachmentProxy datapath;
  private final Ipcache ipcache;
  private final Devices devices;
  private final WorkloadRoutes routes;
  private final EndpointRecordWriter records;
  private final HostInterfaces hostInterfaces;

  /**
   * The owners of the resources of an endpoint.
   *
   * @param datapath holds its programs, links and maps
   * @param ipcache holds its ipcache entries
   * @param devices finds its interface
   * @param routes holds the routes to it
   * @param records has its record stored
   */
  public record Owners(
      EndpointAttachmentProxy datapath,
      Ipcache ipcache,
      Devices devices,
      WorkloadRoutes routes,
      EndpointRecordWriter records) {}

  /** Creates a build that uses these owners. */
  public EndpointBuild(
      ConductorAgent conductor, EndpointJournal journal, EndpointPolicies policies, Owners owners) {
    this.conductor = conductor;
    this.journal = journal;
    this.policies = policies;
    datapath = owners.datapath();
    ipcache = owners.ipcache();
    devices = owners.devices();
    routes = owners.routes();
    records = owners.records();
    hostInterfaces = new HostInterfaces(conductor, datapath, devices, routes);
  }

  /**
   * Closes the workload of an endpoint without programs, so that no packet passes before its policy
   * is enforced; part of an operation on the endpoint.
   *
   * @return completes when no packet passes without policy, exceptionally where that cannot be
   *     achieved
   */
  public CompletableFuture<Void> close(Endpoint endpoint) {
    final CompletableFuture<Void> result = new CompletableFuture<>();
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .then(() -> checkDevice(endpoint))
            .thenAwait(() -> detachFromFormerInterface(endpoint))
            .thenAwait(() -> closeHooks(endpoint))
            .onDone(() -> result.complete(null))
            .onFailure(result::completeExceptionally));
    return result;
  }

  /** Builds an endpoint of the previous run that was not restored yet, as {@link #build}. */
  public CompletableFuture<Void> restore(Endpoint endpoint) {
    journal.note(
        endpoint,
        EndpointState.WAITING_TO_REGENERATE,
        "identity " + endpoint.identity().id() + " " + endpoint.identity().labels());
    return build(endpoint);
  }

  /**
   * Builds an endpoint in state waiting-to-regenerate; part of an operation on the endpoint.
   *
   * @return completes when the endpoint is ready, exceptionally where the build failed
   */
  public CompletableFuture<Void> build(Endpoint endpoint) {
    final CompletableFuture<Void> result = new CompletableFuture<>();
    journal.note(endpoint, EndpointState.REGENERATING, "building");
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .then(() -> checkDevice(endpoint))
            .thenAwait(() -> detachFromFormerInterface(endpoint))
            .thenAwait(() -> closeHooks(endpoint))
            .thenAwait(() -> policies.realize(endpoint))
            .thenAwait(() -> policies.synchronize(endpoint))
            .thenAwait(() -> attach(endpoint))
            .then(() -> endpoint.attached(endpoint.spec()))
            .thenAwait(() -> putAddresses(endpoint))
            .thenAwait(() -> policies.enforceIdentity(endpoint))
            .then(() -> addRoute(endpoint))
            .thenAwait(() -> storeRecord(endpoint))
            .then(() -> policies.releaseFormerIdentities(endpoint))
            .onDone(
                () -> {
                  journal.succeeded(
                      endpoint, "enforces policy revision " + endpoint.realizedRevision());
                  result.complete(null);
                })
            .onFailure(
                failure -> {
                  journal.failed(endpoint, failure);
                  result.completeExceptionally(failure);
                }));
    return result;
  }

  private void checkDevice(Endpoint endpoint) {
    final EndpointDevice device = endpoint.record().device();
    final String difference = device.difference(devices.byName(device.name()).orElse(null));
    if (difference != null) {
      throw new OperationException("interface-name: " + difference);
    }
  }

  /**
   * Detaches from the former interface: a link cannot move, so the programs are attached to the new
   * one.
   */
  private CompletableFuture<?> detachFromFormerInterface(Endpoint endpoint) {
    final EndpointDevice former = endpoint.hooked();
    if (former == null || former.index() == endpoint.record().device().index()) {
      return null;
    }
    final String what = "endpoint " + endpoint.id() + ": detach from " + former.name();
    return Answers.named("ipcache", ipcache.removeEndpoint(endpoint.id(), endpoint.addresses()))
        .thenCompose(removed -> policies.enforceOnOpenFlows())
        .thenComposeAsync(
            enforced -> {
              endpoint.route(null);
              endpoint.hostInterfaceUp(false);
              return hostInterfaces.find(endpoint.id());
            },
            conductor::run)
        .thenApplyAsync(
            // A failed build may have added a part of the routes.
            found -> found.map(host -> routes.remove(routeOn(host, endpoint))).orElse(List.of()),
            conductor::run)
        .thenComposeAsync(
            errors ->
                errors.isEmpty()
                    ? Answers.named(what, datapath.detach(endpoint.id()))
                    : CompletableFuture.completedFuture(errors),
            conductor::run)
        .thenAcceptAsync(
            errors -> {
              if (!errors.isEmpty()) {
                throw new OperationException(what + ": " + String.join("; ", errors));
              }
              endpoint.detached();
            },
            conductor::run);
  }

  private static WorkloadRoute routeOn(Device host, Endpoint endpoint) {
    final WorkloadRoute wanted = endpoint.wantedRoute();
    return new WorkloadRoute(host.name(), endpoint.hooked().mac(), wanted.ipv4(), wanted.ipv6());
  }

  /**
   * Attaches programs that drop all packets where the endpoint has none; where that fails, sets its
   * host side down. {@link #addRoute} sets it up.
   */
  private CompletableFuture<?> closeHooks(Endpoint endpoint) {
    if (endpoint.attached() != null) {
      return null;
    }
    final EndpointDevice device = endpoint.record().device();
    endpoint.closed();
    return datapath
        .close(endpoint.id(), device.index(), device.name())
        .handleAsync(
            (done, failure) -> {
              if (failure != null) {
                closeByInterface(endpoint, device, Answers.unwrapped(failure));
              }
              return null;
            },
            conductor::run);
  }

  private void closeByInterface(
      Endpoint endpoint, EndpointDevice device, RuntimeException failure) {
    final List<String> errors = routes.setDown(device.name());
    if (!errors.isEmpty()) {
      throw new OperationException(
          "interface '%s' could neither be closed (%s) nor set down: %s"
              .formatted(device.name(), failure.getMessage(), String.join("; ", errors)),
          failure);
    }
    endpoint.hostInterfaceUp(false);
    endpoint.route(null);
    LOGGER.warn(
        "endpoint {}: interface '{}' set down until its programs are attached, because attaching"
            + " programs that drop its packets failed: {}",
        endpoint.id(),
        device.name(),
        failure.getMessage());
  }

  private static boolean needsPrograms(Endpoint endpoint) {
    final EndpointSpec wanted = endpoint.spec();
    final EndpointSpec attached = endpoint.attached();
    return attached == null || !wanted.equals(attached.withIdentity(wanted.identity()));
  }

  private CompletableFuture<?> attach(Endpoint endpoint) {
    final EndpointSpec wanted = endpoint.spec();
    if (wanted.equals(endpoint.attached())) {
      return null;
    }
    final String what = "endpoint " + endpoint.id();
    return needsPrograms(endpoint)
        ? Answers.named(what + ": attach", datapath.attach(wanted))
        : Answers.named(
            what + ": identity", datapath.setIdentity(endpoint.id(), wanted.identity()));
  }

  private CompletableFuture<?> putAddresses(Endpoint endpoint) {
    return Answers.named(
        "ipcache",
        ipcache.putEndpoint(endpoint.id(), endpoint.identity().id(), endpoint.addresses()));
  }

  /** Sets the host side up and adds the route; both may be missing after a restart of the agent. */
  private void addRoute(Endpoint endpoint) {
    final WorkloadRoute wanted = endpoint.wantedRoute();
    if (!endpoint.record().configuration().datapath().routed()) {
      if (!endpoint.isHostInterfaceUp()) {
        routes.setUp(wanted.interfaceName());
        endpoint.hostInterfaceUp(true);
      }
    } else if (!wanted.equals(endpoint.route())) {
      endpoint.route(null); // what is added before a failure stays
      routes.add(wanted);
      endpoint.route(wanted);
    }
  }

  private CompletableFuture<?> storeRecord(Endpoint endpoint) {
    if (endpoint.isStored()) {
      return null;
    }
    final EndpointRecord record = endpoint.record();
    return records.save(record).thenRun(() -> endpoint.stored(record));
  }
}
