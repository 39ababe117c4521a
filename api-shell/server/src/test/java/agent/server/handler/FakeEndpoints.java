package agent.server.handler;

import agent.endpoint.Endpoints;
import agent.endpoint.request.EndpointRequest;
import agent.endpoint.state.ControllerStatus;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointHealth;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointIdentifier;
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
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** One endpoint, number 7, or copies of it; it remembers what it was asked for. */
final class FakeEndpoints implements Endpoints {
  static final NodeAddressing NODE =
      new NodeAddressing(
          FamilyAddressing.of(IpAddress.parse("192.0.2.1"), Prefix.parse("10.1.0.0/24")),
          FamilyAddressing.DISABLED);
  private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");

  EndpointRequest lastRequest;
  List<String> lastLabels;
  Map<String, String> lastOptions;
  List<String> deletionErrors = List.of();
  volatile long version;
  int count = 1;
  final AtomicInteger lists = new AtomicInteger();

  @Override
  public CompletableFuture<EndpointSnapshot> create(
      EndpointIdentifier id, EndpointRequest request) {
    lastRequest = request;
    return id.localId() == 7
        ? CompletableFuture.failedFuture(Refusal.conflict("id", "endpoint 7 already exists"))
        : CompletableFuture.completedFuture(sample());
  }

  @Override
  public CompletableFuture<EndpointSnapshot> modify(
      EndpointIdentifier id, EndpointRequest request) {
    lastRequest = request;
    return found(id);
  }

  @Override
  public CompletableFuture<List<String>> delete(EndpointIdentifier id) {
    return found(id).thenApply(endpoint -> deletionErrors);
  }

  @Override
  public CompletableFuture<List<String>> deleteByContainerId(String containerId) {
    return containerId.equals("c0ffee")
        ? CompletableFuture.completedFuture(deletionErrors)
        : CompletableFuture.failedFuture(Refusal.notFound("container-id", "nothing has it"));
  }

  @Override
  public CompletableFuture<EndpointSnapshot> configure(
      EndpointIdentifier id, Map<String, String> options, List<String> userLabels) {
    lastOptions = options;
    lastLabels = userLabels;
    return found(id);
  }

  @Override
  public CompletableFuture<EndpointSnapshot> setUserLabels(
      EndpointIdentifier id, List<String> userLabels) {
    lastLabels = userLabels;
    return found(id);
  }

  @Override
  public long version() {
    return version;
  }

  @Override
  public EndpointSnapshot get(EndpointIdentifier id) {
    return found(id).resultNow();
  }

  @Override
  public List<EndpointSnapshot> list(List<String> labels) {
    if (!labels.isEmpty() && !labels.equals(List.of("app=web"))) {
      throw Refusal.notFound("labels", "no endpoint has " + labels);
    }
    lists.incrementAndGet();
    return Collections.nCopies(count, sample());
  }

  private static CompletableFuture<EndpointSnapshot> found(EndpointIdentifier id) {
    if (id.localId() != 7) {
      throw Refusal.notFound("id", "endpoint " + id + " does not exist");
    }
    return CompletableFuture.completedFuture(sample());
  }

  private static EndpointSnapshot sample() {
    final EndpointPolicyStatus policy =
        new EndpointPolicyStatus(
            256,
            3,
            9,
            new DirectionSummary(
                true,
                false,
                false,
                List.of(1),
                List.of(2),
                List.of(new DerivedRule("TCP/80", List.of(List.of("k8s:rule=a")))),
                List.of()),
            new DirectionSummary(
                true, false, false, List.of(16777216), List.of(), List.of(), List.of()));
    return new EndpointSnapshot(
        7,
        EndpointState.READY,
        new EndpointHealth(HealthLevel.OK, HealthLevel.WARNING, HealthLevel.WARNING, true, null),
        new Identity(256, LabelSet.parse("labels", List.of("k8s:app=web"))),
        new EndpointLabels(
            List.of("a"), List.of("a"), List.of("b"), List.of("c"), List.of("k8s:app=web")),
        Map.of("Debug", "Enabled"),
        Map.of("Debug", "Disabled"),
        DatapathConfiguration.DEFAULT,
        new ExternalIdentifiers("c0ffee", null, "eth0", null, null, "ns", "pod", null, false),
        new EndpointNetworking(
            new EndpointAddressing(
                IpAddress.parse("10.1.0.7"), "uuid", "default", null, null, null),
            "eth0",
            NODE,
            MacAddress.parse("0a:00:00:00:00:08"),
            MacAddress.parse("0a:00:00:00:00:07"),
            12,
            "lxc7"),
        List.of(new NamedPort("http", 80, "TCP")),
        policy,
        policy,
        List.of(
            new ControllerStatus(
                "regenerate",
                new UUID(1, 2),
                true,
                Duration.ofMillis(1500),
                Duration.ZERO,
                1,
                2,
                3,
                "no luck",
                NOON,
                null)),
        List.of(new LogEntry("OK", "attached", EndpointState.READY, NOON)),
        new WorkloadDescription(null, null, null, null, null),
        EntrySource.API,
        "the last build failed");
  }
}
