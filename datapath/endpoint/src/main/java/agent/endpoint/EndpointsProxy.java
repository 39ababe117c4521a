package agent.endpoint;

import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;

/** The endpoints, seen from other threads: reads from pictures, changes by the queue. */
final class EndpointsProxy implements Endpoints {
  private final ConductorQueue queue;
  private final EndpointRegistry registry;
  private final EndpointCreation creation;
  private final EndpointChange change;
  private final Regeneration regeneration;
  private final Removal removal;

  EndpointsProxy(
      ConductorQueue queue,
      EndpointRegistry registry,
      EndpointCreation creation,
      EndpointChange change,
      Regeneration regeneration,
      Removal removal) {
    this.queue = queue;
    this.registry = registry;
    this.creation = creation;
    this.change = change;
    this.regeneration = regeneration;
    this.removal = removal;
  }

  @Override
  public CompletableFuture<EndpointSnapshot> create(
      EndpointIdentifier id, EndpointRequest request) {
    return queue.ask(() -> onCreate(id, request));
  }

  private EndpointSnapshot onCreate(EndpointIdentifier id, EndpointRequest request) {
    final Endpoint endpoint = creation.create(id, request);
    if (!Boolean.TRUE.equals(request.syncBuildEndpoint())) {
      regeneration.regenerateLater(endpoint);
      return registry.publish(endpoint);
    }
    final RuntimeException failure = regeneration.regenerate(endpoint);
    if (failure != null) {
      final List<String> errors = removal.remove(endpoint, "could not be built");
      final String more = errors.isEmpty() ? "" : "; " + String.join("; ", errors);
      throw Refusal.of(Refusal.Kind.FAILED, "", failure.getMessage() + more, failure);
    }
    return registry.publish(endpoint);
  }

  @Override
  public CompletableFuture<EndpointSnapshot> modify(
      EndpointIdentifier id, EndpointRequest request) {
    return queue.ask(() -> change.modify(registry.require(id), request));
  }

  @Override
  public CompletableFuture<List<String>> delete(EndpointIdentifier id) {
    return queue.ask(() -> removal.remove(registry.require(id), "deleted as " + id));
  }

  @Override
  public CompletableFuture<List<String>> deleteByContainerId(String containerId) {
    return queue.ask(() -> onDelete(containerId));
  }

  private List<String> onDelete(String containerId) {
    if (containerId == null || containerId.isEmpty()) {
      throw Refusal.invalid("container-id", "a container id is needed");
    }
    final List<Endpoint> found =
        registry.all().stream()
            .filter(e -> containerId.equals(e.record().externalIdentifiers().containerId()))
            .toList();
    if (found.isEmpty()) {
      throw Refusal.notFound("container-id", "no endpoint has '" + containerId + "'");
    }
    final List<String> errors = new ArrayList<>();
    for (final Endpoint endpoint : found) {
      errors.addAll(removal.remove(endpoint, "deleted as container-id:" + containerId));
    }
    return List.copyOf(errors);
  }

  @Override
  public CompletableFuture<EndpointSnapshot> configure(
      EndpointIdentifier id, Map<String, String> options, List<String> userLabels) {
    return queue.ask(() -> change.configure(registry.require(id), options, userLabels));
  }

  @Override
  public CompletableFuture<EndpointSnapshot> setUserLabels(
      EndpointIdentifier id, List<String> userLabels) {
    return queue.ask(() -> change.relabel(registry.require(id), userLabels));
  }

  @Override
  public EndpointSnapshot get(EndpointIdentifier id) {
    return registry.get(id);
  }

  @Override
  public List<EndpointSnapshot> list(List<String> labels) {
    if (labels.isEmpty()) {
      return List.copyOf(registry.published());
    }
    final Predicate<EndpointSnapshot> wanted = EndpointLookup.havingAll(labels);
    final List<EndpointSnapshot> found = registry.published().stream().filter(wanted).toList();
    if (found.isEmpty()) {
      throw Refusal.notFound("labels", "no endpoint has " + labels);
    }
    return found;
  }
}
