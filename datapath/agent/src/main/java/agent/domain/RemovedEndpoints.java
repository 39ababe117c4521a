package agent.domain;

import agent.endpoint.Endpoints;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;

/**
 * Notifies the owners of what is kept by the id of an endpoint that the endpoint is removed, before
 * another one can have its id. Called by the thread of the endpoints.
 */
final class RemovedEndpoints implements Consumer<EndpointSnapshot> {
  private final List<IntConsumer> owners;

  RemovedEndpoints(IntConsumer... owners) {
    this.owners = List.of(owners);
  }

  /** Returns the ids of the endpoints that there are. */
  static Set<Integer> present(Endpoints endpoints) {
    return endpoints.list(List.of()).stream().map(EndpointSnapshot::id).collect(Collectors.toSet());
  }

  @Override
  public void accept(EndpointSnapshot endpoint) {
    if (endpoint.state() == EndpointState.DISCONNECTED) {
      owners.forEach(owner -> owner.accept(endpoint.id()));
    }
  }
}
