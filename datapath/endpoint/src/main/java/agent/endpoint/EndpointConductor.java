package agent.endpoint;

import agent.conductor.ConductorAgent;
import agent.conductor.Faults;
import agent.conductor.HealthBoard;
import agent.conductor.ThreadPriority;
import agent.endpoint.build.EndpointBuild;
import agent.endpoint.build.EndpointOperations;
import agent.endpoint.build.EndpointPolicies;
import agent.endpoint.build.EndpointRemoval;
import agent.endpoint.build.HostInterfaces;
import agent.endpoint.build.IdentityArrival;
import agent.endpoint.build.PolicyRealization;
import agent.endpoint.request.EndpointChange;
import agent.endpoint.request.EndpointCreation;
import agent.endpoint.request.RequestReader;
import agent.endpoint.restore.OrphanCleanup;
import agent.endpoint.restore.Restoration;
import agent.endpoint.restore.RestoreProgress;
import agent.endpoint.restore.RestoreReport;
import agent.endpoint.restore.StoredEndpoints;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointLookup;
import agent.endpoint.state.EndpointRecordWriter;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointSnapshots;
import agent.endpoint.state.EndpointState;
import agent.endpoint.watch.NodeWatch;
import agent.ipcache.Ipcache;
import agent.types.EntrySource;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * {@code ep-conductor}: owns the endpoints of this node, the identities that they use and the
 * realization of their policy. It never blocks: long work runs in steps, and other requests are
 * served between the steps. This class constructs and connects all objects of the domain.
 */
public final class EndpointConductor {
  private final EndpointAgent agent;
  private final EndpointRequestProxy endpoints;
  private final PolicyService policy;
  private final ConfigurationProxy configuration;
  private final Restoration restoration;
  private final Faults nodeFaults = new Faults("the node is configured as desired");
  private final RestoreProgress progress = new RestoreProgress();
  private final NodeWatch nodeWatch;

  private EndpointConductor(EndpointContext context) {
    agent = new EndpointAgent(context.nanoClock());
    final EndpointLookup lookup = new EndpointLookup(context.clusterName(), context.nodeName());
    final EndpointRegistry registry = registry(context, lookup);
    final EndpointJournal journal =
        new EndpointJournal(
            registry,
            agent,
            context.clock(),
            context.retryBase(),
            context.retryMax(),
            context.watchesAddresses());
    final Ipcache ipcache = new Ipcache(context.ipcache());
    final CompletableFuture<Void> ready = new CompletableFuture<>();
    final PolicyRealization realization =
        new PolicyRealization(
            agent, registry, journal, context.policy(), context.policyMaps(), ipcache, ready);
    final EndpointPolicies policies = policies(context, realization);
    final EndpointRecordWriter records =
        new EndpointRecordWriter(context.store(), context.storing(), agent);
    final EndpointBuild build =
        new EndpointBuild(
            agent,
            journal,
            policies,
            new EndpointBuild.Owners(
                context.endpoints(), ipcache, context.devices(), context.routes(), records));
    final EndpointOperations operations = new EndpointOperations(agent, registry, policies, build);
    final IdentityArrival arrival =
        new IdentityArrival(agent, context.identities(), registry, journal, policies);
    arrival.onLateArrival(operations::build);
    journal.onRetry(endpoint -> rebuild(endpoint, journal, operations));
    context.policy().observe(() -> agent.run(realization::refresh));
    final EndpointRemoval removal =
        new EndpointRemoval(agent, registry, journal, policies, owners(context, records, ipcache));
    removal.onRetry(endpoint -> removeAgain(endpoint, operations, removal));
    final Parts parts =
        new Parts(registry, journal, records, operations, build, removal, arrival, ipcache);
    endpoints = requests(context, parts, lookup);
    final HeldEndpoints held = new HeldEndpoints(registry, journal, operations);
    configuration =
        new ConfigurationProxy(
            agent,
            context.configuration(),
            new OptionOverride(agent, registry, endpoints),
            context.policy(),
            realization,
            ready,
            context.storing());
    final PolicyCommits commits =
        new PolicyCommits(agent, context.policy(), realization, held, context.policyObserver());
    policy = new PolicyProxy(agent, context.policy(), commits, realization, ready);
    restoration = restoration(context, parts);
    restoration.prepared().thenRun(() -> ready.complete(null));
    nodeWatch = watch(context, parts);
    agent.watch(nodeWatch);
  }

  private static EndpointRegistry registry(EndpointContext context, EndpointLookup lookup) {
    return new EndpointRegistry(
        new EndpointSnapshots(context.addressing()), lookup, context.faults(), context.observer());
  }

  private NodeWatch watch(EndpointContext context, Parts parts) {
    return new NodeWatch(
        agent,
        context.nanoClock(),
        context.refreshInterval(),
        context.nodeSources(),
        new NodeWatch.EndpointOwners(
            parts.registry(),
            parts.journal(),
            parts.records(),
            context.endpoints(),
            parts.ipcache(),
            context.ipam(),
            parts.operations()::build),
        nodeFaults,
        context.repairs());
  }

  /** The objects that several others use. */
  private record Parts(
      EndpointRegistry registry,
      EndpointJournal journal,
      EndpointRecordWriter records,
      EndpointOperations operations,
      EndpointBuild build,
      EndpointRemoval removal,
      IdentityArrival arrival,
      Ipcache ipcache) {}

  private EndpointRequestProxy requests(
      EndpointContext context, Parts parts, EndpointLookup lookup) {
    final RequestReader reader =
        new RequestReader(
            lookup,
            context.devices(),
            context.nodeDevices(),
            () -> context.configuration().wanted().endpoint());
    final EndpointCreation creation =
        new EndpointCreation(
            new EndpointCreation.Collaborators(
                parts.registry(),
                parts.journal(),
                parts.records(),
                parts.ipcache(),
                parts.arrival()),
            reader,
            context.labelFilter(),
            context.ipam());
    creation.limit(context.obstacle());
    creation.onLeftOver(endpoint -> removeAgain(endpoint, parts.operations(), parts.removal()));
    return new EndpointRequestProxy(
        agent,
        parts.registry(),
        parts.operations(),
        creation,
        new EndpointChange(
            parts.registry(),
            parts.journal(),
            parts.records(),
            parts.arrival(),
            reader,
            context.labelFilter()),
        parts.build(),
        parts.removal());
  }

  private static EndpointPolicies policies(EndpointContext context, PolicyRealization realization) {
    return new EndpointPolicies(
        context.policy(), realization, context.identities(), context.translationTrace());
  }

  private static EndpointRemoval.Owners owners(
      EndpointContext context, EndpointRecordWriter records, Ipcache ipcache) {
    return new EndpointRemoval.Owners(
        records, context.ipam(), ipcache, context.routes(), context.devices(), context.endpoints());
  }

  private Restoration restoration(EndpointContext context, Parts parts) {
    final EndpointRegistry registry = parts.registry();
    return new Restoration(
        agent,
        new StoredEndpoints(
            parts.records(),
            context.ipam(),
            context.devices(),
            parts.journal(),
            parts.arrival(),
            context.restoredDefaults()),
        new Restoration.LiveState(
            registry,
            parts.journal(),
            parts.operations(),
            parts.removal(),
            context.policy(),
            parts.ipcache(),
            context.routes()),
        context.localAddresses(),
        new Restoration.Kernel(context.endpoints(), context.policyMaps()),
        new OrphanCleanup(
            agent,
            registry,
            context.endpoints(),
            context.ipam(),
            new HostInterfaces(agent, context.endpoints(), context.devices(), context.routes()),
            progress),
        progress);
  }

  private static void rebuild(
      Endpoint endpoint, EndpointJournal journal, EndpointOperations operations) {
    final int failures = endpoint.controller().consecutiveFailures();
    journal.note(
        endpoint, EndpointState.WAITING_TO_REGENERATE, "try again after failure " + failures);
    operations.build(endpoint);
  }

  private static void removeAgain(
      Endpoint endpoint, EndpointOperations operations, EndpointRemoval removal) {
    operations.onPresent(
        EndpointIdentifier.local(endpoint.id()),
        present -> removal.remove(present, "the removal is repeated"));
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
   * any other request. It has no deadline; endpoints and policy can be used when {@link #loaded()}
   * has completed.
   *
   * @return completes when every remaining endpoint enforces its policy or reports an error
   */
  public CompletableFuture<RestoreReport> restore() {
    restoration.prepared().thenRunAsync(nodeWatch::start, agent::run);
    return agent
        .submit(restoration::restore)
        .thenCompose(Function.identity())
        .thenApply(this::preferredAfter);
  }

  /** The thread is preferred when all are restored: before, callers would have no answers. */
  private RestoreReport preferredAfter(RestoreReport report) {
    agent.run(ThreadPriority::raiseForChanges);
    return report;
  }

  /**
   * Returns a future that completes when the records of the previous run are loaded: the endpoints
   * are listed, in state restoring, and every request is served. A change waits for the endpoint
   * that it is about, not for the others.
   */
  public CompletableFuture<Void> loaded() {
    return restoration.loaded();
  }

  /** Returns how far the restoration is, as a health module. */
  public HealthBoard.Probe restoreProgress() {
    return progress;
  }

  /** Returns what is wrong with the gateways, devices and parameters of the node. */
  public Faults nodeFaults() {
    return nodeFaults;
  }

  /** Returns the endpoints as the clients of the API change them. */
  public Endpoints endpoints() {
    return endpoints(EntrySource.API);
  }

  /** Returns the endpoints as a source changes them. */
  public Endpoints endpoints(EntrySource source) {
    return endpoints.of(source, configuration::settled);
  }

  /** Returns the API of the configuration that can change at run time. */
  public DaemonConfiguration configuration() {
    return configuration;
  }

  /** Returns the API of the policy. */
  public PolicyService policy() {
    return policy;
  }
}
