package agent.datapath.manager.conductor;

import agent.bindings.BpfObject;
import agent.datapath.manager.attach.EndpointAttachments;
import agent.datapath.manager.spec.EndpointProxy;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.thread.StepSequence;
import agent.maps.kernel.BpfMap;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * Attaches and detaches the endpoints of this node: map entries, programs and links. All state
 * belongs to the conductor's thread; {@link #attachedCount} may be read by any thread.
 */
public final class AttachedEndpoints implements EndpointProxy {
  private final DatapathConductor conductor;
  private final VerdictGenerations generations;
  private final PolicyMaps policyMaps;
  private final Preparations preparations;
  private final EndpointAttachments attachments;
  private final EndpointEntries entries;
  private final Supplier<Set<Integer>> pinnedIds;
  private final Int2ObjectHashMap<EndpointSpec> attached = new Int2ObjectHashMap<>();
  private volatile int attachedCount;

  /**
   * Creates the owner of the endpoints; no endpoint is attached yet.
   *
   * @param endpoints the map {@code endpoints}
   * @param pinnedIds returns the ids of endpoints that have a pinned link or policy map
   */
  public AttachedEndpoints(
      DatapathConductor conductor,
      VerdictGenerations generations,
      PolicyMaps policyMaps,
      Preparations preparations,
      EndpointAttachments attachments,
      BpfMap endpoints,
      Supplier<Set<Integer>> pinnedIds) {
    this.conductor = conductor;
    this.generations = generations;
    this.policyMaps = policyMaps;
    this.preparations = preparations;
    this.attachments = attachments;
    this.pinnedIds = pinnedIds;
    entries = new EndpointEntries(endpoints);
  }

  /** Returns the number of endpoints that this process has attached; for any thread. */
  public int attachedCount() {
    return attachedCount;
  }

  @Override
  public CompletableFuture<Void> prepare(EndpointSpec endpoint) {
    return conductor.run(() -> preparations.begin(endpoint, isNew(endpoint)));
  }

  private boolean isNew(EndpointSpec endpoint) {
    return entries.read(endpoint.id()).ifindex() == 0;
  }

  @Override
  public CompletableFuture<Void> attach(EndpointSpec endpoint) {
    return conductor.submit(() -> onAttach(endpoint)).thenCompose(Function.identity());
  }

  private CompletableFuture<Void> onAttach(EndpointSpec endpoint) {
    final Preparations.Preparation prepared = preparations.take(endpoint, isNew(endpoint));
    final CompletableFuture<Void> result = new CompletableFuture<>();
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .thenAwait(prepared::closing)
            .thenAwait(prepared::programs)
            .then(() -> attach(endpoint, prepared.programs().join()))
            .onDone(() -> result.complete(null))
            .onFailure(
                failure -> {
                  if (prepared.isClosed()) {
                    attachments.open(endpoint);
                  }
                  result.completeExceptionally(failure);
                }));
    return result;
  }

  private void attach(EndpointSpec endpoint, BpfObject loaded) {
    final int id = endpoint.id();
    try (BpfObject programs = loaded) {
      policyMaps.open(id);
      final EndpointEntries.Entry before = entries.read(id);
      entries.write(endpoint);
      try {
        attachments.attach(endpoint, programs);
      } catch (RuntimeException failure) {
        entries.restore(id, before);
        generations.raise(id); // conntrack may have an entry that delivers to the new interface
        throw failure;
      }
    }
    final EndpointSpec before = attached.put(id, endpoint);
    attachedCount = attached.size();
    if (before != null && hasOtherAddresses(before, endpoint)) {
      generations.disown(id);
    } else {
      generations.raise(id);
    }
  }

  private static boolean hasOtherAddresses(EndpointSpec one, EndpointSpec other) {
    return isGone(one.ipv4(), other.ipv4()) || isGone(one.ipv6(), other.ipv6());
  }

  private static boolean isGone(IpAddress before, IpAddress now) {
    return before != null && !Objects.equals(before, now);
  }

  @Override
  public CompletableFuture<List<String>> detach(int endpointId) {
    final int id = EndpointSpec.requireId(endpointId);
    return conductor.submit(() -> onDetach(id)).thenCompose(Function.identity());
  }

  /**
   * Stops the traffic of the workload first, then removes programs, links, entry and policy map.
   * Continues after a failure and collects its message.
   */
  private CompletableFuture<List<String>> onDetach(int id) {
    preparations.discard(id);
    final EndpointSpec spec = attached.remove(id);
    attachedCount = attached.size();
    final List<String> errors = new ArrayList<>();
    final CompletableFuture<List<String>> result = new CompletableFuture<>();
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .then(() -> attempt(errors, () -> policyMaps.clearSlot(id)))
            .then(
                () -> {
                  generations.raise(id);
                  detachProgram(id, spec, true, errors);
                })
            .then(() -> detachProgram(id, spec, false, errors))
            .then(
                () -> {
                  attempt(errors, () -> entries.clear(id));
                  attempt(errors, () -> policyMaps.remove(id));
                  generations.disown(id);
                })
            .onDone(() -> result.complete(errors))
            .onFailure(result::completeExceptionally));
    return result;
  }

  private void detachProgram(int id, EndpointSpec spec, boolean isIngress, List<String> errors) {
    attempt(
        errors,
        () -> {
          final int ifindex = spec == null ? entries.read(id).ifindex() : spec.ifindex();
          final String name = spec == null ? "endpoint " + id : spec.interfaceName();
          attachments.detach(id, ifindex, name, isIngress, errors);
        });
  }

  @Override
  public CompletableFuture<Void> setIdentity(int endpointId, int identity) {
    final int id = EndpointSpec.requireId(endpointId);
    return conductor.run(() -> onSetIdentity(id, identity));
  }

  private void onSetIdentity(int id, int identity) {
    final EndpointSpec before = attached.get(id);
    if (before == null) {
      throw Refusal.notFound("id", "endpoint " + id + " is not attached");
    }
    final EndpointSpec after = before.withIdentity(identity);
    entries.write(after);
    attached.put(id, after);
    generations.raise(id);
  }

  @Override
  public CompletableFuture<Set<Integer>> known() {
    return conductor.submit(
        () -> {
          final Set<Integer> known = new TreeSet<>(pinnedIds.get());
          known.addAll(attached.keySet());
          known.addAll(policyMaps.endpointIds());
          entries.addIds(known);
          return known;
        });
  }

  @Override
  public CompletableFuture<Integer> interfaceOf(int endpointId) {
    final int id = EndpointSpec.requireId(endpointId);
    return conductor.submit(() -> entries.read(id).ifindex());
  }

  private static void attempt(List<String> errors, Runnable part) {
    try {
      part.run();
    } catch (RuntimeException failure) {
      errors.add(failure.getMessage());
    }
  }
}
