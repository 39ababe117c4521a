package agent.domain;

import agent.endpoint.Endpoints;
import agent.endpoint.request.EndpointRequest;
import agent.endpoint.state.EndpointHealth;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Endpoints that can only be listed; their state and health are all that is known of them. */
public final class EndpointList implements Endpoints {
  private final List<EndpointSnapshot> snapshots = new ArrayList<>();

  public EndpointList with(int id, EndpointState state) {
    return with(id, state, HealthLevel.OK, null);
  }

  public EndpointList with(int id, EndpointState state, HealthLevel level, String reason) {
    final EndpointHealth health = new EndpointHealth(level, HealthLevel.OK, level, true, reason);
    snapshots.add(
        new EndpointSnapshot(
            id, state, health, null, null, null, null, null, null, null, null, null, null, null,
            null, null, null, null));
    return this;
  }

  @Override
  public List<EndpointSnapshot> list(List<String> labels) {
    return List.copyOf(snapshots);
  }

  @Override
  public CompletableFuture<EndpointSnapshot> create(
      EndpointIdentifier id, EndpointRequest request) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletableFuture<EndpointSnapshot> modify(
      EndpointIdentifier id, EndpointRequest request) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletableFuture<List<String>> delete(EndpointIdentifier id) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletableFuture<List<String>> deleteByContainerId(String containerId) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletableFuture<EndpointSnapshot> configure(
      EndpointIdentifier id, Map<String, String> options, List<String> userLabels) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletableFuture<EndpointSnapshot> setUserLabels(
      EndpointIdentifier id, List<String> userLabels) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long version() {
    return snapshots.size();
  }

  @Override
  public EndpointSnapshot get(EndpointIdentifier id) {
    throw new UnsupportedOperationException();
  }
}
