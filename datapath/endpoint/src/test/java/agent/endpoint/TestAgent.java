package agent.endpoint;

import agent.datapath.manager.DatapathManager;
import agent.datapath.manager.spec.Context;
import agent.identity.LocalIdentityAllocator;
import agent.ipam.AddressPool;
import agent.ipam.Ipam;
import agent.ipam.IpamContext;
import agent.ipam.Lease;
import agent.ipam.LeaseStore;
import agent.node.FamilyAddressing;
import agent.node.Node;
import agent.node.NodeOptions;
import agent.node.NodeStore;
import agent.policy.PolicyContext;
import agent.policy.PolicyEngine;
import agent.policy.PolicyState;
import agent.policy.PolicyStore;
import agent.policy.spec.RuleSpec;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** An agent without doors on a node of its own: everything below the doors is the real thing. */
final class TestAgent implements AutoCloseable {
  private final NetworkNamespace namespace = NetworkNamespace.create("epn");
  private final TemporaryBpfFileSystem bpf = TemporaryBpfFileSystem.mount();
  private final Path state;
  private final NodeStore nodeStore = NodeStore.inMemory();
  private final EndpointStore endpointStore = EndpointStore.inMemory();
  private final List<Workload> workloads = new ArrayList<>();
  private List<Lease> leases = List.of();
  private Optional<PolicyState> rules = Optional.empty();
  private Node node;
  private Ipam ipam;
  private DatapathManager datapath;
  private EndpointConductor conductor;

  TestAgent() throws Exception {
    state = Files.createTempDirectory("agent-state-");
    start();
  }

  /** Starts on what the stores and the kernel kept, and waits until all is restored. */
  RestoreReport start() throws Exception {
    return namespace.run(this::startHere);
  }

  private RestoreReport startHere() throws Exception {
    node = Node.open(NodeOptions.DEFAULTS, nodeStore);
    final FamilyAddressing ipv4 = node.addressing().ipv4();
    final FamilyAddressing ipv6 = node.addressing().ipv6();
    datapath =
        DatapathManager.launch(
            new Context()
                .bpfRoot(bpf.path())
                .stateDirectory(state)
                .gateway4(ipv4.gateway())
                .gateway6(ipv6.gateway())
                .conntrackTcpMax(8192)
                .conntrackAnyMax(8192));
    final LocalIdentityAllocator identities = new LocalIdentityAllocator();
    ipam =
        Ipam.open(
            new IpamContext()
                .pool(new AddressPool(AddressPool.DEFAULT, List.of(ipv4.range(), ipv6.range())))
                .gateways(ipv4.gateway(), ipv6.gateway())
                .store(new KeptLeases())
                .conclude());
    final PolicyEngine policy =
        PolicyEngine.open(
            new PolicyContext().identities(identities).store(new KeptRules()).conclude());
    conductor =
        EndpointConductor.launch(
            new EndpointContext()
                .datapath(datapath.proxy())
                .policy(policy)
                .identities(identities)
                .ipam(ipam)
                .node(node)
                .store(endpointStore)
                .thread(ConductorThread.start(Thread.ofPlatform().daemon().factory()))
                .conclude());
    return conductor.restore().get(30, TimeUnit.SECONDS);
  }

  /** Ends the agent; what is attached stays attached. */
  void stop() {
    conductor.close();
    datapath.close();
  }

  private final class KeptRules implements PolicyStore {
    @Override
    public Optional<PolicyState> load() {
      return rules;
    }

    @Override
    public void save(PolicyState now) {
      rules = Optional.of(now);
    }
  }

  private final class KeptLeases implements LeaseStore {
    @Override
    public List<Lease> load() {
      return leases;
    }

    @Override
    public void save(List<Lease> now) {
      leases = List.copyOf(now);
    }
  }

  NetworkNamespace namespace() {
    return namespace;
  }

  Endpoints endpoints() {
    return conductor.endpoints();
  }

  List<Lease> leases() {
    return ipam.leases();
  }

  DatapathManager datapath() {
    return datapath;
  }

  /** A workload with addresses number n of the node's ranges, not yet an endpoint. */
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

  EndpointSnapshot create(int id, Workload workload, String... labels) throws Exception {
    return conductor
        .endpoints()
        .create(
            EndpointIdentifier.local(id),
            Requests.on(workload.veth().hostInterface())
                .mac(workload.veth().workloadMac())
                .ipv4(workload.ipv4())
                .ipv6(workload.ipv6())
                .labels(labels)
                .build())
        .get(30, TimeUnit.SECONDS);
  }

  List<String> delete(int id) throws Exception {
    return conductor.endpoints().delete(EndpointIdentifier.local(id)).get(30, TimeUnit.SECONDS);
  }

  void relabel(int id, String... labels) throws Exception {
    conductor
        .endpoints()
        .setUserLabels(EndpointIdentifier.local(id), List.of(labels))
        .get(30, TimeUnit.SECONDS);
  }

  void importRules(RuleSpec... specs) throws Exception {
    conductor.policy().importRules(List.of(specs)).get(30, TimeUnit.SECONDS);
  }

  void deleteRules() throws Exception {
    conductor.policy().deleteRules(List.of()).get(30, TimeUnit.SECONDS);
  }

  /** Everything that is pinned, relative to the BPF file system. */
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
