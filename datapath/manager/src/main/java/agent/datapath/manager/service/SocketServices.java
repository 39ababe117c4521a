package agent.datapath.manager.service;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.LoadException;
import agent.conductor.AgentThreads;
import agent.conductor.HealthBoard;
import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.ComparedTables;
import agent.datapath.guard.KernelFaults;
import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.manager.conductor.EndpointEntries;
import agent.datapath.manager.service.ServiceRows.Part;
import agent.datapath.programs.attach.SocketAttachments;
import agent.datapath.programs.load.OpenMaps;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceProxy;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapProperties;
import agent.maps.layout.SocketCounter;
import agent.reconcile.BpfTargetMap;
import java.nio.file.Path;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Services at the socket. Without a service no program is attached, so that a node without services
 * pays nothing for them.
 */
public final class SocketServices implements ServiceProxy {
  private static final Logger LOGGER = LogManager.getLogger(SocketServices.class);
  private static final String SUBJECT = "services";
  private static final long RETRY_NS = TimeUnit.SECONDS.toNanos(5);
  private static final long SWEEP_STALL_NS = TimeUnit.SECONDS.toNanos(30); // walks all sockets
  private static final String SWEEP = "service-sockets";

  private final DatapathConductor conductor;
  private final Check guard;
  private final ServiceTables tables;
  private final ServiceFlows flows;
  private final SocketSweepAgent sweep;
  private final SocketAttachments attachments;
  private final Path cgroupRoot;
  private final int mostCells;
  private final BpfMap metrics;
  private final KernelFaults faults;
  private volatile boolean isAttached;
  private CompletableFuture<Void> attaching = done();

  /**
   * Creates the services of a datapath without attaching a program.
   *
   * @param endpoints knows whose flows an address has
   * @param context has the control group, and the size of the tables
   */
  public SocketServices(
      DatapathConductor conductor,
      OpenMaps maps,
      EndpointEntries endpoints,
      SocketAttachments attachments,
      DatapathContext context,
      KernelFaults faults,
      Repairs repairs) {
    this.conductor = conductor;
    flows = new ServiceFlows(endpoints);
    this.attachments = attachments;
    cgroupRoot = context.cgroupRoot();
    mostCells = context.serviceTableMax();
    this.faults = faults;
    metrics = maps.get(MapCatalog.SOCKET_METRICS);
    sweep = new SocketSweepAgent(context.nanoClock(), attachments::load, () -> isAttached);
    tables =
        new ServiceTables(
            conductor.newReconciler(),
            faults,
            part -> new BpfTargetMap(maps.get(mapOf(part))),
            new BpfTargetMap(maps.get(MapCatalog.SERVICE_GATE)),
            mostCells);
    guard = new ComparedTables("services", tables.all(), repairs);
  }

  private static MapProperties mapOf(Part part) {
    return switch (part) {
      case BACKENDS -> MapCatalog.SERVICE_BACKENDS;
      case SLOTS -> MapCatalog.SERVICE_SLOTS;
      case ENDS -> MapCatalog.SERVICE_ENDS;
      case CELLS -> MapCatalog.SERVICE_CELLS;
      case HEADERS -> MapCatalog.SERVICE_TABLES;
      case FRONTENDS -> MapCatalog.SERVICES;
    };
  }

  /** Returns the comparison of the maps with the services. */
  public Check guard() {
    return guard;
  }

  /** Starts the agent for sockets whose backend has gone. */
  public void start(AgentThreads threads, HealthBoard health) {
    threads.start(sweep, SWEEP_STALL_NS);
    health.add(SWEEP, sweep);
  }

  @Override
  public CompletableFuture<Void> run(Runnable command) {
    return conductor.run(command);
  }

  @Override
  public CompletableFuture<Set<Integer>> known() {
    return conductor.change(tables::known);
  }

  @Override
  public CompletableFuture<List<KeptFrontend>> restore(
      Collection<ServiceEntries> services, Set<Integer> kept) {
    final List<ServiceEntries> all = List.copyOf(services);
    final Set<Integer> keptIds = Set.copyOf(kept);
    return conductor
        .change(() -> tables.restore(all, keptIds).thenApply(this::restored))
        .thenCompose(
            frontends ->
                (all.isEmpty() && keptIds.isEmpty()
                        ? conductor.run(this::detach)
                        : attachedOrRetried())
                    .thenApply(done -> frontends));
  }

  private List<KeptFrontend> restored(ServiceTables.Restored restored) {
    flows.served(!tables.isEmpty());
    if (restored.isChanged()) {
      flows.changed();
    }
    if (restored.isChanged() && tables.isEmpty()) {
      sweep.request(); // no hook is attached again, which asks for a search
    }
    return restored.frontends();
  }

  /** Programs that cannot be attached do not end the agent: they are tried again. */
  private CompletableFuture<Void> attachedOrRetried() {
    return attached()
        .handle(
            (done, failure) -> {
              if (failure != null) {
                final Throwable cause =
                    failure instanceof CompletionException ? failure.getCause() : failure;
                faults.failed(
                    0, null, SUBJECT, "socket programs not attached: " + cause.getMessage());
                LOGGER.error("{}: socket programs not attached: {}", SUBJECT, cause.getMessage());
                conductor.run(() -> conductor.schedule(RETRY_NS, this::retry));
              }
              return null;
            });
  }

  private void retry() {
    if (!tables.isEmpty() && !isAttached) {
      attachedOrRetried();
    }
  }

  @Override
  public Placed place(ServiceEntries service) {
    return tables.placed(service);
  }

  @Override
  public CompletableFuture<Void> put(Placed service) {
    final PlacedService placed = (PlacedService) service;
    final ServiceEntries now = placed.service();
    return attached()
        .thenCompose(
            done ->
                conductor.change(
                    () -> tables.put(placed).thenAccept(former -> replaced(former, now))))
        .thenCompose(done -> isAttached ? done() : attachedAgain(now.id()));
  }

  private static CompletableFuture<Void> done() {
    return CompletableFuture.completedFuture(null);
  }

  private void replaced(ServiceEntries former, ServiceEntries now) {
    flows.served(true);
    changed(former, now);
  }

  private void changed(ServiceEntries former, ServiceEntries now) {
    flows.changed(former, now);
    if (ServiceFlows.losesBackends(former, now)) {
      sweep.request();
    }
  }

  /** The last service went between the two steps, and the programs with it. */
  private CompletableFuture<Void> attachedAgain(int id) {
    return attached()
        .exceptionallyCompose(
            failure -> remove(id).thenCompose(removed -> CompletableFuture.failedFuture(failure)));
  }

  @Override
  public CompletableFuture<Void> remove(int id) {
    return conductor.change(() -> tables.remove(id).thenAccept(this::removed));
  }

  private void removed(ServiceEntries former) {
    if (former == null) {
      flows.changed();
      sweep.request();
    } else {
      changed(former, null);
    }
    if (tables.isEmpty()) {
      flows.served(false);
      detach();
      sweep.request(); // a search that has begun expects peers as the hooks show them
    }
  }

  @Override
  public Hooks hooks() {
    return isAttached ? Hooks.ATTACHED : Hooks.IDLE;
  }

  @Override
  public int mostCells() {
    return mostCells;
  }

  @Override
  public Map<SocketCounter, Long> counters() {
    final Map<SocketCounter, Long> counters = new EnumMap<>(SocketCounter.class);
    for (final SocketCounter counter : SocketCounter.values()) {
      counters.put(counter, 0L);
    }
    metrics.forEachEntry(
        cursor ->
            counters.put(
                SocketCounter.values()[cursor.key().getInt(0)], cursor.value().getLong(0)));
    return counters;
  }

  private CompletableFuture<Void> attached() {
    return isAttached ? done() : attaching();
  }

  /** The verifier takes long: those that ask while it is at work share the programs. */
  private synchronized CompletableFuture<Void> attaching() {
    if (attaching.isDone()) {
      attaching =
          attachments
              .load()
              .thenCompose(
                  object ->
                      conductor
                          .run(() -> attach(object))
                          .whenComplete((done, failure) -> object.close()))
              .exceptionallyCompose(SocketServices::withoutHooks);
    }
    return attaching;
  }

  /** Where the kernel refuses the programs, services are for packets alone; health says so. */
  private static CompletableFuture<Void> withoutHooks(Throwable failure) {
    final Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    return cause instanceof LoadException ? done() : CompletableFuture.failedFuture(cause);
  }

  private void attach(BpfObject object) {
    if (!isAttached) {
      attachments.attach(ControlGroup.find(cgroupRoot), object);
      isAttached = true;
      sweep.request(); // a former agent may have ended before it had searched
      faults.clear(SUBJECT);
    }
  }

  private void detach() {
    attachments.detach();
    isAttached = false;
    faults.clear(SUBJECT);
  }
}
