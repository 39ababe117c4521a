package agent.endpoint;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfProgram;
import agent.conductor.Repairs;
import agent.datapath.manager.DatapathManager;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.FlowRing;
import agent.endpoint.restore.RestoreReport;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointHealth;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.EndpointStore;
import agent.ipam.IpamContext;
import agent.ipam.Lease;
import agent.node.FamilyAddressing;
import agent.node.Node;
import agent.node.NodeAddressing;
import agent.node.NodeEvents;
import agent.node.NodeOptions;
import agent.node.NodeStore;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.Workload;
import agent.types.OperationException;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** The test rig on a node in its own network namespace, with the real kernel, datapath and node. */
final class KernelRig extends EndpointRig implements AutoCloseable {
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(60);

  private final NetworkNamespace namespace = NetworkNamespace.create("epn");
  private final TemporaryBpfFileSystem bpf = TemporaryBpfFileSystem.mount();
  private final Path state;
  private final NodeStore nodeStore = NodeStore.inMemory();
  private final EndpointStore endpointStore = EndpointStore.inMemory();
  private final List<Workload> workloads = new ArrayList<>();
  private final Repairs repairs = new Repairs();
  private final Duration comparisonInterval;
  private final boolean hasEvents;
  private Node node;
  private DatapathManager datapath;

  /**
   * Names of the methods of {@link EndpointAttachmentProxy} that fail instead of reaching the
   * kernel.
   */
  final Set<String> failing = new HashSet<>();

  KernelRig() throws IOException {
    this(Duration.ofSeconds(5), true);
  }

  /**
   * Creates a node.
   *
   * @param comparisonInterval the time between two comparisons with the kernel
   * @param hasEvents whether the agent receives events of the node
   */
  KernelRig(Duration comparisonInterval, boolean hasEvents) throws IOException {
    this.comparisonInterval = comparisonInterval;
    this.hasEvents = hasEvents;
    state = Files.createTempDirectory("agent-state-");
    start();
  }

  /**
   * Starts a run of the agent on the state of the stores and the kernel, and waits until the
   * endpoints are restored.
   */
  void start() {
    report = now(begin());
  }

  /** Starts a run of the agent; no endpoint is restored before the conductor runs. */
  CompletableFuture<RestoreReport> begin() {
    final List<CompletableFuture<RestoreReport>> restored = new ArrayList<>(1);
    inNamespace(
        () -> {
          node = Node.open(NodeOptions.DEFAULTS, 0, nodeStore);
          datapath =
              DatapathManager.launch(
                  new DatapathContext()
                      .bpfRoot(bpf.path())
                      .libDirectory(state)
                      .gateway4(node.addressing().ipv4().gateway())
                      .gateway6(node.addressing().ipv6().gateway())
                      .conntrackTcpMax(65536)
                      .conntrackAnyMax(65536)
                      .preallocates(false),
                  new FlowRing(0, Set.of(), System::nanoTime));
          restored.add(begin(endpointStore));
        });
    return restored.getFirst();
  }

  /** Runs the work on a thread in the node's namespace. */
  void inNamespace(Runnable work) {
    namespace.call(
        () -> {
          work.run();
          return null;
        });
  }

  @Override
  EndpointContext baseContext() {
    final EndpointContext context =
        new EndpointContext()
            .datapath(faulty(datapath.endpoints()), datapath.policyMaps(), datapath.ipcache())
            .node(node)
            .faults(datapath.endpointFaults())
            .repairs(repairs)
            .refreshInterval(comparisonInterval);
    return hasEvents ? context : context.events(() -> NodeEvents.NONE);
  }

  /** Runs the conductor until the condition is true. */
  void await(String what, BooleanSupplier condition) {
    final long deadlineNs = System.nanoTime() + TIMEOUT_NS;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > deadlineNs) {
        throw new AssertionError("no " + what);
      }
      inNamespace(this::run);
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
    }
  }

  /** Runs the conductor until it has handled all events, and those that it causes. */
  void settle() {
    for (int i = 0; i < 10; i++) {
      inNamespace(this::run);
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(30));
    }
  }

  EndpointHealth health(int id) {
    return get(Integer.toString(id)).health();
  }

  /** Runs the conductor until the endpoint has this health, for a reason with this text. */
  void awaitHealth(int id, HealthLevel level, String reason) {
    await(
        level + ": " + reason,
        () -> {
          final EndpointHealth now = health(id);
          return now.overall() == level && String.valueOf(now.reason()).contains(reason);
        });
  }

  /** Runs the conductor until the endpoint is ready, connected and without a fault. */
  void awaitOk(int id) {
    await(
        "endpoint " + id + " without a fault",
        () ->
            health(id).overall() == HealthLevel.OK
                && health(id).connected()
                && get(Integer.toString(id)).state() == EndpointState.READY);
  }

  /** Returns how many differences of this kind were repaired. */
  long repaired(Repairs.Kind kind) {
    final long[] count = new long[1];
    repairs.forEach((one, repaired) -> count[0] += one == kind ? repaired : 0);
    return count[0];
  }

  /** Returns the interface in the stored record. */
  EndpointDevice storedDevice(int id) {
    return endpointStore.load().stream()
        .filter(stored -> stored.id() == id)
        .map(EndpointRecord::device)
        .findFirst()
        .orElseThrow();
  }

  private EndpointAttachmentProxy faulty(EndpointAttachmentProxy real) {
    return (EndpointAttachmentProxy)
        Proxy.newProxyInstance(
            EndpointAttachmentProxy.class.getClassLoader(),
            new Class<?>[] {EndpointAttachmentProxy.class},
            (proxy, method, arguments) ->
                failing.contains(method.getName())
                    ? CompletableFuture.failedFuture(new OperationException("injected failure"))
                    : method.invoke(real, arguments));
  }

  @Override
  NodeAddressing addressing() {
    return node.addressing();
  }

  @Override
  IpamContext clocked(IpamContext context) {
    return context;
  }

  @Override
  boolean hasOtherThreads() {
    return true;
  }

  /** Runs the conductor in the node's namespace until the answer arrives. */
  @Override
  <T> T now(CompletableFuture<T> answer) {
    final List<T> value = new ArrayList<>(1);
    inNamespace(() -> value.add(super.now(answer)));
    return value.getFirst();
  }

  /** Ends the run of the agent; programs stay attached. */
  void stop() {
    conductor.agent().onClose();
    datapath.close();
  }

  NetworkNamespace namespace() {
    return namespace;
  }

  List<Lease> leases() {
    return ipam.leases();
  }

  DatapathManager datapath() {
    return datapath;
  }

  /** Returns a new workload with the nth addresses of the node's ranges, without an endpoint. */
  Workload workload(int n) {
    final FamilyAddressing ipv4 = node.addressing().ipv4();
    final FamilyAddressing ipv6 = node.addressing().ipv6();
    final Workload workload =
        Workload.create(
            namespace,
            "ep" + n,
            ipv4.range().address().plus(n).toString(),
            ipv4.gateway().toString(),
            ipv6.range().address().plus(n).toString(),
            ipv6.gateway().toString());
    workloads.add(workload);
    return workload;
  }

  /** Returns the create request for a workload. */
  static Requests requestFor(Workload workload, String... labels) {
    return Requests.on(workload.veth().hostInterface())
        .mac(workload.veth().workloadMac())
        .ipv4(workload.ipv4())
        .ipv6(workload.ipv6())
        .labels(labels);
  }

  EndpointSnapshot create(int id, Workload workload, String... labels) {
    return create(Integer.toString(id), requestFor(workload, labels));
  }

  List<String> delete(int id) {
    return delete(Integer.toString(id));
  }

  void relabel(int id, String... labels) {
    relabel(Integer.toString(id), labels);
  }

  /** Returns an attached program of the endpoint; the caller closes it. */
  BpfProgram program(int endpointId, String name) {
    try (BpfLink link = BpfLink.openPinned(pin(endpointId, name)).orElseThrow()) {
      return BpfProgram.openById(link.info().programId());
    }
  }

  /**
   * Returns the index of the interface of a link of the endpoint, 0 where it was removed, or -1
   * where no link is pinned.
   */
  int linkIndex(int endpointId, String name) {
    final Optional<BpfLink> pinned = BpfLink.openPinned(pin(endpointId, name));
    if (pinned.isEmpty()) {
      return -1;
    }
    try (BpfLink link = pinned.get()) {
      return link.info().ifindex();
    }
  }

  /** Detaches both programs of the endpoint, as another program can. */
  void detach(int endpointId) {
    for (final String name : List.of("from_endpoint", "to_endpoint")) {
      try (BpfLink link = BpfLink.openPinned(pin(endpointId, name)).orElseThrow()) {
        link.detach();
      }
    }
  }

  private Path pin(int endpointId, String name) {
    return bpf.path().resolve("agent/endpoints/" + endpointId + "/" + name);
  }

  Path bpfRoot() {
    return bpf.path();
  }

  /** Returns the paths of all pins, relative to the BPF file system. */
  List<String> pins() throws IOException {
    try (Stream<Path> paths = Files.walk(bpf.path())) {
      return paths
          .filter(path -> !Files.isDirectory(path))
          .map(path -> bpf.path().relativize(path).toString())
          .sorted()
          .toList();
    }
  }

  @Override
  public void close() throws IOException {
    stop();
    workloads.forEach(Workload::close);
    namespace.close();
    bpf.close();
    try (Stream<Path> paths = Files.walk(state)) {
      for (final Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }
}
