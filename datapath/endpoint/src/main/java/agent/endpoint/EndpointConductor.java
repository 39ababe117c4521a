package agent.endpoint;

import agent.datapath.manager.thread.ConductorAgent;
import agent.endpoint.build.EndpointBuild;
import agent.endpoint.build.EndpointOperations;
import agent.endpoint.build.EndpointPolicies;
import agent.endpoint.build.EndpointRemoval;
import agent.endpoint.build.IdentityArrival;
import agent.endpoint.build.PolicyRealization;
import agent.endpoint.request.EndpointChange;
import agent.endpoint.request.EndpointCreation;
import agent.endpoint.request.RequestReader;
import agent.endpoint.restore.OrphanCleanup;
import agent.endpoint.restore.Restoration;
import agent.endpoint.restore.RestoreReport;
import agent.endpoint.restore.StoredEndpoints;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointLookup;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointSnapshots;
import agent.endpoint.state.EndpointState;
import agent.ipcache.Ipcache;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * {@code ep-conductor}: owns the endpoints of this node, the identities that they use and the
 * realization of their policy. It never blocks: long work runs in steps, and other requests are
 * served between the steps. This class constructs and connects all objects of the domain.
 */
public final class EndpointConductor {
  private final ConductorAgent agent;
  private final Endpoints endpoints;
  private final PolicyService policy;
  private final Restoration restoration;
  private final NodeWatch nodeWatch;

  private EndpointConductor(EndpointContext context) {
    agent = new EndpointAgent(context.nanoClock());
    final EndpointLookup lookup = new EndpointLookup(context.clusterName(), context.nodeName());
    final EndpointRegistry registry =
        new EndpointRegistry(new EndpointSnapshots(context.addressing()), lookup);
    final EndpointJournal journal =
        new EndpointJournal(
            registry, agent, context.clock(), context.retryBase(), context.retryMax());
    final Ipcache ipcache = new Ipcache(context.ipcache(), agent::run);
    final PolicyRealization realization =
        new PolicyRealization(
            agent, registry, journal, context.policy(), context.policyMaps(), ipcache);
    final EndpointPolicies policies =
        new EndpointPolicies(context.policy(), realization, context.identities());
    final EndpointBuild build =
        new EndpointBuild(
            agent,
            journal,
            policies,
            context.endpoints(),
            ipcache,
            context.devices(),
            context.routes());
    final EndpointOperations operations = new EndpointOperations(agent, registry, policies);
    final IdentityArrival arrival =
        new IdentityArrival(
            agent, context.identities(), registry, journal, context.store(), policies);
    arrival.onLateArrival(endpoint -> operations.build(endpoint, build));
    journal.onRetry(endpoint -> rebuild(endpoint, journal, operations, build));
    context.policy().observe(() -> agent.run(realization::refresh));
    final RequestReader reader =
        new RequestReader(
            lookup, context.devices(), context.nodeDevices(), context.defaultOptions());
    endpoints =
        new EndpointsProxy(
            agent,
            registry,
            operations,
            new EndpointCreation(
                new EndpointCreation.Collaborators(
                    registry, journal, context.store(), ipcache, arrival),
                reader,
                context.labelFilter(),
                context.ipam()),
            new EndpointChange(
                registry, journal, context.store(), arrival, reader, context.labelFilter()),
            build,
            new EndpointRemoval(agent, registry, journal, policies, owners(context, ipcache)));
    policy = new PolicyProxy(agent, context.policy(), realization);
    restoration = restoration(context, registry, journal, ipcache, arrival);
    nodeWatch =
        new NodeWatch(
            agent,
            context.refreshInterval(),
            new NodeWatch.Sources(context.localAddresses(), context.gateways(), context.devices()),
            registry,
            context.ipam(),
            ipcache);
  }

  private static EndpointRemoval.Owners owners(EndpointContext context, Ipcache ipcache) {
    return new EndpointRemoval.Owners(
        context.store(), context.ipam(), ipcache, context.routes(), context.endpoints());
  }

  private Restoration restoration(
      EndpointContext context,
      EndpointRegistry registry,
      EndpointJournal journal,
      Ipcache ipcache,
      IdentityArrival arrival) {
    return new Restoration(
        agent,
        new StoredEndpoints(
            context.store(),
            context.ipam(),
            context.devices(),
            registry,
            journal,
            arrival,
            new StoredEndpoints.Defaults(context.labelFilter(), context.defaultOptions())),
        new Restoration.LiveState(registry, journal, context.policy(), ipcache, context.routes()),
        context.localAddresses(),
        context.endpoints(),
        context.policyMaps(),
        new OrphanCleanup(
            agent, context.endpoints(), context.ipam(), context.devices(), context.routes()));
  }

  private static void rebuild(
      Endpoint endpoint,
      EndpointJournal journal,
      EndpointOperations operations,
      EndpointBuild build) {
    final int failures = endpoint.controller().consecutiveFailures();
    journal.note(
        endpoint, EndpointState.WAITING_TO_REGENERATE, "try again after failure " + failures);
    operations.build(endpoint, build);
  }

  /**
   * Creates the conductor. It restores nothing yet, and does no work before a thread runs its
   * {@link #agent()}.
   *
   * @param context the configuration; this method concludes it
   * @return the conductor
   */
  public static EndpointConductor launch(EndpointContext context) {
    return new EndpointConductor(context.conclude());
  }

  /**
   * Returns the duty cycle. It must run on a thread in the network namespace of the host sides of
   * the workloads' veths.
   */
  public ConductorAgent agent() {
    return agent;
  }

  /**
   * Restores the endpoints of the previous run and starts the periodic work. Called once, before
   * any other request.
   *
   * @return completes when every remaining endpoint enforces its policy or reports an error
   */
  public CompletableFuture<RestoreReport> restore() {
    return agent
        .submit(restoration::restore)
        .thenCompose(Function.identity())
        .thenApplyAsync(
            report -> {
              nodeWatch.start();
              return report;
            },
            agent::run);
  }

  /** Returns the API of the endpoints. */
  public Endpoints endpoints() {
    return endpoints;
  }

  /** Returns the API of the policy. */
  public PolicyService policy() {
    return policy;
  }
}
