package agent.datapath.manager;

import agent.bindings.bpf.BpfObject;
import agent.conductor.AgentThreads;
import agent.conductor.HealthBoard;
import agent.conductor.ParkingIdleStrategy;
import agent.conductor.Repairs;
import agent.conductor.ThreadPriority;
import agent.conntrack.ConntrackGc;
import agent.conntrack.EndpointShares;
import agent.datapath.events.DropWatch;
import agent.datapath.events.EventsAgent;
import agent.datapath.events.KernelMetrics;
import agent.datapath.events.TranslationGate;
import agent.datapath.guard.Guard;
import agent.datapath.guard.KernelFaults;
import agent.datapath.guard.PortShares;
import agent.datapath.guard.SweepGuard;
import agent.datapath.manager.conductor.AttachedEndpoints;
import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.manager.conductor.DatapathFailures;
import agent.datapath.manager.conductor.EndpointEntries;
import agent.datapath.manager.conductor.EntryOptions;
import agent.datapath.manager.conductor.InterfaceCells;
import agent.datapath.manager.conductor.IpcacheMaps;
import agent.datapath.manager.conductor.PolicyMaps;
import agent.datapath.manager.conductor.VerdictGenerations;
import agent.datapath.manager.prefilter.DevicePrefilter;
import agent.datapath.manager.prefilter.NoPrefilter;
import agent.datapath.manager.prefilter.PrefilterMaps;
import agent.datapath.manager.redirect.Redirects;
import agent.datapath.manager.service.NoServices;
import agent.datapath.manager.service.SocketServices;
import agent.datapath.programs.attach.DeviceAttachments;
import agent.datapath.programs.attach.DeviceEntries;
import agent.datapath.programs.attach.EndpointAttachments;
import agent.datapath.programs.attach.HookGuard;
import agent.datapath.programs.attach.NetworkDevices;
import agent.datapath.programs.attach.Pins;
import agent.datapath.programs.attach.SocketAttachments;
import agent.datapath.programs.attach.TcAttachmentChoice;
import agent.datapath.programs.compile.ProgramFile;
import agent.datapath.programs.compile.ProgramObjects;
import agent.datapath.programs.load.KernelRequirements;
import agent.datapath.programs.load.LoaderAgent;
import agent.datapath.programs.load.MapPins;
import agent.datapath.programs.load.MissingFeatures;
import agent.datapath.programs.load.NodeConstants;
import agent.datapath.programs.load.OpenMaps;
import agent.datapath.programs.load.ProgramLoader;
import agent.datapath.programs.load.ProgramMaps;
import agent.datapath.programs.load.RefusedPrograms;
import agent.datapath.spec.AddressUse;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.DatapathEvents;
import agent.datapath.spec.DatapathMetrics;
import agent.datapath.spec.DatapathStatus;
import agent.datapath.spec.DeviceProxy;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.EndpointFaults;
import agent.datapath.spec.FlowRing;
import agent.datapath.spec.IpcacheProxy;
import agent.datapath.spec.NodeRedirects;
import agent.datapath.spec.PolicyMapProxy;
import agent.datapath.spec.Prefilter;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.datapath.spec.ServiceProxy;
import agent.maps.kernel.EndpointRates;
import agent.maps.kernel.FlowUsageArray;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapRegistry;
import agent.maps.kernel.WatchedAddressMap;
import agent.maps.layout.ConntrackTable;
import agent.maps.mirror.MapMirrors;
import agent.reconcile.RefusedEntries;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.SleepingMillisIdleStrategy;

/** The datapath of this node: creates all its parts, connects them, and starts their agents. */
public final class DatapathManager implements AutoCloseable {
  private static final long MIRROR_IDLE_MS = 50;
  private static final long CONDUCTOR_STALL_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long LOADER_STALL_NS = TimeUnit.SECONDS.toNanos(60);
  private static final long SWEEP_STALL_NS = TimeUnit.SECONDS.toNanos(5);
  private static final long MIRROR_STALL_NS = TimeUnit.SECONDS.toNanos(60); // opens the store
  private static final long READER_STALL_NS = TimeUnit.SECONDS.toNanos(5);

  private final DatapathContext context;
  private final FlowRing flows;
  private final Resources resources = new Resources();
  private final MapRegistry registry = new MapRegistry();
  private final RefusedEntries refusedEntries = new RefusedEntries();
  private final HealthBoard health;
  private final AgentThreads threads;
  private KernelRequirements kernel;
  private TcAttachmentChoice tcChoice;
  private OpenMaps maps;
  private MapMirrors mirrors;
  private DatapathConductor conductor;
  private PolicyMaps policyMaps;
  private EndpointEntries entries;
  private AttachedEndpoints endpoints;
  private IpcacheMaps ipcache;
  private NetworkDevices networkDevices;
  private Prefilter prefilter = new NoPrefilter();
  private PrefilterMode balancerMode;
  private Redirects redirects;
  private ServiceProxy services;
  private EventsAgent events;
  private KernelMetrics metrics;
  private ConntrackReport sweeps;
  private PortShares ports;
  private WatchedFlows watchedFlows;
  private final KernelFaults faults = new KernelFaults();
  private final Repairs repairs = new Repairs();
  private RefusedPrograms refused;
  private MissingFeatures missing;
  private Guard guard;
  private HookGuard hooks;

  private DatapathManager(DatapathContext context, FlowRing flows) {
    this.context = context;
    this.flows = flows;
    health = new HealthBoard(context.epochClock());
    threads = new AgentThreads(context.threadFactory(), context.nanoClock(), health);
  }

  /**
   * Checks the features of the kernel, takes over or creates maps and links, and starts the agents.
   * Returns when the datapath is ready. Looks interfaces up in the network namespace of the calling
   * thread.
   *
   * @param flows where the last events are kept
   * @throws agent.types.Refusal UNAVAILABLE with one line where a kernel feature, libbpf or a
   *     capability is missing, INVALID where an option names an interface that does not exist,
   *     EXHAUSTED where a map is full
   * @throws agent.types.OperationException where a map, program or link cannot be created
   */
  public static DatapathManager launch(DatapathContext context, FlowRing flows) {
    final DatapathManager manager = new DatapathManager(context.conclude(), flows);
    try {
      manager.launch();
      return manager;
    } catch (RuntimeException failure) {
      manager.close();
      throw DatapathFailures.refusal(failure);
    }
  }

  private void launch() {
    kernel = KernelRequirements.check();
    tcChoice = TcAttachmentChoice.of(context.tcMode(), kernel.features());
    final Pins pins = Pins.prepare(context.bpfRoot());
    mirrors = new MapMirrors(registry, refusedEntries, context.epochClock(), context.nanoClock());
    final MapPins mapPins = new MapPins(faults, repairs);
    maps = resources.add(OpenMaps.open(context, pins, registry, mapPins));
    guard = resources.add(new Guard(context.nanoClock(), faults));
    guard.add(mapPins);
    final ProgramMaps programMaps = guard.add(new ProgramMaps(faults, repairs));
    refused = new RefusedPrograms(kernel.features().release());
    missing = new MissingFeatures(kernel.features());
    health.add(HealthModules.KERNEL, missing);
    health.add(HealthModules.PROGRAMS, refused);
    final ProgramLoader loader =
        new ProgramLoader(
            new ProgramObjects(
                context.libDirectory(),
                context.keepsSources(),
                context.clangCandidates(),
                context.compileDebug()),
            maps,
            refused,
            programMaps);
    final NodeConstants constants = NodeConstants.of(context, maps.carryOver());
    final LoaderAgent loaderAgent =
        resources.add(new LoaderAgent(context.nanoClock(), loader, constants));
    loaderAgent.endpointPrograms(); // loaded as soon as the agent runs, before the first endpoint
    createConductor(pins, loaderAgent);
    attachDevices(pins, loader, constants, loaderAgent);
    createServices(pins, loaderAgent);
    redirects = new Redirects(conductor, context, maps, faults, repairs, pins, loaderAgent::load);
    guard.add(redirects.guard());
    metrics = new KernelMetrics(maps.get(MapCatalog.METRICS));
    health.add(HealthModules.DROPS, guard.add(new DropWatch(metrics, context.nanoClock())));
    ports = resources.add(new PortShares(maps.get(MapCatalog.PORT_USAGE), context.nanoClock()));
    health.add(PortShares.MODULE, guard.add(ports));
    startAgents(loader, constants, loaderAgent);
  }

  /** Creates the conductor and the objects that its thread owns. */
  private void createConductor(Pins pins, LoaderAgent loaderAgent) {
    conductor = new DatapathConductor(context.nanoClock(), refusedEntries, this::compare);
    hooks = guard.add(new HookGuard(conductor, faults, repairs));
    final VerdictGenerations generations =
        new VerdictGenerations(maps.get(MapCatalog.GENERATIONS), faults, repairs);
    final InterfaceCells cells =
        resources.add(
            new InterfaceCells(
                conductor.immediateChanges(),
                maps.get(MapCatalog.INTERFACES),
                maps.get(MapCatalog.INTERFACES_OVERFLOW),
                faults,
                repairs));
    entries =
        new EndpointEntries(
            conductor.immediateChanges(),
            maps.get(MapCatalog.ENDPOINTS),
            cells,
            generations,
            faults,
            repairs,
            new EntryOptions(flows.always(), context.bypassesStack()));
    policyMaps =
        resources.add(
            new PolicyMaps(
                conductor, generations, maps, entries, pins.policyNumbers(), faults, repairs));
    ipcache =
        new IpcacheMaps(
            conductor,
            generations,
            maps.get(MapCatalog.IPCACHE4),
            maps.get(MapCatalog.IPCACHE6),
            faults,
            repairs);
    guard.add(generations);
    guard.add(entries.guard());
    guard.add(cells.guard());
    guard.add(policyMaps.guard());
    guard.add(policyMaps.slots());
    guard.add(ipcache.guard());
    final EndpointAttachments attachments =
        new EndpointAttachments(
            pins, tcChoice, hooks, faults, () -> refused.of(ProgramFile.ENDPOINT));
    endpoints =
        new AttachedEndpoints(
            conductor, generations, policyMaps, loaderAgent, attachments, entries, pins);
  }

  private int compare() {
    final int steps = guard.doWork();
    conductor.parkAtMost(guard.pauseNs());
    return steps;
  }

  private void attachDevices(
      Pins pins, ProgramLoader loader, NodeConstants constants, LoaderAgent loaderAgent) {
    final DeviceAttachments devices = new DeviceAttachments(pins, tcChoice);
    final DeviceEntries deviceEntries =
        new DeviceEntries(
            conductor.immediateChanges(), maps.get(MapCatalog.DEVICES), faults, repairs);
    guard.add(deviceEntries.guard());
    networkDevices =
        new NetworkDevices(
            conductor,
            devices,
            deviceEntries,
            hooks,
            context.masquerading().addresses(),
            () -> loaderAgent.load(ProgramFile.HOST));
    if (!context.devices().isEmpty()) {
      try (BpfObject object = loader.load(ProgramFile.HOST, constants::write)) {
        context.devices().forEach((name, index) -> networkDevices.attach(name, index, object));
      }
    }
    deviceEntries.removeOthers();
    final PrefilterMaps prefilterMaps = restorePrefilter();
    final XdpDevices xdp =
        new XdpDevices(context, conductor, faults, devices, hooks, constants, loaderAgent);
    balancerMode = xdp.attach();
    guard.add(xdp);
    if (prefilterMaps != null) {
      prefilterMaps.unpinPrevious();
    }
    devices.detachOthers();
  }

  /** Writes the list of the prefilter, if there is one, before its program is attached. */
  private PrefilterMaps restorePrefilter() {
    if (context.prefilterDevice() == null) {
      return null;
    }
    final PrefilterMaps prefilterMaps =
        resources.add(new PrefilterMaps(maps, conductor.immediateChanges(), faults, repairs));
    prefilter = DevicePrefilter.restore(context, prefilterMaps, conductor);
    guard.add(prefilterMaps.guard());
    return prefilterMaps;
  }

  private void createServices(Pins pins, LoaderAgent loaderAgent) {
    final SocketAttachments attachments = new SocketAttachments(pins, hooks, loaderAgent::load);
    if (!context.enableServices()) {
      attachments.detach();
      entries.serve(false);
      services = new NoServices(conductor);
      return;
    }
    final SocketServices created =
        new SocketServices(conductor, maps, entries, attachments, context, faults, repairs);
    guard.add(created.guard());
    services = created;
  }

  private void startAgents(ProgramLoader loader, NodeConstants constants, LoaderAgent loaderAgent) {
    final ConntrackGc.ConntrackSweeper sweeper =
        ConntrackReport.sweeper(resources, loader, constants);
    final FlowUsageArray usage = new FlowUsageArray(maps.get(MapCatalog.FLOW_USAGE));
    final EndpointShares shares = resources.add(ConntrackReport.shares(context, usage));
    final WatchedAddressMap watched = new WatchedAddressMap(maps.get(MapCatalog.WATCHED_ADDRESSES));
    watchedFlows = new WatchedFlows(watched);
    guard.add(new SweepGuard(usage, watched, faults, repairs));
    final List<ConntrackTable> tables = ConntrackReport.tables(context);
    final ConntrackGc conntrackGc =
        new ConntrackGc(
            sweeper,
            shares,
            watchedFlows,
            tables,
            context.nanoClock(),
            TimeUnit.SECONDS.toNanos(context.conntrackGcIntervalSec()));
    sweeps = new ConntrackReport(conntrackGc, shares::overflowed, shares::overflowing, tables);
    final TranslationGate gate =
        new TranslationGate(
            conductor.immediateChanges(), maps.get(MapCatalog.EVENT_GATE), faults, repairs);
    guard.add(gate.guard());
    events =
        new EventsAgent(
            maps.get(MapCatalog.EVENTS),
            maps.get(MapCatalog.EVENTS_LOST),
            resources.add(new EndpointRates(maps.get(MapCatalog.ENDPOINT_RATES))),
            resources.add(new EndpointRates(maps.get(MapCatalog.NAMESPACE_RATES))),
            flows,
            wanted -> conductor.run(() -> listen(gate, wanted)));
    resources.add(threads);
    final ParkingIdleStrategy gcIdle = new ParkingIdleStrategy();
    final IdleStrategy mirrorIdle = new SleepingMillisIdleStrategy(MIRROR_IDLE_MS);
    threads.start(mirrors.agent(), mirrorIdle, () -> {}, MIRROR_STALL_NS);
    threads.start(conntrackGc, gcIdle, gcIdle::stop, SWEEP_STALL_NS);
    threads.start(events, events.idleStrategy(), events::wakeForClose, READER_STALL_NS);
    if (services instanceof final SocketServices atSockets) {
      atSockets.start(threads, health);
    }
    threads.start(loaderAgent, LOADER_STALL_NS);
    threads.start(conductor, CONDUCTOR_STALL_NS);
    health.add(HealthModules.MAPS, this::mapHealth);
    health.add(HealthModules.SWEEPS, sweeps::health);
    health.add(HealthModules.SHARES, sweeps::shareHealth);
    health.add(HealthModules.GUARD, faults);
  }

  private void listen(TranslationGate gate, EventsAgent.Wanted wanted) {
    entries.listen(wanted.packets(), wanted.packetBytes());
    gate.set(wanted.gate());
  }

  private HealthBoard.Reading mapHealth() {
    final int count = refusedEntries.size();
    return count == 0
        ? HealthBoard.Reading.ok("the kernel has all desired map entries")
        : HealthBoard.Reading.degraded(
            count + " map entries could not be written to the kernel; retrying");
  }

  /**
   * Signals that the endpoints of the previous run have the programs of this one, as far as they
   * can: the flows that the previous programs have recorded meanwhile are carried over, and the
   * conductor is preferred: before, callers would have no answers.
   */
  public void endpointsRestored() {
    conductor.run(ThreadPriority::raiseForChanges);
    if (maps.carryOver().isPending()) {
      conductor.begin(maps.carryOver());
    }
  }

  /** Returns the proxy for programs, links and map entries of endpoints. */
  public EndpointAttachmentProxy endpoints() {
    return endpoints;
  }

  /** Returns the proxy for the host program of devices. */
  public DeviceProxy devices() {
    return networkDevices;
  }

  /**
   * Makes flows bypass the stack of the node, or pass through it, in both directions; all flows are
   * judged again where that changes.
   */
  public CompletableFuture<Void> bypassStack(boolean bypassesStack) {
    return conductor.run(() -> entries.bypassStack(bypassesStack));
  }

  /** Returns the proxy for policy maps of endpoints. */
  public PolicyMapProxy policyMaps() {
    return policyMaps;
  }

  /** Returns the proxy for the ipcache maps; only {@code datapath/ipcache} uses it. */
  public IpcacheProxy ipcache() {
    return ipcache;
  }

  /** Returns the prefilter; it refuses every change as DISABLED without a prefilter device. */
  public Prefilter prefilter() {
    return prefilter;
  }

  /** Returns the proxy for services; only {@code datapath/service} uses it. */
  public ServiceProxy services() {
    return services;
  }

  /** Returns the proxy for flows that pass a proxy of the agent. */
  public NodeRedirects redirects() {
    return redirects;
  }

  /** Reports from the next round of conntrack sweeps on to which addresses flows are open. */
  public void watch(AddressUse use) {
    watchedFlows.ask(use);
  }

  /** Returns the registry of open maps. */
  public MapRegistry maps() {
    return registry;
  }

  /** Returns the mirrors of the maps, which {@code GET /map} and {@code GET /map/{name}} read. */
  public MapMirrors mirrors() {
    return mirrors;
  }

  /** Returns the subscriptions to the events of the datapath. */
  public DatapathEvents events() {
    return events;
  }

  /** Returns the packet and byte counters of the datapath. */
  public DatapathMetrics metrics() {
    return metrics;
  }

  /** Returns the threads of the agents; a domain starts its own conductor there. */
  public AgentThreads threads() {
    return threads;
  }

  /** Returns the health board; a domain adds its own modules to it. */
  public HealthBoard health() {
    return health;
  }

  /** Returns the faults that exist now in the kernel objects of endpoints. */
  public EndpointFaults endpointFaults() {
    return faults;
  }

  /** Returns the shares of masqueraded flows, to which rules of the stack add what they refuse. */
  public PortShares ports() {
    return ports;
  }

  /** Returns the counters of what was found different in the kernel and repaired. */
  public Repairs repairs() {
    return repairs;
  }

  /** Returns the number of commands and steps that the conductor has executed. */
  public long conductorExecuted() {
    return conductor.executed();
  }

  /** Returns the current status. */
  public DatapathStatus status() {
    return new DatapathStatus(
        tcChoice.mode(),
        kernel.features().release(),
        missing.list(),
        kernel.libbpf().toString(),
        context.prefilterDevice() == null ? null : context.prefilterMode(),
        balancerMode,
        endpoints.attachedCount(),
        sweeps.status(),
        ports.status());
  }

  /**
   * Stops the agents. Programs stay attached, links and maps stay pinned, and the kernel forwards
   * packets without the agent.
   */
  @Override
  public void close() {
    resources.close();
  }
}
