package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.KernelFeatures;
import agent.bindings.bpf.LibBpf;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs;
import agent.datapath.events.TranslationGate;
import agent.datapath.guard.Check;
import agent.datapath.guard.Guard;
import agent.datapath.guard.KernelFaults;
import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.manager.conductor.EndpointEntries;
import agent.datapath.manager.conductor.EntryOptions;
import agent.datapath.manager.conductor.InterfaceCells;
import agent.datapath.manager.conductor.IpcacheMaps;
import agent.datapath.manager.conductor.PolicyMaps;
import agent.datapath.manager.conductor.VerdictGenerations;
import agent.datapath.manager.prefilter.DevicePrefilter;
import agent.datapath.manager.prefilter.PrefilterMaps;
import agent.datapath.programs.attach.DeviceAttachments;
import agent.datapath.programs.attach.DeviceEntries;
import agent.datapath.programs.attach.HookGuard;
import agent.datapath.programs.attach.Pins;
import agent.datapath.programs.attach.TcAttachmentChoice;
import agent.datapath.programs.load.MapPins;
import agent.datapath.programs.load.OpenMaps;
import agent.datapath.programs.scenario.DeviceMap;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.datapath.spec.PrefilterList;
import agent.datapath.spec.TcMode;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.InterfaceArray;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapRegistry;
import agent.reconcile.RefusedEntries;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.VethPair;
import agent.types.Prefix;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The comparison with the kernel allocates nothing while nothing differs. */
@KernelTest
class GuardAllocationKernelTest {
  private static final String DEVICE = "up0";

  private final KernelFaults faults = new KernelFaults();
  private final Repairs repairs = new Repairs();
  private final DatapathConductor conductor =
      new DatapathConductor(
          System::nanoTime, new RefusedEntries(), () -> 0); // the thread of the test runs it
  private final List<Check> checks = new ArrayList<>();
  private ManagerTestNode node;
  private NetworkNamespace outside;

  @BeforeEach
  void create() {
    LibBpf.ensureLoaded();
    node = new ManagerTestNode();
    outside = NetworkNamespace.create("out");
    VethPair.create(node.namespace(), DEVICE, outside, "net0");
  }

  @AfterEach
  void remove() throws IOException {
    outside.close();
    node.close();
  }

  @Test
  void shouldAllocateNothingInARoundOfAnyCheckWithoutDifference() throws Exception {
    node.prefilterStore().store(new PrefilterList(3, prefixes()));
    node.namespace()
        .run(
            () -> {
              measure();
              return null;
            });
  }

  private void measure() throws IOException {
    final DatapathContext context =
        node.context().prefilterDevice(DEVICE).prefilterMode(PrefilterMode.GENERIC).conclude();
    final Pins pins = Pins.prepare(context.bpfRoot());
    final MapPins mapPins = new MapPins(faults, repairs);
    checks.add(mapPins);
    try (OpenMaps maps = OpenMaps.open(context, pins, new MapRegistry(), mapPins);
        VerdictGenerations generations =
            new VerdictGenerations(maps.get(MapCatalog.GENERATIONS), faults, repairs);
        PrefilterMaps prefilter =
            new PrefilterMaps(maps, conductor.immediateChanges(), faults, repairs);
        PolicyMaps policies =
            new PolicyMaps(
                conductor,
                generations,
                maps,
                endpoints(maps, generations),
                List.of(),
                faults,
                repairs)) {
      checks.add(generations);
      checks.add(
          new TranslationGate(
                  conductor.immediateChanges(), maps.get(MapCatalog.EVENT_GATE), faults, repairs)
              .guard());
      addMaps(maps, generations, policies);
      DevicePrefilter.restore(context, prefilter, conductor);
      checks.add(prefilter.guard());
      for (final TcMode mode : ManagerTestNode.tcModes()) {
        addHook(pins, mode);
      }
      for (final Check check : checks) {
        round(check);
        assertEquals(0, HeapAllocation.steady(100, () -> round(check)), check + ": bytes");
      }
      final long[] nowNs = new long[1];
      final Guard guard = new Guard(() -> nowNs[0] += 10_000_000, faults);
      guard.add(mapPins);
      guard.add(policies.guard());
      assertEquals(0, HeapAllocation.steady(10_000, guard::doWork), "all: bytes");
      assertEquals(Level.OK, faults.read().level(), () -> faults.read().message());
      repairs.forEach((kind, count) -> assertEquals(0, count, kind.name()));
      checks.forEach(Check::close);
    }
  }

  private void addMaps(OpenMaps maps, VerdictGenerations generations, PolicyMaps policies) {
    policies.synchronize(5, ManagerTestNode.allowAll());
    checks.add(policies.guard());
    checks.add(policies.slots());
    final IpcacheMaps ipcache =
        new IpcacheMaps(
            conductor,
            generations,
            maps.get(MapCatalog.IPCACHE4),
            maps.get(MapCatalog.IPCACHE6),
            faults,
            repairs);
    ipcache.read();
    ipcache.apply(
        prefixes().stream()
            .map(prefix -> new IpcacheChange(null, new IpcacheEntry(prefix, 7, 0, false)))
            .toList());
    checks.add(ipcache.guard());
    while (conductor.doWork() > 0) {}
  }

  private EndpointEntries endpoints(OpenMaps maps, VerdictGenerations generations) {
    final EndpointMap endpoints = new EndpointMap(maps.get(MapCatalog.ENDPOINTS));
    endpoints.edit(5).ifindex(1).identity(2);
    assertEquals(0, endpoints.put());
    try (InterfaceArray cells = new InterfaceArray(maps.get(MapCatalog.INTERFACES))) {
      cells.set(1, InterfaceArray.cell(1, 5));
    }
    final InterfaceCells cells =
        new InterfaceCells(
            conductor.immediateChanges(),
            maps.get(MapCatalog.INTERFACES),
            maps.get(MapCatalog.INTERFACES_OVERFLOW),
            faults,
            repairs);
    checks.add(cells.guard());
    final EndpointEntries entries =
        new EndpointEntries(
            conductor.immediateChanges(),
            maps.get(MapCatalog.ENDPOINTS),
            cells,
            generations,
            faults,
            repairs,
            new EntryOptions(Set.of(), true));
    checks.add(entries.guard());
    assertEquals(0, new DeviceMap(maps.get(MapCatalog.DEVICES)).add(7, 0, 0, 0));
    final DeviceEntries devices =
        new DeviceEntries(
            conductor.immediateChanges(), maps.get(MapCatalog.DEVICES), faults, repairs);
    devices.removeOthers();
    checks.add(devices.guard());
    return entries;
  }

  private void addHook(Pins pins, TcMode mode) throws IOException {
    final DeviceAttachments devices =
        new DeviceAttachments(pins, TcAttachmentChoice.of(mode, KernelFeatures.probe()));
    final String device = mode == TcMode.TCX ? DEVICE : "lo"; // tcx programs run before filters
    final int ifindex = DeviceAttachments.ifindex("device", device);
    final HookGuard hooks = new HookGuard(conductor, faults, repairs);
    try (BpfObject host = load("host");
        BpfObject trivial = load("trivial")) {
      hooks.watch(
          0, "host", devices.attachHost(device, ifindex, "from_network", host), () -> null, "");
      if (mode == TcMode.TCX) {
        hooks.watch(
            0,
            "XDP",
            devices.attachXdp(
                device,
                ifindex,
                DeviceAttachments.PREFILTER,
                PrefilterMode.GENERIC,
                trivial.program("trivial_xdp")),
            () -> null,
            "");
      }
    }
    checks.add(hooks);
  }

  private BpfObject load(String name) throws IOException {
    try (InputStream in = getClass().getResourceAsStream("/bpf/" + name + ".bpf.o")) {
      final BpfObject object = BpfObject.open(in.readAllBytes(), name);
      object.mapNames().stream()
          .filter(map -> map.startsWith("conntrack"))
          .forEach(map -> object.setMaxEntries(map, 64));
      object.load();
      return object;
    }
  }

  private static void round(Check check) {
    while (check.step(0) != Check.Progress.DONE) {}
  }

  private static List<Prefix> prefixes() {
    final List<Prefix> prefixes = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      prefixes.add(Prefix.parse("10.%d.%d.0/24".formatted(i / 250, i % 250)));
      prefixes.add(Prefix.parse("2001:db8:%x::/48".formatted(i)));
    }
    return prefixes;
  }
}
