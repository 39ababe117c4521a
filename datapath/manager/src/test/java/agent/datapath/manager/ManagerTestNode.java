package agent.datapath.manager;

import agent.bindings.bpf.KernelFeatures;
import agent.conductor.ModuleHealth;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.FlowRing;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy.PolicyChange;
import agent.datapath.spec.PrefilterList;
import agent.datapath.spec.PrefilterStore;
import agent.datapath.spec.TcMode;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.PolicyDirection;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.Workload;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.UnreadableStateException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A node with its own network namespace, BPF file system and state directory. */
final class ManagerTestNode implements AutoCloseable {
  static final String GATEWAY4 = "10.77.0.1";
  static final String GATEWAY6 = "fd77::1";
  static final int OPTIONS =
      EndpointOption.CONNTRACK.number()
          | EndpointOption.DROP_NOTIFICATION.number()
          | EndpointOption.SOURCE_IP_VERIFICATION.number();

  /** Programs that are compiled and loaded under emulation take a minute. */
  private static final int LONGEST_SEC = 180;

  private final NetworkNamespace namespace = NetworkNamespace.create("nd");
  private final TemporaryBpfFileSystem bpf = TemporaryBpfFileSystem.mount();
  private final Path state;
  private final List<Workload> workloads = new ArrayList<>();
  private final FailingPrefilterStore prefilterStore = new FailingPrefilterStore();

  ManagerTestNode() {
    try {
      state = Files.createTempDirectory("agent-state-");
      namespace.run(
          () -> {
            Files.writeString(Path.of("/proc/sys/net/ipv4/ip_forward"), "1");
            Files.writeString(Path.of("/proc/sys/net/ipv6/conf/all/forwarding"), "1");
            return null;
          });
    } catch (Exception failure) {
      throw new IllegalStateException(failure);
    }
    namespace.ip(
        "address add " + GATEWAY4 + "/32 dev lo", "address add " + GATEWAY6 + "/128 dev lo nodad");
  }

  NetworkNamespace namespace() {
    return namespace;
  }

  Path bpfRoot() {
    return bpf.path();
  }

  Path state() {
    return state;
  }

  FailingPrefilterStore prefilterStore() {
    return prefilterStore;
  }

  /** Returns a context with small tables and default options. */
  DatapathContext context() {
    return context(bpf.path(), state).prefilterStore(prefilterStore);
  }

  static DatapathContext context(Path bpfRoot, Path state) {
    return new DatapathContext()
        .bpfRoot(bpfRoot)
        .libDirectory(state)
        .gateway4(IpAddress.parse(GATEWAY4))
        .gateway6(IpAddress.parse(GATEWAY6))
        .conntrackTcpMax(8192)
        .conntrackAnyMax(8192)
        .preallocates(false);
  }

  /** Returns the tc modes that this kernel supports. */
  static List<TcMode> tcModes() {
    return KernelFeatures.probe().tcx()
        ? List.of(TcMode.TCX, TcMode.CLSACT)
        : List.of(TcMode.CLSACT);
  }

  DatapathManager launch(DatapathContext context) {
    return launch(context, new FlowRing(0, Set.of(), System::nanoTime));
  }

  DatapathManager launch(DatapathContext context, FlowRing flows) {
    return namespace.call(() -> DatapathManager.launch(context, flows));
  }

  /** Creates a workload with the addresses 10.77.0.n and fd77::n, and routes to it. */
  Workload workload(int n) {
    final Workload workload =
        Workload.create(namespace, "w" + n, "10.77.0." + n, GATEWAY4, "fd77::" + n, GATEWAY6)
            .routeFromNode();
    workloads.add(workload);
    return workload;
  }

  static EndpointSpec spec(int id, Workload workload, int identity) {
    return spec(id, workload, identity, OPTIONS);
  }

  static EndpointSpec spec(int id, Workload workload, int identity, int options) {
    return new EndpointSpec(
        id,
        workload.veth().hostIfindex(),
        workload.veth().hostInterface(),
        IpAddress.parse(workload.ipv4()),
        IpAddress.parse(workload.ipv6()),
        MacAddress.parse(workload.veth().workloadMac()),
        MacAddress.parse(workload.veth().hostMac()),
        identity,
        options,
        0);
  }

  /** Returns entries that allow all packets in both directions, as without enforcement. */
  static List<PolicyEntry> allowAll() {
    return List.of(
        PolicyEntry.allowAll(0, PolicyDirection.INGRESS),
        PolicyEntry.allowAll(0, PolicyDirection.EGRESS));
  }

  /** Returns entries that allow all egress packets, and the given ingress packets. */
  static List<PolicyEntry> ingressOnly(PolicyEntry... allowed) {
    final List<PolicyEntry> entries = new ArrayList<>(List.of(allowed));
    entries.add(PolicyEntry.allowAll(0, PolicyDirection.EGRESS));
    return entries;
  }

  static void attach(DatapathManager manager, EndpointSpec spec, List<PolicyEntry> policy) {
    await(manager.policyMaps().synchronize(spec.id(), policy));
    await(manager.endpoints().attach(spec));
    putAddresses(manager, spec);
  }

  /** Attaches workloads that may send and receive everything, with ids from 101 on. */
  static void attachAll(DatapathManager manager, Iterable<Workload> workloads) {
    int id = 101;
    for (final Workload workload : workloads) {
      attach(manager, spec(id, workload, 1000 + id), allowAll());
      id++;
    }
  }

  /** Changes the policy map of one endpoint, which shares it with no other. */
  static CompletableFuture<Void> apply(DatapathManager manager, int id, PolicyDelta delta) {
    return manager
        .policyMaps()
        .apply(List.of(new PolicyChange(id, 0, delta)))
        .thenAccept(
            failures -> {
              if (failures.containsKey(id)) {
                throw failures.get(id);
              }
            });
  }

  /** Writes the ipcache entries of an endpoint, as the module {@code datapath/ipcache} does. */
  static void putAddresses(DatapathManager manager, EndpointSpec spec) {
    final List<IpcacheChange> changes = new ArrayList<>();
    for (final IpAddress address : new IpAddress[] {spec.ipv4(), spec.ipv6()}) {
      if (address != null) {
        changes.add(
            new IpcacheChange(
                null, new IpcacheEntry(Prefix.of(address), spec.identity(), spec.id(), false)));
      }
    }
    await(manager.ipcache().apply(changes));
  }

  /** Detaches an endpoint and deletes its ipcache entries. */
  static List<String> detach(DatapathManager manager, int endpointId) {
    await(
        manager
            .ipcache()
            .apply(
                await(manager.ipcache().read()).stream()
                    .filter(entry -> entry.endpointId() == endpointId)
                    .map(entry -> new IpcacheChange(entry, null))
                    .toList()));
    return await(manager.endpoints().detach(endpointId));
  }

  /** Detaches every known endpoint that is not in the set. */
  static List<String> detachExcept(DatapathManager manager, Set<Integer> kept) {
    final List<String> errors = new ArrayList<>();
    for (final int id : await(manager.endpoints().known())) {
      if (!kept.contains(id)) {
        errors.addAll(detach(manager, id));
      }
    }
    return errors;
  }

  /** Returns the health of a module, which the manager has. */
  static ModuleHealth health(DatapathManager manager, String module) {
    return manager.health().read().stream()
        .filter(health -> health.moduleId().equals(module))
        .findFirst()
        .orElseThrow();
  }

  static <T> T await(java.util.concurrent.CompletableFuture<T> future) {
    try {
      return future.get(LONGEST_SEC, TimeUnit.SECONDS);
    } catch (java.util.concurrent.ExecutionException failure) {
      throw failure.getCause() instanceof RuntimeException cause
          ? cause
          : new IllegalStateException(failure);
    } catch (Exception failure) {
      throw new IllegalStateException(failure);
    }
  }

  /** Returns the paths of all pins, relative to the mount point. */
  List<String> pins() {
    try (Stream<Path> paths = Files.walk(bpf.path())) {
      return paths
          .filter(path -> !Files.isDirectory(path))
          .map(path -> bpf.path().relativize(path).toString())
          .sorted()
          .toList();
    } catch (IOException failure) {
      throw new IllegalStateException(failure);
    }
  }

  @Override
  public void close() throws IOException {
    workloads.forEach(Workload::close);
    namespace.close();
    bpf.close();
    try (Stream<Path> paths = Files.walk(state)) {
      for (final Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }

  /** A store whose reads and writes fail on demand. */
  static final class FailingPrefilterStore implements PrefilterStore {
    private final PrefilterStore kept = PrefilterStore.inMemory();
    private volatile boolean isFailing;
    private volatile boolean isUnreadable;

    void failWrites(boolean value) {
      isFailing = value;
    }

    void failReads(boolean value) {
      isUnreadable = value;
    }

    @Override
    public Optional<PrefilterList> load() {
      if (isUnreadable) {
        throw new UnreadableStateException("the list is damaged");
      }
      return kept.load();
    }

    @Override
    public void store(PrefilterList list) {
      if (isFailing) {
        throw new OperationException("no space left on device");
      }
      kept.store(list);
    }
  }
}
