package agent.server.handler;

import agent.contract.WireFormat;
import agent.endpoint.state.ControllerStatus;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointHealth;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointLabels;
import agent.endpoint.state.EndpointLog.LogEntry;
import agent.endpoint.state.EndpointNetworking;
import agent.endpoint.state.EndpointPolicyStatus;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.ExternalIdentifiers;
import agent.endpoint.state.WorkloadDescription;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.policy.resolve.DirectionSummary;
import agent.policy.rule.DerivedRule;
import agent.policy.spec.NamedPort;
import agent.server.view.ProxyView.EndpointTraffic;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import tools.jackson.databind.json.JsonMapper;

/** Measures the body of {@code GET /endpoint}, from the snapshots of endpoints to JSON. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class EndpointListBenchmark {
  private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");
  private static final NodeAddressing NODE =
      new NodeAddressing(
          FamilyAddressing.of(IpAddress.parse("192.0.2.1"), Prefix.parse("10.1.0.0/16")),
          FamilyAddressing.DISABLED);

  /** Endpoints of the node. */
  @Param({"1", "100"})
  public int endpoints;

  private final JsonMapper mapper = WireFormat.strictMapper();
  private List<EndpointSnapshot> snapshots;

  /** Makes the endpoints. */
  @Setup
  public void fill() {
    snapshots = IntStream.rangeClosed(1, endpoints).mapToObj(EndpointListBenchmark::of).toList();
  }

  /** Encodes and writes the list. */
  @Benchmark
  public byte[] json() {
    return mapper.writeValueAsBytes(
        snapshots.stream()
            .map(endpoint -> EndpointEncoder.endpoint(endpoint, EndpointTraffic.NONE))
            .iterator());
  }

  /** Returns an endpoint of which two rules allow something, built once. */
  public static EndpointSnapshot of(int id) {
    final Identity identity =
        new Identity(
            Identity.CLUSTER_MIN + id,
            LabelSet.parse("labels", List.of("k8s:app=a" + id, "k8s:zone=z")));
    final List<String> labels = List.of("k8s:app=a" + id, "k8s:zone=z");
    final EndpointPolicyStatus policy =
        new EndpointPolicyStatus(
            identity.id(),
            3,
            9,
            new DirectionSummary(
                true,
                false,
                false,
                List.of(1, 256),
                List.of(),
                List.of(new DerivedRule("TCP/80", List.of(List.of("k8s:rule=a")))),
                List.of()),
            new DirectionSummary(
                true, false, false, List.of(16777216), List.of(), List.of(), List.of()));
    return new EndpointSnapshot(
        id,
        EndpointState.READY,
        new EndpointHealth(HealthLevel.OK, HealthLevel.OK, HealthLevel.OK, true, null),
        identity,
        new EndpointLabels(List.of(), List.of(), labels, List.of(), labels),
        Map.of("Debug", "Disabled"),
        Map.of("Debug", "Disabled"),
        DatapathConfiguration.DEFAULT,
        new ExternalIdentifiers("c0ffee" + id, null, "eth0", null, null, "ns", "p", null, false),
        networking(id),
        List.of(new NamedPort("http", 80, "TCP")),
        policy,
        policy,
        List.of(regeneration(id)),
        List.of(new LogEntry("OK", "attached", EndpointState.READY, NOON)),
        new WorkloadDescription(null, null, null, null, null),
        EntrySource.API,
        null);
  }

  private static EndpointNetworking networking(int id) {
    return new EndpointNetworking(
        new EndpointAddressing(
            IpAddress.ofIpv4((10 << 24) + id), "uuid" + id, "default", null, null, null),
        "eth0",
        NODE,
        MacAddress.parse("0a:00:00:00:00:08"),
        MacAddress.parse("0a:00:00:00:00:07"),
        12,
        "lxc" + id);
  }

  private static ControllerStatus regeneration(int id) {
    return new ControllerStatus(
        "regenerate",
        new UUID(1, id),
        true,
        Duration.ofMillis(1500),
        Duration.ZERO,
        1,
        0,
        0,
        null,
        null,
        NOON);
  }
}
