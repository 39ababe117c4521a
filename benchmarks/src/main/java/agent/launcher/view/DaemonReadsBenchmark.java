package agent.launcher.view;

import agent.benchmarks.TemporaryFolder;
import agent.contract.WireFormat;
import agent.datapath.manager.DatapathManager;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.FlowRing;
import agent.dns.Names;
import agent.dns.NamesContext;
import agent.domain.PeriodicController;
import agent.endpoint.Endpoints;
import agent.endpoint.PolicyService;
import agent.endpoint.state.EndpointSnapshot;
import agent.identity.LocalIdentityAllocator;
import agent.ipam.AddressFamily;
import agent.ipam.AddressPool;
import agent.ipam.Ipam;
import agent.ipam.IpamContext;
import agent.launcher.options.OptionValues;
import agent.maps.layout.ServiceForwarding;
import agent.node.ClusterNode;
import agent.node.ClusterNodes;
import agent.node.FamilyAddressing;
import agent.node.HostRouting;
import agent.node.NodeAddressing;
import agent.node.NodeInventory;
import agent.node.netfilter.MasqueradeGuard;
import agent.policy.repository.PolicySnapshot;
import agent.server.handler.EndpointListBenchmark;
import agent.server.metrics.AgentThreadMetricSource;
import agent.server.metrics.DatapathMetricSource;
import agent.server.metrics.MetricFamily;
import agent.server.metrics.MetricRegistry;
import agent.server.metrics.MetricText;
import agent.server.metrics.RepairMetricSource;
import agent.server.metrics.ServiceMetricSource;
import agent.service.ServiceStore;
import agent.service.Services;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import tools.jackson.databind.json.JsonMapper;

/**
 * Measures the body of {@code GET /healthz} and the metrics, of a datapath in a network namespace
 * of its own; the domain has 100 endpoints and as many leases.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DaemonReadsBenchmark {
  private static final int ENDPOINTS = 100;
  private static final NodeAddressing NODE =
      new NodeAddressing(
          FamilyAddressing.of(IpAddress.parse("192.0.2.1"), Prefix.parse("10.77.0.0/16")),
          FamilyAddressing.DISABLED);

  private final JsonMapper mapper = WireFormat.strictMapper();
  private final MetricRegistry metrics = new MetricRegistry();
  private final DaemonStatus status =
      new DaemonStatus(
          new ConfigurationView(OptionValues.read(List.of(), Map.of()), Map.of(), "n1"), "bench");
  private TemporaryFolder state;
  private NetworkNamespace namespace;
  private TemporaryBpfFileSystem bpf;
  private DatapathManager datapath;

  /** Launches the datapath and reads it once. */
  @Setup
  public void launch() throws Exception {
    state = TemporaryFolder.create();
    namespace = NetworkNamespace.create("bench");
    bpf = TemporaryBpfFileSystem.mount();
    final DatapathContext context =
        new DatapathContext()
            .bpfRoot(bpf.path())
            .libDirectory(state.path())
            .gateway4(IpAddress.parse("10.77.0.1"))
            .gateway6(IpAddress.parse("fd77::1"))
            .conntrackTcpMax(1024)
            .conntrackAnyMax(1024);
    final FlowRing flows = new FlowRing(4096, Set.of(), System::nanoTime);
    datapath = namespace.run(() -> DatapathManager.launch(context, flows));
    final StartedParts parts = parts();
    status.ready(parts);
    metrics.add(new ProcessMetricSource());
    metrics.add(new DatapathMetricSource(datapath.metrics(), datapath.events(), datapath::status));
    metrics.add(new RepairMetricSource(datapath.repairs()));
    metrics.add(new AgentThreadMetricSource(datapath.threads()));
    metrics.add(new DomainMetricSource(parts, new LocalIdentityAllocator()));
    metrics.add(new ServiceMetricSource(parts.services(), datapath.services()));
    if (metricsText().isEmpty() || healthz().length == 0) {
      throw new IllegalStateException("nothing was read");
    }
  }

  private StartedParts parts() {
    final List<EndpointSnapshot> endpoints =
        IntStream.rangeClosed(1, ENDPOINTS).mapToObj(EndpointListBenchmark::of).toList();
    final NodeInventory inventory =
        new NodeInventory(
            List.of("eth0"),
            List.of(),
            1500,
            1500,
            new NodeInventory.SegmentSizes(65_536, 65_536, 65_536, 65_536));
    return new StartedParts(
        NODE,
        () -> inventory,
        new ClusterNodes(
            () -> List.of(ClusterNode.local("default/n1", NODE, List.of())), System::nanoTime),
        () -> new HostRouting(HostRouting.Mode.BPF, "", false),
        () -> MasqueradeGuard.Mode.DISABLED,
        ipam(),
        datapath,
        () -> 0,
        fixed(Endpoints.class, Map.of("list", endpoints)),
        fixed(PolicyService.class, Map.of("get", new PolicySnapshot(77, List.of(), 0))),
        services(),
        Names.open(new NamesContext().conclude()),
        () -> null,
        null,
        List.of(
            new PeriodicController(
                "node-inventory", Duration.ofSeconds(5), InstantSource.system(), () -> {})));
  }

  private Services services() {
    final ServiceStore store =
        fixed(
            ServiceStore.class,
            Map.of("load", new ServiceStore.Stored(List.of(), Map.of()), "missed", Map.of()));
    return Services.restore(datapath.services(), store, "n1", ServiceForwarding.DEFAULT);
  }

  private static Ipam ipam() {
    final Ipam ipam =
        Ipam.open(
            new IpamContext()
                .pool(new AddressPool(AddressPool.DEFAULT, List.of(NODE.ipv4().range())))
                .conclude());
    for (int i = 0; i < ENDPOINTS; i++) {
      ipam.allocate(AddressFamily.IPV4, "owner" + i, null, false);
    }
    return ipam;
  }

  /** Returns an object of which some methods answer; the others return null. */
  private static <T> T fixed(Class<T> type, Map<String, ?> answers) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> answers.get(method.getName())));
  }

  /** Stops the datapath. */
  @TearDown
  public void close() throws IOException {
    datapath.close();
    bpf.close();
    namespace.close();
    state.close();
  }

  /** Reads the status and writes the body of {@code GET /healthz}. */
  @Benchmark
  public byte[] healthz() {
    return mapper.writeValueAsBytes(status.status(false));
  }

  /** Reads all metrics. */
  @Benchmark
  public List<MetricFamily> metrics() {
    return metrics.collect();
  }

  /** Reads all metrics and writes the text of Prometheus. */
  @Benchmark
  public String metricsText() {
    return MetricText.PROMETHEUS.write(metrics.collect());
  }
}
