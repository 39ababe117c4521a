package agent.datapath.manager.conductor;

import agent.datapath.manager.spec.DatapathProxy;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.PolicyMapDelta;
import agent.datapath.manager.spec.PolicyMapEntry;
import agent.types.Prefix;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** Turns each call into a command; collections are copied on the caller's thread. */
public final class ConductorProxy implements DatapathProxy {
  private final DatapathConductor conductor;
  private final AttachedEndpoints endpoints;

  /** Commands of this proxy change these endpoints, on the conductor's thread. */
  public ConductorProxy(DatapathConductor conductor, AttachedEndpoints endpoints) {
    this.conductor = conductor;
    this.endpoints = endpoints;
  }

  @Override
  public CompletableFuture<Void> prepareEndpoint(EndpointSpec endpoint) {
    return run(() -> endpoints.prepare(endpoint));
  }

  @Override
  public CompletableFuture<Void> attachEndpoint(EndpointSpec endpoint) {
    return run(() -> endpoints.attach(endpoint));
  }

  @Override
  public CompletableFuture<List<String>> detachEndpoint(int endpointId) {
    final int id = EndpointSpec.requireId(endpointId);
    return conductor.submit(() -> endpoints.detach(id));
  }

  @Override
  public CompletableFuture<Void> applyPolicy(int endpointId, PolicyMapDelta delta) {
    final int id = EndpointSpec.requireId(endpointId);
    return run(() -> endpoints.applyPolicy(id, delta));
  }

  @Override
  public CompletableFuture<PolicyMapDelta> synchronizePolicy(
      int endpointId, Collection<PolicyMapEntry> desired) {
    final int id = EndpointSpec.requireId(endpointId);
    final List<PolicyMapEntry> copy = List.copyOf(desired);
    return conductor.submit(() -> endpoints.synchronizePolicy(id, copy));
  }

  @Override
  public CompletableFuture<Void> setIdentity(int endpointId, int identity) {
    final int id = EndpointSpec.requireId(endpointId);
    return run(() -> endpoints.setIdentity(id, identity));
  }

  @Override
  public CompletableFuture<Void> upsertIpcache(Collection<IpcacheEntry> entries) {
    final List<IpcacheEntry> copy = List.copyOf(entries);
    return run(() -> endpoints.upsertIpcache(copy));
  }

  @Override
  public CompletableFuture<Void> removeIpcache(Collection<Prefix> prefixes) {
    final List<Prefix> copy = List.copyOf(prefixes);
    return run(() -> endpoints.removeIpcache(copy));
  }

  @Override
  public CompletableFuture<Void> synchronizeIpcache(Collection<IpcacheEntry> desired) {
    final List<IpcacheEntry> copy = List.copyOf(desired);
    return run(() -> endpoints.synchronizeIpcache(copy));
  }

  @Override
  public CompletableFuture<Set<Integer>> knownEndpoints() {
    return conductor.submit(endpoints::known);
  }

  @Override
  public CompletableFuture<Integer> interfaceOf(int endpointId) {
    EndpointSpec.requireId(endpointId);
    return conductor.submit(() -> endpoints.interfaceOf(endpointId));
  }

  @Override
  public CompletableFuture<List<String>> forgetEndpointsExcept(Set<Integer> endpointIds) {
    final Set<Integer> copy = Set.copyOf(endpointIds);
    return conductor.submit(() -> endpoints.forgetExcept(copy));
  }

  private CompletableFuture<Void> run(Runnable work) {
    return conductor.submit(
        () -> {
          work.run();
          return null;
        });
  }
}
