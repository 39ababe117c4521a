package agent.datapath.manager;

import agent.bindings.BpfObject;
import agent.conntrack.ConntrackGc;
import agent.conntrack.ProgramSweeper;
import agent.datapath.manager.attach.ClsactAttachment;
import agent.datapath.manager.attach.DeviceAttachments;
import agent.datapath.manager.attach.Pins;
import agent.datapath.manager.attach.TcAttachment;
import agent.datapath.manager.attach.TcxAttachment;
import agent.datapath.manager.compile.FeatureSet;
import agent.datapath.manager.compile.ProgramFile;
import agent.datapath.manager.compile.ProgramObjects;
import agent.datapath.manager.conductor.AttachedEndpoints;
import agent.datapath.manager.conductor.ConductorProxy;
import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.manager.conductor.DatapathFailures;
import agent.datapath.manager.conductor.EndpointAttachments;
import agent.datapath.manager.conductor.ParkingIdleStrategy;
import agent.datapath.manager.conductor.Preparations;
import agent.datapath.manager.events.EventsAgent;
import agent.datapath.manager.events.KernelMetrics;
import agent.datapath.manager.load.KernelRequirements;
import agent.datapath.manager.load.NodeConstants;
import agent.datapath.manager.load.NodeMapSet;
import agent.datapath.manager.load.ProgramLoader;
import agent.datapath.manager.prefilter.DevicePrefilter;
import agent.datapath.manager.prefilter.NoPrefilter;
import agent.datapath.manager.prefilter.PrefilterMaps;
import agent.datapath.manager.spec.Context;
import agent.datapath.manager.spec.DatapathEvents;
import agent.datapath.manager.spec.DatapathMetrics;
import agent.datapath.manager.spec.DatapathProxy;
import agent.datapath.manager.spec.DatapathStatus;
import agent.datapath.manager.spec.ModuleHealth;
import agent.datapath.manager.spec.Prefilter;
import agent.datapath.manager.spec.TcMode;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapRegistry;
import agent.maps.kernel.NodeMaps;
import agent.maps.layout.ConntrackTable;
import agent.maps.mirror.MapMirrors;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentRunner;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.NoOpIdleStrategy;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** The parts of a launched datapath, put together in one readable place. */
final class DatapathLaunch implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(DatapathManager.class);
  private static final String MAPS = "dp-maps";
  private static final int RECONCILE_WRITES_PER_CYCLE = 32;

  private final Context context;
  private final Resources resources = new Resources();
  private final MapRegistry registry = new MapRegistry();
  private final HealthBoard health;
  private final ParkingIdleStrategy conductorIdle = new ParkingIdleStrategy();
  private KernelRequirements kernel;
  private TcMode tcMode;
  private MapMirrors mirrors;
  private AttachedEndpoints endpoints;
  private DatapathConductor conductor;
  private Prefilter prefilter = new NoPrefilter();
  private EventsAgent events;
  private KernelMetrics metrics;
  private ConntrackReport gcReport;
  private DatapathProxy proxy;

  private DatapathLaunch(Context context) {
    this.context = context;
    health = new HealthBoard(context.epochClock());
  }

  static DatapathLaunch run(Context context) {
    final DatapathLaunch launch = new DatapathLaunch(context);
    try {
      launch.launch();
      return launch;
    } catch (RuntimeException failure) {
      launch.close();
      throw DatapathFailures.refusal(failure);
    }
  }

  private void launch() {
    kernel = KernelRequirements.check();
    tcMode = kernel.choose(context.tcMode());
    final Pins pins = Pins.prepare(context.bpfRoot());
    mirrors =
        new MapMirrors(
            new MapMirrors.Context().registry(registry).epochClock(context.epochClock()));
    final NodeMapSet maps = NodeMapSet.open(context, pins, registry);
    resources.add(maps);
    final ProgramLoader loader =
        new ProgramLoader(
            new ProgramObjects(
                context.stateDirectory().resolve("bpf-cache"),
                context.clangCandidates(),
                FeatureSet.of(context.compileDebug())),
            maps);
    final NodeConstants constants = new NodeConstants(context);
    final EndpointAttachments attachments = new EndpointAttachments(pins, tcMode);
    final Preparations preparations =
        resources.add(new Preparations(loader, constants, attachments, context.threadFactory()));
    endpoints = resources.add(new AttachedEndpoints(maps, pins, preparations, attachments));
    conductor = new DatapathConductor(conductorIdle, reconcileStep());
    proxy = new ConductorProxy(conductor, endpoints);
    attachDevices(pins, maps, loader, constants);
    metrics = new KernelMetrics(maps.get(NodeMaps.METRICS));
    startAgents(maps, loader, constants);
  }

  private DatapathConductor.ReconcileStep reconcileStep() {
    final Consumer<BpfMap> onRealised = endpoints::onRealised;
    return () ->
        mirrors.unrealised() == 0 ? 0 : mirrors.reconcile(RECONCILE_WRITES_PER_CYCLE, onRealised);
  }

  private void attachDevices(
      Pins pins, NodeMapSet maps, ProgramLoader loader, NodeConstants constants) {
    final TcAttachment tcx = new TcxAttachment();
    final TcAttachment clsact = new ClsactAttachment();
    final boolean isTcx = tcMode == TcMode.TCX;
    final DeviceAttachments devices =
        new DeviceAttachments(pins, isTcx ? tcx : clsact, isTcx ? clsact : tcx);
    if (context.device() != null) {
      final int ifindex = DeviceAttachments.ifindex("device", context.device());
      try (BpfObject object = loader.load(ProgramFile.HOST, constants::write)) {
        devices.attachHost(context.device(), ifindex, object.programFd("from_network"));
      }
    }
    if (context.prefilterDevice() != null) {
      final int ifindex = DeviceAttachments.ifindex("prefilter-device", context.prefilterDevice());
      final PrefilterMaps prefilterMaps = resources.add(new PrefilterMaps(maps));
      prefilter = DevicePrefilter.restore(context, prefilterMaps, conductor);
      try (BpfObject object = loader.load(ProgramFile.PREFILTER, constants::write)) {
        devices.attachPrefilter(
            context.prefilterDevice(),
            ifindex,
            context.prefilterMode(),
            object.programFd("prefilter"));
      }
    }
    devices.detachOthers();
  }

  private void startAgents(NodeMapSet maps, ProgramLoader loader, NodeConstants constants) {
    final BpfObject sweep = resources.add(loader.load(ProgramFile.CONNTRACK_GC, constants::write));
    final ProgramSweeper sweeper =
        resources.add(new ProgramSweeper(sweep.programFd("conntrack_sweep")));
    final List<ConntrackTable> tables = tables();
    final ConntrackGc conntrackGc =
        new ConntrackGc(
            sweeper,
            tables,
            context.nanoClock(),
            TimeUnit.SECONDS.toNanos(context.conntrackGcIntervalSec()));
    gcReport = new ConntrackReport(conntrackGc, tables);
    events = new EventsAgent(maps.get(NodeMaps.EVENTS), maps.get(NodeMaps.EVENTS_LOST));
    final ParkingIdleStrategy gcIdle = new ParkingIdleStrategy();
    start(mirrors.agent(), mirrors.idleStrategy(), () -> {});
    start(conntrackGc, gcIdle, gcIdle::stop);
    start(events, NoOpIdleStrategy.INSTANCE, events::wakeForClose);
    start(conductor, conductorIdle, conductorIdle::stop);
  }

  private List<ConntrackTable> tables() {
    final List<ConntrackTable> tables = new ArrayList<>();
    if (context.enableIpv4()) {
      tables.add(ConntrackTable.TCP4);
      tables.add(ConntrackTable.ANY4);
    }
    if (context.enableIpv6()) {
      tables.add(ConntrackTable.TCP6);
      tables.add(ConntrackTable.ANY6);
    }
    return tables;
  }

  /** Starts an agent on a thread of its name; closing wakes it first. */
  private void start(Agent agent, IdleStrategy idle, Runnable wake) {
    final String name = agent.roleName();
    final AgentRunner runner =
        new AgentRunner(idle, failure -> onFailure(name, failure), null, agent);
    health.ok(name, "runs");
    AgentRunner.startOnThread(runner, context.threadFactory());
    resources.add(
        () -> {
          wake.run();
          runner.close();
          health.stopped(name, "closed");
        });
  }

  private void onFailure(String name, Throwable failure) {
    LOGGER.error("{}: a cycle failed", name, failure);
    health.degraded(name, String.valueOf(failure.getMessage()));
  }

  DatapathProxy proxy() {
    return proxy;
  }

  Prefilter prefilter() {
    return prefilter;
  }

  MapRegistry registry() {
    return registry;
  }

  MapMirrors mirrors() {
    return mirrors;
  }

  DatapathEvents events() {
    return events;
  }

  DatapathMetrics metrics() {
    return metrics;
  }

  DatapathStatus status() {
    return new DatapathStatus(
        tcMode,
        kernel.features().release(),
        kernel.libbpf().toString(),
        context.prefilterDevice() == null ? null : context.prefilterMode(),
        endpoints.attachedCount(),
        gcReport.status(),
        modules());
  }

  private List<ModuleHealth> modules() {
    final int unrealised = mirrors.unrealised();
    if (unrealised > 0) {
      health.degraded(MAPS, unrealised + " entries could not be written and are tried again");
    } else {
      health.ok(MAPS, "the kernel holds what is wanted");
    }
    gcReport.report(health);
    return health.modules();
  }

  @Override
  public void close() {
    resources.close();
  }
}
