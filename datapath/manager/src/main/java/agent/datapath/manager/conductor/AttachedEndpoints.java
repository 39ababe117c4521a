package agent.datapath.manager.conductor;

import agent.bindings.bpf.BpfObject;
import agent.conductor.StepSequence;
import agent.datapath.programs.attach.EndpointAttachments;
import agent.datapath.programs.attach.Pins;
import agent.datapath.programs.load.LoaderAgent;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.EndpointSpec;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.agrona.collections.Int2IntCounterMap;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * Attaches and detaches the endpoints of this node: map entries, programs and links. All state
 * belongs to the conductor's thread; {@link #attachedCount} may be read by any thread.
 */
public final class AttachedEndpoints implements EndpointAttachmentProxy {
  private final DatapathConductor conductor;
  private final VerdictGenerations generations;
  private final PolicyMaps policyMaps;
  private final LoaderAgent loader;
  private final EndpointAttachments attachments;
  private final EndpointEntries entries;
  private final Pins pins;
  private final Int2ObjectHashMap<EndpointSpec> attached = new Int2ObjectHashMap<>();

  /** The interfaces of endpoints that were closed and are not attached: filters have no pins. */
  private final Int2ObjectHashMap<Device> closed = new Int2ObjectHashMap<>();

  /** How often the delivery to each endpoint was stopped. */
  private final Int2IntCounterMap stops = new Int2IntCounterMap(0);

  private volatile int attachedCount;

  private record Device(int ifindex, String name) {}

  /**
   * Creates the owner of the endpoints; no endpoint is attached yet.
   *
   * @param loader has the programs that all endpoints share
   * @param entries the entries of the map {@code endpoints}
   * @param pins finds the endpoints that have a pinned link or policy map, and remembers removals
   */
  public AttachedEndpoints(
      DatapathConductor conductor,
      VerdictGenerations generations,
      PolicyMaps policyMaps,
      LoaderAgent loader,
      EndpointAttachments attachments,
      EndpointEntries entries,
      Pins pins) {
    this.conductor = conductor;
    this.generations = generations;
    this.policyMaps = policyMaps;
    this.loader = loader;
    this.attachments = attachments;
    this.entries = entries;
    this.pins = pins;
  }

  /** Returns the number of endpoints that this process has attached; for any thread. */
  public int attachedCount() {
    return attachedCount;
  }

  @Override
  public CompletableFuture<Void> close(int endpointId, int ifindex, String interfaceName) {
    final int id = EndpointSpec.requireId(endpointId);
    return conductor
        .submit(() -> onClose(id, ifindex, interfaceName))
        .thenCompose(Function.identity());
  }

  private CompletableFuture<Void> onClose(int id, int ifindex, String name) {
    final CompletableFuture<BpfObject> programs = loader.endpointPrograms();
    final CompletableFuture<Void> result = new CompletableFuture<>();
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .thenAwait(() -> programs)
            .then(
                () -> {
                  if (!attached.containsKey(id)) {
                    closed.put(id, new Device(ifindex, name));
                  }
                  if (!attachments.isAttached(id, ifindex, name)) {
                    entries.closeInterface(ifindex);
                  }
                  attachments.close(id, ifindex, name, true, programs.join());
                })
            .then(() -> attachments.close(id, ifindex, name, false, programs.join()))
            .onDone(
                () -> {
                  if (!attached.containsKey(id)) {
                    attachments.watch(id, ifindex, name, loader::loadEndpoint);
                  }
                  result.complete(null);
                })
            .onFailure(result::completeExceptionally));
    return result;
  }

  @Override
  public CompletableFuture<Void> attach(EndpointSpec endpoint) {
    return conductor.submit(() -> onAttach(endpoint)).thenCompose(Function.identity());
  }

  private CompletableFuture<Void> onAttach(EndpointSpec endpoint) {
    final CompletableFuture<BpfObject> programs = loader.endpointPrograms();
    final CompletableFuture<Void> result = new CompletableFuture<>();
    final int stopsBefore = stops.get(endpoint.id());
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .thenAwait(() -> programs)
            .then(() -> attach(endpoint, stopsBefore, programs.join()))
            .onDone(() -> result.complete(null))
            .onFailure(result::completeExceptionally));
    return result;
  }

  /**
   * Opens the endpoint's interface and attaches the programs. The programs of a previous release do
   * not read the cell, so that it is set before they are replaced, and no packet is lost.
   */
  private void attach(EndpointSpec endpoint, int stopsBefore, BpfObject programs) {
    final int id = endpoint.id();
    if (stops.get(id) != stopsBefore) {
      throw new OperationException(
          "interface '" + endpoint.interfaceName() + "' was removed before programs were attached");
    }
    final int policyId = policyMaps.open(id);
    final EndpointEntry entryBefore = entries.current(id);
    final boolean wasOpen = entries.isOpen(id);
    try {
      entries.open(endpoint, policyId);
      attachments.attach(endpoint, programs);
    } catch (RuntimeException failure) {
      entries.restore(id, entryBefore, wasOpen);
      generations.raise(id); // conntrack may have an entry that delivers to the new interface
      throw failure;
    }
    final EndpointSpec before = attached.put(id, endpoint);
    closed.remove(id);
    attachedCount = attached.size();
    attachments.watch(id, endpoint.ifindex(), endpoint.interfaceName(), loader::loadEndpoint);
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
  public CompletableFuture<Void> stopDelivery(int endpointId) {
    final int id = EndpointSpec.requireId(endpointId);
    return conductor.run(() -> onStopDelivery(id));
  }

  private void onStopDelivery(int id) {
    stops.incrementAndGet(id);
    attachments.forget(id);
    attached.remove(id);
    closed.remove(id);
    attachedCount = attached.size();
    try {
      entries.clear(id);
    } finally {
      generations.raise(id); // after the entry, which every renewed verdict reads
    }
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
    final EndpointSpec spec = attached.remove(id);
    attachedCount = attached.size();
    final List<String> errors = new ArrayList<>();
    final CompletableFuture<List<String>> result = new CompletableFuture<>();
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .then(
                () -> {
                  attempt(errors, () -> entries.close(id));
                  attempt(errors, () -> policyMaps.leave(id));
                })
            .then(
                () -> {
                  generations.raise(id);
                  detachProgram(id, spec, true, errors);
                })
            .then(() -> detachProgram(id, spec, false, errors))
            .then(
                () -> {
                  if (errors.isEmpty()) { // the entry names the interface for a repeated call
                    closed.remove(id);
                    attempt(errors, () -> entries.clear(id));
                  }
                  attempt(errors, () -> policyMaps.removeUnused(id));
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
          final Device device = interfaceOf(id, spec);
          attachments.detach(id, device.ifindex, device.name, isIngress, errors);
        });
  }

  private Device interfaceOf(int id, EndpointSpec spec) {
    if (spec != null) {
      return new Device(spec.ifindex(), spec.interfaceName());
    }
    final int ifindex = entries.current(id).ifindex();
    final Device last = ifindex == 0 ? closed.get(id) : null;
    return last == null ? new Device(ifindex, "endpoint " + id) : last;
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
    entries.identity(after);
    attached.put(id, after);
    generations.raise(id);
  }

  @Override
  public CompletableFuture<Set<Integer>> known() {
    return conductor.submit(
        () -> {
          final Set<Integer> known = new TreeSet<>(pins.endpointIds());
          known.addAll(attached.keySet());
          known.addAll(policyMaps.endpointIds());
          entries.addIds(known);
          return known;
        });
  }

  @Override
  public CompletableFuture<Set<Integer>> enforced() {
    return conductor.submit(
        () ->
            policyMaps.endpointIds().stream()
                .filter(this::isJudged)
                .collect(Collectors.toCollection(TreeSet::new)));
  }

  private boolean isJudged(int id) {
    final int ifindex = entries.current(id).ifindex();
    return ifindex != 0 && attachments.isAttached(id, ifindex, "endpoint " + id);
  }

  @Override
  public CompletableFuture<KernelEntry> entryOf(int endpointId) {
    final int id = EndpointSpec.requireId(endpointId);
    return conductor.submit(
        () -> {
          final EndpointEntry entry = entries.current(id);
          return new KernelEntry(
              entry.ifindex(),
              entry.identity(),
              MacAddress.of(entry.mac()),
              MacAddress.of(entry.hostMac()));
        });
  }

  @Override
  public CompletableFuture<HostInterface> hostInterfaceOf(int endpointId) {
    final int id = EndpointSpec.requireId(endpointId);
    return conductor.submit(() -> onHostInterfaceOf(id));
  }

  private HostInterface onHostInterfaceOf(int id) {
    final EndpointEntry entry = entries.current(id);
    final int linked = attachments.linkedInterface(id);
    final MacAddress mac = entry.ifindex() == 0 ? null : MacAddress.of(entry.hostMac());
    if (linked == 0) {
      final boolean isFiltered = mac != null && attachments.hasFilter(id, entry.ifindex());
      return new HostInterface(entry.ifindex(), mac, isFiltered);
    }
    return new HostInterface(linked, linked == entry.ifindex() ? mac : null, true);
  }

  @Override
  public CompletableFuture<Void> rememberRemoval(int endpointId) {
    final int id = EndpointSpec.requireId(endpointId);
    return conductor.run(() -> pins.rememberRemoval(id));
  }

  @Override
  public CompletableFuture<Void> forgetRemoval(int endpointId) {
    final int id = EndpointSpec.requireId(endpointId);
    return conductor.run(() -> pins.forgetRemoval(id));
  }

  @Override
  public CompletableFuture<Set<Integer>> rememberedRemovals() {
    return conductor.submit(pins::rememberedRemovals);
  }

  private static void attempt(List<String> errors, Runnable part) {
    try {
      part.run();
    } catch (RuntimeException failure) {
      errors.add(failure.getMessage());
    }
  }
}
