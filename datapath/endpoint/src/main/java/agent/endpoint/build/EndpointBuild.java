package agent.endpoint.build;

import agent.datapath.manager.spec.EndpointProxy;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.thread.ConductorAgent;
import agent.datapath.manager.thread.StepSequence;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointState;
import agent.ipcache.Ipcache;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.WorkloadRoutes;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.types.OperationException;
import java.util.concurrent.CompletableFuture;

/**
 * Builds one endpoint: brings the datapath to the requested state. Every step is idempotent, so a
 * failed build is repeated as a whole. The ipcache entry is written last, and the route after it:
 * no packet reaches an endpoint that does not enforce its policy. Runs on the conductor's thread.
 */
public final class EndpointBuild {
  private final ConductorAgent conductor;
  private final EndpointJournal journal;
  private final EndpointPolicies policies;
  private final EndpointProxy datapath;
  private final Ipcache ipcache;
  private final Devices devices;
  private final WorkloadRoutes routes;

  /** Creates a build that uses these owners. */
  public EndpointBuild(
      ConductorAgent conductor,
      EndpointJournal journal,
      EndpointPolicies policies,
      EndpointProxy datapath,
      Ipcache ipcache,
      Devices devices,
      WorkloadRoutes routes) {
    this.conductor = conductor;
    this.journal = journal;
    this.policies = policies;
    this.datapath = datapath;
    this.ipcache = ipcache;
    this.devices = devices;
    this.routes = routes;
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
            .thenAwait(() -> prepare(endpoint))
            .thenAwait(() -> policies.realize(endpoint))
            .thenAwait(() -> policies.synchronizeIfDistrusted(endpoint))
            .thenAwait(() -> attach(endpoint))
            .then(() -> endpoint.attached(endpoint.spec()))
            .thenAwait(ipcache::compareIfOutdated)
            .thenAwait(() -> putAddresses(endpoint))
            .then(() -> addRoute(endpoint))
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
    final int found = devices.byName(device.name()).map(Device::index).orElse(0);
    endpoint.devicePresent(found == device.index());
    if (found == 0) {
      throw new OperationException("interface-name: interface '" + device.name() + "' is gone");
    }
    if (found != device.index()) {
      throw new OperationException(
          "interface-name: interface '%s' has index %d, not %d"
              .formatted(device.name(), found, device.index()));
    }
  }

  /**
   * Detaches from the former interface: a link cannot move, so the programs are attached to the new
   * one.
   */
  private CompletableFuture<?> detachFromFormerInterface(Endpoint endpoint) {
    final EndpointSpec attached = endpoint.attached();
    if (attached == null || attached.ifindex() == endpoint.record().device().index()) {
      return null;
    }
    final String what = "endpoint " + endpoint.id() + ": detach from " + attached.interfaceName();
    return Answers.named("ipcache", ipcache.removeEndpoint(endpoint.addresses()))
        .thenComposeAsync(
            removed -> {
              if (endpoint.route() != null) {
                routes.remove(endpoint.route());
              }
              return Answers.named(what, datapath.detach(endpoint.id()));
            },
            conductor::run)
        .thenAcceptAsync(
            errors -> {
              endpoint.detached();
              if (!errors.isEmpty()) {
                throw new OperationException(what + ": " + String.join("; ", errors));
              }
            },
            conductor::run);
  }

  /**
   * Starts loading the programs, the slowest step; it runs while the policy is resolved and
   * written.
   */
  private CompletableFuture<?> prepare(Endpoint endpoint) {
    if (needsPrograms(endpoint)) {
      datapath.prepare(endpoint.spec());
    }
    return null;
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

  private void addRoute(Endpoint endpoint) {
    final WorkloadRoute wanted = endpoint.wantedRoute();
    if (endpoint.record().configuration().datapath().routed() && !wanted.equals(endpoint.route())) {
      routes.add(wanted);
      endpoint.route(wanted);
    }
  }
}
