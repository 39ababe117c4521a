package agent.datapath.manager;

import agent.bindings.KernelFeatures;
import agent.datapath.manager.spec.Context;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.PolicyMapEntry;
import agent.datapath.manager.spec.PrefilterList;
import agent.datapath.manager.spec.PrefilterStore;
import agent.datapath.manager.spec.TcMode;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.PolicyDirection;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.Workload;
import agent.types.IpAddress;
import agent.types.MacAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A node in a namespace of its own, with a BPF file system and a state directory of its own. */
final class ManagerTestNode implements AutoCloseable {
  static final String GATEWAY4 = "10.77.0.1";
  static final String GATEWAY6 = "fd77::1";
  static final int OPTIONS =
      EndpointOption.CONNTRACK.number()
          | EndpointOption.DROP_NOTIFICATION.number()
          | EndpointOption.SOURCE_IP_VERIFICATION.number();

  private final NetworkNamespace namespace = NetworkNamespace.create("nd");
  private final TemporaryBpfFileSystem bpf = TemporaryBpfFileSystem.mount();
  private final Path state;
  private final List<Workload> workloads = new ArrayList<>();
  private final MemoryPrefilterStore prefilterStore = new MemoryPrefilterStore();

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
    namespace.exec("ip", "address", "add", GATEWAY4 + "/32", "dev", "lo");
    namespace.exec("ip", "-6", "address", "add", GATEWAY6 + "/128", "dev", "lo", "nodad");
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

  MemoryPrefilterStore prefilterStore() {
    return prefilterStore;
  }

  /** Small tables, and everything else as an operator has it. */
  Context context() {
    return context(bpf.path(), state).prefilterStore(prefilterStore);
  }

  static Context context(Path bpfRoot, Path state) {
    return new Context()
        .bpfRoot(bpfRoot)
        .stateDirectory(state)
        .gateway4(IpAddress.parse(GATEWAY4))
        .gateway6(IpAddress.parse(GATEWAY6))
        .conntrackTcpMax(8192)
        .conntrackAnyMax(8192);
  }

  /** The ways to hang programs on tc hooks that this kernel has. */
  static List<TcMode> tcModes() {
    return KernelFeatures.probe().tcx()
        ? List.of(TcMode.TCX, TcMode.CLSACT)
        : List.of(TcMode.CLSACT);
  }

  DatapathManager launch(Context context) {
    try {
      return namespace.run(() -> DatapathManager.launch(context));
    } catch (RuntimeException failure) {
      throw failure;
    } catch (Exception failure) {
      throw new IllegalStateException(failure);
    }
  }

  /** The workload with the addresses 10.77.0.n and fd77::n, to which the node has routes. */
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

  /** Entries that let everything through in both directions: enforcement is off. */
  static List<PolicyMapEntry> open() {
    return List.of(
        PolicyMapEntry.allowAll(0, PolicyDirection.INGRESS),
        PolicyMapEntry.allowAll(0, PolicyDirection.EGRESS));
  }

  /** Entries that let everything out, and in only what is listed. */
  static List<PolicyMapEntry> ingressOnly(PolicyMapEntry... allowed) {
    final List<PolicyMapEntry> entries = new ArrayList<>(List.of(allowed));
    entries.add(PolicyMapEntry.allowAll(0, PolicyDirection.EGRESS));
    return entries;
  }

  static void attach(DatapathManager manager, EndpointSpec spec, List<PolicyMapEntry> policy) {
    await(manager.proxy().synchronizePolicy(spec.id(), policy));
    await(manager.proxy().attachEndpoint(spec));
  }

  static <T> T await(java.util.concurrent.CompletableFuture<T> future) {
    try {
      return future.get(30, TimeUnit.SECONDS);
    } catch (java.util.concurrent.ExecutionException failure) {
      throw failure.getCause() instanceof RuntimeException cause
          ? cause
          : new IllegalStateException(failure);
    } catch (Exception failure) {
      throw new IllegalStateException(failure);
    }
  }

  /** Everything that is pinned, relative to the BPF file system. */
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

  /** Keeps the list in memory, and fails where it is told to. */
  static final class MemoryPrefilterStore implements PrefilterStore {
    private PrefilterList stored;
    private boolean isBroken;

    synchronized void storeNow(PrefilterList list) {
      stored = list;
    }

    synchronized void breakDown(boolean value) {
      isBroken = value;
    }

    @Override
    public synchronized Optional<PrefilterList> load() {
      return Optional.ofNullable(stored);
    }

    @Override
    public synchronized void store(PrefilterList list) throws IOException {
      if (isBroken) {
        throw new IOException("no space left on device");
      }
      stored = list;
    }
  }
}
