package agent.endpoint;

import java.util.concurrent.CompletableFuture;

/**
 * Owns the endpoints of this node, their identities and their policy, on one thread, {@code
 * ep-conductor}. It waits there for the datapath's answers, so that one change is realised before
 * the next one begins.
 */
public final class EndpointConductor implements AutoCloseable {
  private final EndpointContext context;
  private final ConductorQueue queue;
  private final Endpoints endpoints;
  private final PolicyService policy;
  private final Restoration restoration;
  private final NodeWatch nodeWatch;

  private EndpointConductor(EndpointContext context) {
    this.context = context;
    queue = new ConductorQueue(context.thread());
    final EndpointLookup lookup = new EndpointLookup(context.clusterName(), context.nodeName());
    final EndpointRegistry registry =
        new EndpointRegistry(new EndpointSnapshots(context.addressing()), lookup);
    final EndpointJournal journal =
        new EndpointJournal(registry, context.thread(), context.clock());
    final DatapathAnswers answers = new DatapathAnswers(context.datapathTimeout());
    final IpcacheWriter ipcache = new IpcacheWriter(context.datapath(), answers);
    final PolicyRealization realization =
        new PolicyRealization(registry, journal, context.datapath(), answers, ipcache);
    final Regeneration regeneration =
        new Regeneration(context, registry, journal, realization, ipcache, answers);
    final Removal removal = new Removal(context, registry, journal, realization, ipcache, answers);
    final RequestReader reader = new RequestReader(new RequestIdentifiers(lookup), context);
    endpoints =
        new EndpointsProxy(
            queue,
            registry,
            new EndpointCreation(context, registry, reader, ipcache),
            new EndpointChange(context, registry, journal, reader, regeneration),
            regeneration,
            removal);
    policy = new PolicyProxy(queue, context.policy(), realization);
    restoration = new Restoration(context, registry, journal, ipcache, answers);
    nodeWatch = new NodeWatch(context, registry, ipcache);
    journal.onRetry(regeneration::retry);
  }

  /**
   * Makes the conductor; nothing is restored yet.
   *
   * @param context concluded
   * @return the conductor
   */
  public static EndpointConductor launch(EndpointContext context) {
    return new EndpointConductor(context);
  }

  /**
   * Takes up the endpoints of an earlier life, and starts the periodic work. To be called once,
   * before anything else is asked.
   *
   * @return completes when every endpoint that is left enforces its policy or says why not
   */
  public CompletableFuture<RestoreReport> restore() {
    return queue.ask(
        () -> {
          final RestoreReport report = restoration.restore();
          nodeWatch.start();
          return report;
        });
  }

  /** The endpoints. */
  public Endpoints endpoints() {
    return endpoints;
  }

  /** The policy. */
  public PolicyService policy() {
    return policy;
  }

  /** Ends the thread after what is queued; what is enforced stays enforced. */
  @Override
  public void close() {
    context.thread().close();
  }
}
