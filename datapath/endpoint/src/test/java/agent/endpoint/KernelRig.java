package agent.endpoint;

import agent.bindings.BpfLink;
import agent.bindings.BpfProgram;
import agent.datapath.manager.DatapathManager;
import agent.datapath.manager.spec.DatapathContext;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointStore;
import agent.ipam.IpamContext;
import agent.ipam.Lease;
import agent.node.FamilyAddressing;
import agent.node.Node;
import agent.node.NodeAddressing;
import agent.node.NodeOptions;
import agent.node.NodeStore;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** The test rig on a node in its own network namespace, with the real kernel, datapath and node. */
final class KernelRig extends EndpointRig implements AutoCloseable {
  private final NetworkNamespace namespace = NetworkNamespace.create("epn");
  private final TemporaryBpfFileSystem bpf = TemporaryBpfFileSystem.mount();
  private final Path state;
  private final NodeStore nodeStore = NodeStore.inMemory();
  private final EndpointStore endpointStore = EndpointStore.inMemory();
  private final List<Workload> workloads = new ArrayList<>();
  private Node node;
  private DatapathManager datapath;

  KernelRig() throws IOException {
    state = Files.createTempDirectory("agent-state-");
    start();
  }

  /**
   * Starts a run of the agent on the state of the stores and the kernel, and waits until the
   * endpoints are restored.
   */
  void start() {
    inNamespace(
        () -> {
          node = Node.open(NodeOptions.DEFAULTS, nodeStore);
          datapath =
              DatapathManager.launch(
                  new DatapathContext()
                      .bpfRoot(bpf.path())
                      .stateDirectory(state)
                      .gateway4(node.addressing().ipv4().gateway())
                      .gateway6(node.addressing().ipv6().gateway())
                      .conntrackTcpMax(65536)
                      .conntrackAnyMax(65536));
          launch(endpointStore);
        });
  }

  /** Runs the work on a thread in the node's namespace. */
  void inNamespace(Runnable work) {
    try {
      namespace.run(
          () -> {
            work.run();
            return null;
          });
    } catch (RuntimeException failure) {
      throw failure;
    } catch (Exception failure) {
      throw new IllegalStateException(failure);
    }
  }

  @Override
  EndpointContext baseContext() {
    return new EndpointContext()
        .datapath(datapath.endpoints(), datapath.policyMaps(), datapath.ipcache())
        .node(node);
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
    final Path pin = bpf.path().resolve("agent/endpoints/" + endpointId + "/" + name);
    try (BpfLink link = BpfLink.openPinned(pin).orElseThrow()) {
      return BpfProgram.openById(link.info().programId());
    }
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
